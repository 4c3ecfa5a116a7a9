"""A working set as JSON, for other programs: fields are added, never renamed; what is not known is null."""

from typing import Any

import msgspec

from assay.outward import json_text
from assay.workingset.cache_sizes import PolicyTable, WorkingSet, is_unlike, tier_mean
from assay.workingset.engine_answer import ServedShare, TierPeriod, TierShares

SCHEMA = "assay.workingset/1"
_NS_PER_S = 1e9


def to_json(answer: WorkingSet, notes: tuple[str, ...]) -> str:
    """Write a working set, with notes on its traces."""
    found, curve, block = answer.found, answer.curve, answer.question.block_bytes
    totals = found.totals
    ws90 = curve.ws90
    document = {
        "schema": SCHEMA,
        "traces": [{"name": one.name, "format": one.format} for one in found.traces],
        "devices": found.devices,
        "times": found.epoch,
        "begin_s": None if found.epoch == "none" else totals.begin_ns / _NS_PER_S,
        "seconds": None if found.epoch == "none" else (totals.end_ns - totals.begin_ns) / _NS_PER_S,
        "reads": totals.reads,
        "writes": totals.writes,
        "read_bytes": totals.read_bytes,
        "write_bytes": totals.written_bytes,
        "reads_only": answer.question.reads_only,
        "block_bytes": block,
        "read_blocks": totals.read_blocks,
        "write_blocks": totals.write_blocks,
        "rate": curve.rate,
        "sampled_blocks": curve.sampled_keys,
        "footprint_bytes": curve.footprint_blocks * block,
        "best_hit_ratio": answer.best.hit,
        "ws90": None
        if ws90 is None
        else {"bytes": ws90.blocks * block, "low_bytes": ws90.low * block, "high_bytes": ws90.high * block},
        "curve": [_served(one, block) for one in curve.served],
        "asked": [_served(one, block) for one in curve.asked],
        "windows": [
            {
                "seconds": windows.seconds,
                "used": [
                    {"begin_s": found.origin_ns / _NS_PER_S + number * windows.seconds, "bytes": blocks * block}
                    for number, blocks in windows.used
                ],
            }
            for windows in curve.windows
        ],
        "policies": None if answer.policies is None else _policies(answer.policies, block),
        "tiers": None if found.tiers is None else _tiers(found.tiers, found.origin_ns),
        "notes": notes,
    }
    return json_text(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def _served(one: ServedShare, block: int) -> dict[str, Any]:
    return {
        "bytes": one.blocks * block,
        "hit_ratio": one.hit,
        "low": one.low,
        "high": one.high,
        "read_hit_ratio": one.read_hit,
        "write_hit_ratio": one.write_hit,
    }


def _policies(table: PolicyTable, block: int) -> dict[str, Any]:
    return {
        "rate": table.rate,
        "bytes": [size * block for size in table.sizes],
        "hit_ratios": {one.name: one.hits for one in table.hits},
    }


def _tiers(tiers: TierShares, origin_ns: int) -> dict[str, Any]:
    return {
        "capacity_bytes": tiers.capacity_bytes,
        "fast_bytes": tiers.fast_bytes,
        "periods": [_period(one, origin_ns) for one in tiers.periods],
        "like_the_one_before": _mean([one for one in tiers.periods if not is_unlike(one)]),
        "unlike_the_one_before": _mean([one for one in tiers.periods if is_unlike(one)]),
    }


def _period(one: TierPeriod, origin_ns: int) -> dict[str, Any]:
    return {
        "begin_s": (origin_ns + one.begin_ns) / _NS_PER_S,
        "accesses": one.accesses,
        "alike": one.alike,
        "is_unlike": is_unlike(one),
        "devices": one.devices,
        "extents": one.extents,
        "cache": one.cache,
    }


def _mean(periods: list[TierPeriod]) -> dict[str, Any] | None:
    mean = tier_mean(periods)
    return (
        None
        if mean is None
        else {"periods": mean.periods, "devices": mean.devices, "extents": mean.extents, "cache": mean.cache}
    )
