"""Which figure of a load disks are sized by."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.sizing.demand import Demand


class Policy(StrEnum):
    """By what."""

    STEADY = "steady"
    """95th percentile of the core, or the busiest half hour where that is more."""
    MEAN_STEADY = "mean-steady"
    """Mean of the core, or the busiest half hour where that is more."""
    P95 = "p95"
    """95th percentile of all steps."""
    PEAK = "peak"
    """The highest step: for who needs the least latency at any moment."""

    @property
    def words(self) -> str:
        """Name it in a sentence."""
        return _WORDS[self]


_WORDS = {
    Policy.STEADY: "95th percentile of what is sustained",
    Policy.MEAN_STEADY: "mean of what is sustained",
    Policy.P95: "95th percentile of all samples",
    Policy.PEAK: "highest sample",
}
HALF_HOUR = "busiest 30 minutes"


def target_of(demand: "Demand", policy: Policy) -> tuple[float, str]:
    """Give the IOPS that disks are sized for, and the figure that this is."""
    if policy is Policy.PEAK:
        return demand.peak, policy.words
    if policy is Policy.P95:
        return demand.p95, policy.words
    steady = demand.steady_p95 if policy is Policy.STEADY else demand.steady_mean
    # Where the series is shorter than half an hour, or nothing of it lasts, the mean is the least that is sustained.
    sustained = demand.mean if demand.sustained is None else demand.sustained
    if steady is None or sustained > steady:
        return sustained, "mean" if demand.sustained is None else HALF_HOUR
    return steady, policy.words
