"""Random variables of the workload language as distributions of a Plan.

A randvar is gamma, uniform or a table, shifted by `min` and rounded; a cvar is one of eight distributions, cut by `min`
and `max` and rounded. Where the Plan has the distribution it is used. What is rounded is exactly the table of its
multiples with their probabilities; what is cut, and the distributions that the Plan does not have, are tables of 500
pieces with equal probability.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Final

from assay import plan
from assay.plan.limits import LISTS

DEFAULT_GAMMA: Final = 1500
"""Thousandths."""
_PIECES = 500
_TAIL = 1e-6
_MOST_ROWS = int(LISTS["rows"].most)
_WHOLE = 100
"""Per cent of a table."""

Row = tuple[float, float, float]
"""Weight, from, to."""


@dataclasses.dataclass(frozen=True)
class Continuous:
    """A distribution: as the Plan has it, if it does, and its cumulative distribution function."""

    cdf: Callable[[float], float]
    least: float
    """No draw is below, or hardly any."""
    scale: float
    """Of the order of its draws' standard deviation."""
    in_plan: plan.Distribution | None = None


# -- distributions -----------------------------------------------------------------------------------------------------


def uniform(low: float, high: float) -> Continuous:
    """Make the uniform distribution between two bounds."""
    if high <= low:
        return Continuous(lambda x: float(x >= low), low, 1, plan.Fixed(value=max(low, 0.0)))
    in_plan = plan.Uniform(min=low, max=high) if low >= 0 else None
    return Continuous(lambda x: min(max((x - low) / (high - low), 0), 1), low, high - low, in_plan)


def gamma(mean: float, shape: float, least: float = 0.0) -> Continuous:
    """Make the gamma distribution of a mean and a shape, above `least`."""
    if mean <= 0:
        return uniform(least, least)
    in_plan = plan.Gamma(mean=mean, shape=shape, min=least) if least >= 0 else None
    return Continuous(lambda x: _gamma_cdf(shape, (x - least) * shape / mean), least, mean, in_plan)


def exponential(mean: float) -> Continuous:
    """Make the exponential distribution."""
    return Continuous(lambda x: -math.expm1(-max(x, 0) / mean), 0, mean, plan.Exponential(mean=mean))


def normal(mean: float, sigma: float) -> Continuous:
    """Make the normal distribution; what is drawn below 0 counts as 0."""
    source = NormalDist(mean, sigma)
    return Continuous(
        source.cdf, mean - 6 * sigma, sigma, plan.Normal(mean=mean, deviation=sigma) if mean >= 0 else None
    )


def lognormal(shape: float, scale: float) -> Continuous:
    """Make the log-normal distribution: `shape` is the deviation of the logarithm, `scale` the median."""
    source = NormalDist(math.log(scale), shape)
    in_plan = plan.Lognormal(median=scale, sigma=shape)
    return Continuous(lambda x: source.cdf(math.log(x)) if x > 0 else 0.0, 0, scale * math.exp(shape), in_plan)


def weibull(shape: float, scale: float) -> Continuous:
    """Make the Weibull distribution."""
    return Continuous(lambda x: -math.expm1(-((max(x, 0) / scale) ** shape)), 0, scale)


def triangular(low: float, high: float, mode: float) -> Continuous:
    """Make the triangular distribution."""

    def cdf(x: float) -> float:
        if x <= low or x >= high:
            return float(x >= high)
        if x <= mode:
            return (x - low) ** 2 / ((high - low) * (mode - low))
        return 1 - (high - x) ** 2 / ((high - low) * (high - mode))

    return Continuous(cdf, low, high - low)


def _gamma_cdf(shape: float, x: float) -> float:
    """Compute the regularised lower incomplete gamma function (Abramowitz and Stegun, 6.5.29 and 6.5.31)."""
    if x <= 0:
        return 0.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        at = shape
        while term > total * 1e-15:
            at += 1
            term *= x / at
            total += term
        return min(front * total, 1.0)
    tiny = 1e-300
    b = x + 1 - shape
    c, d = 1 / tiny, 1 / b
    h = d
    for i in range(1, 10_000):
        an = -i * (i - shape)
        b += 2
        d = 1 / ((an * d + b) or tiny)
        c = (b + an / c) or tiny
        h *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return 1 - front * h


