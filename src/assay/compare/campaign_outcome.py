"""Compute the outcome of a campaign: per cell, per level of each factor, and per pair of levels.

From result documents alone. A number is one of a result that runs of a load have: its rate, with the closing flush in
its time where there is one, and its p99. Runs that are not trusted are left out and named. Effects are reported
where every cell of all levels with all levels has a number, and all are numbers of the same thing; levels without
one are left out, those with most gaps first, and named.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Final

from assay.analysis.rounds_window import of_window
from assay.analysis.set_views import sums_of
from assay.analysis.statistics.factorial import LEAST_RUNS, Factorial, Observation, factorial, middle_interval
from assay.compare.arms import P99, Metric, Sample, rate_metric
from assay.results import Document, Part

OUTCOME_SCHEMA: Final = "assay.matrix/1"


class OutcomeFactor(Part, frozen=True, kw_only=True):
    """What was varied."""

    name: str
    levels: tuple[str, ...]


class CellFacts(Part, frozen=True, kw_only=True):
    """A cell: what was asked for, and the options that the kernel and the file system report."""

    levels: tuple[str, ...]
    mkfs: str
    mount: str
    mount_options: tuple[str, ...]
    """As the kernel shows them; empty: it was never mounted."""
    scheduler: str | None
    direct_io: bool | None
    """Of the loop device; null: there is none."""
    super_block: dict[str, str]
    not_taken: tuple[str, ...]
    """What was asked for and is otherwise."""
    failed: tuple[str, ...]
    """Why measurements of it could not be made."""


class CellNumber(Part, frozen=True, kw_only=True):
    """A number of one cell."""

    cell: int
    """Index of the cell."""
    values: tuple[float, ...]
    """A value a run that counts; rates a second, latencies in nanoseconds."""
    runs: tuple[str, ...]
    """Their ids."""
    median: float | None
    interval: tuple[float, float] | None
    """Of the geometric mean, at 95 % confidence, by this cell's runs alone; null below three."""
    spread: float | None
    """Standard deviation of the logarithms; null below two."""
    measures: tuple[str, ...]
    left_out: tuple[str, ...]
    """Runs that are not trusted."""


class LevelEffect(Part, frozen=True, kw_only=True):
    """What a level does, or two of two factors beyond what each does."""

    factors: tuple[str, ...]
    levels: tuple[str, ...]
    ratio: float
    """To the mean of all cells; of two to what their effects alone would give."""
    interval: tuple[float, float] | None


class FactorTerm(Part, frozen=True, kw_only=True):
    """A factor, or two together."""

    factors: tuple[str, ...]
    share: float | None
    """Of the variance between cells."""
    p: float | None
    """Of the hypothesis that it does nothing."""


class OutcomeRow(Part, frozen=True, kw_only=True):
    """One number of one result of one load, over all cells."""

    load: str
    label: str
    title: str
    metric: str
    unit: str
    cells: tuple[CellNumber, ...]
    effects: tuple[LevelEffect, ...]
    terms: tuple[FactorTerm, ...]
    spread: float | None
    """Standard deviation of the logarithms within cells, rounds taken out; null: unknown."""
    without: tuple[str, ...]
    """Levels that are in no effect, as `factor level`: cells of them have no number."""
    uneven: int | None
    """Cell whose runs vary more than those of the others can: intervals that take all for alike are too narrow for it."""
    why_not: str
    """Why there are no effects; empty: there are."""
    seconds: float
    """Time that all of its windows took."""


class CampaignOutcome(Part, frozen=True, kw_only=True):
    """What `assay matrix --json` prints."""

    schema: str
    name: str
    seed: int
    rounds: int
    factors: tuple[OutcomeFactor, ...]
    """Also those of one level, which have no effect."""
    cells: tuple[CellFacts, ...]
    loads: tuple[str, ...]
    slots: int
    measured: int
    failed: int
    rows: tuple[OutcomeRow, ...]


@dataclass(frozen=True)
class CampaignRun:
    """A run of a campaign."""

    cell: int
    load: str
    round: int
    document: Document


def outcome_rows(
    factors: Sequence[OutcomeFactor], cells: Sequence[tuple[str, ...]], runs: Sequence[CampaignRun]
) -> tuple[OutcomeRow, ...]:
    """Work all numbers of all loads out.

    Args:
        factors: What was varied; the cells are all their levels with all, the last factor the quickest.
        cells: Their levels.
        runs: What was measured, in any order.
    """
    found = []
    for load in dict.fromkeys(run.load for run in runs):
        of_load = [run for run in runs if run.load == load]
        for label, samples in _by_label(of_load).items():
            found += [_row((load, label), metric, samples, factors, cells) for metric in _metrics(samples)]
    return tuple(found)


@dataclass(frozen=True)
class _Placed:
    """A result, and the cell and round that it is of."""

    cell: int
    round: int
    sample: Sample


def _by_label(runs: Sequence[CampaignRun]) -> dict[str, list[_Placed]]:
    found: dict[str, list[_Placed]] = {}
    for run in sorted(runs, key=lambda run: (run.round, run.cell)):
        for result in of_window(sums_of(run.document)).results:
            sample = Sample(run.document.run.id, run.document.run.started_utc, result)
            placed = _Placed(run.cell, run.round, sample)
            found.setdefault(result.label.split("#", maxsplit=1)[0], []).append(placed)
    return found


def _metrics(placed: Sequence[_Placed]) -> Iterator[Metric]:
    results = [each.sample.result for each in placed]
    yield rate_metric(results)
    if all(P99.value(result) is not None for result in results):
        yield P99


