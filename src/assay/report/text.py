"""The report in a terminal: what was measured, what moved it, where it is kept.

One line a result; findings below it, each once, with the rows that it applies to. Nothing depends on colour: it only
repeats what the words say. At 120 columns and more the CPU's part and the cache have columns of their own; in narrower
terminals they are a second line.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.text import Text

from assay import events
from assay.analysis.findings import INVALID, NOTE, SEVERITIES, WARNING, WEAK
from assay.analysis.record import RunRecord
from assay.console import PlainConsole
from assay.outward import one_line
from assay.report.numbers import MIB_PER_S, OPS_PER_S, energy_words, headline_rates
from assay.report.quick_words import QUICK, quick_words
from assay.report.titles import titles_of
from assay.report.verdict import trust_reasons
from assay.report.wrapping import fill, wrap
from assay.results import Cache, Document, Finding, LatencyNs, Result
from assay.units import format_bytes, format_ns, format_number, format_percent, format_share
from assay.verdicts import Confidence

WIDE_COLUMNS = 120
SIZE_REASON_FACT = "quick.size_reason"
"""Key of the fact that says why the data set has its size."""

_STYLES = {INVALID: "bold red", WARNING: "yellow", WEAK: "magenta", NOTE: "cyan", "yes": "green", "no": "yellow"}
_NUMBERS = ("IOPS", "MiB/s", "p50", "p99", "max")
_NUMBER_WIDTH = 8
_TIMES = ("cpu", "run", "block", "idle", "wait")
_TIME_WIDTHS = (5, 5, 6, 5, 5)
_CACHE_WIDTH = 14
_TRUST_WIDTH = 8
_ROW_WIDTH = 3
_SAME = 0.99
"""Of a rate, from where on one with a flush is the same for a reader."""
_MOST_SAID = 3
"""Sentences of one kind of finding that are printed."""
_MOST_RANGES = 6
"""Rows, or runs of them, that are named."""


def render(document: Document, run: RunRecord, console: PlainConsole, *, html: Path | None = None) -> None:
    """Print a run.

    Args:
        document: Its results.
        run: What it was worked out from.
        console: Where to print; its width decides the layout.
        html: The HTML report, if one was written.
    """
    lines = [*_header(document, run), Text()]
    lines += _table(document.results, console.width)
    lines += _findings(document, console.width)
    lines += _footer(document, html)
    if run.plan.name == QUICK:
        words = [line for sentence in quick_words(document) for line in wrap(sentence, console.width)]
        lines += [Text(), *(Text(line, style="bold") for line in words)]
    _print(console, lines)


def render_beside(document: Document, console: PlainConsole, *, html: Path | None = None) -> None:
    """Print what stands beside a classic tool's own output: the findings, and where the run is kept."""
    _print(console, [*_findings(document, console.width), *_footer(document, html)])


def _print(console: PlainConsole, lines: Iterable[Text]) -> None:
    console.print(Text("\n").join(lines), soft_wrap=True)


# -- header and footer -------------------------------------------------------------------------------------------------


def _header(document: Document, run: RunRecord) -> list[Text]:
    pairs = [("run", f"{document.run.id}   {document.run.command}")]
    pairs += [("target", _target(target.name, target.uri, run.facts)) for target in run.plan.targets]
    pairs += _data(run)
    hello = run.first(events.Hello)
    if hello:
        machine = hello.machine
        ram = format_bytes(machine.ram_bytes)
        pairs.append(("machine", f"{machine.hostname}, {machine.cpus} CPUs, {ram} RAM, Linux {machine.kernel}"))
        pairs.append(("engine", f"assay-engine {hello.engine.version} ({hello.engine.profile} build)"))
    return [_pair(key, value) for key, value in pairs]


def _pair(key: str, value: str) -> Text:
    return Text.assemble((f"{key:<9}", "bold"), one_line(value))


def _target(name: str, uri: str, facts: Mapping[str, object]) -> str:
    directory = facts.get(f"target.{name}.directory") or uri
    kind = facts.get(f"target.{name}.fs.type")
    devices = facts.get(f"target.{name}.device.diskstats")
    on = f" on {', '.join(devices)}" if isinstance(devices, tuple | list) and devices else ""
    return f"{directory}   {kind or 'file system unknown'}{on}"


def _data(run: RunRecord) -> list[tuple[str, str]]:
    laid_out = {event.set: event for event in run.all(events.Prepared) if event.bytes}
    sizes = [f"{event.set} {format_bytes(event.bytes)} in {event.files} files" for event in laid_out.values()]
    sizes = [size.replace(" in 1 files", " in 1 file") for size in sizes]
    reason = run.facts.get(SIZE_REASON_FACT)
    if isinstance(reason, str):
        sizes.append(reason)
    return [("data", "; ".join(sizes))] if sizes else []


