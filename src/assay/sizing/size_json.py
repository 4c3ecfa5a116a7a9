"""A sizing as JSON, for other programs: fields are added, never renamed; what is not known is null."""

import math
from typing import Any

import msgspec

from assay.outward import json_text
from assay.sizing.candidate import Candidate
from assay.sizing.size_answer import CapturedLoad, SizeAnswer

SCHEMA = "assay.size/1"


def to_json(answer: SizeAnswer, notes: tuple[str, ...]) -> str:
    """Write a sizing, with the notes of its captures."""
    document = {
        "schema": SCHEMA,
        **_load(answer),
        "candidates": [_of(one) for one in answer.candidates],
        "notes": notes,
    }
    return json_text(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def _load(answer: SizeAnswer) -> dict[str, Any]:
    load = answer.load
    return {
        "captured": None if load.captured is None else _captured(load.captured),
        "iops": load.iops,
        "iops_is": load.is_of,
        "write_share": load.write_share,
        "factor": answer.changes.factor,
        "front_end": {"read_iops": answer.front.reads_per_s, "write_iops": answer.front.writes_per_s},
        "latency_s": answer.latency_s,
        "write_cache_bytes": answer.cache_bytes,
    }


def _captured(captured: CapturedLoad) -> dict[str, Any]:
    total, demand, held = captured.total, captured.demand, captured.held
    return {
        "hosts": total.hosts,
        "devices": total.devices,
        "begin_s": total.begin_s,
        "step_s": total.step_s,
        "steps": total.steps,
        "mean_iops": demand.mean,
        "median_iops": demand.median,
        "p95_iops": demand.p95,
        "p99_iops": demand.p99,
        "peak_iops": demand.peak,
        "steady_mean_iops": demand.steady_mean,
        "steady_p95_iops": demand.steady_p95,
        "busiest_half_hour_without_spikes_iops": demand.sustained,
        "busiest_iops": [{"window_s": window, "iops": iops} for window, iops in demand.busiest.items()],
        "spikes": [
            {
                "begin_s": total.begin_s + spike.begin * total.step_s,
                "seconds": (spike.end - spike.begin) * total.step_s,
                "iops": spike.iops,
            }
            for spike in demand.spikes
        ],
        "mean_write_bytes": captured.mean_written_bytes,
        "mean_request_bytes": captured.request_bytes,
        "held_back": None
        if held is None
        else {"by": held.by, "latency_s": held.latency_s, "queue_depth": held.queued, "most_iops": held.most_iops},
    }


def _of(one: Candidate) -> dict[str, Any]:
    return {
        "disk": one.disk.name,
        "disk_basis": one.disk.basis,
        "raid": one.raid.level,
        "raid_group": one.raid.group,
        "write_penalty": one.raid.penalty,
        "back_end_read_iops": one.back.reads_per_s,
        "back_end_write_iops": one.back.writes_per_s,
        "disks_for_rate": _finite(one.for_rate),
        "disks_for_capacity": one.for_capacity,
        "disks": one.disks,
        "spares": one.spares,
        "decided_by": one.decided_by,
        "utilisation": _finite(one.utilisation),
        "latency_s": _finite(one.response_s),
        "most_front_end_iops": one.most_front,
        "degraded_utilisation": _finite(one.degraded_utilisation),
        "cost": one.cost,
        "is_enough": one.is_enough,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
