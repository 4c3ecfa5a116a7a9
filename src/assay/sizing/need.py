"""What new storage must carry: from the load of today, with growth, headroom and what caches take."""

from dataclasses import dataclass

from assay.sizing.raid import Requests


@dataclass(frozen=True)
class Changes:
    """What is between today's load and the requests to a RAID group; all 0: nothing is assumed.

    Attributes:
        growth_per_year: Share by which the load grows in a year.
        years: For how many.
        headroom: Share of the requests that are to be free.
        read_hits: Share of reads that a cache serves.
        coalesced: Share of writes that a cache combines with others.
    """

    growth_per_year: float = 0.0
    years: float = 0.0
    headroom: float = 0.0
    read_hits: float = 0.0
    coalesced: float = 0.0

    @property
    def factor(self) -> float:
        """By which the rate is multiplied: (1 + growth)^years / (1 - headroom)."""
        return float((1 + self.growth_per_year) ** self.years) / (1 - self.headroom)


def front_end(iops: float, write_share: float, changes: Changes) -> Requests:
    """Give the requests that reach RAID groups."""
    needed = iops * changes.factor
    return Requests(
        needed * (1 - write_share) * (1 - changes.read_hits), needed * write_share * (1 - changes.coalesced)
    )
