"""`assay doctor`: list what can be measured here, what cannot, and how to fix it."""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import DIRECTORY_HELP

if TYPE_CHECKING:
    from assay.doctor.check import Check


def doctor(
    directory: Annotated[str | None, typer.Argument(metavar="DIR", help=DIRECTORY_HELP)] = None,
) -> None:
    """Check what this machine and directory can measure, and how to fix the rest."""
    there = _directory(directory) if directory is not None else ()
    from assay.console import console
    from assay.errors import COULD_NOT_RUN
    from assay.report.doctor_text import render
    from assay.targets import BLOCK

    shown = console()
    machine = _machine()
    render("This machine", machine, shown)
    if directory is not None:
        shown.print()
        render(directory if directory.startswith(BLOCK) else f"Directory {directory}", there, shown)
    if any(check.state.value == "cannot" for check in (*machine, *there)):
        raise typer.Exit(COULD_NOT_RUN)


def _machine() -> "tuple[Check, ...]":
    from assay.doctor.machine_checks import engine_check, extras_check, machine_checks
    from assay.errors import AssayError
    from assay.host.manifest import collect
    from assay.running import engine

    path, hello, problem = None, None, ""
    try:
        path = engine.find_engine()
        hello = engine.capabilities()
    except AssayError as error:
        problem = str(error)
    return (engine_check(path, hello, problem), extras_check(), *machine_checks(collect({}), hello))


def _directory(directory: str) -> "tuple[Check, ...]":
    from pathlib import Path

    from assay.doctor.directory_checks import device_checks, directory_checks
    from assay.host.machine import ram_bytes
    from assay.host.storage import storage_path
    from assay.places import check_place

    place = check_place(directory)
    if not isinstance(place, Path):
        return device_checks(storage_path(place.path))
    return directory_checks(storage_path(place), ram_bytes())
