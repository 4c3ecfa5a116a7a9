"""`assay ab A B`: measure in turns, then compare."""

from typing import Annotated

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
from assay.cli.options import Json, Runs, Tag


def ab(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C ...]",
            help="Commands, such as 'measure DIR --read'; with --on, loads.",
        ),
    ],
    on: Annotated[
        str | None, typer.Option("--on", metavar="DIR", help="Directory for sides that are suites or load files.")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            metavar="N",
            min=1,
            max=1000,
            help="Measure each side N times [default: 5 to 15, until the ratio is known to within the effect].",
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="T", help="Start no round that would end after this time: 30min.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the order within rounds.")] = 1,
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check",
            help="Repeat outlying cells of surfaces (iozone -a) alone.",
        ),
    ] = True,
    effect: Effect = 3.0,
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
    tag: Tag = None,
    runs: Runs = None,
) -> None:
    """Measure A and B in turns (ABBA), then compare them.

    Each measurement is a run and is kept; --json lists the ids. Ctrl-C ends the round and compares the complete rounds.
    """
    from assay.cli.cells_alone import CellsAlone
    from assay.cli.comparing import asked_of_surfaces, print_comparison
    from assay.cli.in_turns import MeasuredInTurns
    from assay.compare.gate import parse_gate
    from assay.errors import INTERRUPTED, InputError
    from assay.running.stopping import Stops
    from assay.units import parse_seconds

    if len(sides) < 2 or len(set(sides)) < len(sides):
        raise InputError("ab needs at least two different sides: assay ab 'measure DIR --bs 4k' 'measure DIR --bs 8k'")
    if markdown and json:
        raise InputError("--markdown and --json: choose one")
    gates = [parse_gate(text) for text in gate or ()]
    files = ComparisonFiles(html, charts, picture_format, xlsx)
    files.check(len(sides))
    questions = asked_of_surfaces(region, weights, ceiling)
    more = [word for each in tag or () for word in ("--tag", each)] + (["--runs", str(runs)] if runs else [])
    commands = [_words(side, on) for side in sides]
    series = MeasuredInTurns(
        names=sides,
        commands=[[*words, *more] for words in commands],
        rounds=rounds,
        effect=effect / 100,
        headline=headline,
        budget_s=None if budget is None else parse_seconds(budget),
        seed=seed,
    )
    cells = CellsAlone(series, commands, more, questions, runs)
    with Stops() as stops:
        is_whole = series.measure(stops)
        if not all(series.found):
            raise typer.Exit(INTERRUPTED)
        if check and is_whole:
            is_whole = cells.measure(stops)
    arms, found = cells.compared()
    code = print_comparison(
        found, arms, gates, allow_undecided=allow_undecided, json=json, markdown=markdown, files=files, runs=runs
    )
    raise typer.Exit(code if is_whole else INTERRUPTED)


def _words(side: str, on: str | None) -> list[str]:
    """Read what a side is, as the words of a command that measures."""
    import shlex

    from assay.errors import InputError
    from assay.loads import suites
    from assay.tools.registry import TOOLS

    try:
        words = shlex.split(side)
    except ValueError as error:
        raise InputError(f"ab: '{side}': {error}") from error
    measuring = {"quick", "measure", "run", "rerun", *TOOLS}
    if words and words[0] in measuring:
        refused = next((word for word in words if word.split("=")[0] in {"--json", "--live-json", "--runs"}), None)
        if refused:
            raise InputError(f"ab: '{side}': {refused} is for all sides: give it to ab")
        return words
    if len(words) == 1 and (words[0].endswith(".toml") or words[0] in {*suites.names(), *suites.examples()}):
        if on is None:
            raise InputError(f"ab: '{side}' is a load; give its directory with --on DIR")
        return ["run", words[0], on]
    raise InputError(f"ab: '{side}' does not begin with a command that measures: {', '.join(sorted(measuring))}")
