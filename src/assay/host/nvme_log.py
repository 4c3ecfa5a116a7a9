"""Read the SMART / Health log page of an NVMe controller (Log Page Identifier 02h).

Layout: NVM Express Base Specification 2.0, 5.16.1.3. All numbers are little-endian; reserved bytes are passed over. What
a device answers is data from outside: a field that has an impossible value, or none, is left out.
"""

from typing import Final

LOG_BYTES: Final = 512
_DATA_UNIT_BYTES: Final = 512_000
"""A data unit is 1000 times 512 bytes, rounded up, whatever the size of a block."""
_LARGEST: Final = (1 << 63) - 1
"""Of a fact; the device's counters have 128 bits."""
_ZERO_CELSIUS_KELVIN: Final = 273
_HOTTEST_KELVIN: Final = 1000
_WHOLE_PERCENT: Final = 100

_WARNINGS: Final = ("spare", "temperature", "reliability", "read-only", "volatile-backup", "persistent-memory")
"""By bit of the critical warning."""
TEMPERATURE: Final = _WARNINGS[1]
"""Of critical warnings: a temperature is beyond a threshold."""

_NUMBERS: Final = {
    "percentage_used": (5, 1, 1),
    "host_read_bytes": (32, 16, _DATA_UNIT_BYTES),
    "host_written_bytes": (48, 16, _DATA_UNIT_BYTES),
    "host_reads": (64, 16, 1),
    "host_writes": (80, 16, 1),
    "power_on_hours": (128, 16, 1),
    "unsafe_shutdowns": (144, 16, 1),
    "media_errors": (160, 16, 1),
    "warning_temperature_minutes": (192, 4, 1),
    "critical_temperature_minutes": (196, 4, 1),
    "thermal_1_transitions": (216, 4, 1),
    "thermal_2_transitions": (220, 4, 1),
    "thermal_1_seconds": (224, 4, 1),
    "thermal_2_seconds": (228, 4, 1),
}
"""First byte, bytes, and what one counts for."""
_PERCENTAGES: Final = {"available_spare_percent": 3, "spare_threshold_percent": 4}


def read_health_log(log: bytes) -> dict[str, int | tuple[str, ...]]:
    """Return the fields of a log page by name; raises ValueError for one of another length."""
    if len(log) != LOG_BYTES:
        raise ValueError(f"the log page has {len(log)} bytes, not {LOG_BYTES}")
    found: dict[str, int | tuple[str, ...]] = {
        "critical_warnings": tuple(word for bit, word in enumerate(_WARNINGS) if log[0] >> bit & 1)
    }
    kelvin = _number(log, 1, 2)
    if 0 < kelvin <= _HOTTEST_KELVIN:
        found["temperature_celsius"] = kelvin - _ZERO_CELSIUS_KELVIN
    found |= {name: log[at] for name, at in _PERCENTAGES.items() if log[at] <= _WHOLE_PERCENT}
    counts = {name: _number(log, at, size) * unit for name, (at, size, unit) in _NUMBERS.items()}
    return found | {name: count for name, count in counts.items() if count <= _LARGEST}


def _number(log: bytes, at: int, size: int) -> int:
    return int.from_bytes(log[at : at + size], "little")
