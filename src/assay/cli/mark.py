"""`assay mark`: mark a moment of an active or an ended run."""

from typing import Annotated

import typer

from assay.cli.options import Runs
from assay.cli.pipes import echo


def mark(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] TEXT",
            help="Text of the mark, after the run if that has ended.",
        ),
    ],
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="The run, if several are active or it has ended."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="T", help="Time since the phase started, such as 12.5s [default: now]."),
    ] = None,
    phase: Annotated[
        str | None,
        typer.Option("--phase", metavar="PHASE", help="Phase that --at refers to."),
    ] = None,
    runs: Runs = None,
) -> None:
    """Mark this moment in your active runs, or another moment of one run (--at).

    The mark has the time at which the command started. Timelines show it, with the rates before, during and after it.
    """
    from assay.running.marking import mark_at, mark_now, take_words

    asked, text = take_words(words, run)
    marked = mark_now(text, asked, runs, phase) if at is None else mark_at(text, asked, runs, at, phase)
    for line in marked:
        echo(line)
