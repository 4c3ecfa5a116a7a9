"""What captures have: of each file its format and notes, of each device its rates."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec
import numpy as np
import polars as pl

from assay.analysis.arrays import FloatArray
from assay.captures.capture_files import Capture
from assay.captures.inventory import Inventory
from assay.captures.selection import Selection, select
from assay.outward import json_text

SCHEMA = "assay.capture/1"


@dataclass(frozen=True)
class DeviceSummary:
    """The samples of one device; None: not recorded."""

    host: str
    device: str
    layer: str
    is_counted: bool
    """Whether it is one of those that are added up, of which none is a part of another."""
    begin_s: float
    end_s: float
    samples: int
    interval_s: float
    """The median."""
    mean_iops: float | None
    p95_iops: float | None
    peak_iops: float | None
    write_share: float | None
    mean_bytes_per_s: float | None
    mean_latency_s: float | None
    """Over all requests."""


@dataclass(frozen=True)
class FileSummary:
    """One file."""

    file: str
    format: str
    match: str
    notes: tuple[str, ...]
    inventory: Inventory | None
    """Null: the format has samples."""


@dataclass(frozen=True)
class CaptureSummary:
    """All files."""

    files: tuple[FileSummary, ...]
    devices: tuple[DeviceSummary, ...]
    notes: tuple[str, ...]


def summary(captures: Sequence[Capture], only: Sequence[str]) -> CaptureSummary:
    """Sum captures up; raises InputError where a pattern of `only` matches no device."""
    table = pl.concat([capture.table for capture in captures])
    chosen = select(table, only) if len(table) else Selection(table, ())
    counted = set(chosen.table.select("host", "device", "layer").unique().rows())
    devices = tuple(
        _device(part, is_counted=key in counted)
        for key, part in table.partition_by("host", "device", "layer", as_dict=True, maintain_order=True).items()
    )
    files = tuple(
        FileSummary(one.source, one.format_name, one.match.name.lower(), one.notes, one.inventory) for one in captures
    )
    return CaptureSummary(files, devices, chosen.notes)


def to_json(found: CaptureSummary) -> str:
    """Write a summary for other programs: fields are added, never renamed."""
    document = {"schema": SCHEMA, **asdict(found)}
    return json_text(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def _device(part: pl.DataFrame, *, is_counted: bool) -> DeviceSummary:
    seconds = part["seconds"].to_numpy()
    iops, writes, moved = (_known(part, name) for name in ("iops", "write_iops", "bytes_per_s"))
    requests = None if iops is None else float((iops * seconds).sum())
    spent = part["latency_s"].fill_null(0.0).to_numpy()
    has_latency = part["latency_s"].null_count() < len(part)
    return DeviceSummary(
        host=part["host"][0],
        device=part["device"][0],
        layer=part["layer"][0],
        is_counted=is_counted,
        begin_s=float((part["end_s"].to_numpy() - seconds).min()),
        end_s=float(part["end_s"].to_numpy().max()),
        samples=len(part),
        interval_s=float(np.median(seconds)),
        mean_iops=None if requests is None else requests / float(seconds.sum()),
        p95_iops=None if iops is None else float(np.quantile(iops, 0.95)),
        peak_iops=None if iops is None else float(iops.max()),
        write_share=float((writes * seconds).sum()) / requests if requests and writes is not None else None,
        mean_bytes_per_s=None if moved is None else float((moved * seconds).sum() / seconds.sum()),
        mean_latency_s=(
            float((spent * iops * seconds).sum()) / requests if requests and iops is not None and has_latency else None
        ),
    )


def _known(part: pl.DataFrame, name: str) -> FloatArray | None:
    """Give a column that every sample has."""
    return None if part[name].has_nulls() else part[name].to_numpy()
