"""Which share of a whole has a property, by a sample of it?

Of n independent draws the number that has it is binomial; the interval is Clopper and Pearson's (1934, "The use of
confidence or fiducial limits illustrated in the case of the binomial"), whose ends are quantiles of the beta distribution.
It has 95 % confidence or more, for every n and every share.
"""

from assay.analysis import thresholds
from assay.analysis.statistics.beta import beta_quantile


def binomial_interval(found: int, drawn: int) -> tuple[float, float]:
    """Give the ends of the interval of a share.

    Args:
        found: Draws that have the property, 0 to `drawn`.
        drawn: All of them, above 0.
    """
    beyond = (1 - thresholds.CONFIDENCE) / 2
    return beta_quantile(beyond, found, drawn - found + 1), beta_quantile(1 - beyond, found + 1, drawn - found)