# -- what is made of a distribution ------------------------------------------------------------------------------------


def distribution(
    source: Continuous, round_to: float = 0, low: float | None = None, high: float | None = None
) -> plan.Distribution:
    """Give the Plan's form of a distribution, rounded to multiples and cut.

    Raises:
        ValueError: it would be a table with too many rows.
    """
    if round_to > 0:
        return _table(_round_draws(source, round_to, low, high))
    if source.in_plan is not None and low is None and high is None:
        return source.in_plan
    return _table(_pieces(source, low, high))


def _table(rows: Sequence[Row]) -> plan.Distribution:
    if len({(low, high) for _, low, high in rows}) == 1 and rows[0][1] == rows[0][2]:
        return plan.Fixed(value=rows[0][1])
    return plan.Tabular(rows=tuple(rows))


def _cut(value: float, low: float | None, high: float | None) -> float:
    value = value if low is None else max(value, low)
    value = value if high is None else min(value, high)
    return max(value, 0.0)


def _round_draws(source: Continuous, round_to: float, low: float | None, high: float | None) -> list[Row]:
    end = _quantile(source, 1 - _TAIL)
    first, last = math.floor(source.least / round_to), math.ceil(end / round_to)
    if last - first >= _MOST_ROWS:
        raise ValueError(f"rounding to {round_to:g} gives {last - first} values; the limit is {_MOST_ROWS}")
    weights: dict[float, float] = {}
    below = 0.0
    for multiple in range(first, last + 1):
        up_to = 1.0 if multiple == last else source.cdf((multiple + 0.5) * round_to)
        value = _cut(multiple * round_to, low, high)
        if up_to > below:
            weights[value] = weights.get(value, 0.0) + up_to - below
        below = max(up_to, below)
    return [(weight, value, value) for value, weight in sorted(weights.items())]


def _pieces(source: Continuous, low: float | None, high: float | None) -> list[Row]:
    shares = [_TAIL, *(i / _PIECES for i in range(1, _PIECES)), 1 - _TAIL]
    edges = [_cut(_quantile(source, share), low, high) for share in shares]
    return [(1.0, begin, end) for begin, end in itertools.pairwise(edges)]


def _quantile(source: Continuous, share: float) -> float:
    begin, end = source.least, source.least + source.scale
    for _ in range(200):
        if source.cdf(end) >= share:
            break
        begin, end = end, source.least + 2 * (end - source.least)
    for _ in range(60):
        middle = (begin + end) / 2
        begin, end = (begin, middle) if source.cdf(middle) >= share else (middle, end)
    return end


# -- randvar -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class RandVar:
    """The values of `randvar(...)`."""

    kind: str = "gamma"
    """`gamma`, `uniform` or `tabular`."""
    mean: float | None = None
    min: float = 0
    round: float = 0
    gamma: int = DEFAULT_GAMMA
    """Thousandths."""
    table: tuple[tuple[float, float, float], ...] = ()
    """Per cent, from, to."""


def of_randvar(randvar: RandVar) -> plan.Distribution:
    """Make the distribution; raises ValueError where nothing can be drawn from it."""
    if randvar.kind == "tabular":
        return _of_table(randvar)
    shape = randvar.gamma / 1000
    if randvar.kind == "gamma":
        if shape <= 0:
            raise ValueError("gamma is 0; it is a shape in thousandths, 1500 for 1.5")
        # Without a mean, the original takes the shape for it.
        mean = shape if randvar.mean is None else randvar.mean
        return distribution(gamma(mean - randvar.min, shape, randvar.min), randvar.round)
    mean = randvar.mean or 0
    if mean < randvar.min:
        raise ValueError(f"mean is {mean:g}, below min, {randvar.min:g}")
    return distribution(uniform(randvar.min, randvar.min + 2 * (mean - randvar.min)), randvar.round)


