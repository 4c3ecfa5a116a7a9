"""How well is a percentile of a run known?

Of n independent values, how many lie above the true quantile q is binomial; the order statistics whose ranks are the ends
of that distribution (Clopper and Pearson's, by the beta distribution) enclose the quantile, whatever the distribution of
the values (Woodruff 1952). Latencies of a run are not independent: a slow second makes many of them slow together. By how
much fewer they count is seen from the intervals: with e_t of n_t values above the percentile in interval t, and e of n in
all, the variance of the sum of e_t - n_t e / n, the correlation of neighbours allowed for, over the n q (1 - q) that
independent values would have, is the design effect; n over it is what counts.
"""

import numpy as np

from assay.analysis import thresholds
from assay.analysis.arrays import IntArray, dot
from assay.analysis.statistics.beta import beta_quantile
from assay.analysis.statistics.mean import correlation

LEAST_INTERVALS = 3


def enclosing_shares(quantile: float, above: IntArray, total: IntArray) -> tuple[float, float | None] | None:
    """Give the quantiles of the sample that enclose a true quantile with 95 % confidence.

    Args:
        quantile: Share of the values at or below, above 0 and below 1.
        above: Values above the sample's quantile, by interval, shape `(t,)`, in order.
        total: All values, by interval.

    Returns:
        The lower and the upper one; no upper one where it lies beyond the largest value. None: fewer than three intervals
        have values.
    """
    n = int(total.sum())
    if np.count_nonzero(total) < LEAST_INTERVALS:
        return None
    effective = n / _design_effect(above, total)
    beyond = (1 - thresholds.CONFIDENCE) / 2
    expected = effective * quantile
    low = beta_quantile(beyond, expected, effective - expected + 1)
    high = beta_quantile(1 - beyond, expected + 1, effective - expected)
    return low, high if high * n <= n - 1 else None


def _design_effect(above: IntArray, total: IntArray) -> float:
    """Return how many values give as much information as one independent value; at least 1."""
    n, e = int(total.sum()), int(above.sum())
    share = e / n
    if not 0 < share < 1:
        return 1.0
    rest = above - total * share
    p = correlation(rest)
    variance = dot(rest, rest) * (1 + p) / (1 - p)
    return max(1.0, variance / (n * share * (1 - share)))
