"""`assay clean [DIR|RUN]`: remove the file sets that a killed run left behind."""

import contextlib
import itertools
from typing import Annotated

import typer

from assay.cli.options import Runs
from assay.cli.pipes import echo


def clean(
    place: Annotated[str, typer.Argument(metavar="DIR|RUN", help="A measured directory, or a run.")] = "last",
    keep_kept: Annotated[
        bool, typer.Option("--keep-kept", help="Keep file sets that their load file asks to keep.")
    ] = False,
    kept: Annotated[
        str | None,
        typer.Option(
            "--kept",
            metavar="AGE",
            help="Remove only uncollected client records older than AGE: 720h.",
        ),
    ] = None,
    runs: Runs = None,
) -> None:
    """Remove file sets that Assay left in a directory, and keys of killed runs."""
    from assay.cluster.kept_runs import clients_folder
    from assay.cluster.kept_streams import summarize_kept
    from assay.errors import InputError
    from assay.running.cleaning import clean as remove_sets
    from assay.running.cleaning import directories_of

    if kept is not None:
        _remove_kept(kept)
        return
    found = directories_of(place, runs)
    from assay.cluster.left_folders import remove_left
    from assay.own_files import scratch_place

    with contextlib.suppress(InputError):  # no leader can have made one either
        for line in remove_left(scratch_place()):
            echo(line)
    for directory in found:
        for line in itertools.chain(
            remove_left(directory.parent, directory.name), remove_sets(directory, keep_kept=keep_kept)
        ):
            echo(line)
    with contextlib.suppress(InputError):  # no home directory: nothing is kept in it
        if summary := summarize_kept(clients_folder()):
            echo(summary, err=True)


def _remove_kept(age: str) -> None:
    """Remove what clients recorded on this machine longer ago; raises RunError where something stays that should go."""
    from assay.cluster.kept_runs import clients_folder
    from assay.cluster.kept_streams import remove_older
    from assay.errors import RunError
    from assay.units import parse_seconds

    folder = clients_folder()
    removed = list(remove_older(folder, parse_seconds(age)))
    for line, _ in removed or [(f"{folder}: nothing is kept there", False)]:
        echo(line)
    if any(is_failure for _, is_failure in removed):
        raise RunError(f"{folder}: some older records were not removed; the lines above explain why")
