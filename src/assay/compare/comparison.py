"""By how much is B better than A, result by result, and may that be said at all?

A result is compared where every run of both sides has it. There is a winner only between numbers of the same thing
(storage, page cache, write-back ...; flushed or absorbed), of runs that may be trusted, from three runs of each on, and by
more than what matters (`effect`). Runs that are not to be trusted are left out and named where three of each are left.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from assay.analysis import thresholds
from assay.analysis.statistics.beta import student_quantile
from assay.analysis.statistics.ratio import Ratio, ratio_between, runs_needed, spread
from assay.compare.arms import IOPS, P99, SECONDS, THROUGHPUT, Arm, Metric, Sample, began_utc
from assay.results import STREAMING_BYTES_PER_OP, Part, Result
from assay.verdicts import ComparisonVerdict

SCHEMA = "assay.comparison/1"
DEFAULT_EFFECT = 0.03
"""Difference that matters where the user does not say (METHOD 2.4)."""
LEAST_LEFT = 3
"""Runs of a side that are left when the others are left out."""
DRIFT = 0.03
"""Change of a rate over the whole session from where on it is told (METHOD 2.4)."""


class Side(Part, frozen=True, kw_only=True):
    """The values of one side."""

    values: tuple[float, ...]
    """A value a run that counts, in the order of time; rates a second, latencies in nanoseconds."""
    median: float | None
    measures: tuple[str, ...]
    """What they are numbers of, with what became of writes: one word where all runs agree."""
    left_out: tuple[str, ...]
    """Runs that are not to be trusted."""


class Row(Part, frozen=True, kw_only=True):
    """One number of one result, of B held against A."""

    label: str
    title: str
    metric: str
    unit: str
    a: Side
    b: Side
    ratio: float | None
    """B by A; null: the two are not comparable."""
    interval: tuple[float, float] | None
    """At 95 % confidence; null: so few runs have none."""
    range: tuple[float, float] | None
    """The least and the largest ratio of two runs, where two runs are all that there is."""
    p: float | None
    verdict: ComparisonVerdict
    reason: str
    """Why it is no more than that; empty: nothing to add."""
    runs_needed: int | None
    """Of each side, to tell a difference that matters; null: enough, or nobody can say."""


class Drift(Part, frozen=True, kw_only=True):
    """A result that changed with time, whatever was compared."""

    label: str
    change: float
    """Over all runs, as a share of the rate."""


class Against(Part, frozen=True, kw_only=True):
    """One side held against the first."""

    name: str
    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    """Labels that not all runs of both have."""
    geometric_mean: float | None
    """Of the ratios of rates that are comparable; null: there are none."""
    geometric_mean_of: int
    drifts: tuple[Drift, ...]
    in_turn: bool
    """Whether runs of both took turns, so that what changed with time falls on both."""
    order_known: bool = True
    """Whether it is known when each run began; of foreign runs it may not be."""
    foreign: tuple[str, ...] = ()
    """Sides that Assay did not measure: `A`, `B`. What their numbers are of, nobody judged."""


class Comparison(Part, frozen=True, kw_only=True):
    """What `assay compare --json` prints."""

    schema: str
    effect: float
    a: str
    runs: dict[str, tuple[str, ...]]
    """Ids of the runs of each side."""
    against: tuple[Against, ...]


def compare(arms: Sequence[Arm], effect: float = DEFAULT_EFFECT) -> Comparison:
    """Hold every arm but the first against the first.

    Args:
        arms: Two or more.
        effect: Difference that matters, as a share: 0.03 is 3 %.
    """
    first, *others = arms
    return Comparison(
        schema=SCHEMA,
        effect=effect,
        a=first.name,
        runs={arm.name: tuple(document.run.id for document in arm.documents) for arm in arms},
        against=tuple(_against(first, other, effect) for other in others),
    )


def _against(a: Arm, b: Arm, effect: float) -> Against:
    of_a, of_b = a.samples(), b.samples()
    order_known = a.is_dated and b.is_dated
    shared = [label for label in of_a if label in of_b]
    rows = tuple(row for label in shared for row in _rows(label, of_a[label], of_b[label], effect))
    rates = [math.log(row.ratio) for row in rows if row.metric in {IOPS.name, THROUGHPUT.name} and row.ratio]
    return Against(
        name=b.name,
        rows=rows,
        missing=tuple(sorted(of_a.keys() ^ of_b.keys())),
        geometric_mean=math.exp(sum(rates) / len(rates)) if rates else None,
        geometric_mean_of=len(rates),
        drifts=tuple(_drifts(shared, of_a, of_b)) if order_known else (),
        in_turn=order_known and _in_turn(a, b),
        order_known=order_known,
        foreign=tuple(name for name, arm in (("A", a), ("B", b)) if arm.is_foreign),
    )


def _rows(label: str, a: Sequence[Sample], b: Sequence[Sample], effect: float) -> Iterator[Row]:
    results = [sample.result for sample in (*a, *b)]
    rate = _rate_of(results)
    for metric in (rate, P99):
        values = [metric.value(result) for result in results]
        if metric is rate or all(value is not None for value in values):
            yield _row(label, metric, a, b, effect)


def _rate_of(results: Sequence[Result]) -> Metric:
    """Choose what is compared: of streams bytes a second, of others operations, of what has no rate the time it took."""
    if all(result.ops is not None and result.bytes is not None for result in results):
        ops, moved = (sum(getattr(result, name) for result in results) for name in ("ops", "bytes"))
        return THROUGHPUT if ops and moved / ops >= STREAMING_BYTES_PER_OP else IOPS
    usual = (THROUGHPUT, IOPS) if any(map(_is_of_data, results)) else (IOPS, THROUGHPUT)
    each = (*usual, SECONDS)
    return next((one for one in each if all(one.value(result) is not None for result in results)), each[0])


def _is_of_data(result: Result) -> bool:
    """Whether bytes a second are what a result without counts is known by."""
    moved, rate = result.throughput_bytes_per_s, result.iops
    return moved is not None and (not rate or moved / rate >= STREAMING_BYTES_PER_OP)


def _row(label: str, metric: Metric, a: Sequence[Sample], b: Sequence[Sample], effect: float) -> Row:
    sides = [_side(metric, samples) for samples in (a, b)]
    one, other = sides
    why = _why_not(one, other, a, b)
    # A ratio of what cannot be compared would be read as one.
    found = None if why else ratio_between(one.values, other.values)
    verdict, reason, needed = ComparisonVerdict.NOT_COMPARABLE, why, None
    if found is not None:
        verdict, reason, needed = _verdict(found, one, other, effect, metric)
    ends = None if found is None or found.low is None or found.high is None else (found.low, found.high)
    return Row(
        label=label,
        title=_title(a[0]) if _title(a[0]) == _title(b[0]) else label,
        metric=metric.name,
        unit=metric.unit,
        a=one,
        b=other,
        ratio=None if found is None else found.ratio,
        interval=ends if found is not None and found.is_interval else None,
        range=ends if found is not None and not found.is_interval else None,
        p=None if found is None else found.p,
        verdict=verdict,
        reason=reason,
        runs_needed=needed,
    )


def _title(sample: Sample) -> str:
    result = sample.result
    return result.title if result.operation in {"", result.phase} else f"{result.title}: {result.operation}"


def _side(metric: Metric, samples: Sequence[Sample]) -> Side:
    usable = [sample for sample in samples if sample.is_usable]
    counted = usable if len(usable) >= min(LEAST_LEFT, len(samples)) else list(samples)
    values = [metric.value(sample.result) for sample in counted]
    known = tuple(value for value in values if value is not None and value > 0)
    return Side(
        values=known,
        median=median(known) if known else None,
        measures=tuple(sorted({_measures(sample) for sample in counted})),
        left_out=tuple(sample.name for sample in samples if sample not in counted),
    )


def _measures(sample: Sample) -> str:
    """Say what a number is a number of; of writes also what became of them."""
    result = sample.result
    kept = f", {result.cache.verdict}" if result.cache.verdict in {"absorbed", "device", "flushed"} else ""
    return result.measures.words + kept


def _why_not(one: Side, other: Side, a: Sequence[Sample], b: Sequence[Sample]) -> str:
    """Say why there can be no winner; empty: there can be."""
    for name, side, samples in (("A", one, a), ("B", other, b)):
        if not side.values:
            return f"{name} has no such number"
        doubtful = [sample for sample in samples if not sample.is_usable and sample.name not in side.left_out]
        if doubtful:
            reasons = ", ".join(reason.text for reason in doubtful[0].result.trust.reasons[:1])
            return f"{name} is not to be trusted in {len(doubtful)} of {len(samples)} runs: {reasons}"
    if any(sample.is_foreign for sample in (*a, *b)):  # what their numbers are of is not known, and said once for all
        return ""
    if one.measures != other.measures:
        return f"A is of {' and '.join(one.measures)}, B of {' and '.join(other.measures)}"
    if len(one.measures) > 1:
        return f"its runs are of different things: {' and '.join(one.measures)}"
    return ""


def _verdict(
    found: Ratio, one: Side, other: Side, effect: float, metric: Metric
) -> tuple[ComparisonVerdict, str, int | None]:
    """Judge a ratio by its interval (METHOD 2.4)."""
    fewer = min(len(one.values), len(other.values))
    if not found.is_interval or found.low is None or found.high is None:
        runs = "a single run" if fewer == 1 else f"{fewer} runs"
        return ComparisonVerdict.INDICATIVE, f"{runs} of a side: nobody knows what the next would give", None
    better, worse = ComparisonVerdict.BETTER, ComparisonVerdict.WORSE
    if found.low > 1 + effect:
        return (better if metric.higher_is_better else worse), "", None
    if found.high < 1 - effect:
        return (worse if metric.higher_is_better else better), "", None
    if found.low >= 1 - effect and found.high <= 1 + effect:
        differs = found.low > 1 or found.high < 1
        return (ComparisonVerdict.DIFFERENT_SMALL if differs else ComparisonVerdict.EQUIVALENT), "", None
    cv = spread(one.values, other.values)
    needed = None if cv is None else max(runs_needed(cv, effect), fewer + 1)
    more = "" if needed is None else f"; about {needed - fewer} more runs of each would tell"
    says = "larger" if found.low > 1 else "smaller" if found.high < 1 else ""
    reason = f"B is {says}, whether by {100 * effect:g} % is open{more}" if says else f"the interval holds both{more}"
    return ComparisonVerdict.INCONCLUSIVE, reason, needed


# -- what time does -----------------------------------------------------------------------------------------------------


def _in_turn(a: Arm, b: Arm) -> bool:
    """Whether some run of one began between two of the other."""
    order = sorted(
        [(began_utc(document), 0) for document in a.documents] + [(began_utc(document), 1) for document in b.documents]
    )
    return len(list(itertools.groupby(order, key=lambda begun: begun[1]))) > 2


def _drifts(labels: Sequence[str], a: dict[str, list[Sample]], b: dict[str, list[Sample]]) -> Iterator[Drift]:
    """Regress the logarithm of the rate on the order of the runs, with a level for each side.

    Told is a change beyond `DRIFT` over all runs whose 95 % interval excludes none at all.
    """
    for label in labels:
        begun = sorted(
            [(s.started_utc, s.result.repeat, 0, IOPS.value(s.result)) for s in a[label] if s.is_usable]
            + [(s.started_utc, s.result.repeat, 1, IOPS.value(s.result)) for s in b[label] if s.is_usable],
            key=lambda one: one[:3],
        )
        rated = [(side, rate) for *_, side, rate in begun if rate]
        n = len(rated)
        free = n - 3
        if free < LEAST_LEFT or len({side for side, _ in rated}) < 2:
            continue
        logs = np.array([math.log(rate) for _, rate in rated])
        design = np.array([[1.0, float(side), i / (n - 1)] for i, (side, _) in enumerate(rated)])
        if np.linalg.matrix_rank(design) < 3:
            continue
        fit = np.linalg.lstsq(design, logs, rcond=None)[0]
        rest = logs - design @ fit
        error = math.sqrt(float(rest @ rest) / free * float(np.linalg.inv(design.T @ design)[2, 2]))
        change = float(fit[2])
        if abs(change) > max(DRIFT, student_quantile(0.5 + thresholds.CONFIDENCE / 2, free) * error):
            yield Drift(label=label, change=math.expm1(change))
