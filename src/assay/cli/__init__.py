"""The command line: one file a command family; arguments -> one call -> exit code.

Each command imports what it needs in its body, so that `assay --help` answers at once.
"""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from assay import __version__
from assay.cli import clean, diff, doctor, export, ls, quick, report, rerun, run, show, suites
from assay.errors import AssayError

app = typer.Typer(
    name="assay",
    help="What does this storage really do, what limits it, and can I trust that number?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
)
for command in COMMANDS:
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """What does this storage really do, what limits it, and can I trust that number?"""


def main() -> None:
    """Run a command and end with its exit code: 0 measured, 1 not to be trusted, 2 bad input, 3 could not run."""
    try:
        app()
    except AssayError as error:
        typer.echo(f"assay: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has left; nothing more to say to it
        sys.exit(0)
