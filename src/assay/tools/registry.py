"""The classic tools' own outputs, made from a run's bundle: text, files and figures.

One module a tool, named as the front end in the Plan's origin. Each has `text(run)`, the tool's standard output byte for
byte but for the measured numbers, and may have `files(run)`, what its command line asks for beside the text,
`figures(run)`, what the readers of that tool look at, drawn, and `beside(run)`, what its output cannot say or says
wrongly, in words for standard error. All are functions of the bundle alone, so that a run can be shown anew at any time,
and one that died shows what it had measured.
"""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from assay.analysis.record import RunRecord
from assay.errors import InputError
from assay.tools.files import OutputFile

if TYPE_CHECKING:
    # Text is printed where the libraries that draw are not installed.
    from assay.report.figure import Figure

TOOLS: tuple[str, ...] = ("bigdir", "bonnie", "iozone", "perfpl", "postmark", "vxbench")
"""Front ends whose runs have an output of their own."""


class _Output(Protocol):
    def text(self, run: RunRecord) -> str: ...


class _Filed(Protocol):
    def files(self, run: RunRecord) -> Sequence[OutputFile]: ...


class _Drawn(Protocol):
    def figures(self, run: RunRecord) -> Sequence["Figure"]: ...


class _Commented(Protocol):
    def beside(self, run: RunRecord) -> str: ...


def has_output(run: RunRecord) -> bool:
    """Whether a classic tool's front end made the run."""
    return run.plan.origin.front_end in TOOLS


def text(run: RunRecord) -> str:
    """Give the output of the classic tool whose front end made the run.

    Raises:
        InputError: the run is none of a classic tool.
    """
    tool = run.plan.origin.front_end
    if tool not in TOOLS:
        raise InputError(f"{run.run_id} is a run of '{tool}', which has no classic output; leave --classic out")
    return cast("_Output", _module(tool)).text(run)


def beside(run: RunRecord) -> str:
    """Say what the classic output cannot; empty where its module has nothing to add."""
    module = _module(run.plan.origin.front_end) if has_output(run) else None
    return cast("_Commented", module).beside(run) if hasattr(module, "beside") else ""


def files(run: RunRecord) -> Sequence[OutputFile]:
    """Make the files that the tool's command line asks for beside its text; none where the run is none of a tool."""
    if not has_output(run):
        return ()
    module = _module(run.plan.origin.front_end)
    return cast("_Filed", module).files(run) if hasattr(module, "files") else ()


def figures(run: RunRecord) -> Sequence["Figure"]:
    """Draw what the readers of the classic tool look at; nothing where the run is none of a classic tool."""
    if not has_output(run):
        return ()
    module = _module(run.plan.origin.front_end)
    return cast("_Drawn", module).figures(run) if hasattr(module, "figures") else ()


def _module(tool: str) -> object:
    # Only the module of the tool at hand: each may need a library of its own.
    return importlib.import_module(f"assay.tools.{tool}.output")
