"""The tools whose command lines Assay takes: one line a tool, the name of its folder and its line in `assay --help`."""

import importlib
from typing import TYPE_CHECKING, Any

from assay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.record import RunRecord
    from assay.plan import Plan
    from assay.report.figure import Figure
    from assay.results import Document
    from assay.tools.front_end import FrontEnd, Output

TOOLS: dict[str, str] = {
    "iozone": "Run an IOzone command line, and print what IOzone prints.",
    "bonnie": "Run bonnie++'s tests: one large file byte by byte and in blocks, random seeks, and many small files.",
    "postmark": "PostMark: small files made, read, appended to and deleted, as a mail server does.",
    "vxbench": "Load files the way vxbench does, and print a line for each worker.",
    "vdbench": "Run vdbench's parameter files: raw loads and file systems, at rates, at most, and along curves.",
    "perfpl": "The small-file test perf.pl: blocks written to few or many files.",
    "fio": "Run fio's job files and command lines, and print what fio prints, or its JSON.",
    "bigdir": "The test of one big directory: make entries, list them all after every step.",
    "filebench": "Run a script in Filebench's workload language, and print its statistics.",
}


def front_end(name: str) -> "FrontEnd[Any]":
    """Load a tool."""
    # Only the tool at hand: none is to make the others slower.
    made: FrontEnd[Any] = importlib.import_module(f"assay.tools.{name}").FRONT_END
    return made


def maker(plan: "Plan") -> "FrontEnd[Any] | None":
    """Give the tool whose front end made a Plan; None where no tool did."""
    name = plan.origin.front_end
    return front_end(name) if name in TOOLS else None


def output(run: "RunRecord") -> "Output[Any] | None":
    """Give the output of the tool whose run it is; None where it is none of a tool."""
    tool = maker(run.plan)
    if tool is None or not run.members or tool.adds_clients_up(tool.settings_of(run.plan)):
        return tool.output(run) if tool else None
    from assay.tools.each_client import EachClient  # noqa: PLC0415 - a run of one client does without

    return EachClient(run, tool)


def figures(run: "RunRecord", document: "Document") -> "Sequence[Figure]":
    """Draw what the readers of a tool look at; nothing where the run is none of a tool."""
    found = output(run)
    return found.figures_of(document) if found else ()


def output_of(run: "RunRecord") -> "Output[Any]":
    """Give the output of the tool whose run it is; raises InputError where it is none of a tool."""
    found = output(run)
    if found is None:
        tool = run.plan.origin.front_end
        raise InputError(f"{run.run_id} is a run of '{tool}', which has no classic output; leave --classic out")
    return found
