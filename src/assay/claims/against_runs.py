"""Does a sentence hold by what runs measured?

    [LABEL:] METRIC of SIDE is at least 10,000 IOPS       LABEL: pattern of the results' labels; all that are left out
    [LABEL:] METRIC of SIDE is 10 % faster than SIDE      METRIC: rate, throughput, iops, p50, p90, p99, p99.9

A side is what `assay compare` takes: a run, several with commas, `tag:NAME`. A comparison is that of `assay compare`, with its
interval. A value has the interval of the runs: of three and more Student's, of the logarithms; of one that which its own
window leaves, where another run like it is expected too. Numbers that are not to be trusted decide nothing; nor do those of
something else than what is claimed: of storage where a sentence does not say `from page cache` or `as measured`.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from statistics import fmean, stdev
from typing import Final

from assay.analysis import thresholds
from assay.analysis.statistics.beta import student_quantile
from assay.claims.accepted import Accepted, of_all
from assay.claims.against_tables import Meant, figure
from assay.claims.judged import Computed, JudgedSentence, ends, undecided
from assay.claims.sentence import Amount, Proportion, Sentence
from assay.claims.stated_units import Dimension
from assay.compare.arms import IOPS, P99, THROUGHPUT, Arm, Metric, Sample
from assay.compare.comparison import compare
from assay.results import Estimate, Result
from assay.verdicts import ServedBy

_LEAST_RUNS: Final = 3
SIDE: Final = re.compile(r"[A-Za-z0-9][\w.:~,-]{0,200}")
"""What a file of claims may call runs: names, ids and tags; no path."""
_LEFT = re.compile(
    r"(?:(?P<label>\S[^:]{0,200}):\s+)?(?P<metric>rate|throughput|iops|p50|p90|p99\.9|p99)(?:\s+of\s+(?P<side>\S+))?"
)

GatherRuns = Callable[[str], Arm]
"""Gathers the runs of a side; raises AssayError where there are none."""


def _percentile(name: str) -> Metric:
    field = name.replace(".", "_")

    def value(result: Result) -> float | None:
        found: float | None = getattr(result.response_ns or result.latency_ns, field)
        return found

    return Metric(name, "ns", value, higher_is_better=False)


_PERCENTILES: Mapping[str, Metric] = {name: _percentile(name) for name in ("p50", "p90", "p99.9")} | {"p99": P99}
_DIMENSIONS = {"throughput": Dimension.THROUGHPUT, "iops": Dimension.RATE}


@dataclasses.dataclass(frozen=True)
class OfRuns:
    """The left side of a sentence about runs."""

    label: str
    """Pattern of labels (fnmatch)."""
    metric: str
    side: str


def of_runs(sentence: Sentence, usual: str) -> OfRuns | None:
    """Say which runs a sentence is about; None: it is about tables.

    Args:
        sentence: What is claimed.
        usual: The side that is meant where none is named.
    """
    if found := _LEFT.fullmatch(sentence.left):
        return OfRuns(found["label"] or "*", found["metric"], found["side"] or usual)
    is_of_two = isinstance(sentence.says, Proportion) and SIDE.fullmatch(sentence.says.right)
    return OfRuns("*", "rate", sentence.left) if is_of_two and re.fullmatch(r"last(~\d{1,6})?|tag:\S+", sentence.left) else None


def judge(says: str, sentence: Sentence, about: OfRuns, runs: GatherRuns, meant: Meant) -> JudgedSentence:
    """Judge a sentence; raises AssayError where its runs are not there."""
    if not SIDE.fullmatch(about.side):
        return undecided(says, f"'{about.side[:40]}' names no run")
    arm = runs(about.side)
    if isinstance(sentence.says, Amount):
        return _amount(says, sentence, sentence.says, about, arm)
    right = re.sub(rf"^{re.escape(about.metric)}\s+of\s+", "", sentence.says.right)
    if not SIDE.fullmatch(right):
        return undecided(says, f"'{right[:40]}' names no run to hold it against")
    if right == about.side:
        return undecided(says, "both sides are the same runs")
    return _proportion(says, sentence, sentence.says, about, (arm, runs(right)), meant)


# -- a value -----------------------------------------------------------------------------------------------------------


def _amount(says: str, sentence: Sentence, amount: Amount, about: OfRuns, arm: Arm) -> JudgedSentence:
    metric = _metric(about.metric, amount)
    if metric is None:
        return undecided(says, "a rate is in MiB/s or IOPS, a percentile in a unit of time: the number has another unit")
    factors = (1.0,) if amount.unit is None else amount.unit.factors
    if amount.unit is not None and amount.unit.is_time:
        factors = (factors[0] * 1e9,)
    found = []
    for label, samples in arm.samples().items():
        if fnmatchcase(label, about.label) and any(metric.value(sample.result) is not None for sample in samples):
            found.append(_of_label(label, metric, samples, sentence, amount, factors))
    if not found:
        known = ", ".join(sorted(arm.samples()))
        return undecided(says, f"no result '{about.label}' has a {metric.name}; there are {known[:200]}")
    verdict = of_all(one.verdict for one in found)
    telling = next(one for one in found if one.verdict is verdict)
    reason = telling.reason if len(found) == 1 else f"{telling.says}: {telling.reason} (1 of {len(found)} results)"
    return JudgedSentence(says=says, verdict=verdict, reason=reason, computed=telling.computed)


def _metric(name: str, amount: Amount) -> Metric | None:
    """Choose the number that has the unit of the claim; None: there is none."""
    dimension = None if amount.unit is None else amount.unit.dimension
    if name in _PERCENTILES:
        return _PERCENTILES[name] if dimension is Dimension.TIME else None
    for metric in (THROUGHPUT, IOPS):
        if name in {"rate", metric.name} and dimension is _DIMENSIONS[metric.name]:
            return metric
    return IOPS if name == IOPS.name and dimension is None else None


def _of_label(
    label: str,
    metric: Metric,
    samples: Sequence[Sample],
    sentence: Sentence,
    amount: Amount,
    factors: tuple[float, ...],
) -> JudgedSentence:
    usable = [sample for sample in samples if sample.is_usable]
    if not usable:
        reasons = samples[0].result.trust.reasons
        return undecided(label, f"its number is not to be trusted: {reasons[0].text if reasons else 'no reason is kept'}")
    if (why := _of_another(usable, sentence)) is not None:
        return undecided(label, why)
    values = [value for sample in usable if (value := metric.value(sample.result)) is not None and value > 0]
    if len(values) < len(usable):
        return undecided(label, f"not every run has a {metric.name} above 0")
    between = _interval(metric, usable, values)
    middle = math.exp(fmean(map(math.log, values)))
    unit = metric.unit if amount.unit is None else amount.unit.name
    shown = Computed(
        what=f"{metric.name} of {label}",
        values=(middle / factors[0],),
        unit=unit,
        interval=None if between is None else (between[0] / factors[0], between[1] / factors[0]),
        accepted=ends(amount.accepted),
    )
    if between is None:
        return undecided(label, f"{_runs(values)}, {figure(shown.values[0])} {unit}, without an interval", shown)
    verdicts = {amount.accepted.verdict(between[0] / factor, between[1] / factor) for factor in factors}
    if len(verdicts) > 1:
        return undecided(label, f"{unit} may count in 1000s or 1024s, and the verdict turns on it", shown)
    verdict = verdicts.pop()
    low, high = (figure(end / factors[0]) for end in between)
    reason = f"{_runs(values)}: {figure(shown.values[0])} {unit} ({low} to {high}), of {usable[0].result.measures.words}"
    return JudgedSentence(
        says=label, verdict=verdict, reason=f"{reason}; true would be {_span(amount.accepted)}", computed=shown
    )


def _of_another(samples: Sequence[Sample], sentence: Sentence) -> str | None:
    """Say that the numbers are of something else than is claimed; None: they are of that."""
    if sentence.is_as_measured:
        return None
    wanted = sentence.served or ServedBy.STORAGE
    others = sorted({sample.result.measures.words for sample in samples if sample.result.measures is not wanted})
    if not others:
        return None
    cure = "" if sentence.served else "; 'from ...' or 'as measured' at the end of the sentence says what is meant"
    return f"the number is of {' and '.join(others)}, the claim of {wanted.words}{cure}"


def _interval(metric: Metric, samples: Sequence[Sample], values: Sequence[float]) -> tuple[float, float] | None:
    """Give the 95 % interval of a value; None: nothing gives one."""
    if len(values) >= _LEAST_RUNS:
        logs = [math.log(value) for value in values]
        t = student_quantile(0.5 + thresholds.CONFIDENCE / 2, len(logs) - 1)
        half = t * stdev(logs) / math.sqrt(len(logs))
        return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)
    own = [_own_interval(metric, sample.result) for sample in samples]
    known = [between for between in own if between is not None]
    if len(known) < len(samples):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _own_interval(metric: Metric, result: Result) -> tuple[float, float] | None:
    """Give the interval that the window of one run leaves."""
    if metric.name in _PERCENTILES:
        of = result.latency_intervals_ns
        # It is that of service times; response times have none.
        if of is None or result.response_ns is not None:
            return None
        found: tuple[float, float] | None = getattr(of, metric.name.replace(".", "_"))
        return found
    estimate: Estimate | None = result.iops_interval
    if estimate is None or not result.iops or result.committed is not None:
        return None
    each = 1.0 if metric.name == IOPS.name else (result.throughput_bytes_per_s or 0.0) / result.iops
    return estimate.low * each, estimate.high * each


def _runs(values: Sequence[float]) -> str:
    return "one run" if len(values) == 1 else f"{len(values)} runs"


def _span(values: Accepted) -> str:
    if math.isinf(values.high):
        return f"{figure(values.low)} and more"
    return f"up to {figure(values.high)}" if math.isinf(values.low) else f"{figure(values.low)} to {figure(values.high)}"


# -- a comparison ------------------------------------------------------------------------------------------------------


def _proportion(
    says: str, sentence: Sentence, proportion: Proportion, about: OfRuns, sides: tuple[Arm, Arm], meant: Meant
) -> JudgedSentence:
    left, right = sides
    (against,) = compare([right, left], meant.effect).against
    names = {THROUGHPUT.name, IOPS.name} if about.metric == "rate" else {about.metric}
    rows = [row for row in against.rows if row.metric in names and fnmatchcase(row.label, about.label)]
    if not rows:
        known = ", ".join(f"{row.label}: {row.metric}" for row in against.rows)
        return undecided(says, f"the two have no {about.metric} of '{about.label}' in common; there are {known[:200]}")
    found = []
    for row in rows:
        ratios = proportion.ratios(is_time=row.metric in _PERCENTILES, alike=meant.effect)
        computed = Computed(
            what=f"{row.label}: {row.metric} of {about.side} / {right.name}",
            values=() if row.ratio is None else (row.ratio,),
            unit="",
            interval=row.interval,
            accepted=ends(ratios[0]),
        )
        wanted = sentence.served
        measured = {words.split(",", maxsplit=1)[0] for words in (*row.a.measures, *row.b.measures)}
        if wanted is not None and measured != {wanted.words}:
            of = " and ".join(sorted(measured))
            found.append(undecided(row.label, f"the numbers are of {of}, the claim of {wanted.words}", computed))
        elif row.interval is None or row.ratio is None:
            found.append(undecided(row.label, f"{row.verdict.words}: {row.reason}", computed))
        else:
            low, high = row.interval
            verdicts = {one.verdict(low, high) for one in ratios}
            reason = (
                f"the ratio is {figure(row.ratio)} ({figure(low)} to {figure(high)}), {row.verdict.words};"
                f" true would be {_span(ratios[0])}"
            )
            verdict = verdicts.pop() if len(verdicts) == 1 else None
            found.append(
                undecided(row.label, f"it depends on how it is meant: {reason}", computed)
                if verdict is None
                else JudgedSentence(says=row.label, verdict=verdict, reason=reason, computed=computed)
            )
    verdict = of_all(one.verdict for one in found)
    telling = next(one for one in found if one.verdict is verdict)
    reason = telling.reason if len(found) == 1 else f"{telling.says}: {telling.reason} (1 of {len(found)} results)"
    return JudgedSentence(says=says, verdict=verdict, reason=reason, computed=telling.computed)
