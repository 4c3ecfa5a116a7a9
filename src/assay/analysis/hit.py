"""The hit ratio of reads: which part of their bytes memory delivered, of which time, and what follows from it.

The number beside it is one of a window. Counters that were sampled all along give the ratio of that window. What is only
known of the whole phase (a total at its end, what was resident before it began) leaves a range for the window:

    hits of the phase = ratio * bytes of the phase
    hits of the window: at least those less all bytes outside of it, at most those

There is a verdict where the whole range has the same one.
"""

import dataclasses

from assay.analysis import thresholds
from assay.results import Finding

WINDOW, PHASE = "window", "phase"
"""What a hit ratio is of."""
UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class HitRatio:
    """Share of the bytes read that storage did not deliver, and how that was found."""

    value: float | None
    method: str | None
    findings: tuple[Finding, ...] = ()
    span: str | None = None
    """What `value` is of: `window` or `phase`; None where there is none."""
    bounds: tuple[float, float] | None = None
    """Where the ratio of the window lies; None: at `value`."""

    @property
    def least(self) -> float:
        """The part of the window's bytes that memory delivered at least."""
        return self.bounds[0] if self.bounds else self.value or 0.0

    @property
    def verdict(self) -> str:
        """`storage`, `mixed` or `cache`; `unknown` where the ratio of the window may be either."""
        if self.value is None:
            return UNKNOWN
        low, high = self.bounds or (self.value, self.value)
        return _verdict(low) if _verdict(low) == _verdict(high) else UNKNOWN

    @property
    def words(self) -> str:
        """The ratio in words, for sentences."""
        of = " (over the whole phase)" if self.span == PHASE else ""
        return f"{100 * (self.value or 0.0):.0f} % of the bytes read{of}"


def of_window(value: float, method: str, findings: tuple[Finding, ...] = ()) -> HitRatio:
    """Make the ratio of a window."""
    return HitRatio(value, method, findings, WINDOW)


def of_phase(known: HitRatio, phase_bytes: float, window_bytes: float) -> HitRatio:
    """Describe what the ratio of a whole phase leaves open for the window; where that is all of it, it is the window's.

    Args:
        known: The ratio with the bounds of that of the phase.
        phase_bytes: All that was read.
        window_bytes: The part of it in the window.
    """
    if window_bytes >= phase_bytes or window_bytes <= 0 or known.bounds is None:
        return dataclasses.replace(known, span=WINDOW)
    least, most = (bounds_in(share, phase_bytes=phase_bytes, window_bytes=window_bytes) for share in known.bounds)
    return dataclasses.replace(known, span=PHASE, bounds=(least[0], most[1]))


def bounds_in(value: float, *, phase_bytes: float, window_bytes: float) -> tuple[float, float]:
    """Return between which ratios that of a window lies, by that of the phase."""
    hits = value * phase_bytes
    return max(0.0, hits - (phase_bytes - window_bytes)) / window_bytes, min(1.0, hits / window_bytes)


def _verdict(hit: float) -> str:
    if hit <= thresholds.STORAGE_HIT:
        return "storage"
    return "cache" if hit >= thresholds.CACHE_HIT else "mixed"
