"""How is a number drawn?"""

from assay.plan.values import Kind


class Fixed(Kind, kw_only=True):
    """Always the same."""

    value: float
    """The value."""


class Uniform(Kind, kw_only=True):
    """Equally likely between two bounds, both included for whole numbers."""

    min: float
    """Lower bound."""
    max: float
    """Upper bound."""


class Normal(Kind, kw_only=True):
    """Normal."""

    mean: float
    """Mean."""
    deviation: float
    """Standard deviation."""


class Exponential(Kind, kw_only=True):
    """Exponential."""

    mean: float
    """Mean."""


class Gamma(Kind, kw_only=True):
    """Gamma: `min` plus a draw of the given mean and shape."""

    mean: float
    """Mean of the draw."""
    shape: float
    """Shape."""
    min: float = 0.0
    """Added to each draw."""


class Lognormal(Kind, kw_only=True):
    """Log-normal; `sigma` is the standard deviation of the logarithm."""

    median: float
    """Median."""
    sigma: float
    """Standard deviation of the logarithm."""


class Zipf(Kind, kw_only=True):
    """Zipf over ranks; rank 0 is the likeliest, scattered over the range if `scramble`."""

    theta: float
    """Exponent."""
    scramble: bool = True
    """Scatter the ranks over the range, so that likely ones are not neighbours."""


class Pareto(Kind, kw_only=True):
    """Share `h` of the accesses goes to share `1 - h` of the range."""

    h: float
    """Share of the accesses, 0.5 to 1."""
    scramble: bool = True
    """Scatter the ranks over the range."""


class HotSpot(Kind, kw_only=True):
    """Share `access_share` of the accesses goes to the first `range_share` of the range."""

    range_share: float
    """Share of the range that is hot, from its start."""
    access_share: float
    """Share of the accesses that goes there."""


class Tabular(Kind, kw_only=True):
    """Weighted segments `(weight, min, max)`, uniform inside each."""

    rows: tuple[tuple[float, float, float], ...]
    """Segments: weight, lower bound, upper bound."""


Distribution = Fixed | Uniform | Normal | Exponential | Gamma | Lognormal | Zipf | Pareto | HotSpot | Tabular


ANYWHERE = Uniform(min=0.0, max=1.0)
"""Every position equally likely."""
