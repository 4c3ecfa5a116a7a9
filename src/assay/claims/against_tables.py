"""Assess a sentence by the values in tables.

A table without repeats has no interval. Its arithmetic is checked without one; where two measured values are held against
each other for who is ahead, for being alike, or against a limit, what the difference that runs have (`effect`, 3 %) would
change is not decided, because the variation between runs is unknown. With `over COLUMN` the rows are repeats: the
values have the interval of their mean, two sides that of their ratio (`statistics/ratio.py`).

Of many rows each has to hold. One that surely does not contradicts the sentence; an order is supported where none does and
the geometric mean of the ratios is ahead by more than `effect`.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from statistics import geometric_mean

import numpy as np

from assay.analysis.statistics.mean import mean_interval
from assay.analysis.statistics.ratio import ratio_between
from assay.claims.accepted import Accepted, ClaimVerdict, agree, of_all
from assay.claims.assessed import AssessedSentence, Computed, ends, undecided
from assay.claims.expression import MOST_SAMPLES, Quantity, evaluate
from assay.claims.fact_tables import FactTable, NotThereError
from assay.claims.sentence import Lean, Proportion, Sentence, StatedValue
from assay.claims.stated_units import Dimension, Prefixes, StatedUnit
from assay.compare.comparison import DEFAULT_EFFECT, judge_ratio

_WHOLE_FROM = 1e5
_FEW_TIMES = 3
"""Ratios up to which a change is reported in per cent."""
_MOST_NAMED = 3
"""Rows that a reason names."""


@dataclasses.dataclass(frozen=True)
class Meant:
    """How sentences are to be read."""

    effect: float = DEFAULT_EFFECT
    """Difference that matters, as a share."""
    prefixes: Prefixes = Prefixes.BOTH


def assess(text: str, sentence: Sentence, tables: Mapping[str, FactTable], meant: Meant) -> AssessedSentence:
    """Assess a sentence; raises ExpressionError where a side is no expression."""
    try:
        left = _with_unit(evaluate(sentence.left, tables), sentence, meant)
        if isinstance(sentence.claimed, StatedValue):
            return _amount(text, sentence, sentence.claimed, left, meant)
        right = _read_as(evaluate(sentence.claimed.right, tables), meant)
        return _Comparison(text, sentence, sentence.claimed, left, right, meant).assess()
    except NotThereError as error:
        return undecided(text, str(error))


def _with_unit(left: Quantity, sentence: Sentence, meant: Meant) -> Quantity:
    """Give the left side the unit of its author, if the table does not have another."""
    stated = sentence.left_unit
    if stated is None:
        return _read_as(left, meant)
    stated = stated.read_as(meant.prefixes)
    if left.unit is not None and not set(stated.factors) <= set(left.unit.factors):
        raise NotThereError(f"the table gives '{sentence.left}' in {left.unit.name}, the sentence in {stated.name}")
    return dataclasses.replace(left, unit=stated, is_plain=False)


def _read_as(side: Quantity, meant: Meant) -> Quantity:
    return side if side.unit is None else dataclasses.replace(side, unit=side.unit.read_as(meant.prefixes))


def figure(value: float) -> str:
    """Print a figure with the digits that a claim may turn on."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.6g}"


def span(values: Accepted) -> str:
    """Print what is accepted, with as many digits as distinguish its ends."""
    if math.isinf(values.high):
        return f"{'above' if values.is_open else 'at least'} {figure(values.low)}"
    if math.isinf(values.low):
        return f"{'below' if values.is_open else 'at most'} {figure(values.high)}"
    low, high = figure(values.low), figure(values.high)
    return f"{low} to {high}" if low != high else f"{values.low:.11g} to {values.high:.11g}"


# -- a value -----------------------------------------------------------------------------------------------------------


