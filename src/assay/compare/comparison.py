"""Compare B with A, result by result: ratio, interval, verdict, and reasons against a verdict.

A result is compared where every run of both sides has it. There is a winner only between numbers of the same thing
(storage, page cache, write-back ...; flushed or absorbed), of runs that may be trusted, from three runs of each on, and by
more than what matters (`effect`). Runs that are not trusted are left out and named where three of each are left.

All rows of a comparison are tested together (Benjamini and Hochberg 1995): of the rows called better or worse, at most 5 %
are expected to be so by chance. The p-value is that of the t test of the logarithms: with five runs a rank test has none
below 0.008, too large for any single row of 20. Rows that match `headline` are tested apart from the others.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median
from types import MappingProxyType

import msgspec
import numpy as np

from assay.analysis import repeats, thresholds
from assay.analysis.statistics.beta import student_quantile
from assay.analysis.statistics.moderated import adjusted
from assay.analysis.statistics.ratio import (
    LEAST_PAIRED,
    Ratio,
    p_by_t,
    p_of_pairs_by_t,
    ratio_between,
    ratio_of_pairs,
    runs_needed,
    spread,
    spread_of_pairs,
)
from assay.compare.arms import IOPS, P99, THROUGHPUT, Arm, Metric, Sample, began_utc, rate_metric
from assay.compare.run_means import run_means
from assay.compare.surfaces.surface import ComparedSurface
from assay.results import Part
from assay.verdicts import ComparisonVerdict

SCHEMA = "assay.comparison/1"
DEFAULT_EFFECT = 0.03
"""Default of the difference that matters (METHOD 2.4)."""
LEAST_LEFT = 3
"""Runs of a side that are left when the others are left out."""
DRIFT = 0.03
"""Change of a rate over the whole session from where on it is reported (METHOD 2.4)."""


class Side(Part, frozen=True, kw_only=True):
    """The values of one side."""

    values: tuple[float, ...]
    """A value a run that counts, in the order of time; rates a second, latencies in nanoseconds."""
    median: float | None
    measures: tuple[str, ...]
    """What they are numbers of, with what became of writes: one word where all runs agree."""
    left_out: tuple[str, ...]
    """Runs that are not trusted."""
    runs: tuple[str, ...] = ()
    """Which run each value is of; `ID#2` is the second repeat of a run."""
    remarks: tuple[str, ...] = ()
    """Remarks on single runs: left out, disturbed, or an outlier."""


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
    """Runs needed per side to detect a difference that matters; null: enough, or unknown."""
    pairs: int
    """Rounds whose two runs were compared with each other; 0: the runs of a side were compared with all of the other."""
    p_together: float | None = None
    """p-value of the t test of the logarithms, adjusted for all rows tested together; null: a side has a single run."""


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
    geometric_mean_interval: tuple[float, float] | None = None
    """At 95 % confidence, by how runs differ from each other; null: fewer than three runs of a side."""
    surfaces: tuple[ComparedSurface, ...] = ()
    """File size by record size, a test each; a result that is a cell of one is assessed among all of its cells there."""
    order_known: bool = True
    """Whether it is known when each run began; of foreign runs it may not be."""
    foreign: tuple[str, ...] = ()
    """Sides that Assay did not measure: `A`, `B`. What served their results is unknown."""


class Comparison(Part, frozen=True, kw_only=True):
    """What `assay compare --json` prints."""

    schema: str
    effect: float
    a: str
    runs: dict[str, tuple[str, ...]]
    """Ids of the runs of each side."""
    against: tuple[Against, ...]
    clients: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Of how many clients the sums of each side are; sides whose runs are of one client each are not in it."""
    own_left_out: int = 0
    """Results of single clients, which are in no comparison: sums are compared."""
    tested_together: int = 0
    """Rows whose `p_together` are adjusted for each other; those of the headline are not among them."""
    headline: str | None = None
    """Pattern of the labels that are tested apart from the others; null: all rows are tested together."""


