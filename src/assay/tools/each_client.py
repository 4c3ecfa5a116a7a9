"""Print a classic tool's output for each client of a run, and then, in its shape, the summary of all clients.

A tool's numbers cover one machine. What is printed of all is named so: mean, slowest and fastest client (`over_clients.py`).
Sums over clients are Assay's own, on standard error and in `assay show`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.client_records import load_clients, record_of_client
from assay.analysis.set_views import of_client
from assay.tools.front_end import FrontEnd, Output
from assay.tools.output_files import OutputFile

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord
    from assay.report.figure import Figure
    from assay.results import Document

MOST_DRAWN = 8
"""Clients whose figures are in the report; those of the others are in `assay report --client`."""


class EachClient(Output[Any]):
    """The outputs of a tool, by client."""

    def __init__(self, run: "RunRecord", tool: FrontEnd[Any]) -> None:
        """Make the output of a run of several clients."""
        super().__init__(run, tool.settings_of(run.plan))
        self._together = tool.output(run)
        self._outputs: Mapping[str, Output[Any]] = {
            name: tool.output(record_of_client(run, name)) for name in load_clients(run)
        }

    def text(self) -> str:
        """Give the texts, each below its client's name, and those of all clients below theirs."""
        texts = {f"client {name}": output.text() for name, output in self._outputs.items()}
        outputs = [*self._outputs.values()]
        return _below_names(texts | (self._together.of_clients(outputs) if len(outputs) > 1 else {}))

    def stderr_notes(self) -> str:
        """Give the remarks on each client below its name; once, where all are equal."""
        return self._of_each(lambda output: output.stderr_notes())

    def brief(self) -> str:
        """Give the brief remarks likewise."""
        return self._of_each(lambda output: output.brief())

    def _of_each(self, remarks: Callable[[Output[Any]], str]) -> str:
        notes = {f"client {name}": remarks(output) for name, output in self._outputs.items()}
        return _below_names(notes) if len(set(notes.values())) > 1 else next(iter(notes.values()), "")

    def files(self) -> Sequence[OutputFile]:
        """Give the files of each client, with its name in theirs: `x-local-1.xls`."""
        return [
            OutputFile(_client_path(file.path, name), file.content, appends=file.appends)
            for name, output in self._outputs.items()
            for file in output.files()
        ]

    def figures_of(self, document: "Document") -> Sequence["Figure"]:
        """Draw the tool's figures of all clients and of each, with less than trusted numbers marked."""
        outputs = [*self._outputs.values()]
        drawn = {f"all {len(outputs)} clients": self._together.figures_of_clients(outputs)} if len(outputs) > 1 else {}
        for name, output in [*self._outputs.items()][:MOST_DRAWN]:
            drawn[name] = output.figures_of(of_client(document, name))
        return [
            dataclasses.replace(
                figure, slug=f"{figure.slug}-{name.replace(' ', '-')}", title=f"{figure.title} ({name})"
            )
            for name, figures in drawn.items()
            for figure in figures
        ]


def _below_names(texts: Mapping[str, str]) -> str:
    return "\n".join(f"==== {name}\n{text}" for name, text in texts.items())


def _client_path(path: Path, client: str) -> Path:
    return path.with_name(f"{path.stem}-{client}{path.suffix}")
