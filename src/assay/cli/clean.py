"""`assay clean [DIR|RUN]`: remove the data sets that a killed run left behind."""

from typing import Annotated

import typer

from assay.cli.options import Runs
from assay.cli.pipes import say


def clean(
    place: Annotated[str, typer.Argument(metavar="DIR|RUN", help="A directory that was measured, or a run.")] = "last",
    keep_kept: Annotated[
        bool, typer.Option("--keep-kept", help="Leave sets that their load file asked to keep.")
    ] = False,
    runs: Runs = None,
) -> None:
    """Remove the data sets that Assay left in a directory; nothing else is touched."""
    from assay.running.cleaning import clean as remove_sets
    from assay.running.cleaning import directories_of

    for directory in directories_of(place, runs):
        for line in remove_sets(directory, keep_kept=keep_kept):
            say(line)
