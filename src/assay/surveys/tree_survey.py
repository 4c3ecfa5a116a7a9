"""Define what the engine reports of a tree; sizes in bytes, times in seconds."""

from typing import Final

import msgspec

NO_STATE: Final = msgspec.Raw(b"null")


class SizeRow(msgspec.Struct, frozen=True):
    """Values within a quarter of a power of two."""

    least: int
    greatest: int
    count: int
    sum: int


class ValueSpread(msgspec.Struct, frozen=True):
    """How values are distributed."""

    is_exact: bool
    """Whether each value was counted by itself."""
    bound: float
    """Otherwise a true percentile is above the given one by this share of it at most."""
    distinct: int
    """Different values, or buckets that were met."""
    mean: float | None
    by_number: tuple[tuple[float, int], ...]
    """Percentage, and the smallest value that so many values are not above."""
    by_sum: tuple[tuple[float, int], ...]
    """Likewise, with each value weighing what it is."""
    rows: tuple[SizeRow, ...]


class SizeClassCount(msgspec.Struct, frozen=True):
    """Files of one class of sizes: above the class before, up to `up_to_bytes`."""

    up_to_bytes: int
    files: int
    bytes: int
    allocated_bytes: int


class AgeClassCount(msgspec.Struct, frozen=True):
    """Files of one class of ages. Of `up_to_days` 0 the time is in the future; None has no bound."""

    up_to_days: int | None
    files: int
    bytes: int
    allocated_bytes: int


class LevelCount(msgspec.Struct, frozen=True):
    """Files and directories so many levels below the surveyed directory."""

    files: int
    directories: int


class NotSurveyed(msgspec.Struct, frozen=True):
    """What was not surveyed, and the first that were met: path and reason."""

    count: int
    first: tuple[tuple[str, str], ...]


class TreeSummary(msgspec.Struct, frozen=True):
    """The counts of a tree."""

    files: int
    """Names of regular files."""
    directories: int
    """Those that were read, with the surveyed one."""
    links: int
    others: int
    """Devices, pipes and sockets."""
    hard_linked_files: int
    """Names of files that have several."""
    sparse_files: int
    bytes: int
    """Lengths of all names."""
    bytes_once: int
    """The length of a file with N names counts as an Nth at each."""
    allocated_bytes: int
    sizes: ValueSpread
    size_classes: tuple[SizeClassCount, ...]
    modified: tuple[AgeClassCount, ...]
    accessed: tuple[AgeClassCount, ...]
    depths: tuple[LevelCount, ...]
    entries: ValueSpread
    """Of directories."""
    unreadable: NotSurveyed
    """Directories."""
    unseen: NotSurveyed
    """Names whose file could not be looked at."""
    mounts: NotSurveyed
    left_out: NotSurveyed
    """Directories that the memory of a survey has no room for."""
    vanished: int
    """Names that were gone when their turn came."""

    def share_up_to(self, size_bytes: int) -> float:
        """Give the share of the files that are no larger than a power of two."""
        if not self.files:
            return 0.0
        return sum(one.files for one in self.size_classes if one.up_to_bytes <= size_bytes) / self.files


class ChosenFile(msgspec.Struct, frozen=True):
    """A file that was chosen to look into."""

    path: str
    """Below the surveyed directory; bytes that are not printable ASCII are `%` and two digits."""
    inode: int
    bytes: int


class TreeSurvey(msgspec.Struct, frozen=True, tag="survey", tag_field="kind"):
    """A survey, finished or as far as it is."""

    is_last: bool
    is_whole: bool
    wall_s: float
    now_s: int
    """Ages are reckoned from it: seconds since 1970."""
    directories_left: int
    summary: TreeSummary
    sampled_by_number: tuple[ChosenFile, ...] = ()
    """Chosen evenly, of files that are not empty."""
    sampled_by_bytes: tuple[ChosenFile, ...] = ()
    """Chosen by their bytes."""
    sample_threshold_bytes: float = 0.0
    """A file of the sample by bytes stands for so many, where it has fewer."""
    state: msgspec.Raw = NO_STATE
    """What the engine needs to go on, as it wrote it."""


class SurveyProgress(msgspec.Struct, frozen=True, tag="progress", tag_field="kind"):
    """How far a survey is."""

    files: int
    directories: int
    bytes: int
    waiting: int
    wall_s: float
