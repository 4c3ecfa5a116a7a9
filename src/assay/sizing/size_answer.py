"""Put a sizing together: the load, what it needs, the candidates, and each assumption."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.arrays import BoolArray
from assay.captures.gathered import GatheredLoad
from assay.captures.total import TotalLoad
from assay.errors import InputError
from assay.sizing.cache_need import largest_backlog
from assay.sizing.candidate import Candidate, Requirement, candidate
from assay.sizing.constrained import HeldBack, held_back
from assay.sizing.demand import Demand, demand_of
from assay.sizing.disks import DiskKind
from assay.sizing.need import Changes, front_end
from assay.sizing.policy import Policy, target_of
from assay.sizing.raid import RaidLevel, Requests


@dataclass(frozen=True)
class CapturedLoad:
    """What was captured.

    Attributes:
        total: All devices together.
        demand: Its IOPS, summed up.
        held: That the captured system held it back; None: not as far as can be seen.
        mean_written_bytes: Mean size of a write while the load is sustained; None where it is not known.
        request_bytes: Mean size of a request then; likewise.
    """

    total: TotalLoad
    demand: Demand
    held: HeldBack | None
    mean_written_bytes: float | None
    request_bytes: float | None


@dataclass(frozen=True)
class LoadOfToday:
    """The load that is sized for.

    Attributes:
        iops: That disks are sized for, today.
        is_of: Which figure that is.
        write_share: Of the requests.
        write_share_from: Where that is from.
        captured: What it is from; None: the rate was given.
    """

    iops: float
    is_of: str
    write_share: float
    write_share_from: str
    captured: CapturedLoad | None = None


@dataclass(frozen=True)
class SizeAnswer:
    """A sizing.

    Attributes:
        load: What is sized for.
        changes: Between the load of today and the requests that reach RAID groups.
        front: Those requests.
        latency_s: Mean response time that is not to be exceeded.
        cache_bytes: Writes of spikes that a cache must take while disks drain it at the rate that they are sized for; None
            where sizes or rates of writes are not known.
        candidates: In the order that they were asked for: each disk with each level.
        has_usual_spares: Whether the number of spares is the usual one, and not the user's.
    """

    load: LoadOfToday
    changes: Changes
    front: Requests
    latency_s: float
    cache_bytes: float | None
    candidates: tuple[Candidate, ...]
    has_usual_spares: bool


def load_of(
    gathered: GatheredLoad,
    policy: Policy,
    spike_s: float,
    *,
    write_share: float | None,
    latency_s: float,
    disks_now: int | None,
) -> LoadOfToday:
    """Sum a captured load up.

    Raises:
        InputError: It has no IOPS, no sample, or does not tell reads from writes and the user does not either.
    """
    total = gathered.total
    if "iops" not in total.columns:
        raise InputError(
            "the capture has no IOPS of all its devices (vmstat, for example, has bytes alone), and a number of disks"
            " cannot be computed without; capture with another program, or give --iops"
        )
    iops = total.columns["iops"]
    if not np.isfinite(iops).any():
        raise InputError("the capture has no step of time with samples of all its hosts")
    demand = demand_of(iops, total.step_s, spike_s)
    target, is_of = target_of(demand, policy)
    where = demand.core if demand.core.any() else np.isfinite(iops)
    share, whence = write_share, "as given"
    if share is None:
        share, whence = _write_share(total, where), "as captured"
    if share is None and gathered.systems is not None:
        share, whence = _share_of_systems(gathered.systems, total, where), "as the hosts have them as a whole"
    if share is None:
        raise InputError(
            "the capture does not tell reads from writes, and a write costs several requests to disks; give --writes,"
            " such as --writes 30%"
        )
    held = held_back(total, where, latency_s, disks_now)
    write_bytes, request_bytes = (
        _mean_bytes(total, where, rate, moved)
        for rate, moved in (("write_iops", "write_bytes_per_s"), ("iops", "bytes_per_s"))
    )
    captured = CapturedLoad(total, demand, held, write_bytes, request_bytes)
    return LoadOfToday(target, is_of, share, whence, captured)


def size(
    load: LoadOfToday,
    changes: Changes,
    asked: Requirement,
    disks: Sequence[tuple[DiskKind, float | None, float | None]],
    levels: Sequence[RaidLevel],
) -> SizeAnswer:
    """Size each combination.

    Args:
        load: What is sized for.
        changes: Growth, headroom, caches.
        asked: Latency, capacity and so on; its `front` is replaced.
        disks: Kinds of disks, each with its capacity in bytes and its price, or None.
        levels: RAID levels.
    """  # fmt: skip
    front = front_end(load.iops, load.write_share, changes)
    found = [
        candidate(kind, level, Requirement(**{**vars(asked), "front": front, "disk_bytes": capacity, "price": price}))
        for kind, capacity, price in disks
        for level in levels
    ]
    return SizeAnswer(
        load, changes, front, asked.latency_s, _cache_bytes(load, changes), tuple(found), asked.spares is None
    )


def _write_share(total: TotalLoad, where: BoolArray) -> float | None:
    writes = total.columns.get("write_iops")
    if writes is None:
        return None
    requests = float(np.nansum(total.columns["iops"][where]))
    return float(np.nansum(writes[where])) / requests if requests else 0.0


def _share_of_systems(systems: TotalLoad, total: TotalLoad, where: BoolArray) -> float | None:
    """Give the share while the load is sustained, where both have the same steps; else over all of it."""
    same = (systems.begin_s, systems.step_s, systems.steps) == (total.begin_s, total.step_s, total.steps)
    return _write_share(systems, where if same else np.ones(systems.steps, dtype=np.bool_))


def _mean_bytes(total: TotalLoad, where: BoolArray, rate: str, moved: str) -> float | None:
    requests, sizes = total.columns.get(rate), total.columns.get(moved)
    if requests is None or sizes is None or not (count := float(np.nansum(requests[where]))):
        return None
    return float(np.nansum(sizes[where])) / count


def _cache_bytes(load: LoadOfToday, changes: Changes) -> float | None:
    """Give the most that waits when writes come as captured, with the growth, and disks take what they are sized for."""
    captured = load.captured
    if captured is None or captured.mean_written_bytes is None:
        return None
    total = captured.total
    grown = float((1 + changes.growth_per_year) ** changes.years)
    drained = load.iops * grown * load.write_share
    return largest_backlog(total.columns["write_iops"] * grown, drained, total.step_s) * captured.mean_written_bytes
