"""Assess a sentence by measured runs.

    [LABEL:] METRIC of SIDE is at least 10,000 IOPS       LABEL: pattern of the results' labels; all that are left out
    [LABEL:] METRIC of SIDE is 10 % faster than SIDE      METRIC: rate, throughput, iops, p50, p90, p99, p99.9

A side is what `assay compare` takes: a run, several with commas, `tag:NAME`. A comparison is that of `assay compare`, with
its interval. A value has the interval of the runs: of three and more Student's, of the logarithms; of one that of its own
window, which has nothing of what differs between runs. Numbers that are not trusted decide nothing; nor do those of
something else than what is claimed: of storage where a sentence has no `from page cache` or `as measured`.
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
from assay.claims.accepted import of_all
from assay.claims.against_tables import Meant, figure, span
from assay.claims.assessed import AssessedSentence, Computed, ends, undecided
from assay.claims.sentence import Proportion, Sentence, StatedValue
from assay.claims.stated_units import Dimension
from assay.compare.arms import IOPS, P99, THROUGHPUT, Arm, Metric, Sample
from assay.compare.comparison import Row, compare
from assay.results import Estimate, Result
from assay.verdicts import ComparisonVerdict, ServedBy

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
    is_by_user: bool = False
    """Whether the user named the side, and not the file: that may be a path."""


def of_runs(sentence: Sentence, usual: str) -> OfRuns | None:
    """Name the runs a sentence is about; None: it is about tables.

    Args:
        sentence: What is claimed.
        usual: The side that is meant where none is named.
    """
    if found := _LEFT.fullmatch(sentence.left):
        return OfRuns(found["label"] or "*", found["metric"], found["side"] or usual, is_by_user=not found["side"])
    is_of_two = isinstance(sentence.claimed, Proportion) and SIDE.fullmatch(sentence.claimed.right)
    return (
        OfRuns("*", "rate", sentence.left)
        if is_of_two and re.fullmatch(r"last(~\d{1,6})?|tag:\S+", sentence.left)
        else None
    )


def assess(text: str, sentence: Sentence, about: OfRuns, runs: GatherRuns, meant: Meant) -> AssessedSentence:
    """Assess a sentence; raises AssayError where its runs are not there."""
    if not about.is_by_user and not SIDE.fullmatch(about.side):
        return undecided(text, f"'{about.side[:40]}' names no run")
    if isinstance(sentence.claimed, StatedValue):
        found = assess_amounts(sentence, about, runs(about.side))
    else:
        right = re.sub(rf"^{re.escape(about.metric)}\s+of\s+", "", sentence.claimed.right)
        if not SIDE.fullmatch(right):
            return undecided(text, f"'{right[:40]}' names no run to compare with")
        arms = [runs(right), runs(about.side)]
        if arms[0].documents == arms[1].documents:
            return undecided(text, "both sides are the same runs")
        found = _proportions(sentence, sentence.claimed, about, arms, meant)
    verdict = of_all(one.verdict for one in found)
    telling = next(one for one in found if one.verdict is verdict)
    reason = telling.reason if len(found) == 1 else f"{telling.says}: {telling.reason} (1 of {len(found)} results)"
    return AssessedSentence(says=text, verdict=verdict, reason=reason, computed=telling.computed)


# -- a value -----------------------------------------------------------------------------------------------------------


def assess_amounts(sentence: Sentence, about: OfRuns, arm: Arm) -> list[AssessedSentence]:
    """Assess each result that a sentence of a value is about; one that explains why there is none, where there is none."""
    amount = sentence.claimed
    if not isinstance(amount, StatedValue):
        raise TypeError("a sentence of a value")
    metric = _metric(about.metric, amount)
    if metric is None:
        return [
            undecided("", "a rate is in MiB/s or IOPS, a percentile in a unit of time: the number has another unit")
        ]
    of_labels = arm.samples()
    found = [
        _of_label(label, metric, samples, sentence, amount)
        for label, samples in of_labels.items()
        if fnmatchcase(label, about.label) and any(metric.value(sample.result) is not None for sample in samples)
    ]
    known = ", ".join(sorted(of_labels))
    return found or [undecided("", f"no result '{about.label}' has a {metric.name}; there are {known[:200]}")]


def _metric(name: str, amount: StatedValue) -> Metric | None:
    """Choose the number that has the unit of the claim; None: there is none."""
    dimension = None if amount.unit is None else amount.unit.dimension
    if name in _PERCENTILES:
        return _PERCENTILES[name] if dimension is Dimension.TIME else None
    for metric in (THROUGHPUT, IOPS):
        if name in {"rate", metric.name} and dimension is _DIMENSIONS[metric.name]:
            return metric
    return IOPS if name == IOPS.name and dimension is None else None


def _of_label(
    label: str, metric: Metric, samples: Sequence[Sample], sentence: Sentence, amount: StatedValue
) -> AssessedSentence:
    usable = [sample for sample in samples if sample.is_usable]
    if not usable:
        reasons = samples[0].result.trust.reasons
        return undecided(label, f"its number is not trusted: {reasons[0].text if reasons else 'no reason is kept'}")
    if (why := _of_another(usable, sentence)) is not None:
        return undecided(label, why)
    values = [value for sample in usable if (value := metric.value(sample.result)) is not None and value > 0]
    if len(values) < len(usable):
        return undecided(label, f"not every run has a {metric.name} above 0")
    factors, unit = _in_unit(metric, amount)
    between = _interval(metric, usable, values)
    shown = Computed(
        what=f"{metric.name} of {label}",
        values=(math.exp(fmean(map(math.log, values))) / factors[0],),
        unit=unit,
        interval=None if between is None else (between[0] / factors[0], between[1] / factors[0]),
        accepted=ends(amount.accepted),
    )
    measured = f"{_runs(values)}: {figure(shown.values[0])} {unit}"
    if between is None:
        return undecided(label, f"{measured}, without an interval: three runs or repeats give one", shown)
    verdicts = {amount.accepted.verdict(between[0] / factor, between[1] / factor) for factor in factors}
    if len(verdicts) > 1:
        return undecided(label, f"{unit} may count in 1000s or 1024s, and the verdict turns on it", shown)
    low, high = (figure(end / factors[0]) for end in between)
    reason = f"{measured} ({low} to {high}), of {usable[0].result.measures.words}; required: {span(amount.accepted)}"
    left_out = len(samples) - len(usable)
    if left_out:
        reason += f"; {left_out} left out, not trusted"
    return AssessedSentence(says=label, verdict=verdicts.pop(), reason=reason, computed=shown)


def _in_unit(metric: Metric, amount: StatedValue) -> tuple[tuple[float, ...], str]:
    """Give what a number is divided by to be in the unit of the claim, and its name."""
    if amount.unit is None:
        return (1.0,), metric.unit
    scale = 1e9 if amount.unit.is_time else 1.0
    return tuple(scale * factor for factor in amount.unit.factors), amount.unit.name


def _of_another(samples: Sequence[Sample], sentence: Sentence) -> str | None:
    """Report that the numbers are of something else than is claimed; None: they are of that."""
    if sentence.is_as_measured:
        return None
    wanted = sentence.served or ServedBy.STORAGE
    measured = {sample.result.measures for sample in samples}
    others = sorted(kind.words for kind in measured - {wanted} if sentence.served or not kind.is_past_memory)
    if not others:
        return None
    cure = "" if sentence.served else "; 'from ...' or 'as measured' at the end accepts it"
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
        of = result.latency_intervals_ns if result.response_ns is None else result.response_intervals_ns
        if of is None:
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


# -- a comparison ------------------------------------------------------------------------------------------------------


def _proportions(
    sentence: Sentence, proportion: Proportion, about: OfRuns, arms: Sequence[Arm], meant: Meant
) -> list[AssessedSentence]:
    """Assess each row that a sentence is about; one that explains why there is none, where there is none."""
    (against,) = compare(arms, meant.effect, headline=about.label).against
    names = {THROUGHPUT.name, IOPS.name} if about.metric == "rate" else {about.metric}
    rows = [row for row in against.rows if row.metric in names and fnmatchcase(row.label, about.label)]
    if not rows:
        known = ", ".join(f"{row.label}: {row.metric}" for row in against.rows)
        why = f"the two have no {about.metric} of '{about.label}' to compare; there are {known[:200] or 'none'}"
        return [undecided("", why)]
    names_of = f"A: {arms[0].name}, B: {arms[1].name}"
    return [_of_row(row, sentence, proportion, meant, names_of) for row in rows]


def _of_row(row: Row, sentence: Sentence, proportion: Proportion, meant: Meant, names: str) -> AssessedSentence:
    ratios = proportion.ratios(is_time=row.metric in _PERCENTILES, alike=meant.effect)
    computed = Computed(
        what=f"{row.label}: {row.metric}, left / right",
        values=() if row.ratio is None else (row.ratio,),
        unit="",
        interval=row.interval,
        accepted=ends(ratios[0]),
    )
    wanted = sentence.served
    measured = {words.split(",", maxsplit=1)[0] for words in (*row.a.measures, *row.b.measures)}
    if wanted is not None and measured != {wanted.words}:
        of = " and ".join(sorted(measured))
        return undecided(row.label, f"the numbers are of {of}, the claim of {wanted.words}", computed)
    if row.interval is None or row.ratio is None:
        return undecided(row.label, f"{row.verdict.words}: {row.reason} ({names})", computed)
    low, high = row.interval
    reason = f"the ratio is {figure(row.ratio)} ({figure(low)} to {figure(high)}); required: {span(ratios[0])}"
    if row.verdict is ComparisonVerdict.DIFFERENT_SMALL:
        reason += f"; {row.verdict.words}"
    verdicts = {one.verdict(low, high) for one in ratios}
    if len(verdicts) > 1:
        return undecided(row.label, f"ambiguous: {reason}", computed)
    return AssessedSentence(says=row.label, verdict=verdicts.pop(), reason=reason, computed=computed)