def compare(
    arms: Sequence[Arm],
    effect: float = DEFAULT_EFFECT,
    unconfirmed: Mapping[str, Collection[str]] = MappingProxyType({}),
    headline: str | None = None,
) -> Comparison:
    """Hold every arm but the first against the first.

    Args:
        arms: Two or more.
        effect: Difference that matters, as a share: 0.03 is 3 %.
        unconfirmed: Labels of results of which some runs were shown to be disturbed, by the side that the first is held
            against: they are in no mean of ratios, and not used to find drift.
        headline: Pattern of labels (fnmatch) that are tested apart from the others.
    """
    first, *others = arms
    found = [_against(first, other, effect, unconfirmed.get(other.name, ())) for other in others]
    return Comparison(
        schema=SCHEMA,
        effect=effect,
        a=first.name,
        runs={arm.name: tuple(document.run.id for document in arm.documents) for arm in arms},
        against=tuple(_together(found, headline)),
        tested_together=sum(_is_tested(row) and not _is_named(row, headline) for each in found for row in each.rows),
        headline=headline,
        clients={arm.name: arm.clients for arm in arms if arm.clients},
        own_left_out=sum(arm.own_left_out for arm in arms),
    )


def _against(a: Arm, b: Arm, effect: float, unconfirmed: Collection[str]) -> Against:
    of_a, of_b = a.samples(), b.samples()
    order_known = a.is_dated and b.is_dated
    shared = [label for label in of_a if label in of_b]
    rounds = in_rounds(a, b)
    terms = _Terms(effect, rounds)
    rows = tuple(row for label in shared for row in _rows(label, of_a[label], of_b[label], terms))
    sound = [label for label in shared if label not in unconfirmed]
    rates = [row for row in rows if row.metric in {IOPS.name, THROUGHPUT.name} and row.ratio and row.label in sound]
    means = run_means([by_run(row.a) for row in rates], [by_run(row.b) for row in rates], rounds=rounds)
    mean = None if means is None else means.ratio
    return Against(
        name=b.name,
        rows=rows,
        missing=tuple(sorted(of_a.keys() ^ of_b.keys())),
        geometric_mean=None if mean is None else mean.ratio,
        geometric_mean_of=len(rates),
        geometric_mean_interval=None if mean is None else interval_of(mean),
        drifts=tuple(_drifts(sound, of_a, of_b)) if order_known else (),
        in_turn=order_known and _in_turn(a, b),
        order_known=order_known,
        foreign=tuple(name for name, arm in (("A", a), ("B", b)) if arm.is_foreign),
    )


# -- many rows ----------------------------------------------------------------------------------------------------------


def _is_tested(row: Row) -> bool:
    return row.p_together is not None


def _is_named(row: Row, headline: str | None) -> bool:
    return headline is not None and fnmatchcase(row.label, headline)


def _together(found: Sequence[Against], headline: str | None) -> Iterator[Against]:
    """Adjust p-values within each family of rows, and withdraw the verdicts that may be chance."""
    tested = [row for each in found for row in each.rows if _is_tested(row)]
    adjusted_rows: dict[int, Row] = {}
    for is_named in (False, True):
        family = [row for row in tested if _is_named(row, headline) is is_named]
        for row, p in zip(family, adjusted([row.p_together or 0.0 for row in family]), strict=True):
            adjusted_rows[id(row)] = _adjusted_row(row, p, len(family))
    for each in found:
        yield msgspec.structs.replace(each, rows=tuple(adjusted_rows.get(id(row), row) for row in each.rows))


def _adjusted_row(row: Row, p: float, count: int) -> Row:
    row = msgspec.structs.replace(row, p_together=p)
    if p <= thresholds.FALSE_MARKS or count == 1:
        return row
    match row.verdict:
        case ComparisonVerdict.BETTER | ComparisonVerdict.WORSE:
            reason = f"{row.verdict.words} alone, but not significant among {count} rows tested together (p {p:.2g})"
            return msgspec.structs.replace(row, verdict=ComparisonVerdict.INCONCLUSIVE, reason=reason)
        case ComparisonVerdict.DIFFERENT_SMALL:
            return msgspec.structs.replace(row, verdict=ComparisonVerdict.EQUIVALENT)
    return row


def by_run(side: Side) -> dict[str, float]:
    """Give the logarithm of the value of each run."""
    return {run: math.log(value) for run, value in zip(side.runs, side.values, strict=True)}


def interval_of(found: Ratio) -> tuple[float, float] | None:
    """Give the ends of an interval at 95 % confidence, where it is one."""
    return (found.low, found.high) if found.is_interval and found.low is not None and found.high is not None else None