def _footer(document: Document, html: Path | None) -> list[Text]:
    sealed = "" if document.run.sealed else "   (not sealed: the run did not end)"
    report = str(html) if html else f"assay report {document.run.id}"
    return [Text(), _pair("kept in", f"{document.run.bundle}{sealed}"), _pair("report", report)]


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Columns for a width."""

    width: int

    @property
    def is_wide(self) -> bool:
        return self.width >= WIDE_COLUMNS

    @property
    def title_width(self) -> int:
        fixed = _ROW_WIDTH + _NUMBER_WIDTH * len(_NUMBERS) + _TRUST_WIDTH
        if self.is_wide:
            fixed += _NUMBER_WIDTH + sum(_TIME_WIDTHS) + _CACHE_WIDTH + 1
        return max(12, self.width - fixed)


def _table(measured: Sequence[Result], width: int) -> list[Text]:
    if not measured:
        return [Text("Nothing was measured.", style="bold")]
    layout = _Layout(width)
    lines = [_heading(layout)]
    for row, (title, result) in enumerate(zip(titles_of(measured), measured, strict=True), start=1):
        lines += _row(row, title, result, layout)
    legend = "p50, p99, max: latency, issue to completion.  CPU/op: of this client."
    legend += (
        "  cpu run block idle wait: % of the workers' time on a CPU, ready for one, waiting for a block device, with nothing"
        " to do by the load's own schedule, other waits."
    )
    legend += "  hit: share of the bytes read that came from memory."
    return [*lines, Text(), *(Text(line, style="dim") for line in wrap(legend, width))]


def _heading(layout: _Layout) -> Text:
    line = " " * _ROW_WIDTH + fill("operation", layout.title_width)
    line += "".join(f"{name:>{_NUMBER_WIDTH}}" for name in _NUMBERS)
    if layout.is_wide:
        line += f"{'CPU/op':>{_NUMBER_WIDTH}}"
        line += "".join(f"{name:>{width}}" for name, width in zip(_TIMES, _TIME_WIDTHS, strict=True))
        line += " " + fill("cache  hit", _CACHE_WIDTH)
    return Text(line + f"{'trusted':>{_TRUST_WIDTH}}", style="bold")


def _row(row: int, label: str, result: Result, layout: _Layout) -> list[Text]:
    title = wrap(label, layout.title_width - 1)
    line = f"{row:>{_ROW_WIDTH - 1}} " + fill(title[0], layout.title_width)
    line += "".join(f"{cell:>{_NUMBER_WIDTH}}" for cell in _numbers(result))
    if layout.is_wide:
        line += f"{format_ns(result.cpu_ns_per_op):>{_NUMBER_WIDTH}}"
        line += "".join(f"{cell:>{width}}" for cell, width in zip(_shares(result), _TIME_WIDTHS, strict=True))
        line += " " + fill(_cache(result.cache, "{condition:<6} {hit}"), _CACHE_WIDTH)
    verdict = _trust_word(result)
    lines = [Text.assemble(line, (f"{verdict:>{_TRUST_WIDTH}}", _STYLES[verdict]))]
    indent = " " * _ROW_WIDTH
    lines += [Text(indent + part) for part in title[1:]]
    lines += [Text(indent + part, style="dim") for part in wrap(_verdicts(result), layout.width - _ROW_WIDTH)]
    if result.response_ns is not None:
        lines.append(Text(indent + _response(result.response_ns), style="dim"))
    if not layout.is_wide:
        lines += [Text(indent + part, style="dim") for part in wrap(_second_line(result), layout.width - _ROW_WIDTH)]
    return lines


def _trust_word(result: Result) -> str:
    """Say in a word whether a number may be used: `yes`, `weak`, `no`, or `invalid`."""
    if any(finding.severity == INVALID for finding in result.findings):
        return INVALID
    return result.trust.level.value


def _verdicts(result: Result) -> str:
    """Say what the number is one of, how well it is known, what limited it, and why it is less than trusted."""
    if result.iops is None:
        return trust_reasons(result)
    interval = result.iops_interval
    known = f"± {format_percent(interval.within_share)} % in its window" if interval else "no interval"
    if result.committed is not None and result.committed.iops < _SAME * result.iops:
        taker = "the device" if result.cache.verdict == "device" else "memory"
        known = f"with the flush; {taker} took {format_number(result.iops)}/s {known}"
    parts = [f"of {result.measures.words}", known]
    if result.limiter is not None:
        sure = "" if result.limiter.confidence is Confidence.HIGH else f" ({result.limiter.confidence} confidence)"
        parts.append(f"limited by {result.limiter.verdict.replace('_', ' ')}{sure}")
    if energy := energy_words(result.efficiency):
        parts.append(energy)
    if result.trust.reasons:
        parts.append(f"{result.trust.level}: {trust_reasons(result)}")
    return " · ".join(parts)


def _numbers(result: Result) -> tuple[str, ...]:
    latency = result.latency_ns
    rates = (unit.of(*headline_rates(result)) for unit in (OPS_PER_S, MIB_PER_S))
    return (
        *(format_number(rate) for rate in rates),
        *(format_ns(value) for value in (latency.p50, latency.p99, latency.max)),
    )


def _response(response: LatencyNs) -> str:
    """Say how long after its scheduled arrival an operation of an open loop was done."""
    named = (("p50", response.p50), ("p99", response.p99), ("max", response.max))
    return "response from the scheduled arrival: " + " · ".join(f"{name} {format_ns(value)}" for name, value in named)


def _shares(result: Result) -> tuple[str, ...]:
    return tuple(format_percent(share) for share in _budget(result))


def _budget(result: Result) -> tuple[float | None, ...]:
    budget = result.time_budget
    return (budget.on_cpu, budget.run_delay, budget.block_delay, budget.idle, budget.other_wait)


def _cache(cache: Cache, with_hits: str) -> str:
    """Say what the cache did: condition and hit ratio of reads (as `with_hits`), or whether writes reached storage."""
    condition = cache.condition.replace("_", "-")
    if cache.hit_ratio is not None:
        return with_hits.format(condition=condition, hit=format_share(cache.hit_ratio))
    return cache.verdict if cache.verdict in ("absorbed", "device", "flushed") else condition


def _second_line(result: Result) -> str:
    cache = _cache(result.cache, "{condition} hit {hit}")
    parts = [f"CPU/op {format_ns(result.cpu_ns_per_op)}", _compact(result), cache]
    return " · ".join(part for part in parts if part)


def _compact(result: Result) -> str:
    """Write the time budget as `cpu 12.0 run 1.0 block 80.0 wait 7.0 %`, without what is not known."""
    named = zip(_TIMES, _budget(result), strict=True)
    known = [
        f"{name} {format_percent(share)}" for name, share in named if share or (share is not None and name != "idle")
    ]
    return " ".join(known) + " %" if known else ""


# -- findings ----------------------------------------------------------------------------------------------------------


def _findings(document: Document, width: int) -> list[Text]:
    rows: dict[Finding, list[int]] = {finding: [] for finding in document.findings}
    for row, result in enumerate(document.results, start=1):
        for finding in result.findings:
            rows.setdefault(finding, []).append(row)
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(rows, key=lambda finding: SEVERITIES.index(finding.severity)):
        if finding.severity != NOTE:
            kinds.setdefault((finding.severity, finding.id, finding.cure), []).append(finding)
    lines: list[Text] = []
    for (severity, id_, cure), same in kinds.items():
        said: dict[str, list[int]] = {}
        for finding in same:
            said.setdefault(finding.text, []).extend(rows[finding])
        lines += [Text(), *_kind(severity, id_, cure, list(said.items()), width)]
    notes: dict[str, list[int]] = {}
    for finding, where in rows.items():
        if finding.severity == NOTE:
            notes.setdefault(finding.id, []).extend(where)
    return [*lines, *_notes(notes, document.run.id, width)]


def _notes(notes: Mapping[str, list[int]], run_id: str, width: int) -> list[Text]:
    """Name the notes in one paragraph: they explain numbers, and a command has their words."""
    if not notes:
        return []
    named = [f"{id_} ({_where(set(rows)) or 'run'})" for id_, rows in notes.items()]
    told = f"{', '.join(named)}. 'assay explain {run_id} ID' has the words of each."
    first, *others = wrap(told, width - 7)
    return [Text(), Text.assemble(("notes", _STYLES[NOTE]), f"  {first}"), *(Text("  " + part) for part in others)]


def _kind(severity: str, id_: str, cure: str, said: list[tuple[str, list[int]]], width: int) -> list[Text]:
    """Print one kind of finding: where it applies, what it says of each row, what to do."""
    everywhere = sorted({row for _, rows in said for row in rows})
    where = f"row {_where(everywhere)}" if len(everywhere) == 1 else f"rows {_where(everywhere)}"
    lines = [Text.assemble((severity, _STYLES[severity]), (f"  {id_}", "bold"), f"  {where if everywhere else 'run'}")]
    # Those that concern the most rows.
    shown = sorted(said, key=lambda pair: -len(pair[1]))[:_MOST_SAID] if len(said) > _MOST_SAID + 1 else said
    for text, rows in shown:
        prefix = f"{_where(rows)}: " if len(said) > 1 else ""
        lines += [Text("  " + part) for part in wrap(prefix + text, width - 2)]
    if len(shown) < len(said):
        lines.append(Text(f"  and the like of {len(said) - len(shown)} others: 'assay explain RUN {id_}'"))
    if cure:
        lines += [Text("  " + part) for part in wrap("→ " + cure, width - 2)]
    return lines


def _where(rows: Iterable[int]) -> str:
    """Write 1, 2, 3, 5 as `1-3, 5`; of many that lie apart the first, and how many others there are."""
    runs: list[list[int]] = []
    for row in sorted(rows):
        if runs and row == runs[-1][-1] + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    others = sum(len(run) for run in runs[_MOST_RANGES:])
    told = ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:_MOST_RANGES])
    return f"{told} and {others} more" if others else told
