"""The answer in a few lines, the last thing on a screen: what was found, what limits it, what to distrust.

A number that is not trusted is "not usable": it is printed with its cause and what to do. Three to seven lines.
"""

from collections.abc import Iterator, Mapping, Sequence

from assay.analysis.findings import reason_of
from assay.analysis.set_views import sums_of
from assay.report.clients.client_words import in_short
from assay.report.expected_words import expected_in_short
from assay.report.latency_headline import has_latency_headline, median_interval_words, median_words
from assay.report.limited_by import limit_words
from assay.report.numbers import headline, percentile_words, rate, rate_words
from assay.report.over_repeats import shown_results
from assay.report.quick_words import QUICK, UNUSABLE, quick_words
from assay.report.rounds_words import sentences
from assay.report.row_numbers import rows_words
from assay.report.titles import titles_of
from assay.report.verdict import is_usable
from assay.report.wrapping import cut, wrap
from assay.results import Document, Result
from assay.units import format_number
from assay.verdicts import ScheduleVerdict, TrustLevel

_MOST_SHOWN = 3
"""Most results that get a line each."""
_ROOM_OF_CURE = 1.8
"""Lines that a result may take which is printed with cause and cure: two, of which a long word may leave a part."""
_SHORTEST_TITLE = 16
"""Columns that a title has at the least."""
_MOST_LINES = 7
_MOST_LIMITS, _MOST_REASONS = 4, 2
"""Most limiters and reasons that are named; a reason is printed with its cure."""
_MEMORY_RUN = "from-memory"
"""Of a whole run, and not of a result."""


def answer(document: Document, load: str, *, columns: int | None = 80, has_numbers: bool = True) -> tuple[str, ...]:
    """Format the answer: a sentence per line.

    Args:
        document: The results; of several clients their sums are shown.
        load: Name of the Plan: that of the quick suite has words of its own.
        columns: Titles are cut, and medians left out, where a line would be longer; None: they are not.
        has_numbers: Whether a few results get a line each; else trusted results are counted.

    Returns nothing where the run was cut before its first number.
    """
    if (foreign := document.run.foreign) is not None:
        count = f"{len(document.results):,} result{'s' if len(document.results) != 1 else ''}"
        return (f"{count} of {foreign.tool}: not measured by Assay, so no number is trusted.",)
    if not any(result.iops is not None for result in document.results):
        return ()
    document, results = sums_of(document), shown_results(document)
    if not has_numbers:
        text = tuple(_counted(results)) if len(results) > 1 else ()
    else:
        found = _headed(document, results) if document.rounds is not None else results
        text = quick_words(results) if load == QUICK else tuple(_found(found, columns))
    of_clients = (in_short(document),)
    is_each_shown = has_numbers and load != QUICK and len([one for one in results if one.ops]) <= _MOST_SHOWN
    expected = (*(_placed(results) if has_numbers else ()), expected_in_short(document))
    lines = (*text, *expected, *of_clients, *_over_repeats(document), *_whole(document), *_limited(results, columns))
    distrust = _distrust(results, is_each_shown=is_each_shown, mark=f"{UNUSABLE} " if load == QUICK else "")
    return tuple(line for line in (*lines, _fitting(distrust, lines, columns)) if line)


def _fitting(distrust: Iterator[str], above: Sequence[str], columns: int | None) -> str:
    """Choose the most detailed text that has room below the lines above it, or the shortest."""
    texts = tuple(distrust)
    if columns is None:
        return texts[0]
    room = _MOST_LINES - sum(len(wrap(line, columns)) for line in above if line)
    return next((text for text in texts if len(wrap(text, columns)) <= room), texts[-1])


def _over_repeats(document: Document) -> Iterator[str]:
    """Describe which repeats the results cover, and how many are excluded."""
    if document.rounds is not None:
        yield next(sentences(document, document.rounds))
    elif document.summaries:
        most = max(len(summary.repeats) for summary in document.summaries)
        left_out = [len(summary.repeats) - len(summary.counted) for summary in document.summaries]
        rows = [row for row, count in enumerate(left_out, start=1) if count]
        where = rows_words(rows, "row " if len(rows) == 1 else "rows ")
        left = f" Left out: {sum(left_out)} ({where})." if rows else ""
        has_interval = any(summary.iops.interval for summary in document.summaries)
        known = "± is the 95 % interval over them" if has_interval else "no interval: it needs 3 usable repeats"
        yield f"Typical of {most} repeats; {known}.{left}"


def _found(results: Sequence[Result], columns: int | None) -> Iterator[str]:
    measured = [(title, result) for title, result in zip(titles_of(results), results, strict=True) if result.ops]
    if len(measured) == 1:
        ((title, result),) = measured
        used = f"{title}: {', '.join(_numbers(result, ('p50', 'p99')))}; served by {result.measures.words}."
        yield used if is_usable(result) else f"{title}: {_not_usable(result)}"
    elif len(measured) <= _MOST_SHOWN:
        quantiles = ("p99",) if columns else ("p50", "p99")
        for title, result in measured:
            numbers = f"{', '.join(_numbers(result, quantiles))}." if is_usable(result) else _not_usable(result)
            room = None if columns is None else columns if is_usable(result) else round(_ROOM_OF_CURE * columns)
            yield (cut(title, max(_SHORTEST_TITLE, room - len(numbers) - 2)) if room else title) + f": {numbers}"
    else:
        yield from _counted(results)


def _headed(document: Document, results: Sequence[Result]) -> Sequence[Result]:
    """Give the results that had to be steady."""
    tracked = {one.label for one in document.rounds.tracked} if document.rounds else set()
    return [result for result, summary in zip(results, document.summaries, strict=False) if summary.label in tracked]


