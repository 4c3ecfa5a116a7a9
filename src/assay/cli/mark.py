"""`assay mark`: when something happened, in a run that goes on or in one that is over."""

from typing import Annotated

import typer

from assay.cli.options import Runs
from assay.cli.pipes import say


def mark(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] TEXT",
            help="What happened, in a few words; before it, the run that it happened in where that is over.",
        ),
    ],
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="The run, where several are under way, or one that is over."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="T", help="When, since the start of the phase, such as 12.5s; else now."),
    ] = None,
    phase: Annotated[
        str | None,
        typer.Option("--phase", metavar="PHASE", help="Of --at: the phase, by its name, where the run has several."),
    ] = None,
    runs: Runs = None,
) -> None:
    """Mark the moment in every run of yours that is under way, or with --at a moment of one run.

    The moment is that at which the command was started, also as the last one of a script. Timelines show it, and say what
    was before, during and after it.
    """
    from assay.running.marking import mark_at, mark_now, take_words

    asked, text = take_words(words, run)
    marked = mark_now(text, asked, runs, phase) if at is None else mark_at(text, asked, runs, at, phase)
    for line in marked:
        say(line)