def _row(
    of: tuple[str, str],
    metric: Metric,
    placed: Sequence[_Placed],
    factors: Sequence[OutcomeFactor],
    cells: Sequence[tuple[str, ...]],
) -> OutcomeRow:
    counted = [each for each in placed if each.sample.is_usable and (metric.value(each.sample.result) or 0) > 0]
    numbers = tuple(
        _number(cell, metric, [each for each in placed if each.cell == cell], counted) for cell in range(len(cells))
    )
    found, kept, without = _effects(metric, counted, factors, cells)
    result = placed[0].sample.result
    names = [factor.name for factor, levels in zip(factors, kept, strict=True) if len(levels) > 1]
    levels = [
        [factor.levels[level] for level in levels]
        for factor, levels in zip(factors, kept, strict=True)
        if len(levels) > 1
    ]
    is_effect = isinstance(found, Factorial)
    return OutcomeRow(
        load=of[0],
        label=of[1],
        title=result.title if result.operation in {"", result.phase} else f"{result.title}: {result.operation}",
        metric=metric.name,
        unit=metric.unit,
        cells=numbers,
        effects=tuple(
            LevelEffect(
                factors=tuple(names[i] for i in each.factors),
                levels=tuple(levels[i][level] for i, level in zip(each.factors, each.levels, strict=True)),
                ratio=each.ratio,
                interval=None if each.low is None or each.high is None else (each.low, each.high),
            )
            for each in (found.effects if isinstance(found, Factorial) else ())
        ),
        terms=tuple(
            FactorTerm(factors=tuple(names[i] for i in each.factors), share=each.share, p=each.p)
            for each in (found.terms if isinstance(found, Factorial) else ())
        ),
        spread=found.spread if isinstance(found, Factorial) else None,
        without=without if is_effect else (),
        uneven=_uneven_cell(found, kept, factors, cells) if isinstance(found, Factorial) else None,
        why_not="" if isinstance(found, Factorial) else found,
        seconds=sum(each.sample.result.seconds or 0.0 for each in placed),
    )


def _number(cell: int, metric: Metric, there: Sequence[_Placed], counted: Sequence[_Placed]) -> CellNumber:
    mine = [each for each in there if each in counted]
    values = tuple(value for each in mine if (value := metric.value(each.sample.result)) is not None)
    return CellNumber(
        cell=cell,
        values=values,
        runs=tuple(each.sample.run_id for each in mine),
        median=median(values) if values else None,
        interval=middle_interval(values) if len(values) >= LEAST_RUNS else None,
        spread=stdev(math.log(value) for value in values) if len(values) > 1 else None,
        measures=tuple(sorted({each.sample.measures for each in mine})),
        left_out=tuple(each.sample.name for each in there if not each.sample.is_usable),
    )


def _effects(
    metric: Metric, counted: Sequence[_Placed], factors: Sequence[OutcomeFactor], cells: Sequence[tuple[str, ...]]
) -> tuple[Factorial | str, list[list[int]], tuple[str, ...]]:
    """Take effects apart.

    Returns:
        The effects, or why there are none; the levels of each factor that they are of; those that are left out, in words.
    """
    at = [tuple(factor.levels.index(level) for factor, level in zip(factors, cell, strict=True)) for cell in cells]
    kept = _complete([len(factor.levels) for factor in factors], {at[each.cell] for each in counted})
    if kept is None:
        return "too few cells have a number that is to be trusted", [[] for _ in factors], ()
    without = tuple(
        f"{factor.name} {level}"
        for factor, levels in zip(factors, kept, strict=True)
        for i, level in enumerate(factor.levels)
        if i not in levels
    )
    varied = [i for i, levels in enumerate(kept) if len(levels) > 1]
    if not varied:
        return "nothing was varied", kept, without
    mine = [each for each in counted if all(level in kept[i] for i, level in enumerate(at[each.cell]))]
    things = sorted({each.sample.measures for each in mine})
    if len(things) > 1:
        return f"the cells are of different things: {' and '.join(things)}", kept, without
    logs: dict[tuple[int, int], list[float]] = {}
    for each in mine:
        logs.setdefault((each.cell, each.round), []).append(math.log(metric.value(each.sample.result) or 1.0))
    # The repeats of one run are one value: they share what differs between runs.
    observations = [
        Observation(tuple(kept[i].index(at[cell][i]) for i in varied), number, math.exp(fmean(values)))
        for (cell, number), values in logs.items()
    ]
    return factorial([len(kept[i]) for i in varied], observations), kept, without


def _complete(levels: Sequence[int], present: set[tuple[int, ...]]) -> list[list[int]] | None:
    """Leave levels out, those with most gaps first, until every cell of the others is there.

    Returns:
        The levels of each factor that are left; None: fewer than two cells are.
    """
    kept = [list(range(count)) for count in levels]
    while gaps := [cell for cell in itertools.product(*kept) if cell not in present]:
        counts = Counter((i, level) for cell in gaps for i, level in enumerate(cell) if len(kept[i]) > 1)
        if not counts:
            return None
        # Of levels with as many gaps, that which costs the fewest cells: the one of the factor with most levels.
        factor, level = max(counts, key=lambda one: (counts[one], len(kept[one[0]]), one))
        kept[factor].remove(level)
    return kept if math.prod(len(each) for each in kept) > 1 else None


def _uneven_cell(
    found: Factorial, kept: Sequence[Sequence[int]], factors: Sequence[OutcomeFactor], cells: Sequence[tuple[str, ...]]
) -> int | None:
    if found.uneven_cell is None:
        return None
    inner = iter(found.uneven_cell)
    levels = tuple(
        factor.levels[each[next(inner)] if len(each) > 1 else each[0]]
        for factor, each in zip(factors, kept, strict=True)
    )
    return list(cells).index(levels)
