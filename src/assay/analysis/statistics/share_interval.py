"""By which share does one mean, or percentile, differ from another of the same run, and how sure is that?

Both have a 95 % interval, and were measured one after the other. Where all are above zero the interval of the ratio is put
together from theirs in the logarithm, where distances are ratios (MOVER; Zou and Donner 2008, "Construction of confidence
limits about effect measures"): with estimates a, b and their limits,

    lower end: ln(b / a) - sqrt((ln b - ln b_low)^2 + (ln a_high - ln a)^2), and the upper end in the same way.

Where the second reaches down to zero its ends by the far ends of the first are the ends: no less than 95 %.
"""

import math

Interval = tuple[float, float]


def ratio_interval(a: float, of_a: Interval, b: float, of_b: Interval) -> Interval | None:
    """Give the interval of b / a.

    Args:
        a: Above zero.
        of_a: Its interval.
        b: Zero or more.
        of_b: Its interval.

    Returns:
        The ends; None where `a` may be zero.
    """
    if of_a[0] <= 0:
        return None
    if of_b[0] <= 0 or b <= 0:
        return max(0.0, of_b[0]) / of_a[1], of_b[1] / of_a[0]
    low_a, middle_a, high_a = (math.log(value) for value in (of_a[0], a, of_a[1]))
    low_b, middle_b, high_b = (math.log(value) for value in (of_b[0], b, of_b[1]))
    ratio = middle_b - middle_a
    return (
        math.exp(ratio - math.hypot(middle_b - low_b, high_a - middle_a)),
        math.exp(ratio + math.hypot(high_b - middle_b, middle_a - low_a)),
    )
