"""`assay compare A B`: compare runs, with intervals."""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.comparing import (
    AllowUndecided,
    Ceiling,
    Charts,
    ComparisonFiles,
    Effect,
    FileWeights,
    Gates,
    Headline,
    Html,
    Markdown,
    Pictures,
    Regions,
    Xlsx,
)
from assay.cli.options import Json, Runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assay.compare.arms import Arm


def compare(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C ...]",
            help="Sides, the baseline first: RUN, RUN,RUN,… or tag:NAME.",
        ),
    ],
    effect: Effect = 3.0,
    foreign: Annotated[
        bool,
        typer.Option("--foreign", help="Compare imported runs with Assay's own runs, too."),
    ] = False,
    headline: Headline = None,
    gate: Gates = None,
    allow_undecided: AllowUndecided = False,
    region: Regions = None,
    weights: FileWeights = None,
    ceiling: Ceiling = None,
    markdown: Markdown = False,
    html: Html = None,
    charts: Charts = None,
    picture_format: Pictures = "png",
    xlsx: Xlsx = None,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Compare runs, or groups of runs: ratio, 95 % interval and verdict per result.

    An interval needs at least 3 runs per side; the repeats of one run (--repeat 5) count as runs. Results of different
    things, such as storage and page cache, and results that are not trusted have no winner.
    """
    from assay.cli.comparing import asked_of_surfaces, check_answered, print_comparison, surveyed
    from assay.compare.gate import parse_gate
    from assay.errors import InputError

    if len(sides) < 2:
        raise InputError("compare needs at least two sides: assay compare A B")
    if markdown and json:
        raise InputError("--markdown and --json: choose one")
    gates = [parse_gate(text) for text in gate or ()]
    files = ComparisonFiles(html, charts, picture_format, xlsx)
    files.check(len(sides))
    questions = asked_of_surfaces(region, weights, ceiling)
    arms = [arm_of(side, runs) for side in sides]
    if len({arm.name for arm in arms}) < len(arms):
        raise InputError("compare: two sides are the same; the ratio of a thing to itself is 1")
    if not foreign:
        _refuse_foreign(arms)
    from assay.compare import comparison

    found = surveyed(comparison.compare(arms, effect / 100, headline=headline), arms, questions, runs)
    check_answered(found, questions)
    raise typer.Exit(
        print_comparison(
            found, arms, gates, allow_undecided=allow_undecided, json=json, markdown=markdown, files=files, runs=runs
        )
    )


def _refuse_foreign(arms: "Sequence[Arm]") -> None:
    """Raise InputError where Assay measured some of it and other tools the rest."""
    from assay.errors import InputError

    if len({arm.is_foreign for arm in arms}) > 1 or any(arm.is_mixed for arm in arms):
        others = ", ".join(arm.name for arm in arms if arm.is_foreign)
        raise InputError(
            f"compare: {others}: foreign, measured by another tool, and the rest by Assay. What foreign numbers are of is"
            " not known; with --foreign they are held against each other all the same"
        )


def arm_of(side: str, runs: "Path | None") -> "Arm":
    """Gather the runs of a side."""
    from assay.bundle.run_sets import run_set
    from assay.cli.answers import answer_of

    found = [answer_of(run, runs, sums_will_do=True) for run in run_set(side, runs)]
    from assay.compare.arms import Arm  # after the runs are found: it imports numpy

    return Arm.of(side, [each.document for each in found], own_left_out=sum(each.own_left_out for each in found))