def _amount(text: str, sentence: Sentence, amount: StatedValue, left: Quantity, meant: Meant) -> AssessedSentence:
    if (why := _no_unit(sentence.left, left, amount.unit)) is not None:
        return undecided(text, why)
    unit = None if amount.unit is None else amount.unit.read_as(meant.prefixes)
    factors = _factors(left.unit, unit)
    interval = None
    values = left.values
    if sentence.over:
        found = mean_interval(np.array(values))
        if found is None:
            return undecided(text, f"no confidence interval from {len(values)} values: it needs at least 3")
        values, interval = (found.mean,), (found.low, found.high)
    verdicts = [
        of_all(
            amount.accepted.verdict(factor * low, factor * high)
            for low, high in ([interval] if interval else _points(values))
        )
        for factor in factors
    ]
    verdict = agree(verdicts)
    in_unit = unit or left.unit
    shown = "" if in_unit is None else in_unit.name
    computed = Computed(
        what=sentence.left,
        values=tuple(factors[0] * value for value in values),
        unit=shown,
        interval=None if interval is None else (factors[0] * interval[0], factors[0] * interval[1]),
        accepted=ends(amount.accepted),
    )
    reason = _amount_words(computed, left, amount, factors[0])
    if len(factors) > 1:
        names = " and ".join(dict.fromkeys(one.name for one in (left.unit, unit) if one and len(one.factors) > 1))
        low, high = (figure(factor * computed.values[0] / factors[0]) for factor in (min(factors), max(factors)))
        reason += f"; {names} may count in 1000s or 1024s, so that {low} to {high} {shown} may be meant"
    return AssessedSentence(says=text, verdict=verdict, reason=reason, computed=computed)


def _points(values: Sequence[float]) -> list[tuple[float, float]]:
    return [(value, value) for value in values]


def _no_unit(name: str, left: Quantity, wanted: StatedUnit | None) -> str | None:
    """Explain why a value cannot be compared with a number in a unit; None: it can."""
    if wanted is None:
        return None
    if wanted.dimension is Dimension.SHARE and left.is_plain:
        return None
    if left.unit is None:
        what = "a plain number" if left.is_plain else "of an unknown unit"
        return f"'{name}' is {what}, the number in {wanted.name}: write '{name} in UNIT is ...' to set it"
    if left.unit.dimension is not wanted.dimension:
        return f"'{name}' is a {left.unit.dimension.value}, the number a {wanted.dimension.value}"
    return None


def _factors(one: StatedUnit | None, other: StatedUnit | None) -> tuple[float, ...]:
    """Give what values in one unit are multiplied by to be in the other, by each way to read the two."""
    if other is None or (one is not None and one.name == other.name):
        return (1.0,)
    of_one = (1.0,) if one is None else one.factors
    return tuple(dict.fromkeys(a / b for a, b in itertools.product(of_one, other.factors)))


def _amount_words(computed: Computed, left: Quantity, amount: StatedValue, factor: float) -> str:
    unit = f" {computed.unit}" if computed.unit else ""
    true = f"required: {span(amount.accepted)}{unit}"
    if computed.interval is not None:
        low, high = map(figure, computed.interval)
        return f"the mean of {len(left.values)} is {figure(computed.values[0])}{unit} ({low} to {high}); {true}"
    if len(computed.values) == 1:
        return f"it is {figure(computed.values[0])}{unit}; {true}"
    return _rows_words(
        [amount.accepted.verdict(factor * value, factor * value) for value in left.values],
        [f"{figure(value)}{unit}" for value in computed.values],
        left,
        true,
    )


def _rows_words(verdicts: Sequence[ClaimVerdict], shown: Sequence[str], of: Quantity, true: str) -> str:
    """Count how many rows hold, and name some that do not."""
    holding = sum(verdict is ClaimVerdict.SUPPORTED for verdict in verdicts)
    words = f"holds in {holding} of {len(verdicts)} rows"
    for verdict, name in ((ClaimVerdict.CONTRADICTED, "not in"), (ClaimVerdict.NOT_DECIDABLE, "open in")):
        rows = [i for i, one in enumerate(verdicts) if one is verdict]
        if rows:
            named = ", ".join(f"{_row_name(of, i)} {shown[i]}" for i in rows[:_MOST_NAMED])
            more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
            words += f"; {name} {named}{more}"
    return f"{words}; {true}"


def _row_name(of: Quantity, place: int) -> str:
    if place >= len(of.rows) or not of.rows[place]:
        return f"row {place + 1}:"
    column, cell = next(iter(of.rows[place].items()))
    return f"{column} {cell}:"


