"""What the commands that compare have in common: their options, and how they tell what came out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.pipes import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.difference import Difference
    from assay.compare.arms import Arm
    from assay.compare.comparison import Comparison
    from assay.compare.gate import Gate

Effect = Annotated[
    float, typer.Option("--effect", metavar="PERCENT", help="A difference that matters.", min=0.01, max=1000)
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--gate",
        metavar="BOUND",
        help="Exit with 1 if a rate surely lies beyond: 'throughput >= -5 %', 'p99 <= +10 %', 'LABEL: iops >= -3 %'.",
    ),
]
GateStrict = Annotated[
    bool, typer.Option("--gate-strict", help="Exit with 1 too where more runs would be needed to tell.")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print it as Markdown, as GitHub shows it.")]


def told(
    found: "Comparison",
    arms: "Sequence[Arm]",
    gates: "Sequence[Gate]",
    *,
    strict: bool,
    json: bool,
    markdown: bool,
    runs: Path | None,
) -> int:
    """Print a comparison, and give the exit code: 1 where a gate is violated, with `strict` also where one is open."""
    from assay.compare.gate import GateState, judge
    from assay.outward import json_text
    from assay.report import comparison_text

    gated = judge(gates, found)
    if json:
        import msgspec

        say(json_text(msgspec.json.format(msgspec.json.encode(found), indent=2).decode()))
    else:
        write = comparison_text.markdown if markdown else comparison_text.lines
        differ = [_differences(arms[0], arm, runs) for arm in arms[1:]]
        say("\n".join(write(found, differ, gated)).rstrip("\n"))
    failing = {GateState.VIOLATED, GateState.OPEN} if strict else {GateState.VIOLATED}
    return int(any(one.state in failing for one in gated))


def _differences(a: "Arm", b: "Arm", runs: Path | None) -> "tuple[Difference, ...]":
    """Say in which facts and fields of the Plan the first run of each side differs."""
    from assay.analysis.difference import diff_facts, diff_plans
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import damage_told
    from assay.bundle.scripts import name_scripts

    if a.is_foreign or b.is_foreign:  # nobody recorded what it was, nor on what machine
        return ()
    one, other = (open_run(arm.documents[0].run.bundle, runs) for arm in (a, b))
    with damage_told(other.path):
        plan = diff_plans(name_scripts(one.plan), name_scripts(other.plan))
        # What is of the first repeat is of them all; the text that a Plan was made from says nothing that it does not.
        shown = [each for each in plan if " repeat " not in each.key and not each.key.startswith("origin.")]
        return (*shown, *diff_facts(one.facts, other.facts))