Rounds = Sequence[tuple[str, str]]
"""Ids of the two runs of each round, where runs took turns."""


@dataclass(frozen=True)
class _Terms:
    """What a result is compared by."""

    effect: float
    rounds: Rounds


def _rows(label: str, a: Sequence[Sample], b: Sequence[Sample], terms: _Terms) -> Iterator[Row]:
    results = [sample.result for sample in (*a, *b)]
    rate = rate_metric(results)
    for metric in (rate, P99):
        values = [metric.value(result) for result in results]
        if metric is rate or all(value is not None for value in values):
            yield _row(label, metric, a, b, terms)


def _row(label: str, metric: Metric, a: Sequence[Sample], b: Sequence[Sample], terms: _Terms) -> Row:
    sides = [_side(metric, samples) for samples in (a, b)]
    one, other = sides
    why = _why_not(one, other, a, b)
    # A ratio of what cannot be compared would be read as one.
    pairs = () if why else _pairs(one, other, terms.rounds)
    found = None if why else ratio_of_pairs(pairs) if pairs else ratio_between(one.values, other.values)
    verdict, reason, needed = ComparisonVerdict.NOT_COMPARABLE, why, None
    if found is not None:
        cv = spread_of_pairs(pairs) if pairs else spread(one.values, other.values)
        runs = len(pairs) or min(len(one.values), len(other.values))
        verdict, reason, needed = _verdict(found, runs, cv, terms.effect, metric)
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
        pairs=len(pairs),
        p_together=None if found is None else p_of_pairs_by_t(pairs) if pairs else p_by_t(one.values, other.values),
    )


def _pairs(one: Side, other: Side, rounds: Rounds) -> tuple[tuple[float, float], ...]:
    """Give the two values of each round that has both; none where they are too few to be compared as pairs."""
    of_a, of_b = dict(zip(one.runs, one.values, strict=True)), dict(zip(other.runs, other.values, strict=True))
    pairs = tuple((of_a[first], of_b[second]) for first, second in rounds if first in of_a and second in of_b)
    return pairs if len(pairs) >= LEAST_PAIRED else ()


def _title(sample: Sample) -> str:
    result = sample.result
    return result.title if result.operation in {"", result.phase} else f"{result.title}: {result.operation}"


def counted_of(samples: Sequence[Sample]) -> list[Sample]:
    """Give the samples that count: those that may be trusted and had no company where enough are left, else all."""
    trusted = [sample for sample in samples if sample.is_usable]
    usable = [trusted[i] for i in repeats.undisturbed([sample.result for sample in trusted])]
    return usable if len(usable) >= min(LEAST_LEFT, len(samples)) else list(samples)


def _side(metric: Metric, samples: Sequence[Sample]) -> Side:
    counted = counted_of(samples)
    rated = [(sample.name, metric.value(sample.result)) for sample in counted]
    known = {name: value for name, value in rated if value is not None and value > 0}
    return Side(
        values=tuple(known.values()),
        median=median(known.values()) if known else None,
        runs=tuple(known),
        measures=tuple(sorted({sample.measures for sample in counted})),
        left_out=tuple(sample.name for sample in samples if sample not in counted),
        remarks=() if metric is P99 else tuple(_remarks(metric, samples, counted)),
    )


_REMARKS = {"left_out": "left out", "weak": "used, but", "stands_out": "used, but an outlier"}


def _remarks(metric: Metric, samples: Sequence[Sample], counted: Sequence[Sample]) -> Iterator[str]:
    """Name the runs that something sets apart from the others of their side; the rate decides for the percentiles too."""
    for remark in repeats.remarks([sample.result for sample in samples], metric.value):
        sample = samples[remark.repeat]
        if remark.kind != "left_out" or sample not in counted:
            yield f"{sample.name} {_REMARKS[remark.kind]}: {remark.text}"


