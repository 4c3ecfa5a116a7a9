"""The parts of the HTML page that are words and tables. Every function escapes what it is given and returns HTML."""

import json
from collections.abc import Container, Iterable, Sequence

import msgspec

from assay import events
from assay.analysis.record import RunRecord
from assay.outward import json_text
from assay.outward import markup as escape
from assay.report.figure import Table
from assay.report.numbers import MIB_PER_S, OPS_PER_S, energy_words, headline, headline_rates, rate, rate_unit, span_s
from assay.report.verdict import stands, trust_reasons, trust_words
from assay.results import Document, Finding, LatencyNs, Result
from assay.units import ABSENT, format_bytes, format_ns, format_number, format_percent, format_seconds, format_share

MOST_CARDS = 200
"""Results that a page tells in full: of a run of thousands nobody reads more."""
_LONGEST_PLAN_BYTES = 128 << 10
_SEVERITY_CLASS = {"note": "muted", "weak": "warn", "warning": "warn", "invalid": "bad"}


def header(run: RunRecord, document: Document) -> str:
    """Say what was measured, when, by what command, and how far it is to be trusted."""
    told = document.run
    trusted = sum(result.trusted for result in document.results)
    weak = sum(stands(result) and not result.trusted for result in document.results)
    verdict = f"{trusted} of {len(document.results)} results are to be trusted" + (f", {weak} are weak" if weak else "")
    colour = "good" if trusted == len(document.results) else "warn"
    places = ", ".join(str(run.target_fact(target.name, "directory") or target.uri) for target in run.plan.targets)
    lines = [
        f"<h1>{escape(run.plan.name)} on {escape(places)}</h1>",
        f'<p class="{colour}">{verdict}.</p>',
    ]
    if not run.is_sealed:
        lines.append('<p class="bad">This run did not come to its end. What was measured up to then is shown.</p>')
    lines += [f'<p class="bad">{escape(_error_words(e))}</p>' for e in run.all(events.Error)]
    lines.append(f"<p><code>{escape(told.command)}</code></p>")
    lines.append(
        f'<p class="muted">Run <code>{escape(told.id)}</code>, started {escape(told.started_utc)}, {told.seconds:.0f} s,'
        f" exit code {told.exit_code}, Assay {escape(run.info.assay_version)}."
        f" Bundle: <code>{escape(told.bundle)}</code></p>"
    )
    if run.remarks.note:
        lines.append(f"<p>Note of the operator: {escape(run.remarks.note)}</p>")
    sections = {"summary": "Summary", "overview": "Overview", "results": "Results", "environment": "Environment"}
    links = " · ".join(f'<a href="#{ident}">{words}</a>' for ident, words in sections.items())
    return f'<header>{"".join(lines)}<nav aria-label="Sections">{links}</nav></header><main>'


def cards(results: Sequence[Result]) -> list[int]:
    """Choose the results that have a card: all, or of very many those with the gravest findings, then the first."""
    gravity = {severity: -rank for rank, severity in enumerate(_SEVERITY_CLASS, 1)}
    gravest = [min((gravity.get(finding.severity, 0) for finding in result.findings), default=0) for result in results]
    return sorted(sorted(range(len(results)), key=lambda i: gravest[i])[:MOST_CARDS])


def not_drawn(results: int, drawn: int, *, has_overview: bool) -> str:
    """Say which figures a page of very many results leaves out."""
    if drawn == results or (drawn == 0 and has_overview):
        return ""
    left = f"Of {results:,} results the first {drawn} have figures of their own"
    text = left if has_overview else f"{left}, and there are too many for one figure of all"
    return f'<p class="muted">{text}. Their numbers are in the summary.</p>'


def not_told(results: int, told: int) -> str:
    """Say which results a page of very many leaves to other commands."""
    if told == results:
        return ""
    return (
        f'<p class="muted">{told} of {results:,} results are told in full here: those with the gravest findings, then the'
        " first. <code>assay show --json</code> has every number of all.</p>"
    )


def summary_table(titles: Sequence[str], results: Sequence[Result], told: Container[int]) -> str:
    """Give one row a result, linked to its card if it has one; struck through what is not to be trusted."""
    rows = []
    for i, (title, result) in enumerate(zip(titles, results, strict=True)):
        spread = result.latency_ns
        values = [rate(*headline(result)), *(format_ns(v) for v in (spread.p50, spread.p99, spread.max))]
        cells = "".join(f"<td>{_struck(value, result)}</td>" for value in [*values, format_ns(result.cpu_ns_per_op)])
        trust = f"{_trust_word(result)} {escape(trust_reasons(result))}".rstrip()
        rows.append(
            f'<tr><th scope="row">{_linked(i, title) if i in told else escape(title)}</th>{cells}'
            f'<td class="words">{escape(result.measures.words)}</td><td class="words">{escape(_limit_words(result))}</td>'
            f'<td class="words">{trust}</td></tr>'
        )
    heads = "".join(f'<th scope="col">{h}</th>' for h in ("Result", "Rate", "p50", "p99", "Slowest", "CPU/op"))
    heads += "".join(f'<th scope="col" class="words">{h}</th>' for h in ("Of", "Limited by", "Trust"))
    return (
        '<section aria-labelledby="summary"><h2 id="summary">Summary</h2><div class="scroll" tabindex="0" role="region"'
        f' aria-label="Summary table"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        "</div><p class=muted>Rates are per second of each result's window. MiB is 2<sup>20</sup> bytes. Latency is from"
        f" issue to completion. {ABSENT}: not known; a finding says why.</p></section>"
    )


