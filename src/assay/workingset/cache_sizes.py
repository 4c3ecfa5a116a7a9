"""What is shown of a curve: a table of sizes, working sets over time, and means of tiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from assay.workingset.engine_answer import EngineAnswer, HitCurve, PolicyHits, ServedShare, TierPeriod, UsedBlocks
from assay.workingset.trace_question import TraceQuestion

ROWS: Final = 12
"""Sizes of a table where none are asked for."""
POLICY_KEYS: Final = 16_384
"""Blocks that are simulated where there are more."""
LEAST_SAMPLED: Final = 64
"""Blocks of a sample, below which there is no answer."""
LEAST_ALIKE: Final = 0.5
"""Share of the accesses that two periods have in common, below which the second is unlike the first."""


@dataclass(frozen=True)
class PolicyTable:
    """Hit ratios of caches that were simulated.

    Attributes:
        sizes: In blocks.
        rate: Share of the blocks that was simulated.
        hits: By policy.
    """

    sizes: tuple[int, ...]
    rate: float
    hits: tuple[PolicyHits, ...]


@dataclass(frozen=True)
class WorkingSet:
    """The whole answer.

    Attributes:
        question: What was asked.
        found: What the engine found.
        curve: Of LRU caches.
        policies: None where no policy was asked for.
    """

    question: TraceQuestion
    found: EngineAnswer
    curve: HitCurve
    policies: PolicyTable | None

    @property
    def best(self) -> ServedShare:
        """What the largest cache serves: all but first uses."""
        return self.curve.served[-1]

    @property
    def table(self) -> list[ServedShare]:
        """The sizes of the table."""
        return self.curve.asked or chosen(self.curve.served, ROWS)

    @property
    def is_sampled(self) -> bool:
        """Whether only a part of the blocks was looked at."""
        return self.curve.rate < 1


def chosen(served: Sequence[ServedShare], most: int) -> list[ServedShare]:
    """Choose sizes of a power of two blocks, from the first that serves 1 % of the best on, and the largest."""
    worth = [one for one in served if one.hit >= 0.01 * served[-1].hit] or list(served)
    doubled = [one for one in worth[:-1] if one.blocks.bit_count() == 1]
    step = -(-len(doubled) // (most - 1))
    return [*doubled[::-1][:: max(step, 1)][::-1], worth[-1]]


def policy_rate(curve: HitCurve) -> float:
    """Give the share of the blocks that is simulated."""
    return min(1.0, POLICY_KEYS / curve.footprint_blocks)


@dataclass(frozen=True)
class WindowUse:
    """Different blocks that windows of one length used: on average, and at most."""

    seconds: int
    windows: int
    mean: float
    most: float


def window_use(windows: UsedBlocks, lasted_s: float) -> WindowUse | None:
    """Sum the whole windows of one length up; None where there are none. `lasted_s`: from the epoch of the windows."""
    used = [blocks for number, blocks in windows.used if (number + 1) * windows.seconds <= lasted_s]
    return WindowUse(windows.seconds, len(used), sum(used) / len(used), max(used)) if used else None


@dataclass(frozen=True)
class TierMean:
    """Shares that fast storage serves over several periods, by accesses."""

    periods: int
    devices: float
    extents: float
    cache: float


def tier_mean(periods: Sequence[TierPeriod]) -> TierMean | None:
    """Give the shares of periods together; None where there are none that have a period before them."""
    known = [one for one in periods if one.devices is not None and one.extents is not None]
    accesses = sum(one.accesses for one in known)
    if not accesses:
        return None
    return TierMean(
        len(known),
        sum((one.devices or 0.0) * one.accesses for one in known) / accesses,
        sum((one.extents or 0.0) * one.accesses for one in known) / accesses,
        sum(one.cache * one.accesses for one in known) / accesses,
    )


def is_unlike(period: TierPeriod) -> bool:
    """Whether a period is unlike the one before it, as the end of a month is."""
    return period.alike is not None and period.alike < LEAST_ALIKE
