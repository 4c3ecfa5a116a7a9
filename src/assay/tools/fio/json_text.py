"""fio's JSON of a run: its keys, in its units.

What Assay does not measure is left out, but for keys that programs read without looking whether they are there; those are 0
(`slat_ns`, `trim`, context switches, faults and merged requests). docs/tools/fio.md lists them. Rates of several
clients that have no sum are null.
"""

import datetime as dt
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from assay.analysis.client_records import load_clients
from assay.analysis.device import devices_of
from assay.analysis.record import RunRecord
from assay.tools.fio.job_settings import Settings, version
from assay.tools.fio.totals import Direction, Latency, Reported

_DEPTHS = {"1": 1, "2": 3, "4": 7, "8": 15, "16": 31, "32": 63}
"""fio's names for depths, each with the largest that it covers, as are the next."""
_CALLS = {"0": 0, "4": 4, "8": 8, "16": 16, "32": 32, "64": 64}
_NOTHING = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
_US = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_MS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)


def json_text(run: RunRecord, settings: Settings, found: Sequence[Reported], *, with_bins: bool) -> str:
    """Write the document; `with_bins`: as json+, with each filled bucket."""
    return json.dumps(json_document(run, settings, found, with_bins=with_bins), indent=2) + "\n"


def json_document(
    run: RunRecord, settings: Settings, found: Sequence[Reported], *, with_bins: bool = False
) -> dict[str, Any]:
    """Make the document."""
    started = int(dt.datetime.fromisoformat(run.info.started_utc).timestamp())
    document = {
        "fio version": version(run.info.assay_version),
        "timestamp": started,
        "timestamp_ms": started * 1000,
        "time": time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(started)),
        "global options": settings.shared,
        "jobs": [_job(one, settings, with_bins=with_bins) for one in found],
        "disk_util": list(_disks(run)),
    }
    if clients := load_clients(run):
        document["clients"] = list(clients)
    if not settings.shared:
        del document["global options"]
    return document


def _disks(run: RunRecord) -> Iterator[dict[str, Any]]:
    """Give what the devices of the targets did while phases were on; of several clients nothing, whose names are alike."""
    if run.client_set is not None:
        return
    seconds = sum(phase.whole.seconds for phase in run.phases)
    for name in dict.fromkeys(name for target in run.plan.targets for name in devices_of(run, target.name)):
        grown = {
            counter: sum(phase.counters.delta(phase.whole, "diskstats", name, counter) or 0.0 for phase in run.phases)
            for counter in ("reads", "writes", "read_ns", "write_ns", "weighted_io_ns", "io_ns")
        }
        yield {
            "name": name,
            "read_ios": int(grown["reads"]),
            "write_ios": int(grown["writes"]),
            "read_merges": 0,
            "write_merges": 0,
            "read_ticks": int(grown["read_ns"] / 1e6),
            "write_ticks": int(grown["write_ns"] / 1e6),
            "in_queue": int(grown["weighted_io_ns"] / 1e6),
            "util": round(min(100.0, 100 * grown["io_ns"] / (seconds * 1e9)), 6) if seconds else 0.0,
        }