# -- a comparison ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Comparison:
    """Two sides, and the claimed relation."""

    text: str
    sentence: Sentence
    proportion: Proportion
    left: Quantity
    right: Quantity
    meant: Meant

    @property
    def _what(self) -> str:
        return f"{self.sentence.left} / {self.proportion.right}"

    def assess(self) -> AssessedSentence:
        left, right, name = self.left, self.right, self.sentence.left
        if (why := _not_alike(name, self.proportion.right, left, right)) is not None:
            return undecided(self.text, why)
        unit = left.unit or right.unit
        if unit is None and self.proportion.direction in {Lean.FASTER, Lean.SLOWER}:
            why = f"it is unknown whether '{name}' is a rate or a time: use higher or lower"
            return undecided(self.text, why)
        is_time = unit is not None and unit.is_time
        ratios = self.proportion.ratios(is_time=is_time, alike=self.meant.effect)
        factors = _factors(left.unit, right.unit) if left.unit and right.unit else (1.0,)
        assess_with = self._assess_repeats if self.sentence.over else self._assess_rows
        found = [assess_with(values, factor) for values, factor in itertools.product(ratios, factors)]
        if len({one.verdict for one in found}) > 1:
            why = f"ambiguous: {found[0].reason} / {found[-1].reason}"
            return undecided(self.text, why, found[0].computed)
        return found[0]

    def _assess_repeats(self, accepted: Accepted, factor: float) -> AssessedSentence:
        """Assess by the interval of the ratio of two samples."""
        left, right = self.left.values, self.right.values
        if min(*left, *right) <= 0:
            return undecided(self.text, "a ratio is of values above 0")
        if max(len(left), len(right)) > MOST_SAMPLES:
            return undecided(self.text, f"{len(left)} and {len(right)} repeats: the limit is {MOST_SAMPLES} per side")
        ratio = ratio_between(right, tuple(factor * value for value in left))
        is_time = self.left.unit is not None and self.left.unit.is_time
        word = judge_ratio(ratio, right, left, self.meant.effect, higher_is_better=not is_time)
        if ratio.low is None or ratio.high is None or not ratio.is_interval:
            counts = f"{len(left)} and {len(right)} repeats over {self.sentence.over}"
            computed = Computed(what=self._what, values=(ratio.ratio,), unit="", accepted=ends(accepted))
            return undecided(self.text, f"no confidence interval from {counts}: it needs at least 3 of each", computed)
        low, high = ratio.low, ratio.high
        p = "" if ratio.p is None else f", p {ratio.p:.2g}"
        return AssessedSentence(
            says=self.text,
            verdict=accepted.verdict(low, high),
            reason=f"the ratio is {figure(ratio.ratio)} ({figure(low)} to {figure(high)}), {word.words}{p}; required:"
            f" {span(accepted)}",
            computed=Computed(
                what=self._what, values=(ratio.ratio,), unit="", interval=(low, high), accepted=ends(accepted)
            ),
        )

    def _assess_rows(self, accepted: Accepted, factor: float) -> AssessedSentence:
        """Assess row by row, without an interval."""
        left, right = _pairs(self.sentence, self.proportion, self.left, self.right)
        if min(map(abs, right.values)) == 0:
            return undecided(self.text, f"'{self.proportion.right}' is 0: nothing is a share of that")
        ratios = tuple(factor * x / y for x, y in zip(left.values, right.values, strict=True))
        band = self._band
        verdicts = [accepted.verdict(*_range_of(ratio, band)) for ratio in ratios]
        verdict = of_all(verdicts)
        if len(ratios) == 1:
            reason = self._single(left.values[0], right.values[0], ratios[0], verdict, accepted)
        else:
            true = f"required: {span(accepted)}"
            reason = _rows_words(verdicts, [figure(ratio) for ratio in ratios], left if left.rows else right, true)
            if min(ratios) > 0:
                middle = geometric_mean(ratios)
                reason += f"; geometric mean {figure(middle)} ({figure(min(ratios))} to {figure(max(ratios))})"
                if self.proportion.is_order and verdict is ClaimVerdict.NOT_DECIDABLE:
                    verdict = _unless_against(accepted.verdict(*_range_of(middle, band)))
        alone = max(len(self.left.values), len(self.right.values)) - len(left.values)
        if self.sentence.by and alone:
            reason += f"; {alone} without a partner in '{self.sentence.by}'"
        computed = Computed(what=self._what, values=ratios, unit="", accepted=ends(accepted))
        return AssessedSentence(says=self.text, verdict=verdict, reason=reason, computed=computed)

    @property
    def _band(self) -> float:
        """Factor by which a ratio may be another in the next run. Of arithmetic there is no next run."""
        is_measured = not (self.left.is_plain or self.right.is_plain)
        is_limit = self.proportion.bound.is_one_sided or self.proportion.is_order or self.proportion.is_equality
        return 1 + self.meant.effect if is_measured and is_limit else 1.0

    def _single(self, x: float, y: float, ratio: float, verdict: ClaimVerdict, accepted: Accepted) -> str:
        change = f"{100 * (ratio - 1):+.3g} %" if 1 / _FEW_TIMES < ratio < _FEW_TIMES else f"{figure(ratio)} times"
        if verdict is ClaimVerdict.NOT_DECIDABLE:
            runs = f"single values differ by {100 * self.meant.effect:g} % from run to run"
            return f"{figure(x)} by {figure(y)} is {change}; required: {span(accepted)}: {runs}"
        return f"the ratio is {figure(ratio)} ({change}); required: {span(accepted)}"


