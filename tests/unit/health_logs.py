"""SMART / Health log pages of NVMe controllers, laid out by NVM Express Base Specification 2.0, figure 207."""

from typing import Final

OFFSETS: Final = {
    "critical warning": (0, 1),
    "composite temperature": (1, 2),
    "available spare": (3, 1),
    "available spare threshold": (4, 1),
    "percentage used": (5, 1),
    "endurance group critical warning summary": (6, 1),
    "data units read": (32, 16),
    "data units written": (48, 16),
    "host read commands": (64, 16),
    "host write commands": (80, 16),
    "controller busy time": (96, 16),
    "power cycles": (112, 16),
    "power on hours": (128, 16),
    "unsafe shutdowns": (144, 16),
    "media and data integrity errors": (160, 16),
    "number of error information log entries": (176, 16),
    "warning composite temperature time": (192, 4),
    "critical composite temperature time": (196, 4),
    "temperature sensor 1": (200, 2),
    "thermal management temperature 1 transition count": (216, 4),
    "thermal management temperature 2 transition count": (220, 4),
    "total time for thermal management temperature 1": (224, 4),
    "total time for thermal management temperature 2": (228, 4),
}
"""First byte and number of bytes of each field."""


def health_log(fields: dict[str, int]) -> bytes:
    """Lay a page out."""
    page = bytearray(512)
    for name, value in fields.items():
        at, size = OFFSETS[name]
        page[at : at + size] = value.to_bytes(size, "little")
    return bytes(page)


HEALTHY: Final = {
    "critical warning": 0,
    "composite temperature": 314,
    "available spare": 100,
    "available spare threshold": 10,
    "percentage used": 3,
    "data units read": 1_000_000,
    "data units written": 2_000_000,
    "host read commands": 111,
    "host write commands": 222,
    "controller busy time": 77,
    "power cycles": 12,
    "power on hours": 4321,
    "unsafe shutdowns": 5,
    "media and data integrity errors": 0,
    "number of error information log entries": 9,
    "warning composite temperature time": 6,
    "critical composite temperature time": 7,
    "temperature sensor 1": 330,
    "thermal management temperature 1 transition count": 40,
    "thermal management temperature 2 transition count": 50,
    "total time for thermal management temperature 1": 600,
    "total time for thermal management temperature 2": 700,
}
"""41 °C, with a number of its own in each field."""
