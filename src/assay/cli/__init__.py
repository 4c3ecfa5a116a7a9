"""The command line: one file a command, one for all tools; arguments -> one call -> exit code.

Each command imports what it needs in its body, so that `assay --help` answers at once.
"""

import gc
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from assay import __version__
from assay.cli import (
    clean,
    diff,
    doctor,
    export,
    ls,
    quick,
    report,
    rerun,
    run,
    shims,
    show,
    suites,
)
from assay.cli.pipes import let_go, outlive_readers, say
from assay.cli.tool import CommandsAndTools
from assay.errors import COULD_NOT_RUN, EXIT_CODES, INTERRUPTED, AssayError
from assay.running.stopping import Stopped, end_on_signals

app = typer.Typer(
    name="assay",
    cls=CommandsAndTools,
    help="What does this storage really do, what limits it, and can I trust that number?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: " + "; ".join(f"{code} {words}" for code, words in EXIT_CODES.items()) + ".",
)

COMMANDS: tuple[Callable[..., None], ...] = (
    quick.quick,
    run.run,
    suites.suites,
    show.show,
    report.report,
    export.export,
    ls.ls,
    rerun.rerun,
    diff.diff,
    clean.clean,
    doctor.doctor,
    shims.shims,
)
for command in COMMANDS:
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """What does this storage really do, what limits it, and can I trust that number?"""


_ALLOCATIONS = 100_000
"""After so many Python looks for garbage in cycles. What a run is read into stays to the end: looking after each 700 took a
tenth of the time."""


def main() -> None:
    """Run a command and end with its exit code: one of `errors.EXIT_CODES`."""
    gc.set_threshold(_ALLOCATIONS)
    end_on_signals()
    outlive_readers()
    try:
        app()
    except AssayError as error:
        for text in (str(error), *getattr(error, "__notes__", ())):
            say(f"assay: {text}", err=True)
        sys.exit(error.exit_code)
    except Stopped:
        say("assay: stopped", err=True)
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno is None:
            raise
        where = f"{error.filename}: " if error.filename else ""
        say(f"assay: {where}{error.strerror}", err=True)
        let_go()
        sys.exit(COULD_NOT_RUN)
