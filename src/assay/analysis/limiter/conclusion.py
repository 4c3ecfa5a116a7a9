"""What limited a number, and what follows from it."""

import dataclasses

from assay.verdicts import Bottleneck, Confidence

CLIENT_CPU = frozenset({Bottleneck.CLIENT_CPU_SINGLE, Bottleneck.CLIENT_CPU_ALL, Bottleneck.CPU_CONTENTION})
"""The processors of this client."""


@dataclasses.dataclass(frozen=True)
class Conclusion:
    """What limited a number, and what shows it."""

    limit: Bottleneck
    confidence: Confidence
    evidence: tuple[str, ...]
    """Measure, value and threshold in words, the strongest first."""
    headroom: float | None = None
    """How many times the number the next ceiling is; None: no ceiling is known."""
    remedy: str = ""
    """What would change it."""