def _range_of(ratio: float, band: float) -> tuple[float, float]:
    ends_ = sorted((ratio / band, ratio * band))
    return ends_[0], ends_[1]


def _unless_against(verdict: ClaimVerdict) -> ClaimVerdict:
    """Take the verdict of a mean of rows of which none contradicts: it can support them, no more."""
    return verdict if verdict is ClaimVerdict.SUPPORTED else ClaimVerdict.NOT_DECIDABLE


def _not_alike(name: str, other: str, left: Quantity, right: Quantity) -> str | None:
    """Explain why two sides are not numbers of one kind; None: they may be."""
    if left.unit and right.unit and left.unit.dimension is not right.unit.dimension:
        return f"'{name}' is a {left.unit.dimension.value}, '{other}' a {right.unit.dimension.value}"
    if (left.unit is None) != (right.unit is None) and not (left.is_plain or right.is_plain):
        return f"the unit of '{name if left.unit is None else other}' is unknown"
    return None


def _pairs(sentence: Sentence, proportion: Proportion, left: Quantity, right: Quantity) -> tuple[Quantity, Quantity]:
    """Pair the values of both sides; raises NotThereError where the pairing is undefined."""
    if sentence.by:
        return _pair_by(sentence.by, left, right)
    if len(left.values) > 1 < len(right.values) and (left.marks, left.source) != (right.marks, right.source):
        raise NotThereError(
            f"'{sentence.left}' has {len(left.values)} values and '{proportion.right}' {len(right.values)}: end the"
            " sentence with 'by COLUMN' for pairs, or 'over COLUMN' for repeats"
        )
    size = max(len(left.values), len(right.values))
    return _repeat(left, size), _repeat(right, size)


def _repeat(side: Quantity, size: int) -> Quantity:
    return dataclasses.replace(side, values=side.values * size) if len(side.values) == 1 else side


def _pair_by(column: str, left: Quantity, right: Quantity) -> tuple[Quantity, Quantity]:
    places: list[dict[str, int]] = []
    for side in (left, right):
        if not all(column in row for row in side.rows) or not side.rows:
            raise NotThereError(f"there is no column '{column}' to pair the rows by")
        found = {row[column]: i for i, row in enumerate(side.rows)}
        if len(found) < len(side.rows):
            raise NotThereError(f"several rows of a side have the same '{column}': a condition in [...] chooses")
        places.append(found)
    shared = [cell for cell in places[0] if cell in places[1]]
    if not shared:
        raise NotThereError(f"no row of one side has the '{column}' of one of the other")

    def take(side: Quantity, of: Mapping[str, int]) -> Quantity:
        values = tuple(side.values[of[cell]] for cell in shared)
        return dataclasses.replace(side, values=values, rows=tuple({column: cell} for cell in shared), marks=())

    return take(left, places[0]), take(right, places[1])
