"""What went through the limits that control groups set on an operation's devices?

A limit holds for all programs of its group together, and for nobody else. So the group's own counters show how much of
it was used, by whomever; those of the device are of everybody, and serve where a group's were not recorded.
"""

import dataclasses
import re
from collections.abc import Iterator

from assay.analysis.device import numbered
from assay.analysis.record import PhaseRecord
from assay.analysis.rows import Span
from assay.analysis.subject import Subject

_SOURCE = "cgroup_io"
_FACT = "host.cgroup.io_limits"
_LIMIT = re.compile(r"(\d+:\d+) ([rw])(bps|iops)=(\d+)(?: of (/.*))?")
_DIRECTIONS = {"r": "read", "w": "write"}
_WORDS = {
    ("read", "bps"): "bytes a second that the control group may read from",
    ("write", "bps"): "bytes a second that the control group may write to",
    ("read", "iops"): "reads a second that the control group may ask of",
    ("write", "iops"): "writes a second that the control group may ask of",
}


@dataclasses.dataclass(frozen=True)
class IoLimit:
    """A limit of one control group on one device."""

    device: str
    """Its name."""
    instance: str
    """Of the group's counters for it."""
    direction: str
    """`read` or `write`."""
    is_of_operations: bool
    """Else of bytes."""
    per_s: int

    def __str__(self) -> str:
        """The limit in words, as `the 1,000 reads a second that ...`."""
        unit = "iops" if self.is_of_operations else "bps"
        return f"the {self.per_s:,} {_WORDS[self.direction, unit]} {self.device}"

    def bytes_through(self, record: PhaseRecord, span: Span) -> float | None:
        """Return the bytes that the group moved in the limit's direction; None where they were not recorded."""
        return record.counters.delta(span, _SOURCE, self.instance, f"{self.direction}_bytes")

    def operations_through(self, record: PhaseRecord, span: Span) -> float | None:
        """Return the requests that the group made in the limit's direction; None where they were not recorded."""
        return record.counters.delta(span, _SOURCE, self.instance, f"{self.direction}s")


@dataclasses.dataclass(frozen=True)
class UsedLimit:
    """How much of a limit was used."""

    limit: IoLimit
    share: float
    is_of_group: bool
    """By the counters of the group that it holds; else by the device's, which count what others did outside of it too."""


def most_used(subject: Subject, span: Span) -> UsedLimit | None:
    """Find the limit on an operation's devices that is closest to being full; None without any."""
    used = [found for limit in _limits(subject) if (found := _used(limit, subject.record, span))]
    return max(used, default=None, key=lambda found: found.share)


def _used(limit: IoLimit, record: PhaseRecord, span: Span) -> UsedLimit | None:
    through = limit.operations_through if limit.is_of_operations else limit.bytes_through
    of_group = through(record, span)
    name = f"{limit.direction}s" if limit.is_of_operations else f"{limit.direction}_bytes"
    moved = of_group if of_group is not None else record.counters.delta(span, "diskstats", limit.device, name)
    if moved is None or span.seconds <= 0:
        return None
    return UsedLimit(limit, float(moved) / span.seconds / limit.per_s, is_of_group=of_group is not None)


def _limits(subject: Subject) -> Iterator[IoLimit]:
    names = {number: name for target in subject.targets for number, name in numbered(subject.run, target)}
    texts = subject.run.facts.get(_FACT)
    for text in texts if isinstance(texts, tuple | list) else ():
        found = _LIMIT.fullmatch(str(text))
        if found is None:
            continue
        number, way, unit, per_s, folder = found.groups()
        if number in names and int(per_s) > 0:
            yield IoLimit(
                device=names[number],
                instance=f"{number} {folder}" if folder else number,
                direction=_DIRECTIONS[way],
                is_of_operations=unit == "iops",
                per_s=int(per_s),
            )
