"""Build the command line: one file per command, and one for all tools. Arguments -> one call -> exit code.

Each command imports what it needs in its body, so that `assay --help` answers at once.
"""

import contextlib
import gc
import sys
import traceback
from collections.abc import Callable
from typing import Annotated

import typer

from assay import __version__
from assay.cli import (
    ab,
    capture,
    claims,
    clean,
    collect,
    compare,
    completion,
    decode,
    diff,
    doctor,
    explain,
    export,
    import_,
    ls,
    man,
    mark,
    matrix,
    measure,
    quick,
    report,
    rerun,
    run,
    shims,
    show,
    size,
    suites,
    survey,
    tag,
    worker,
    workingset,
)
from assay.cli.lazy_commands import name_of
from assay.cli.pipes import echo, outlive_readers, widen_terminal
from assay.cli.tool import CommandsAndTools
from assay.cli.words import check_words
from assay.errors import COULD_NOT_RUN, EXIT_CODES, INTERRUPTED, AssayError, refusal
from assay.running.stopping import Stopped

app = typer.Typer(
    name="assay",
    cls=CommandsAndTools,
    help="What does this storage really do, what limits it, and can I trust that number?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: " + "; ".join(f"{code} {words}" for code, words in EXIT_CODES.items()) + ".",
)

GROUPS: dict[str, tuple[Callable[..., None], ...]] = {
    "Measure": (quick.quick, measure.measure, run.run, rerun.rerun, suites.suites, doctor.doctor, worker.worker),
    "Look": (show.show, explain.explain, report.report, ls.ls, decode.decode),
    "Compare": (compare.compare, ab.ab, matrix.matrix, claims.claims, diff.diff),
    "Decide": (size.size, workingset.workingset, capture.capture, survey.survey),
    "Keep": (tag.tag, mark.mark, import_.import_, export.export, collect.collect, clean.clean),
    "Set up": (shims.shims, completion.completion, man.man),
}
COMMANDS = tuple(command for commands in GROUPS.values() for command in commands)
CommandsAndTools.functions = {
    name_of(command): (group, command) for group, commands in GROUPS.items() for command in commands
}


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What does this storage really do, what limits it, and can I trust that number?"""


_ALLOCATIONS = 100_000
"""Allocations between two searches for cyclic garbage. The objects of a run live until the end; searching after every 700
allocations, the default, took a tenth of the time."""


def main() -> None:
    """Run a command and end with its exit code: one of `errors.EXIT_CODES`."""
    gc.set_threshold(_ALLOCATIONS)
    try:
        outlive_readers()
        widen_terminal()
        code = _run()
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        sys.exit(code)
    except Stopped as stopped:
        _print_error("stopped", stopped)
        sys.exit(INTERRUPTED)


def _run() -> int:
    """Run a command, print the error that ended it, if any, and return the exit code."""
    try:
        try:
            completion.be_ready()
            check_words(sys.argv[1:])
            app()
        except SystemExit as end:
            # What has not reached standard output yet: where it cannot, Python would end with a code of its own.
            sys.stdout.flush()
            return end.code if isinstance(end.code, int) else int(end.code is not None)
    except AssayError as error:
        _print_error(str(error), error)
        return error.exit_code
    except Stopped:
        raise
    except BaseException as error:  # noqa: BLE001 - Python's own code for it, 1, means something else
        if (text := refusal(error)) is None:
            traceback.print_exc()
            text = "this is a fault of Assay; please report it with the lines above"
        _print_error(text, error)
    return COULD_NOT_RUN


def _print_error(text: str, error: BaseException) -> None:
    for line in (text, *getattr(error, "__notes__", ())):
        echo(f"assay: {line}", err=True)