def _of_table(randvar: RandVar) -> plan.Distribution:
    total = sum(share for share, _, _ in randvar.table)
    if not randvar.table or total != _WHOLE:
        raise ValueError(f"the shares of randtable add up to {total:g} per cent, not 100")
    if any(low > high for _, low, high in randvar.table):
        raise ValueError("a row of randtable ends below where it begins")
    least = min(low for _, low, _ in randvar.table)
    mean = sum(share * (low + high) / 2 for share, low, high in randvar.table) / _WHOLE
    # It is stretched so that it begins at min and has the mean that is asked for: its own, if none is.
    wanted = randvar.mean or mean
    stretch = (wanted - randvar.min) / (mean - least) if mean > least else 0.0
    rows = [
        (share, randvar.min + (low - least) * stretch, randvar.min + (high - least) * stretch)
        for share, low, high in randvar.table
        if share > 0
    ]
    if randvar.round <= 0:
        return _table(rows)
    weights: dict[float, float] = {}
    for share, low, high in rows:
        for _, value, weight in _round_row(low, high, randvar.round):
            weights[value] = weights.get(value, 0.0) + share * weight
    if len(weights) > _MOST_ROWS:
        raise ValueError(f"rounding to {randvar.round:g} gives {len(weights)} values; the limit is {_MOST_ROWS}")
    return _table([(weight, value, value) for value, weight in sorted(weights.items())])


def _round_row(low: float, high: float, round_to: float) -> list[Row]:
    """List the multiples that draws between two bounds are rounded to: their number, they themselves, their share."""
    first, last = math.floor(low / round_to + 0.5), math.floor(high / round_to + 0.5)
    if last - first > _MOST_ROWS:
        raise ValueError(f"rounding to {round_to:g} gives {last - first} values; the limit is {_MOST_ROWS}")
    if high <= low:
        return [(first, first * round_to, 1.0)]
    edges = [low, *((multiple + 0.5) * round_to for multiple in range(first, last)), high]
    shares = [(end - begin) / (high - low) for begin, end in itertools.pairwise(edges)]
    return [(first + i, (first + i) * round_to, share) for i, share in enumerate(shares) if share > 0]


# -- cvar --------------------------------------------------------------------------------------------------------------

_Make = Callable[[Mapping[str, float]], Continuous]


@dataclasses.dataclass(frozen=True)
class CvarType:
    """A type of custom variable."""

    what: str
    defaults: Mapping[str, float]
    make: _Make
    positive: tuple[str, ...]
    """Parameters that are above 0."""


CVARS: Final[dict[str, CvarType]] = {
    "cvar-erlang": CvarType(
        "sum of `shape` exponential draws, with the mean `rate`",
        {"shape": 1, "rate": 1.0},
        lambda p: gamma(p["rate"], p["shape"]),
        ("shape", "rate"),
    ),
    "cvar-exponential": CvarType("exponential", {"mean": 1.0}, lambda p: exponential(p["mean"]), ("mean",)),
    "cvar-gamma": CvarType(
        "gamma: `gamma` is the shape",
        {"mean": 4096.0, "gamma": 1.5},
        lambda p: gamma(p["mean"], p["gamma"]),
        ("mean", "gamma"),
    ),
    "cvar-lognormal": CvarType(
        "log-normal: `shape` is the deviation of the logarithm, `scale` the median",
        {"shape": 1.0, "scale": 1.0},
        lambda p: lognormal(p["shape"], p["scale"]),
        ("shape", "scale"),
    ),
    "cvar-normal": CvarType("normal", {"mean": 0.0, "sigma": 1.0}, lambda p: normal(p["mean"], p["sigma"]), ("sigma",)),
    "cvar-triangular": CvarType(
        "triangular, likeliest at `mode`",
        {"lower": 0.0, "upper": 1.0, "mode": 0.5},
        lambda p: triangular(p["lower"], p["upper"], p["mode"]),
        (),
    ),
    "cvar-uniform": CvarType(
        "equally likely between two bounds", {"lower": 0.0, "upper": 1.0}, lambda p: uniform(p["lower"], p["upper"]), ()
    ),
    "cvar-weibull": CvarType(
        "Weibull", {"shape": 1.0, "scale": 1.0}, lambda p: weibull(p["shape"], p["scale"]), ("shape", "scale")
    ),
}
"""The types, by name."""