def _linked(i: int, title: str) -> str:
    return f'<a href="#result-{i + 1}">{escape(title)}</a>'


def run_findings(findings: Sequence[Finding]) -> str:
    """List what holds for the run as a whole."""
    if not findings:
        return ""
    listed = _findings(findings)
    return f'<section aria-labelledby="findings"><h2 id="findings">Findings on the whole run</h2>{listed}</section>'


def marks(numbered: Sequence[tuple[float, str, str]]) -> str:
    """List the marks by the numbers that the figures show."""
    if not numbered:
        return ""
    rows = [(str(i), f"{t_s:.2f} s", label, source) for i, (t_s, label, source) in enumerate(numbered, 1)]
    shown = _facts_table(("Mark", "Since the start of the run", "What", "Set by"), rows, "Marks")
    return f'<section aria-labelledby="marks"><h2 id="marks">Marks</h2>{shown}</section>'


def result_card(i: int, title: str, result: Result, figures: str) -> str:
    """Show one result: its number and what produced it, then its figures (HTML that is already made)."""
    value, unit = headline(result)
    other = OPS_PER_S if unit is MIB_PER_S else MIB_PER_S
    also = other.of(*headline_rates(result))
    also_words = f' <span class="also">= {_struck(rate(also, other), result)}</span>' if also else ""
    main = _struck(rate(value, rate_unit(result)), result)
    where = (
        f"{result.workers} worker{'s' if result.workers != 1 else ''}, queue depth {result.queue_depth},"
        f" target {result.target}, phase {result.phase}, operation {result.operation}"
    )
    items = "".join(f"<div><dt>{escape(k)}</dt><dd>{v}</dd></div>" for k, v in _card_items(result))
    reason = f": {escape(trust_reasons(result))}" if result.trust.reasons else ""
    return (
        f'<article id="result-{i + 1}" aria-labelledby="result-{i + 1}-title"><h3 id="result-{i + 1}-title">'
        f'{escape(title)}</h3><p class="where">{escape(where)}</p>'
        f'<p class="rate">{main}{also_words}</p><p>{_trust_word(result)}{reason}</p>'
        f"<dl>{items}</dl>{_findings(result.findings)}{figures}</article>"
    )


def preparation(run: RunRecord) -> str:
    """List the steps between the phases, and whether each did what was asked."""
    rows = []
    for event in run.all(events.StepDone):
        phase = run.plan.phases[event.phase_index].name if event.phase_index < len(run.plan.phases) else ABSENT
        done = "yes" if event.achieved else "no"
        rows.append((phase, event.step, event.subject or "", done, f"{event.seconds:.2f} s", event.detail))
    if not rows:
        return ""
    shown = _facts_table(
        ("Phase", "Step", "Of", "Achieved", "Took", "How, or why not"), rows, "Steps between the phases"
    )
    return (
        '<section aria-labelledby="preparation"><h2 id="preparation">Preparation</h2>'
        f"<details><summary>{len(rows)} steps between the phases</summary>{shown}</details></section>"
    )


def environment(run: RunRecord) -> str:
    """List every recorded fact with its source, the engine's own words first."""
    rows = [(fact.key, _value(fact.value), fact.source) for fact in run.sourced_facts]
    for event in run.all(events.Hello):
        rows[:0] = [*_struct_rows("engine", event.engine), *_struct_rows("machine", event.machine)]
        rows += [*_struct_rows("clock", event.clock), *_struct_rows("capabilities", event.capabilities)]
    shown = _facts_table(("Fact", "Value", "Source"), rows, "Facts that can move the numbers")
    return (
        '<section aria-labelledby="environment"><h2 id="environment">Environment</h2>'
        f"<details><summary>{len(rows)} facts with their sources</summary>{shown}</details></section>"
    )


def plan(run: RunRecord) -> str:
    """Give the resolved Plan; it can be run again."""
    encoded = run.plan.to_json()
    is_short = len(encoded) <= _LONGEST_PLAN_BYTES
    text = json_text(msgspec.json.format(encoded, indent=2).decode()) if is_short else ""
    shown = (
        f"<details><summary>The resolved plan, seed {run.plan.seed}</summary><pre>{escape(text)}</pre></details>"
        if is_short
        else f'<p class="muted">The resolved plan, seed {run.plan.seed}, has {format_bytes(len(encoded))}: it is'
        " <code>resolved.json</code> in the bundle.</p>"
    )
    missing = [(item.what, item.why) for item in run.plan.untranslated]
    lost = _facts_table(("Asked for", "Why it has no equal"), missing, "Not translated") if missing else ""
    return f'<section aria-labelledby="plan"><h2 id="plan">Plan</h2>{lost}{shown}</section></main>'


