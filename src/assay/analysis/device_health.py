"""Describe what the disks of a run showed before and after it: temperature, wear, errors, throttling by heat.

From the facts that `assay.host.health_facts` records. Counters are the device's own, so they have what others did, too.
One that fell was reset, or is another device's: its difference is not known.

Limits: an NVMe disk counts what slows it only where it manages heat by itself in the way of the specification; SATA
disks show a temperature alone.
"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.host.nvme_log import TEMPERATURE
from assay.units import format_bytes

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord

_SHOWN = 3
"""Figures of temperatures that are shown."""

Fields = Mapping[str, object]


@dataclasses.dataclass(frozen=True)
class DeviceHealth:
    """What a disk showed."""

    name: str
    begin: Fields
    end: Fields

    def rise(self, *keys: str) -> int | None:
        """Return by how much counters rose together from begin to end; None where one is unknown at either, or fell."""
        rises = []
        for key in keys:
            before, after = self.begin.get(key), self.end.get(key)
            if not isinstance(before, int) or not isinstance(after, int) or after < before:
                return None
            rises.append(after - before)
        return sum(rises)

    @property
    def heat_transitions(self) -> int:
        """Times that the device slowed itself down because of heat; 0 where it does not count them."""
        rises = (self.rise(f"thermal_{level}_transitions") for level in (1, 2))
        return sum(rise for rise in rises if rise is not None)

    @property
    def is_warned_of_heat(self) -> bool:
        """Whether it reported a temperature beyond a threshold, before or after the run."""
        return any(TEMPERATURE in _words(fields.get("critical_warnings")) for fields in (self.begin, self.end))

    @property
    def temperatures(self) -> str:
        """Its temperatures before and after, in words; empty: it shows none."""
        known = [fields.get("temperature_celsius") for fields in (self.begin, self.end)]
        shown = [f"{value:.{_SHOWN}g}" for value in known if isinstance(value, int | float)]
        return f"{' to '.join(dict.fromkeys(shown))} °C" if shown else ""

    def in_words(self) -> str:
        """Describe it in a line: temperatures, what was moved, and what went wrong."""
        parts = [self.temperatures]
        for key, what in (("host_written_bytes", "written"), ("host_read_bytes", "read")):
            if rise := self.rise(key):
                parts.append(f"{format_bytes(rise)} {what} by the host")
        if times := self.heat_transitions:
            parts.append(f"throttled by heat {format_times(times)}")
        if errors := self.rise("media_errors"):
            parts.append(f"{errors:,} media error{'s' if errors > 1 else ''}")
        latest = self.end or self.begin
        if isinstance(used := latest.get("percentage_used"), int):
            parts.append(f"{used} % of its endurance used")
        if warnings := _words(latest.get("critical_warnings")):
            parts.append(f"critical warning: {', '.join(warnings)}")
        return f"{self.name}: {', '.join(part for part in parts if part)}"


def health_of_devices(run: "RunRecord", *targets: str) -> tuple[DeviceHealth, ...]:
    """Give the disks of targets that showed something, each once; without a name those of all targets."""
    prefixes = tuple(f"target.{name}." for name in targets or (target.name for target in run.plan.targets))
    found: dict[str, dict[str, dict[str, object]]] = {}
    for key, value in run.facts.items():
        disk, is_health, rest = key.partition(".health.")
        moment, _, field = rest.partition(".")
        name = run.facts.get(f"{disk}.name")
        if is_health and field and value is not None and isinstance(name, str) and key.startswith(prefixes):
            found.setdefault(name, {}).setdefault(moment, {})[field] = value
    return tuple(
        DeviceHealth(name, moments.get("begin", {}), moments.get("end", {})) for name, moments in found.items()
    )


def format_times(count: int) -> str:
    """Format how often something happened."""
    return "once" if count == 1 else f"{count:,} times"


def _words(value: object) -> tuple[str, ...]:
    """Give the words of a fact that is a list, which JSON may hold as one of a single word."""
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, tuple | list) else ()
