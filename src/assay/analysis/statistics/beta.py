"""The beta distribution, and Student's t by it: what intervals are made from."""

import functools
import math

_STEPS = 300
_SMALL = 1e-300
_EXACT = 1e-14
_BELOW_ONE = math.nextafter(1.0, 0.0)
_CLOSE = 1e-14
"""Of a value, the step from which on it is as near as the share is exact."""
_LOG_FLAT = -600.0
"""Logarithm of a density that is too small to divide by."""


def beta_share(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b): the share of a beta distribution below x.

    By its continued fraction, evaluated as Lentz does (DLMF 8.17.22); relative error about 1e-12.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - beta_share(1.0 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _apart(1.0 + term * d)
            c = _apart(1.0 + term / c)
            fraction *= c * d
        if abs(c * d - 1.0) < _EXACT:
            break
    return math.exp(log_front) * fraction / a


@functools.lru_cache(maxsize=4096)
def beta_quantile(share: float, a: float, b: float) -> float:
    """Value below which a share of a beta distribution lies; 0 or 1 where a parameter is 0, as its limit is."""
    if a <= 0.0 or share <= 0.0:
        return 0.0
    if b <= 0.0 or share >= 1.0:
        return 1.0
    low, high, x = 0.0, 1.0, min(a / (a + b), _BELOW_ONE)
    log_scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    while high - low > 1e-15 * max(high, _SMALL):
        missing = share - beta_share(x, a, b)
        low, high = (x, high) if missing > 0 else (low, x)
        # Newton's step, as long as it stays inside; else the middle.
        log_density = log_scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)
        step = missing * math.exp(-log_density) if log_density > _LOG_FLAT else math.inf
        following = x + step
        if abs(step) <= _CLOSE * x:
            return following
        x = following if low < following < high else (low + high) / 2
        if x in {low, high}:
            break
    return (low + high) / 2


@functools.lru_cache(maxsize=1024)
def student_quantile(share: float, freedom: float) -> float:
    """Return the value below which a share, at least a half, of Student's t with `freedom` degrees of freedom lies."""
    x = beta_quantile(2 * (1 - share), freedom / 2, 0.5)
    return math.sqrt(freedom * (1 - x) / x) if x > 0 else math.inf


def student_p(t: float, freedom: float) -> float:
    """Return the two-sided p of a value of Student's t with `freedom` degrees of freedom."""
    return beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)


def _apart(value: float) -> float:
    """A divisor that is not nothing."""
    return value if abs(value) > _SMALL else _SMALL
