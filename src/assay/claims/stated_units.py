"""Find the unit of a number in a claim or a table.

`KiB` and `MiB/s` mean one thing. `KB`, `MB` and `Mb` mean powers of 1000 to one program and of 1024 to the next: they have
both factors here, and a claim is decided only where both give the same verdict, unless its author selects one.
`Mbit` and `Gbit` are decimal, as on the box.
"""

import dataclasses
import enum


class Dimension(enum.StrEnum):
    """What kind of quantity it is."""

    TIME = "time"
    SIZE = "size"
    THROUGHPUT = "throughput"
    RATE = "rate"
    """Of operations."""
    SHARE = "share"


class Prefixes(enum.StrEnum):
    """What KB and MB mean."""

    BOTH = "both"
    DECIMAL = "decimal"
    BINARY = "binary"


@dataclasses.dataclass(frozen=True)
class StatedUnit:
    """A unit as it was written."""

    name: str
    dimension: Dimension
    factors: tuple[float, ...]
    """In seconds, bytes, bytes a second, operations a second or 1: one, or the decimal and the binary one."""

    @property
    def is_time(self) -> bool:
        """Whether less of it is faster."""
        return self.dimension is Dimension.TIME

    def read_as(self, prefixes: Prefixes) -> "StatedUnit":
        """Give the unit as its author means it."""
        if len(self.factors) == 1 or prefixes is Prefixes.BOTH:
            return self
        return dataclasses.replace(self, factors=self.factors[(prefixes is Prefixes.BINARY) :][:1])


def _bytes() -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {"B": (1.0,), "bit": (1 / 8,), "b": (1 / 8,)}
    for power, prefix in enumerate("KMGTP", start=1):
        decimal, binary = 1000.0**power, 1024.0**power
        found |= {f"{prefix}iB": (binary,), f"{prefix}B": (decimal, binary), f"{prefix}ib": (binary / 8,)}
        found |= {f"{prefix}bit": (decimal / 8,), f"{prefix}b": (decimal / 8, binary / 8)}
    return found | {"kB": found["KB"], "kbit": found["Kbit"], "kb": found["Kb"]}


_SIZES = _bytes()
_TIMES = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_RATES = ("IOPS", "iops", "ops/s", "/s", "I/Os", "files/s", "creates/s", "unlinks/s", "transactions/s")

UNITS: dict[str, StatedUnit] = {
    **{name: StatedUnit(name, Dimension.SIZE, factors) for name, factors in _SIZES.items()},
    **{f"{name}/s": StatedUnit(f"{name}/s", Dimension.THROUGHPUT, factors) for name, factors in _SIZES.items()},
    **{
        f"{name}/min": StatedUnit(f"{name}/min", Dimension.THROUGHPUT, tuple(factor / 60 for factor in factors))
        for name, factors in _SIZES.items()
    },
    **{name: StatedUnit(name, Dimension.TIME, (factor,)) for name, factor in _TIMES.items()},
    **{name: StatedUnit(name, Dimension.RATE, (1.0,)) for name in _RATES},
    "%": StatedUnit("%", Dimension.SHARE, (0.01,)),
}

_BY_ENDING = {
    "mbit_s": "Mbit/s",
    "kb_s": "KB/s",
    "mb_s": "MB/s",
    "kib_s": "KiB/s",
    "mib_s": "MiB/s",
    "seconds": "s",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "mib": "MiB",
    "kib": "KiB",
    "kb": "KB",
    "mb": "MB",
    "gb": "GB",
    "iops": "IOPS",
    "pct": "%",
}


def unit_of_name(column: str) -> StatedUnit | None:
    """Give the unit in which the name of a column ends (`write_mb_s`); None: it has none."""
    name = column.lower()
    for ending, unit in _BY_ENDING.items():
        if name == ending or name.endswith(f"_{ending}"):
            return UNITS[unit]
    return None


def unit_of_words(text: str) -> StatedUnit | None:
    """Give the unit with which a text begins (`MB/s as printed on the axis`).

    None: it is unknown, or another follows (`seconds; capacity in MiB`): the assignment is ambiguous.
    """
    first, *others = text.split(";")
    word = first.split(maxsplit=1)[0].rstrip(",.:") if first.strip() else ""
    if any(part in UNITS for other in others for part in other.split()):
        return None
    return UNITS.get(word)
