"""docs/performance.md: what was measured, beside its budgets, and how each tool was asked."""

import os
import platform
import statistics
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import tools
from bench.counting import Instructions
from bench.loads import budgets
from bench.running import Extent
from bench.scenarios import Scenario

NOT_COUNTED = "not counted"
LINE_CHARACTERS = 120
METHOD = """\
Instructions are counted {seen}. CPU is user and system time of the whole process; work that the kernel does elsewhere, as
for a loop device, is not in it. Both are the difference of a long and a short run, divided by the difference of their
operations: start-up, laying out and removing are in no figure, nor is Assay's look at the machine once a second, which
costs by time, not by operation.

CPU and rates are of {rounds} rounds in which the tools take turns, medians. A ratio is taken within each round and given as
median (lowest to highest); a rate above 1 and a CPU time below 1 favour Assay. A machine that is busy with other work is
busy for all of them, and absolute rates of a shared machine prove nothing. Rates are those that each tool
reports of its long run.

Every tool runs one thread and records every latency. Data that is written is new and random for Assay, fio and elbencho,
but where the load says that buffers are kept. The bare loop (`engine/examples/bare.rs`) is the least that the same system
calls, two clock readings and a histogram can cost; it writes the same block each time."""
HEAD = """\
| tool | user instructions | kernel instructions | CPU µs | CPU of Assay / of the tool | rate of Assay / of the tool |
| --- | ---: | ---: | ---: | ---: | ---: |"""


@dataclass(frozen=True)
class Cost:
    """Of one tool in one scenario: instructions of an operation; of each round the rate and CPU time of an operation."""

    instructions: Instructions
    iops: Sequence[float]
    cpu_us_per_op: Sequence[float]


@dataclass(frozen=True)
class Measured:
    """One scenario, and the cost of each tool that took part."""

    scenario: Scenario
    costs: dict[str, Cost]


def page(
    measured: Sequence[Measured],
    *,
    left_out: Sequence[str],
    command: str,
    counter: str,
    rounds: int,
    more: Iterable[str] = (),
) -> str:
    """The whole page; `more` are the lines of a further part."""
    lines = [
        "# What an operation costs",
        "",
        f"Written by `{command}`; do not edit.",
        "",
        _method(counter, rounds),
        "",
        *_summary(measured),
        "",
        f"Machine: {_machine()}. Peers: {tools.versions()}.",
    ]
    for one in measured:
        lines += ["", *_scenario(one)]
    if further := [*more]:
        lines += ["", *further]
    if left_out:
        lines += ["", "## Left out here", "", *(f"- {what}" for what in left_out)]
    return "\n".join(lines) + "\n"


def _method(counter: str, rounds: int) -> str:
    seen = (
        "by valgrind, which sees user instructions only and runs programs without the vDSO: what the vDSO executes to read "
        "the clock is missing; all that a tool executes itself is there"
        if counter == "valgrind"
        else f"by {counter}, user and kernel apart, the vDSO's clock reading included"
    )
    paragraphs = METHOD.format(seen=seen, rounds=rounds).split("\n\n")
    return "\n\n".join(textwrap.fill(paragraph, LINE_CHARACTERS) for paragraph in paragraphs)


def _summary(measured: Sequence[Measured]) -> Iterator[str]:
    """User instructions of all tools beside the budget."""
    names = [tools.ASSAY, tools.BARE, tools.FIO, tools.ELBENCHO]
    yield "User instructions of one operation:"
    yield ""
    yield f"| load | budget of Assay | {' | '.join(names)} |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for one in measured:
        budget = budgets().get(one.scenario.load)
        cells = [_count(one.costs[name].instructions.user) if name in one.costs else "no run" for name in names]
        yield f"| {one.scenario.title} | {'none' if budget is None else f'{budget:,}'} | {' | '.join(cells)} |"


def _scenario(one: Measured) -> Iterator[str]:
    scenario, own = one.scenario, one.costs[tools.ASSAY]
    few, many = scenario.timed
    yield f"## {scenario.title[0].upper()}{scenario.title[1:]}"
    yield ""
    yield f"{scenario.asked[0].upper()}{scenario.asked[1:]}. Runs of {few:,} and {many:,} operations."
    yield ""
    yield HEAD
    for name, cost in one.costs.items():
        yield (
            f"| {name} | {_count(cost.instructions.user)} | {_count(cost.instructions.kernel)} "
            f"| {statistics.median(cost.cpu_us_per_op):.2f} | {_ratio(own.cpu_us_per_op, cost.cpu_us_per_op, name)} "
            f"| {_ratio(own.iops, cost.iops, name)} |"
        )
    for name, why in scenario.absent().items():
        yield f"| {name} | {why} | no run | no run | no run | no run |"
    yield ""
    yield from _asked(one)


def _asked(one: Measured) -> Iterator[str]:
    """Command lines of the longer runs, without where this machine keeps things, and what differs between the tools."""
    for tool in one.scenario.tools:
        if tool.note:
            yield f"- {tool.name}: {tool.note}."
    if any(tool.note for tool in one.scenario.tools):
        yield ""
    yield "```text"
    for tool in one.scenario.tools:
        many = one.scenario.timed[1]
        program, *words = tool.command(Extent(many, many))
        shown = [Path(program).name, *(word.replace(str(one.scenario.directory), "DIR") for word in words)]
        yield " ".join([*shown, "< PLAN"] if tool.stdin is not None else shown)
    yield "```"


def _ratio(own: Sequence[float], other: Sequence[float], name: str) -> str:
    if name == tools.ASSAY:
        return "1"
    ratios = [a / b for a, b in zip(own, other, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _count(value: float | None) -> str:
    return NOT_COUNTED if value is None else f"{value:,.0f}"


def _machine() -> str:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} CPUs ({model}), {memory_gib:.0f} GiB of memory, Linux {platform.release().split('-')[0]}"
