"""perfmon, typeperf and relog of Windows: CSV of performance counters, in the languages of `perfmon_names.py`.

Physical disks are disks, logical disks are partitions. `_Total` is the system in one: of the physical disks where both are
there.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from assay.captures.match import Match
from assay.captures.pdh_table import Counter, Devices, WantedCounter, is_head, read_pdh
from assay.captures.perfmon_names import COUNTERS, IDLE, LAYERS, UNUSED, plain_name
from assay.captures.readers import esxtop
from assay.captures.samples import Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.units import format_names

NAME: Final = "perfmon CSV"
_TOTAL: Final = "_total"
_MOST_NAMED: Final = 12


def recognise(head: Sequence[str]) -> Match | None:
    """Know it by the head of PDH."""
    if esxtop.recognise(head) is not None:
        return None
    return Match.CERTAIN if any(is_head(line) for line in head[:5]) else None


def read(lines: Iterator[str], asked: Asked, rows: SampleRows) -> None:
    """Add the samples of all disks."""
    read_pdh(lines, asked, rows, _devices_of)


def _devices_of(counters: Sequence[Counter], rows: SampleRows) -> Devices:
    """Choose the counters of disks.

    Raises:
        ValueError: There is none that is known.
    """
    totals = {_layer_of(one) for one in counters if one.instance.lower() == _TOTAL}
    devices: Devices = {}
    unknown: dict[str, None] = {}
    for one in counters:
        layer, name = _layer_of(one), plain_name(one.name)
        is_total = one.instance.lower() == _TOTAL
        if layer is None or (is_total and layer is Layer.PARTITION and Layer.DISK in totals):
            continue
        field = COUNTERS.get(name)
        if field is None:
            if name not in UNUSED:
                unknown[one.name] = None
            continue
        key = one.host, one.instance, Layer.SYSTEM if is_total else layer
        wanted = WantedCounter(one.column, field, 1.0)
        if field == IDLE:
            wanted = WantedCounter(one.column, "utilisation", -0.01, 1.0)
        devices.setdefault(key, []).append(wanted)
    if not devices:
        names = [f"{one.object_name}\\{one.name}" for one in counters]
        raise ValueError(
            "none of its columns is a disk counter in a language that is known (write them with --columns); there are "
            + format_names([*dict.fromkeys(names)], _MOST_NAMED)
        )
    if unknown:
        rows.note(f"unknown counters of disks are left out: {format_names([*unknown], _MOST_NAMED)}")
    return devices


def _layer_of(counter: Counter) -> Layer | None:
    return LAYERS.get(plain_name(counter.object_name))
