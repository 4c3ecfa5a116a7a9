"""fio's JSON of a run: its keys, in its units.

What Assay does not know is left out, but for keys that programs read without looking whether they are there; those are 0
(`slat_ns`, `trim`, context switches and faults). docs/tools/fio.md lists them. Rates of several clients that have no sum are
null.
"""

import datetime as dt
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.analysis.record import RunRecord
from assay.tools.fio.job_settings import Settings
from assay.tools.fio.totals import Direction, Latency, Reported

_DEPTHS = (1, 2, 4, 8, 16, 32)
_NOTHING = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
_US = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_MS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)


def json_text(run: RunRecord, settings: Settings, found: Sequence[Reported], *, with_bins: bool) -> str:
    """Write the document; `with_bins`: as json+, with each filled bucket."""
    started = int(dt.datetime.fromisoformat(run.info.started_utc).timestamp())
    document = {
        "fio version": f"fio-3.33-assay-{run.info.assay_version}",
        "timestamp": started,
        "timestamp_ms": started * 1000,
        "time": time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(started)),
        "global options": settings.shared,
        "jobs": [_job(one, settings, with_bins=with_bins) for one in found],
    }
    if not settings.shared:
        del document["global options"]
    return json.dumps(document, indent=2) + "\n"


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
        **_depths(job.depth),
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
    """Give the spread of the rates over time; bandwidth in KiB/s. Fewer than a whole half second: none."""
    iops, moved = part.samples
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


def _depths(depth: int) -> dict[str, Any]:
    """Share of the I/Os by how many were in flight: what the job keeps up, as a share of all."""
    place = next((str(step) for step in _DEPTHS if depth < 2 * step), ">=64")
    return {"iodepth_level": {name: 100.0 if name == place else 0.0 for name in (*map(str, _DEPTHS), ">=64")}}


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