def of_cvar(
    kind: str, parameters: str, low: float | None = None, high: float | None = None, round_to: float = 0
) -> plan.Distribution:
    """Make the distribution of a custom variable.

    Args:
        kind: One of `CVARS`.
        parameters: `name:value;name:value`.
        low: Least value, if there is one.
        high: Largest value.
        round_to: Values are multiples of this; 0: as they are drawn.

    Raises:
        ValueError: nothing can be drawn from one of them.
    """
    if kind not in CVARS:
        raise ValueError(f"there is no type '{kind[:40]}'; supported: {', '.join(CVARS)}")
    found = CVARS[kind]
    values = dict(found.defaults)
    for part in filter(None, parameters.split(";")):
        name, _, text = part.partition(":")
        if name not in values:
            raise ValueError(f"{kind} has no parameter '{name[:40]}'; it has {', '.join(values)}")
        values[name] = _real(name, text)
    for name in found.positive:
        if values[name] <= 0:
            raise ValueError(f"{name} is {values[name]:g}; it is above 0")
    if kind == "cvar-erlang" and values["shape"] != int(values["shape"]):
        raise ValueError(f"shape is {values['shape']:g}; it is a whole number")
    if kind == "cvar-triangular" and not values["lower"] <= values["mode"] <= values["upper"]:
        raise ValueError("lower, mode and upper follow one another")
    if "upper" in values and values["upper"] <= values["lower"]:
        raise ValueError(f"upper is {values['upper']:g}; it is above lower, {values['lower']:g}")
    if low is not None and high is not None and high < low:
        raise ValueError(f"max is {high:g}, below min, {low:g}")
    return distribution(found.make(values), round_to, low, high)


def _real(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 2**62:
        raise ValueError(f"{name} is '{text[:40]}'; it is a number below 2^62")
    return value


def help_of(kind: str) -> str:
    """Describe a type of custom variable; empty: there is none of that name."""
    if kind not in CVARS:
        return ""
    found = CVARS[kind]
    lines = [f"Custom variable type: {kind}", f"What it is: {found.what}", "Usage:", "\tparameter\tdefault"]
    lines += ["\t---------\t-------", *(f"\t{name}\t\t{value}" for name, value in found.defaults.items())]
    example = ";".join(f"{name}:{value}" for name, value in found.defaults.items())
    return "\n".join([*lines, f"Example: cvar(type={kind},parameters={example})", ""])


def list_of_types() -> str:
    """Name the types."""
    return "\n".join(["Custom variable types supported:", *(f"  {name}" for name in CVARS), ""])


# -- of distributions --------------------------------------------------------------------------------------------------


def largest(drawn: plan.Distribution) -> float:
    """Give the largest number that is drawn; of distributions without a bound, one that hardly any draw is above."""
    match drawn:
        case plan.Fixed(value=value):
            return value
        case plan.Uniform(max=high):
            return high
        case plan.Tabular(rows=rows):
            return max(high for weight, _, high in rows if weight > 0)
        case _:
            return _quantile(_continuous_of(drawn), 1 - _TAIL)


def _continuous_of(drawn: plan.Distribution) -> Continuous:
    match drawn:
        case plan.Gamma(mean=mean, shape=shape, min=least):
            return gamma(mean, shape, least)
        case plan.Exponential(mean=mean):
            return exponential(mean)
        case plan.Normal(mean=mean, deviation=sigma):
            return normal(mean, sigma)
        case plan.Lognormal(median=median, sigma=sigma):
            return lognormal(sigma, median)
        case plan.Uniform(min=low, max=high):
            return uniform(low, high)
        case _:
            raise ValueError("no distribution of this language")


_ROW_PIECES = 8


def up_to(drawn: plan.Distribution) -> plan.Distribution:
    """Give what is drawn evenly from 1 up to a number that is drawn itself: a mixture of N uniform distributions."""
    match drawn:
        case plan.Fixed(value=value):
            return plan.Uniform(min=1.0, max=max(1.0, value))
        case plan.Tabular(rows=rows):
            made = [(weight / pieces, 1.0, end) for weight, low, high in rows for pieces, end in _ends(low, high)]
        case _:
            source = _continuous_of(drawn)
            ends = [_quantile(source, (i + 0.5) / _PIECES) for i in range(_PIECES)]
            made = [(1.0, 1.0, end) for end in ends]
    if len(made) > _MOST_ROWS:
        raise ValueError("its table has too many rows")
    return plan.Tabular(rows=tuple((weight, low, max(low, end)) for weight, low, end in made))


def _ends(low: float, high: float) -> list[tuple[int, float]]:
    if high == low:
        return [(1, high)]
    return [(_ROW_PIECES, low + (high - low) * (i + 0.5) / _ROW_PIECES) for i in range(_ROW_PIECES)]