def _job(one: Reported, settings: Settings, *, with_bins: bool) -> dict[str, Any]:
    job = one.settings
    own = {name: value for name, value in job.options.items() if settings.shared.get(name) != value}
    whole = max((part.runtime_ms for part in one.directions), default=0)
    ways = {
        name: _direction(part, with_bins=with_bins)
        if (part := one.of(name))
        else _direction(_none(name), with_bins=False)
        for name in ("read", "write", "trim")
    }
    return {
        "jobname": job.name,
        **({"desc": job.options["description"]} if "description" in job.options else {}),
        "groupid": one.group,
        "error": one.error,
        "eta": 0,
        "elapsed": -(-whole // 1000),
        "job options": {"name": job.name, **own},
        **ways,
        "sync": {"total_ios": 0, "lat_ns": dict(_NOTHING)},
        "job_runtime": whole,
        "usr_cpu": round(one.user_percent, 6),
        "sys_cpu": round(one.system_percent, 6),
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "iodepth_level": _depths(one.queue_depth, _DEPTHS),
        "iodepth_submit": _depths(one.queue_depth and job.batch[0], _CALLS),
        "iodepth_complete": _depths(one.reap_batch, _CALLS),
        **_shares(one),
        "latency_depth": job.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def _none(name: str) -> Direction:
    empty = np.empty(0, dtype=np.int64)
    return Direction(name, 0, 0, 0, None, empty, empty, (np.zeros(0), np.zeros(0)))


def _direction(part: Direction, *, with_bins: bool) -> dict[str, Any]:
    return {
        "io_bytes": part.bytes,
        "io_kbytes": part.bytes >> 10,
        "bw_bytes": None if part.bytes_per_s is None else int(part.bytes_per_s),
        "bw": None if part.bytes_per_s is None else int(part.bytes_per_s) >> 10,
        "iops": None if part.iops is None else round(part.iops, 6),
        "runtime": part.runtime_ms,
        "total_ios": part.ops,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": dict(_NOTHING),
        "clat_ns": _latency(part.latency, with_percentiles=True) | (_bins(part) if with_bins else {}),
        "lat_ns": _latency(part.latency, with_percentiles=False),
        **_samples(part),
    }


def _samples(part: Direction) -> dict[str, Any]:
    """Give minimum, maximum, mean and deviation of the rates; bandwidth in KiB/s. Under half a second: 0, as in fio."""
    iops, moved = part.samples
    if not part.is_sum:
        return {
            **dict.fromkeys(("bw_min", "bw_max", "bw_agg", "bw_mean", "bw_dev")),
            "bw_samples": 0,
            **dict.fromkeys(("iops_min", "iops_max", "iops_mean", "iops_stddev")),
            "iops_samples": 0,
        }
    kib = moved / 1024
    return {
        "bw_min": int(kib.min(initial=0 if not len(kib) else kib[0])),
        "bw_max": int(kib.max(initial=0)),
        "bw_agg": 100.0 if len(kib) else 0.0,
        "bw_mean": round(float(kib.mean()), 6) if len(kib) else 0.0,
        "bw_dev": round(float(kib.std()), 6) if len(kib) else 0.0,
        "bw_samples": len(kib),
        "iops_min": int(iops.min(initial=0 if not len(iops) else iops[0])),
        "iops_max": int(iops.max(initial=0)),
        "iops_mean": round(float(iops.mean()), 6) if len(iops) else 0.0,
        "iops_stddev": round(float(iops.std()), 6) if len(iops) else 0.0,
        "iops_samples": len(iops),
    }


def _latency(of: Latency | None, *, with_percentiles: bool) -> dict[str, Any]:
    if of is None:
        return dict(_NOTHING)
    made: dict[str, Any] = {
        "min": int(of.least),
        "max": int(of.most),
        "mean": round(of.mean, 6),
        "stddev": round(of.deviation, 6),
        "N": of.count,
    }
    if with_percentiles:
        made["percentile"] = {f"{part:.6f}": int(value) for part, value in of.percentiles}
    return made


def _bins(part: Direction) -> dict[str, Any]:
    values, place = np.unique(part.value_ns, return_inverse=True)
    counts = np.bincount(place, part.counts, minlength=len(values)).astype(np.int64)
    return {"bins": {str(int(value)): int(count) for value, count in zip(values, counts, strict=True)}}


def _depths(mean: float, ladder: Mapping[str, int]) -> dict[str, float]:
    """Share of the I/Os by how many were in flight, or in a call: all at the mean; 0: there was no I/O."""
    place = next((name for name, most in ladder.items() if max(1, round(mean)) <= most), ">=64") if mean else ""
    return {name: 100.0 if name == place else 0.0 for name in (*ladder, ">=64")}


def _shares(one: Reported) -> dict[str, dict[str, float]]:
    """Share of the I/Os up to each latency."""
    value = np.concatenate([np.empty(0, dtype=np.int64), *(part.value_ns for part in one.directions)])
    count = np.concatenate([np.empty(0, dtype=np.int64), *(part.counts for part in one.directions)])
    total = int(count.sum()) or 1

    def between(low: float, high: float) -> float:
        return round(100 * float(count[(value >= low) & (value < high)].sum()) / total, 6)

    def ladder(steps: Sequence[int], unit: float, first: float) -> dict[str, float]:
        lows = (first, *(step * unit for step in steps[:-1]))
        return {str(step): between(low, step * unit) for step, low in zip(steps, lows, strict=True)}

    return {
        "latency_ns": ladder(_US, 1, 0),
        "latency_us": ladder(_US, 1e3, 1e3),
        "latency_ms": {**ladder(_MS, 1e6, 1e6), ">=2000": between(2e9, float("inf"))},
    }
