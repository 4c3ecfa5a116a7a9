"""A run of workloads on SDs as a phase.

Threads belong to an SD and serve all of its workloads, so an SD is a job: each I/O is one of the workloads, a read or a
write, inside or outside of the hit area, of one of the sizes, by weights. With a rate the workloads' shares of it are
the weights and the SDs' are their rates; as fast as it goes, each SD goes by itself, unless skew= gives shares across
SDs: then one job with the threads of all draws the SD too. What is in order is one stream that all threads of the SD
follow.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay import plan
from assay.tools.vdbench.definitions import MAX
from assay.tools.vdbench.runs import OneRun
from assay.tools.vdbench.storage import Sd, Wd
from assay.tools.vdbench.values import Transfer

_MOST_BRANCHES = 1000
_BLOCK = 4096
_SECTOR = 512


@dataclasses.dataclass(frozen=True)
class Disk:
    """An SD with the file set that holds its file."""

    sd: Sd
    file_set: str
    size: int


@dataclasses.dataclass(frozen=True)
class _Leaf:
    """One kind of I/O of a workload."""

    weight: float
    op: plan.Op


def jobs(run: OneRun, disks: Mapping[str, Disk]) -> tuple[plan.Job, ...]:
    """Make the jobs of a run.

    Args:
        run: What is asked for.
        disks: By the name of the SD.

    Raises:
        FrontEndError: what has no exact equal here.
    """
    wds = [_override(wd, run.values) for wd in run.rd.wds]
    chosen = {name: _with_threads(disks[name], run.values) for wd in wds for name in wd.sds}
    _check(run, wds)
    if run.rate == MAX and any(wd.skew is not None for wd in wds) and len(chosen) > 1:
        return (_one_job(run, wds, chosen),)
    return tuple(itertools.chain.from_iterable(_jobs_of(run, wds, disk) for disk in chosen.values()))


def shares(wds: Sequence[Wd]) -> dict[str, float]:
    """Give each workload's share of the whole rate: skew= where it is given, and of the rest all others the same.

    Raises:
        FrontEndError: they do not add up to 100 per cent.
    """
    given = sum(wd.skew for wd in wds if wd.skew is not None)
    others = [wd for wd in wds if wd.skew is None]
    if given > 100.01 or (not others and round(given, 1) != 100.0):
        wd = next(wd for wd in wds if wd.skew is not None)
        raise wd.place.error(f"the skews of the workloads of a run add up to {given:g} per cent, not to 100")
    return {wd.name: (100 - given) / len(others) if wd.skew is None else wd.skew for wd in wds}


def _override(wd: Wd, values: Mapping[str, object]) -> Wd:
    """Replace the settings of the wd by those of the loops of the rd."""
    given: dict[str, Any] = {name: values[name] for name in ("rdpct", "seekpct", "rhpct", "whpct") if name in values}
    if "xfersize" in values:
        given["transfer"] = values["xfersize"]
    return dataclasses.replace(wd, **given)


def _with_threads(disk: Disk, values: Mapping[str, object]) -> Disk:
    given: dict[str, Any] = {name: values[name] for name in ("threads", "hitarea") if name in values}
    return dataclasses.replace(disk, sd=dataclasses.replace(disk.sd, **given))


def _check(run: OneRun, wds: Sequence[Wd]) -> None:
    for key in ("operation", "depth", "width", "files", "sizes"):
        if key in run.values:
            raise run.rd.place.error(f"rd={run.rd.name}: {key}= is of file systems, and this run is of SDs")
    for wd in wds:
        others = [other for other in wds if other is not wd and set(other.sds) & set(wd.sds)]
        if wd.iorate is not None and others:
            raise wd.place.error(
                f"wd={wd.name}: iorate= of one workload needs threads of its own here, and its SD serves"
                f" {others[0].name} too; give it an sd, or use skew= and the iorate= of the rd"
            )
        if wd.iorate is not None and (run.rate != MAX or run.of or any(other.skew is not None for other in wds)):
            raise wd.place.error(
                f"wd={wd.name}: iorate= of a workload with a rate, a curve or a skew of the run is not supported; give the"
                " run iorate=max, or each workload a skew="
            )
        if wd.seekpct < 100 and any(other.seekpct < 100 for other in others):
            raise wd.place.error(
                f"wd={wd.name}: two workloads go through one SD in order, and an SD has one stream here; give each an sd"
                " of its own, with range="
            )
        if wd.seekpct < 100 and (wd.rhpct or wd.whpct):
            raise wd.place.error(
                f"wd={wd.name}: rhpct and whpct are of random I/O here; leave them out, or use seekpct=100"
            )


# -- jobs --------------------------------------------------------------------------------------------------------------


def _jobs_of(run: OneRun, wds: Sequence[Wd], disk: Disk) -> Iterator[plan.Job]:
    mine = [wd for wd in wds if disk.sd.name in wd.sds]
    part = shares(wds)
    weights = [part[wd.name] / len(wd.sds) for wd in mine]
    if run.rate == MAX and all(wd.skew is None for wd in wds):
        weights = [1.0] * len(mine)
    own_rate = mine[0].iorate
    rate = run.rate * sum(weights) / 100 if own_rate is None else own_rate / len(mine[0].sds)
    if not any(weights) or rate <= 0:
        return
    leaves = [leaf for wd, weight in zip(mine, weights, strict=True) for leaf in _leaves(wd, disk, weight)]
    arrival = _arrival(run, rate) if own_rate is None else plan.Open(rate_per_s=rate, spacing=_spacing(run))
    yield _job(run, leaves, arrival, name=disk.sd.name, disks=[disk], wds=mine)


def _one_job(run: OneRun, wds: Sequence[Wd], disks: Mapping[str, Disk]) -> plan.Job:
    part = shares(wds)
    leaves = [leaf for wd in wds for name in wd.sds for leaf in _leaves(wd, disks[name], part[wd.name] / len(wd.sds))]
    return _job(run, leaves, _arrival(run, run.rate), name="all sds", disks=list(disks.values()), wds=wds)


def _job(
    run: OneRun,
    leaves: Sequence[_Leaf],
    arrival: plan.Arrival,
    *,
    name: str,
    disks: Sequence[Disk],
    wds: Sequence[Wd],
) -> plan.Job:
    if len(leaves) > _MOST_BRANCHES:
        raise run.rd.place.error(
            f"rd={run.rd.name}: {len(leaves)} kinds of I/O on one SD; the limit is {_MOST_BRANCHES}"
        )
    flags = {run.rd.flags if run.rd.flags is not None else wd.flags | disk.sd.flags for disk in disks for wd in wds}
    if len(flags) > 1:
        raise run.rd.place.error(
            f"rd={run.rd.name}: the workloads of job '{name}' differ in openflags; give them the same"
        )
    if "fsync" in next(iter(flags)):
        raise run.rd.place.error(
            f"rd={run.rd.name}: openflags=fsync flushes when an SD is closed, which is after the run; use o_dsync, or"
            " leave it out"
        )
    if len(leaves) == 1:
        actions: tuple[plan.Action, ...] = (plan.Do(op=leaves[0].op),)
    else:
        branches = (plan.Branch(weight=leaf.weight, actions=(plan.Do(op=leaf.op),)) for leaf in leaves)
        actions = (plan.Choice(branches=tuple(branches)),)
    return plan.Job(
        name=name,
        body=plan.Loop(actions=actions),
        workers=sum(disk.sd.threads for disk in disks),
        arrival=arrival,
        open=open_flags(flags.pop()),
    )


def open_flags(words: frozenset[str]) -> plan.OpenFlags:
    """Give the flags that files are opened with."""
    direct = plan.Direct.ON if "direct" in words else plan.Direct.OFF
    return plan.OpenFlags(direct=direct, sync="sync" in words, dsync="dsync" in words)


def _spacing(run: OneRun) -> plan.Spacing:
    return plan.Spacing.UNIFORM if run.rd.is_even else plan.Spacing.POISSON


def _arrival(run: OneRun, rate: float) -> plan.Arrival:
    if run.of:
        return plan.OpenShare(phase=run.of, rate_share=run.share / 100, spacing=_spacing(run))
    return plan.Closed() if run.rate == MAX else plan.Open(rate_per_s=rate, spacing=_spacing(run))


# -- what an I/O is ----------------------------------------------------------------------------------------------------


def _leaves(wd: Wd, disk: Disk, weight: float) -> Iterator[_Leaf]:
    begin, length = _region(wd, disk)
    for is_read, share, hits in ((True, wd.rdpct, wd.rhpct), (False, 100 - wd.rdpct, wd.whpct)):
        areas = [(100.0, begin, length)]
        if hits:
            area = min(disk.sd.hitarea, length)
            areas = [(hits, begin, area), (100 - hits, begin + area, length - area)]
        for part, at, room in areas:
            if share * part <= 0:
                continue
            for transfer, of_size in _sizes(wd, wd.transfer):
                if room < transfer.largest:
                    raise wd.place.error(
                        f"wd={wd.name}: an I/O of {transfer.largest} bytes on {room} bytes of sd={disk.sd.name}: give it"
                        " more size"
                    )
                yield _Leaf(weight * share * part * of_size, _op(wd, disk, (at, room), transfer, is_read=is_read))


def _sizes(wd: Wd, transfer: Transfer) -> Iterator[tuple[Transfer, float]]:
    """Give sizes with their share in per cent.

    Random I/O of several sizes goes to multiples of each: an operation a size. A stream takes them as they come.
    """
    if transfer.align or wd.seekpct < 100:
        yield transfer, 100.0
        return
    for size, share in transfer.sizes:
        if share > 0:
            yield Transfer(((size, 100.0),)), share


def _op(wd: Wd, disk: Disk, area: tuple[int, int], transfer: Transfer, *, is_read: bool) -> plan.Op:
    word = "read" if is_read else "write"
    region: plan.Region = plan.Range(from_bytes=area[0], length_bytes=area[1])
    if area == (0, disk.size):
        region = plan.WholeFile()
    access: plan.Access = plan.RandomAccess(region=region, align_bytes=max(transfer.align, disk.sd.align))
    if wd.seekpct < 100:
        access = plan.SharedStream(region=region, wrap=wd.seekpct >= 0, jump_share=max(wd.seekpct, 0.0) / 100)
    return plan.Op(
        op=plan.OpKind.READ if is_read else plan.OpKind.WRITE,
        name=f"{wd.name} {word}",
        file=plan.FromSet(set=disk.file_set, pick=plan.Own()),
        access=access,
        size=size_of(transfer),
    )


def size_of(transfer: Transfer) -> plan.Distribution:
    """Give the distribution of sizes."""
    if len(transfer.sizes) == 1:
        return plan.Fixed(value=float(transfer.sizes[0][0]))
    return plan.Tabular(rows=tuple((share, float(size), float(size)) for size, share in transfer.sizes if share > 0))


def _region(wd: Wd, disk: Disk) -> tuple[int, int]:
    """Give the first byte and the length of what a workload goes to, in whole I/O."""
    begin, length = disk.sd.offset, disk.size - disk.sd.offset
    unit = _BLOCK if all(size % _BLOCK == 0 for size, _ in wd.transfer.sizes) else _SECTOR
    if given := wd.range or disk.sd.range:
        low, high = given
        if high <= 100:
            low, high = low * length / 100, high * length / 100
        if high > length:
            raise wd.place.error(f"wd={wd.name}: range=({given[0]:g},{given[1]:g}) ends behind sd={disk.sd.name}")
        begin, length = begin + int(low) // unit * unit, (int(high) - int(low)) // unit * unit
    unit = max(unit, wd.transfer.largest if len(wd.transfer.sizes) == 1 else unit)
    return (
        (begin, length) if (begin, length) == (0, disk.size) and length % unit == 0 else (begin, length // unit * unit)
    )
