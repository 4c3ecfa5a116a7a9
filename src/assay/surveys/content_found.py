"""Define what was found in the files that a survey looked into."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EstimateOfFiles:
    """A figure of chosen files, with its interval; None: too few for one."""

    value: float
    interval: tuple[float, float] | None
    files: int


@dataclass(frozen=True, slots=True)
class ContentEstimate:
    """What was found in the files that could be read."""

    extents_per_file: EstimateOfFiles | None
    """None: no file system here reports extents, or no file could be read."""
    fragmented_share: EstimateOfFiles | None
    """Of files that have more than one extent."""
    compression_ratio: EstimateOfFiles | None
    """Bytes by compressed bytes, over all bytes."""
    not_read: int
    """Chosen files that could not be read, or have no block on storage."""
