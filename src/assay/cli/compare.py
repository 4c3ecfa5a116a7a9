"""`assay compare A B`: by how much do runs differ, and is it sure?"""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, Runs
from assay.cli.pipes import say

if TYPE_CHECKING:
    from pathlib import Path

    from assay.analysis.difference import Difference
    from assay.compare.arms import Arm


def compare(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C ...]",
            help="What is compared, the others with the first: a run, several with commas between them, or tag:NAME for all"
            " runs with a tag.",
        ),
    ],
    effect: Annotated[
        float, typer.Option("--effect", metavar="PERCENT", help="A difference that matters.", min=0.01, max=1000)
    ] = 3.0,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="BOUND",
            help="Exit with 1 if a rate surely lies beyond: 'throughput >= -5 %', 'p99 <= +10 %', 'LABEL: iops >= -3 %'.",
        ),
    ] = None,
    gate_strict: Annotated[
        bool, typer.Option("--gate-strict", help="Exit with 1 too where more runs would be needed to tell.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as Markdown, as GitHub shows it.")] = False,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Compare runs, or sets of runs, result by result: ratio, 95 % interval and verdict.

    From three runs of each side on there is an interval; the repeats of one run (--repeat 5) are runs. There is no winner
    between numbers of different things, such as storage and page cache, or that are not to be trusted.
    """
    from assay.compare import comparison
    from assay.compare.gate import GateState, judge, parse_gate
    from assay.errors import InputError
    from assay.outward import json_text
    from assay.report import comparison_text

    if len(sides) < 2:
        raise InputError("compare: two sides are the least: assay compare A B")
    if markdown and json:
        raise InputError("--markdown and --json: choose one")
    gates = [parse_gate(text) for text in gate or ()]
    arms = [_arm(side, runs) for side in sides]
    if len({arm.name for arm in arms}) < len(arms):
        raise InputError("compare: two sides are the same; the ratio of a thing to itself is 1")
    found = comparison.compare(arms, effect / 100)
    gated = judge(gates, found)
    if json:
        import msgspec

        say(json_text(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()))
    else:
        write = comparison_text.markdown if markdown else comparison_text.lines
        differences = [_differences(arms[0], arm, runs) for arm in arms[1:]]
        say("\n".join(write(found, differences, gated)).rstrip("\n"))
    failing = {GateState.VIOLATED, GateState.OPEN} if gate_strict else {GateState.VIOLATED}
    raise typer.Exit(1 if any(one.state in failing for one in gated) else 0)


_TAG = "tag:"


def _arm(side: str, runs: "Path | None") -> "Arm":
    """Gather the runs of a side."""
    from assay.cli.answers import answer_of
    from assay.compare.arms import Arm

    return Arm.of(side, [answer_of(run, runs).document for run in _runs_of(side, runs)])


def _runs_of(side: str, runs: "Path | None") -> list[str]:
    """Name the runs of a side, the first to begin first."""
    from assay.bundle.catalog import list_runs, runs_directory
    from assay.errors import InputError

    if not side.startswith(_TAG):
        return [part.strip() for part in side.split(",")]
    tag, place = side.removeprefix(_TAG), runs_directory(runs)
    tagged = [run for run in list_runs(place) if tag in run.tags]
    if not tagged:
        raise InputError(f"compare: no run in {place} has the tag '{tag}'; 'assay tag RUN --tag {tag}' gives it")
    return [run.run_id for run in sorted(tagged, key=lambda run: run.started_utc)]


def _differences(a: "Arm", b: "Arm", runs: "Path | None") -> "tuple[Difference, ...]":
    """Say in which facts and fields of the Plan the first run of each side differs."""
    from assay.analysis.difference import diff_facts, diff_plans
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import damage_told
    from assay.bundle.scripts import name_scripts

    one, other = (open_run(arm.documents[0].run.bundle, runs) for arm in (a, b))
    with damage_told(other.path):
        plan = diff_plans(name_scripts(one.plan), name_scripts(other.plan))
        # What is of the first repeat is of them all; the text that a Plan was made from says nothing that it does not.
        told = [each for each in plan if " repeat " not in each.key and not each.key.startswith("origin.")]
        return (*told, *diff_facts(one.facts, other.facts))
