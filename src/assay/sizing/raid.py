"""RAID: what requests of the front end cost the disks, and how much of the disks holds data.

A read is one request to a disk. A small random write is as many as its penalty: 2 on a mirror; 4 with one parity (read
data and parity, write both); 6 with two. Arrays that write whole stripes (RAID-DP with WAFL, ZFS, log-structured) pay
n / (n - parity) for that share of their writes. With a disk lost, a read of it is n - 1 reads of its group.
"""

import re
from dataclasses import dataclass
from typing import Final

from assay.errors import InputError

_FORM: Final = re.compile(r"(?:raid-?)?(0|1|10|5|6|dp)(?::([0-9]{1,3}))?", re.IGNORECASE)
_PENALTIES: Final = {"0": 1, "1": 2, "10": 2, "5": 4, "6": 6, "dp": 6}
_PARITIES: Final = {"5": 1, "6": 2, "dp": 2}
_USUAL_GROUPS: Final = {"5": 8, "6": 10, "dp": 16}
"""Disks of a group where the user gives none: used for capacity and for a lost disk, not for rounding."""
_SMALLEST_GROUPS: Final = {"0": 1, "1": 2, "10": 4, "5": 3, "6": 4, "dp": 3}


@dataclass(frozen=True)
class Requests:
    """Rates of reads and writes."""

    reads_per_s: float
    writes_per_s: float

    @property
    def per_s(self) -> float:
        """Both together."""
        return self.reads_per_s + self.writes_per_s


@dataclass(frozen=True)
class RaidLevel:
    """A RAID level with its groups.

    Attributes:
        level: `0`, `1`, `10`, `5`, `6` or `dp`.
        group: Disks of a parity group.
        is_group_given: Whether the user asked for that; then disks are rounded up to whole groups.
        full_stripes: Share of the writes that are written as whole stripes.
    """

    level: str
    group: int
    is_group_given: bool
    full_stripes: float = 0.0

    @property
    def name(self) -> str:
        """Name it, with the group where one was asked for."""
        return f"RAID {self.level.upper()}" + (f":{self.group}" if self.is_group_given else "")

    @property
    def penalty(self) -> float:
        """Requests to disks for one write."""
        small = float(_PENALTIES[self.level])
        if not (parity := _PARITIES.get(self.level, 0)):
            return small
        return (1 - self.full_stripes) * small + self.full_stripes * self.group / (self.group - parity)

    @property
    def usable(self) -> float:
        """Share of the disks' capacity that holds data."""
        if parity := _PARITIES.get(self.level, 0):
            return (self.group - parity) / self.group
        return 1.0 if self.level == "0" else 0.5

    def back_end(self, front: "Requests") -> "Requests":
        """Give the requests to disks: with parity, half of what a small write costs is reads."""
        small, parity = float(_PENALTIES[self.level]), _PARITIES.get(self.level, 0)
        reads = (1 - self.full_stripes) * small / 2 if parity else 0.0
        return Requests(front.reads_per_s + reads * front.writes_per_s, (self.penalty - reads) * front.writes_per_s)

    def degraded(self, front: "Requests", disks: int) -> "Requests | None":
        """Give the requests to the disks that are left when one of them is lost; None: data is lost, too.

        On a mirror the other half serves its reads. With parity, each read of the lost disk becomes one of every other
        disk of its group.
        """
        if self.level == "0":
            return None
        whole = self.back_end(front)
        more = front.reads_per_s / disks * (min(self.group, disks) - 2) if self.level in _PARITIES else 0.0
        return Requests(whole.reads_per_s + more, whole.writes_per_s)

    @property
    def unit(self) -> int:
        """Disks that are added at a time."""
        if self.is_group_given and self.level in _PARITIES:
            return self.group
        return 2 if self.level in {"1", "10"} else 1

    def rounded(self, disks: int) -> int:
        """Round a number of disks up to what the level can be made of."""
        return -(-max(disks, _SMALLEST_GROUPS[self.level]) // self.unit) * self.unit


def parse_raid(text: str, full_stripes: float = 0.0) -> RaidLevel:
    """Read a level, such as `5`, `10`, or `6:12` for groups of 12.

    Raises:
        InputError: It is none.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InputError(f"--raid '{text[:20]}': write 0, 1, 10, 5, 6 or dp, and for groups of 8 disks 5:8")
    level, given = match[1].lower(), match[2]
    if given is not None and level not in _PARITIES:
        raise InputError(f"--raid '{text}': groups are of levels with parity (5, 6, dp)")
    group = int(given) if given is not None else _USUAL_GROUPS.get(level, 1)
    if given is not None and group < _SMALLEST_GROUPS[level]:
        raise InputError(
            f"--raid '{text}': a group of RAID {level.upper()} has at least {_SMALLEST_GROUPS[level]} disks"
        )
    return RaidLevel(level, group, given is not None, full_stripes)
