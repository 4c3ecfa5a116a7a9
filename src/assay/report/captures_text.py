"""What captures have, on the terminal: formats, devices, and what had to be assumed."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from assay.captures.capture_summary import CaptureSummary, DeviceSummary
from assay.captures.inventory import Inventory
from assay.console import PlainConsole
from assay.report.sizing_words import at_words
from assay.units import ABSENT, format_bytes, format_number, format_percent, format_seconds

_MOST_SHOWN = 40
_WORDS = {"device", "kind"}


def render_captures(found: CaptureSummary, console: PlainConsole) -> None:
    """Print the devices of all files, those that are counted first, and the notes of each file."""
    if found.devices:
        _render_devices(found.devices, console)
    for file in found.files:
        sure = "" if file.match == "certain" else ", as far as can be seen"
        console.print(f"{file.file}: {file.format}{sure}", soft_wrap=True)
        if file.inventory is not None:
            console.print(_inventory_words(file.inventory))
        for note in file.notes:
            console.print(Text(f"- {note}", style="dim"))
    for note in found.notes:
        console.print(Text(f"- {note}", style="dim"))


def _render_devices(devices: Sequence[DeviceSummary], console: PlainConsole) -> None:
    counted = [one for one in devices if one.is_counted]
    shown = sorted(counted, key=lambda one: -(one.mean_iops or 0.0))[:_MOST_SHOWN]
    begin_s, end_s = min(one.begin_s for one in devices), max(one.end_s for one in devices)
    samples = sum(one.samples for one in devices)
    console.print(
        f"{len(counted):,} of {len(devices):,} devices are counted; {samples:,} samples, {at_words(begin_s)} to"
        f" {at_words(end_s)} (UTC)."
    )
    console.print()
    rows = [_cells(one) for one in shown]
    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=name not in _WORDS)
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
    if len(counted) > len(shown):
        console.print(f"and {len(counted) - len(shown):,} more (--json has all)")
    console.print()


def _inventory_words(found: Inventory) -> str:
    return (
        f"{found.hosts:,} hosts, {found.vms:,} virtual machines ({found.vms_on:,} are powered on),"
        f" {format_bytes(found.provisioned_bytes)} provisioned, {format_bytes(found.used_bytes)} used."
    )


def _cells(one: DeviceSummary) -> dict[str, str]:
    return {
        "device": f"{one.host}/{one.device}",
        "kind": one.layer,
        "every": format_seconds(one.interval_s),
        "IOPS": format_number(one.mean_iops),
        "p95": format_number(one.p95_iops),
        "highest": format_number(one.peak_iops),
        "writes %": format_percent(one.write_share),
        "per s": ABSENT if one.mean_bytes_per_s is None else format_bytes(one.mean_bytes_per_s),
        "latency": ABSENT if one.mean_latency_s is None else format_seconds(one.mean_latency_s),
    }