def table(shown: Table, title: str) -> str:
    """Give a table whose first column names the rows."""
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in shown.columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in shown.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _facts_table(columns: Sequence[str], rows: Iterable[tuple[str, ...]], title: str) -> str:
    return table(Table(tuple(columns), tuple(rows)), title).replace("<table>", '<table class="facts">', 1)


def _card_items(result: Result) -> list[tuple[str, str]]:
    spread = result.latency_ns
    items = [(name, _struck(format_ns(value), result)) for name, value in _percentiles(spread)]
    if result.response_ns is not None:
        items += [(f"Response {name}", _struck(format_ns(v), result)) for name, v in _percentiles(result.response_ns)]
    cache, steady = result.cache, result.steady
    method = f" (by {cache.method.replace('_', ' ')})" if cache.method else ""
    resident = f"{format_share(cache.resident_before)} before, {format_share(cache.resident_after)} after"
    texts = {
        "CPU per operation": format_ns(result.cpu_ns_per_op),
        **_energy_words(result),
        "Cache": _cache_words(result),
        "Cache hit ratio": format_share(cache.hit_ratio) + method,
        "Set in the page cache": resident,
        "Moved by the device": format_bytes(result.device_bytes),
        "Window": span_s(*result.window_s),
        "Operations": f"{result.ops:,}",
        "Bytes": format_bytes(result.bytes),
        "Errors": f"{result.errors:,}",
        "Steady state": steady.verdict.replace("_", " ") if steady else "not judged",
        "95 % interval of the rate": _interval_words(result),
        "With the flush": _committed_words(result),
        "A number of": result.measures.words,
        "Limited by": _limit_words(result),
        "Evidence": "; ".join(result.limiter.evidence) if result.limiter else ABSENT,
        "To get more": (result.limiter.remedy if result.limiter else "") or ABSENT,
    }
    return items + [(name, escape(text)) for name, text in texts.items()]


def _limit_words(result: Result) -> str:
    limiter = result.limiter
    return f"{limiter.verdict.replace('_', ' ')} ({limiter.confidence} confidence)" if limiter else ABSENT


def _interval_words(result: Result) -> str:
    interval = result.iops_interval
    if interval is None:
        return ABSENT
    within = format_percent(interval.within_share)
    return f"{format_number(interval.low)} to {format_number(interval.high)} a second (± {within} % within the window)"


def _committed_words(result: Result) -> str:
    committed = result.committed
    if committed is None:
        return ABSENT
    flush = format_seconds(committed.flush_seconds)
    return f"{format_number(committed.iops)} a second, to the end of a flush of {flush}"


def _percentiles(spread: LatencyNs) -> list[tuple[str, float | None]]:
    return [
        ("p50", spread.p50),
        ("p90", spread.p90),
        ("p99", spread.p99),
        ("p99.9", spread.p99_9),
        ("Slowest", spread.max),
        ("Mean", spread.mean),
    ]


def _findings(findings: Sequence[Finding]) -> str:
    items = []
    for finding in findings:
        colour = _SEVERITY_CLASS.get(finding.severity, "warn")
        cure = f' <span class="muted">{escape(finding.cure)}</span>' if finding.cure else ""
        items.append(
            f'<li><span class="{colour}">{escape(finding.severity)}</span> <code>{escape(finding.id)}</code>:'
            f" {escape(finding.text)}{cure}</li>"
        )
    return f'<ul class="findings">{"".join(items)}</ul>' if items else ""


def _struck(text: str, result: Result) -> str:
    if stands(result) or text == ABSENT:
        return escape(text)
    return f'<s>{escape(text)}</s><span class="unseen"> (not to be trusted)</span>'


def _trust_word(result: Result) -> str:
    colour = "good" if result.trusted else "warn" if stands(result) else "bad"
    return f'<span class="{colour}">{trust_words(result)}</span>'


def _cache_words(result: Result) -> str:
    cache = result.cache
    words = f"{cache.condition.replace('_', ' ')}, {cache.verdict}"
    return words if cache.hit_ratio is None else f"{words} (hit {format_share(cache.hit_ratio)})"


def _energy_words(result: Result) -> dict[str, str]:
    """Say what energy it took, where that was measured."""
    words = energy_words(result.efficiency)
    return {"Energy": words} if words else {}


def _error_words(error: events.Error) -> str:
    return f"Error: {error.text}" + (f" ({error.path})" if error.path else "")


def _struct_rows(prefix: str, facts: events.StreamPart) -> list[tuple[str, str, str]]:
    return [
        (f"{prefix}.{key}", _value(value), "engine, at its start")
        for key, value in msgspec.structs.asdict(facts).items()
    ]


def _value(value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(str(item) for item in value) or "none"
    return value if isinstance(value, str) else json.dumps(value)
