"""fio's terse output, version 3: a line a job, from what its JSON has.

Source: fio's HOWTO, "Terse output"; `show_thread_status_terse_all` and `show_ddir_status_terse` of fio 3.33 (stat.c). Times
are whole microseconds, but for means and deviations. Shares below 2 us are one field. A rate of several clients that has no
sum is `n/a`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.units import ABSENT

_MOST_PERCENTILES = 20


def terse_text(document: Mapping[str, Any]) -> str:
    """Write the lines of a JSON document of fio's."""
    disks = [field for disk in document.get("disk_util", ()) for field in _disk(disk)]
    return "".join(f"{';'.join([*_job(document, job), *disks, *_description(job)])}\n" for job in document["jobs"])


def _job(document: Mapping[str, Any], job: Mapping[str, Any]) -> Iterator[str]:
    yield from ("3", document["fio version"], job["jobname"], str(job["groupid"]), str(job["error"]))
    # A direction without I/O has no percentiles, and fields for those of the other.
    ladder = [*(job["read"]["clat_ns"].get("percentile") or job["write"]["clat_ns"].get("percentile") or ())]
    for name in ("read", "write"):
        yield from _direction(job[name], ladder)
    yield from (f"{job['usr_cpu']:f}%", f"{job['sys_cpu']:f}%", *(str(job[name]) for name in ("ctx", "majf", "minf")))
    yield from (f"{share:3.1f}%" for share in job["iodepth_level"].values())
    shares = [*job["latency_us"].values(), *job["latency_ms"].values()]
    shares[0] += sum(job["latency_ns"].values())
    yield from (f"{share:3.2f}%" for share in shares)


def _direction(part: Mapping[str, Any], ladder: Sequence[str]) -> Iterator[str]:
    rates = (part[name] for name in ("io_kbytes", "bw", "iops", "runtime"))
    yield from (ABSENT if rate is None else str(int(rate)) for rate in rates)
    yield from _latency(part["slat_ns"])
    yield from _latency(part["clat_ns"])
    values = part["clat_ns"].get("percentile", {})
    yield from (f"{at}%={values.get(at, 0) // 1000}" for at in ladder)
    yield from ("0%=0" for _ in range(_MOST_PERCENTILES - len(ladder)))
    yield from _latency(part["lat_ns"])
    if part["bw_agg"] is None:
        yield from (ABSENT for _ in range(5))
    else:
        yield from (str(part["bw_min"]), str(part["bw_max"]), f"{part['bw_agg']:f}%")
        yield from (f"{part[name]:f}" for name in ("bw_mean", "bw_dev"))


def _latency(of: Mapping[str, Any]) -> Iterator[str]:
    yield from (str(of[name] // 1000) for name in ("min", "max"))
    yield from (f"{of[name] / 1000:f}" for name in ("mean", "stddev"))


def _disk(disk: Mapping[str, Any]) -> Iterator[str]:
    counts = ("read_ios", "write_ios", "read_merges", "write_merges", "read_ticks", "write_ticks", "in_queue")
    yield from (disk["name"], *(str(disk[name]) for name in counts), f"{disk['util']:3.2f}%")


def _description(job: Mapping[str, Any]) -> Sequence[str]:
    return [job["desc"]] if "desc" in job else []