def _numbers(result: Result, quantiles: Sequence[str]) -> Iterator[str]:
    """Give the headline first: the rate, or the latency where that is the limit, with p99 where there is room for p50."""
    if has_latency_headline(result):
        yield f"latency {median_words(result)} ({median_interval_words(result)})"
        yield rate_words(result)
        if "p50" in quantiles and result.latency_ns.p99 is not None:
            yield f"p99 {percentile_words(result, 'p99', result.latency_ns.p99)}"
    else:
        yield rate_words(result)
        yield from _schedule(result)
        yield from _spread(result, quantiles)


def _placed(results: Sequence[Result]) -> Iterator[str]:
    """Place the only number among those of its class, where the facts show the class."""
    measured = [result for result in results if result.ops]
    if len(measured) == 1 and (place := measured[0].placement) is not None and place.device_class is not None:
        yield f"{place.text[:1].upper()}{place.text[1:]}."


def _not_usable(result: Result) -> str:
    """Print a number that must not be used, why, and what to do."""
    number = "no rate" if result.iops is None else rate(*headline(result))
    return f"{number}, not usable: {result.trust.reasons[0].text}. {_cure(result)}".rstrip()


def _cure(result: Result) -> str:
    """Give what to do about the first reason of a doubt: the first clause of its finding's cure."""
    reason = result.trust.reasons[0]
    cure = next((one.cure for one in result.findings if reason_of(one) == reason and one.cure), "")
    first, is_more, _ = cure.replace("; ", ". ").partition(". ")
    return f"{first}." if is_more else cure


def _counted(results: Sequence[Result]) -> Iterator[str]:
    trusted = sum(result.trusted for result in results)
    weak = sum(result.trust.level is TrustLevel.WEAK for result in results)
    others = len(results) - trusted - weak
    yield f"{len(results):,} results: {trusted:,} trusted, {weak:,} weak, {others:,} not usable."


def _schedule(result: Result) -> Iterator[str]:
    if result.schedule is not None:
        did = "kept up with" if result.schedule.verdict is ScheduleVerdict.KEPT_UP else "fell behind"
        yield f"{did} {format_number(result.schedule.rate_per_s)}/s"


def _spread(result: Result, names: Sequence[str]) -> Iterator[str]:
    """Give percentiles as far as they are known: of an open loop those of the response."""
    name, spread = ("response", result.response_ns) if result.response_ns else ("latency", result.latency_ns)
    known = [
        f"{each} {percentile_words(result, each, ns)}" for each in names if (ns := getattr(spread, each)) is not None
    ]
    if known:
        yield f"{name} {', '.join(known)}"


def _whole(document: Document) -> Iterator[str]:
    """Describe findings on the whole run."""
    for finding in document.findings:
        if finding.id == _MEMORY_RUN:
            yield "Served by memory: these rates do not describe the storage."


def _limited(results: Sequence[Result], columns: int | None) -> Iterator[str]:
    """Name as many limiters as a line has room for; the table has that of each row."""
    by_limit: dict[str, list[int]] = {}
    for row, result in enumerate(results, start=1):
        if is_usable(result) and result.iops is not None and (words := limit_words(result)):
            by_limit.setdefault(words, []).append(row)
    if by_limit:
        lines = [f"Limited by {_by_rows(by_limit, most)}." for most in range(_MOST_LIMITS, 0, -1)]
        yield next((line for line in lines if columns is None or len(line) <= columns), lines[-1])


def _distrust(results: Sequence[Result], *, is_each_shown: bool, mark: str) -> Iterator[str]:
    """List results that are not usable with cause and cure, then the weak ones: in full, then shorter and shorter."""
    by_reason: dict[str, list[int]] = {}
    cures: dict[str, str] = {}
    weak = []
    for row, result in enumerate(results, start=1):
        if result.trust.level is TrustLevel.NO and not is_each_shown:
            reason = result.trust.reasons[0].id.replace("-", " ")
            by_reason.setdefault(reason, []).append(row)
            cures.setdefault(reason, _cure(result))
        elif result.trust.level is TrustLevel.WEAK:
            weak.append(row)
    unusable, cure, shortest = "", "", ""
    if by_reason:
        commonest = max(by_reason, key=lambda reason: len(by_reason[reason]))
        unusable, cure = f"{mark}Not usable: {_by_rows(by_reason, _MOST_REASONS)}.", cures[commonest]
        shortest = f"{mark}Not usable: {sum(map(len, by_reason.values()))} of {len(results)} rows."
    of_weak, why = "", ""
    if weak:
        reasons = {result.trust.reasons[0].text for result in results if result.trust.level is TrustLevel.WEAK}
        of_weak = f"Weak: {rows_words(weak, 'row ' if len(weak) == 1 else 'rows ')}."
        why = f"{of_weak[:-1]} ({reasons.pop()})." if len(reasons) == 1 else ""
    for parts in (
        (unusable, cure, why or of_weak),
        (unusable, cure, of_weak),
        (unusable, of_weak),
        (shortest, of_weak),
    ):
        yield " ".join(part for part in parts if part)


def _by_rows(found: Mapping[str, Sequence[int]], most: int) -> str:
    """Write `the device (rows 1-3), one CPU (4)`: what concerns the most rows first, the rest counted."""
    ranked = sorted(found.items(), key=lambda pair: -len(pair[1]))
    named = [f"{what} ({rows_words(rows, 'row ' if len(rows) == 1 else 'rows ')})" for what, rows in ranked[:1]]
    named += [f"{what} ({rows_words(rows)})" for what, rows in ranked[1:most]]
    others = sum(len(rows) for _, rows in ranked[most:])
    return ", ".join(named) + (f", others ({others} rows)" if others else "")
