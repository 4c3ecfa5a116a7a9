"""Summarise results over their repeats: one row each, with remarks.

Rows of summaries and of results are numbered alike: the results of the first repeat come first, in the order of the
summaries, so that `assay explain RUN 2` explains the second row of either table.
"""

from collections.abc import Iterator, Sequence

import msgspec

from assay.analysis.repeats_by_label import by_label, half_share
from assay.analysis.set_views import sums_of
from assay.report.numbers import RateUnit, rate, rate_unit
from assay.report.titles import titles_of
from assay.results import Document, Estimate, LatencyEstimatesNs, RepeatedNumber, Result, Summary
from assay.units import format_number

METHODS = {
    "mean": "mean of the rounds in the window",
    "single": "of the one repeat that counts",
    "geometric_mean": "geometric mean of the repeats",
    "hodges_lehmann": "median of the geometric means of all pairs of repeats (Hodges-Lehmann)",
}
"""What the typical value is, in words."""


def repeats_of(document: Document) -> list[list[Result]]:
    """Give the repeats of each summary's result, in the order of the summaries."""
    same = by_label(document.results)
    return [same[summary.label] for summary in document.summaries]


def summary_titles(document: Document) -> list[str]:
    """Name summaries as results are named, without the number of a repeat."""
    first: list[Result] = [msgspec.structs.replace(same[0], repeat=0) for same in repeats_of(document)]
    return titles_of(first)


def unit_of(measured: Sequence[Result]) -> RateUnit:
    """Choose the unit of a summary's rate: that of the repeat that moved the most, as one without operations has none."""
    return rate_unit(max(measured, key=lambda result: (result.bytes, result.ops)))


def headline_number(summary: Summary, unit: RateUnit) -> RepeatedNumber:
    """Give the rate that heads a summary; it is a second and not yet in the unit."""
    found = summary.throughput_bytes_per_s if unit.of_bytes else summary.iops
    return found if found is not None else summary.iops


def shown_results(document: Document) -> tuple[Result, ...]:
    """Return the results to print: of several clients their sums, of repeats one per summary."""
    document = sums_of(document)
    if not document.summaries:
        return document.results
    return tuple(map(_typical, document.summaries, repeats_of(document)))


def _typical(summary: Summary, measured: Sequence[Result]) -> Result:
    """Make one result that has the typical rate and percentiles; of a limit only what all repeats that count agree on."""
    counted = [result for result in measured if result.repeat in summary.counted]
    like = counted[0] if counted else measured[0]
    limits = {result.limiter.verdict if result.limiter else None for result in counted}
    iops = summary.iops.value
    throughput = summary.throughput_bytes_per_s.value if summary.throughput_bytes_per_s else None
    percentiles = {"p50": summary.p50_ns.value, "p99": summary.p99_ns.value}
    intervals = LatencyEstimatesNs(p50=summary.p50_ns.interval, p90=None, p99=summary.p99_ns.interval, p99_9=None)
    committed, response, latency = like.committed, like.response_ns, like.latency_ns
    if committed is not None and iops is not None:
        committed = msgspec.structs.replace(committed, iops=iops, throughput_bytes_per_s=throughput)
    if response is not None:
        response = msgspec.structs.replace(response, **percentiles)
    else:
        latency = msgspec.structs.replace(latency, **percentiles)
    return msgspec.structs.replace(
        like,
        repeat=0,
        ops=sum(result.ops for result in measured),
        bytes=sum(result.bytes for result in measured),
        iops=like.iops if committed is not None else iops,
        throughput_bytes_per_s=like.throughput_bytes_per_s if committed is not None else throughput,
        committed=committed,
        iops_interval=_estimate(summary),
        latency_ns=latency,
        response_ns=response,
        latency_intervals_ns=None if summary.is_response else intervals,
        response_intervals_ns=intervals if summary.is_response else None,
        limiter=like.limiter if len(limits) == 1 else None,
        trust=summary.trust,
        trusted=summary.trusted,
    )


def _estimate(summary: Summary) -> Estimate | None:
    number = summary.iops
    half = half_share(number)
    if number.interval is None or half is None:
        return None
    low, high = number.interval
    return Estimate(low=low, high=high, half_share=half, effective=float(len(summary.counted)))


# -- words -------------------------------------------------------------------------------------------------------------

_KINDS = {"left_out": "left out", "weak": "used, but", "stands_out": "used, but an outlier"}


def remarks(summary: Summary, measured: Sequence[Result]) -> Iterator[str]:
    """Describe single repeats: `repeat 3 (9,120 IOPS) left out: 61 % of the I/O is others'`."""
    unit = unit_of(measured)
    rates = dict(zip(summary.repeats, headline_number(summary, unit).values, strict=True))
    for remark in summary.remarks:
        value = rates[remark.repeat]
        shown = "" if value is None else f" ({rate(value / unit.per_unit, unit)})"
        yield f"repeat {remark.repeat + 1}{shown} {_KINDS[remark.kind]}: {remark.text}"


def shown_rates(summary: Summary, measured: Sequence[Result]) -> list[str]:
    """Write the rate of each repeat, those that are left out in brackets."""
    unit = unit_of(measured)
    values = headline_number(summary, unit).values
    texts = [format_number(None if value is None else value / unit.per_unit) for value in values]
    return [
        text if repeat in summary.counted else f"({text})" for repeat, text in zip(summary.repeats, texts, strict=True)
    ]