def _why_not(one: Side, other: Side, a: Sequence[Sample], b: Sequence[Sample]) -> str:
    """Return why there can be no winner; empty: there can be one."""
    for name, side, samples in (("A", one, a), ("B", other, b)):
        if not side.values:
            return f"{name} has no such number"
        doubtful = [sample for sample in samples if not sample.is_usable and sample.name not in side.left_out]
        if doubtful:
            reasons = ", ".join(reason.text for reason in doubtful[0].result.trust.reasons[:1])
            return f"{name} is not trusted in {len(doubtful)} of {len(samples)} runs: {reasons}"
    if any(sample.is_foreign for sample in (*a, *b)):  # what served them is unknown, and reported once for all
        return ""
    if one.measures != other.measures:
        return f"A is served by {' and '.join(one.measures)}, B by {' and '.join(other.measures)}"
    if len(one.measures) > 1:
        return f"its runs are of different things: {' and '.join(one.measures)}"
    return ""


def _verdict(
    found: Ratio, fewer: int, cv: float | None, effect: float, metric: Metric
) -> tuple[ComparisonVerdict, str, int | None]:
    """Assess a ratio by its interval and the number of runs of the smaller side (METHOD 2.4)."""
    if not found.is_interval or found.low is None or found.high is None:
        runs = "1 usable run" if fewer == 1 else f"{fewer} usable runs"
        return (
            ComparisonVerdict.INDICATIVE,
            f"no confidence interval: it needs 3 usable runs per side, not {runs}",
            None,
        )
    better, worse = ComparisonVerdict.BETTER, ComparisonVerdict.WORSE
    if found.low > 1 + effect:
        return (better if metric.higher_is_better else worse), "", None
    if found.high < 1 - effect:
        return (worse if metric.higher_is_better else better), "", None
    if found.low >= 1 - effect and found.high <= 1 + effect:
        differs = found.low > 1 or found.high < 1
        return (ComparisonVerdict.DIFFERENT_SMALL if differs else ComparisonVerdict.EQUIVALENT), "", None
    needed = None if cv is None else max(runs_needed(cv, effect), fewer + 1)
    more = "" if needed is None else f": about {needed - fewer} more runs per side needed"
    direction = "larger" if found.low > 1 else "smaller" if found.high < 1 else ""
    is_open = f"B is {direction}, but not proven by {100 * effect:g} % or more{more}"
    reason = is_open if direction else f"the interval includes both directions{more}"
    return ComparisonVerdict.INCONCLUSIVE, reason, needed


def judge_ratio(
    found: Ratio, a: Sequence[float], b: Sequence[float], effect: float, *, higher_is_better: bool
) -> ComparisonVerdict:
    """Assess a ratio of plain values that are of no run's result document."""
    return _verdict(found, min(len(a), len(b)), None, effect, IOPS if higher_is_better else P99)[0]


# -- what time does -----------------------------------------------------------------------------------------------------


def in_rounds(a: Arm, b: Arm) -> Rounds:
    """Pair the runs of two sides that took turns: each two that follow upon each other are one of each.

    None where they did not, or where runs have repeats, which follow upon each other within their side.
    """
    if any(result.repeat for arm in (a, b) for document in arm.documents for result in document.results):
        return ()
    order = sorted(
        [(document.run.started_utc, 0, document.run.id) for document in a.documents]
        + [(document.run.started_utc, 1, document.run.id) for document in b.documents]
    )
    if len({begun for begun, *_ in order}) < len(order):
        return ()
    pairs = [{side: run for _, side, run in order[i : i + 2]} for i in range(0, len(order), 2)]
    return [(pair[0], pair[1]) for pair in pairs] if all(len(pair) == 2 for pair in pairs) else ()


def _in_turn(a: Arm, b: Arm) -> bool:
    """Whether some run of one began between two of the other."""
    order = sorted(
        [(began_utc(document), 0) for document in a.documents] + [(began_utc(document), 1) for document in b.documents]
    )
    return len(list(itertools.groupby(order, key=lambda begun: begun[1]))) > 2


def _drifts(labels: Sequence[str], a: dict[str, list[Sample]], b: dict[str, list[Sample]]) -> Iterator[Drift]:
    """Regress the logarithm of the rate on the order of the runs, with a level for each side.

    Drift is a change beyond `DRIFT` over all runs whose 95 % interval excludes zero.
    """
    for label in labels:
        begun = sorted(
            [(s.started_utc, s.result.repeat, 0, IOPS.value(s.result)) for s in counted_of(a[label]) if s.is_usable]
            + [(s.started_utc, s.result.repeat, 1, IOPS.value(s.result)) for s in counted_of(b[label]) if s.is_usable],
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
