"""Read the options for surfaces. Light to import: options are refused before the comparing libraries are loaded."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.compare.surfaces.region import Region, Weights

if TYPE_CHECKING:
    from assay.analysis.two_sizes import SizePair


@dataclass(frozen=True)
class Questions:
    """What is asked of surfaces."""

    places: Mapping[str, "SizePair"] = field(default_factory=dict)
    """Where results lie, by label."""
    regions: Sequence[Region] = ()
    weights: Weights | None = None
    ceiling_bytes_per_s: float | None = None
    """Rate that no storage of this machine exceeds; None: not given."""
    unconfirmed: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Labels of cells of which some runs were shown to be disturbed, by the side that A is held against: in no mean."""

    @property
    def is_any(self) -> bool:
        """Whether anything is asked that takes a surface."""
        return bool(self.regions) or self.weights is not None or self.ceiling_bytes_per_s is not None
