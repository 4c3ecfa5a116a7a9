"""A recorded table of which only the phases that are worked on are in memory.

Rows of a phase of a client are one after another in a table as Assay writes it: a section. Where each begins is found in one
pass; a section is read when it is needed, with as many of those after it as make up one part of the table, and its rows
are grouped by what they are about. What was read is kept while there is room: of each table always the section that was used
last. So memory is that of the largest section and of `HELD_BYTES`, however long the table is.

Whole numbers are held in the smallest type that has room for them, and a column of one value as that value.
"""

import functools
import itertools
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from assay.analysis.arrays import BoolArray, IntArray
from assay.analysis.rows import NS_PER_S, Columns, Rows
from assay.bundle.contents import refuse_above_memory
from assay.bundle.scan import PART_ROWS, Scan
from assay.bundle.tables import CLIENT
from assay.errors import BundleError

HELD_BYTES: Final = 64 << 20
"""What sections that were not used last may take, of all tables of a run together."""
_CELL_BYTES: Final = 8
_MOST_SECTIONS: Final = 4_000_000

_Array = npt.NDArray[Any]
Key = tuple[Any, ...]
"""What rows are about."""


class PhaseRows:
    """The rows of a phase, by what they are about, in the order in which that was first seen."""

    def __init__(self, parts: Mapping[Key, Columns]) -> None:
        """Hold them."""
        self.rows: Mapping[Key, Rows] = {key: Rows((part,)) for key, part in parts.items()}
        self.bytes = sum(part.bytes for part in parts.values())

    @functools.cached_property
    def all(self) -> Rows:
        """All of them."""
        return Rows(tuple(part for rows in self.rows.values() for part in rows.parts))

    @functools.cached_property
    def by_first(self) -> Mapping[Any, Mapping[Key, Columns]]:
        """Parts by the first of what they are about, then by the others."""
        found: dict[Any, dict[Key, Columns]] = {}
        for (first, *others), rows in self.rows.items():
            found.setdefault(first, {})[tuple(others)] = rows.parts[0]
        return found


_NO_ROWS: Final = PhaseRows({})
_Place = tuple[str | None, int]
"""Client and phase."""


class Held:
    """What all tables of a run hold together."""

    def __init__(self, most_bytes: int = HELD_BYTES) -> None:
        """Begin with nothing."""
        self._most_bytes = most_bytes
        self.bytes = 0
        self._sections: OrderedDict[tuple[PhasedTable, _Place], int] = OrderedDict()

    def add(self, table: "PhasedTable", place: _Place, size_bytes: int) -> None:
        """Count a section that was read."""
        self.bytes += size_bytes
        self._sections[table, place] = size_bytes

    def use(self, table: "PhasedTable", place: _Place) -> None:
        """Let a section be the last that was asked for, and let go of those that there is no room for."""
        self._sections.move_to_end((table, place))
        table.last = place
        if self.bytes <= self._most_bytes:
            return
        for (other, at), size_bytes in [*self._sections.items()]:
            if other.last != at:
                del self._sections[other, at]
                self.bytes -= size_bytes
                other.forget(at)
                if self.bytes <= self._most_bytes:
                    return


class PhasedTable:
    """One table."""

    def __init__(self, scan: Scan, names: Sequence[str], held: Held, *, has_clients: bool = False) -> None:
        """Read nothing yet.

        Args:
            scan: The table.
            names: Columns that identify what a row is about.
            held: What the tables of the run hold.
            has_clients: Whether the clients in it are to be distinguished.
        """
        self._scan = scan
        self._names = tuple(names)
        self._held = held
        self._has_clients = has_clients
        self._sections: dict[_Place, PhaseRows] = {}
        self.last: _Place | None = None

    def forget(self, place: _Place) -> None:
        """Let go of a section."""
        del self._sections[place]

    def phases(self, client: str | None = None) -> tuple[int, ...]:
        """Name the phases that a client has rows of."""
        return self._phases.get(client, ())

    def section(self, client: str | None, phase: int) -> PhaseRows:
        """Give the rows of a phase; raises BundleError where they are more than this machine can hold."""
        place = (client, phase)
        if place not in self._ranges:
            return _NO_ROWS
        if place not in self._sections:
            self._load(place)
        self._held.use(self, place)
        return self._sections[place]

    @functools.cached_property
    def _phases(self) -> Mapping[str | None, tuple[int, ...]]:
        found: dict[str | None, list[int]] = {}
        for client, phase in self._ranges:
            found.setdefault(client, []).append(phase)
        return {client: tuple(sorted(phases)) for client, phases in found.items()}

    @functools.cached_property
    def _ranges(self) -> Mapping[_Place, list[tuple[int, int]]]:
        """Where the rows of each section are, in the order of the table."""
        found: dict[_Place, list[tuple[int, int]]] = {}
        before: _Place | None = None
        at = count = 0
        for part in self._scan.parts(columns=[*([CLIENT] if self._has_clients else []), "phase_index"]):
            for place, length in _runs(part, has_clients=self._has_clients):
                ranges = found.setdefault(place, [])
                if place == before:
                    ranges[-1] = (ranges[-1][0], at + length)
                else:
                    ranges.append((at, at + length))
                    count += 1
                before, at = place, at + length
            if count > _MOST_SECTIONS:
                raise BundleError("the rows of a table are in no order of clients and phases, which no run does")
        return found

    @functools.cached_property
    def _order(self) -> list[_Place]:
        return [*self._ranges]

    @functools.cached_property
    def _numbers(self) -> Mapping[_Place, int]:
        return {place: number for number, place in enumerate(self._order)}

    def _load(self, wanted: _Place) -> None:
        """Read a section, and those after it that fit into the same part of the table."""
        places, rows = [wanted], self._rows(wanted)
        value_columns = len(self._scan.columns) - len(self._names)
        try:
            refuse_above_memory(rows * value_columns * _CELL_BYTES // 2, f"its phase {wanted[1] + 1} takes")
        except ValueError as error:
            raise BundleError(f"a table of the run {error}") from error
        for place in itertools.islice(self._order, self._numbers[wanted] + 1, None):
            rows += self._rows(place)
            if rows > PART_ROWS:
                break
            if place not in self._sections:
                places.append(place)
        for place, section in zip(places, self._read(places), strict=True):
            self._sections[place] = section
            self._held.add(self, place, section.bytes)

    def _rows(self, place: _Place) -> int:
        return sum(end - begin for begin, end in self._ranges[place])

    def _read(self, places: Sequence[_Place]) -> list[PhaseRows]:
        """Read sections; pieces of one come in the order of the table."""
        pieces: list[dict[Key, list[Columns]]] = [{} for _ in places]
        columns = [column for column in self._scan.columns if column != CLIENT]
        is_long = sum(self._rows(place) for place in places) > PART_ROWS
        for sections, frame in self._frames(places, columns):
            for section, key, part in _parts(sections, frame, self._names, is_long=is_long):
                pieces[section].setdefault(key, []).append(part)
        return [_section(of) for of in pieces]

    def _frames(self, places: Sequence[_Place], columns: Sequence[str]) -> Iterator[tuple[IntArray, pl.DataFrame]]:
        """Give the rows of sections, each with the number of its section, ranges that follow each other at once."""
        ranges = sorted(
            (begin, end, number) for number, place in enumerate(places) for begin, end in self._ranges[place]
        )
        together: list[tuple[int, int, int]] = []
        for one in ranges:
            if together and one[0] != together[-1][1]:
                yield from self._parts_of(together, columns)
                together = []
            together.append(one)
        yield from self._parts_of(together, columns)

    def _parts_of(
        self, ranges: Sequence[tuple[int, int, int]], columns: Sequence[str]
    ) -> Iterator[tuple[IntArray, pl.DataFrame]]:
        """Give the rows of ranges that are one range."""
        at = ranges[0][0]
        ends = np.array([end for _, end, _ in ranges])
        numbers = np.array([number for _, _, number in ranges])
        for frame in self._scan.parts(at, ranges[-1][1], columns):
            first, last = (int(np.searchsorted(ends, row, side="right")) for row in (at, at + frame.height - 1))
            edges = np.clip(np.concatenate([[at], ends[first : last + 1]]), at, at + frame.height)
            yield np.repeat(numbers[first : last + 1], np.diff(edges)), frame
            at += frame.height


def _runs(part: pl.DataFrame, *, has_clients: bool) -> Iterator[tuple[_Place, int]]:
    """Cut rows where the client or the phase changes: which it is, and how many rows."""
    if part.is_empty():
        return
    phases = part["phase_index"].to_numpy()
    changes = phases[1:] != phases[:-1]
    clients = part[CLIENT] if has_clients else None
    if clients is not None and not (clients == clients[0]).all():
        changes = changes | (clients != clients.shift(1)).to_numpy()[1:].astype(bool)
    edges = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(phases)]])
    for begin, length in zip(edges[:-1].tolist(), np.diff(edges).tolist(), strict=True):
        yield (None if clients is None else str(clients[begin]), int(phases[begin])), length


def _parts(
    sections: IntArray, frame: pl.DataFrame, names: Sequence[str], *, is_long: bool
) -> Iterator[tuple[int, Key, Columns]]:
    """Take rows apart by their section and what they are about; of a long section, pieces that can be let go of singly."""
    if frame.is_empty():
        return
    groups = _groups(sections, frame, names)
    is_in_order = groups.places is None
    columns: dict[str, _Array] = {}
    unknown: dict[str, BoolArray] = {}
    for name, column in _values(frame, names):
        if column.null_count():
            nulls = column.is_null().to_numpy()
            unknown[name] = nulls if is_in_order else nulls[groups.places]
        array = column.fill_null(0).to_numpy() if name in unknown else column.to_numpy()
        array = array if is_in_order else array[groups.places]
        columns[name] = array if name == "t_ns" else _narrow(array)
    begin = 0
    for (section, *about), end in zip(groups.keys, groups.ends, strict=True):
        span = slice(begin, end)
        own = {
            name: array[span].copy() if is_long and array.strides[0] else array[span] for name, array in columns.items()
        }
        nulls_of = {name: array[span] for name, array in unknown.items()}
        yield section, tuple(about), Columns(dict(zip(names, about, strict=True)), own, nulls_of)
        begin = end


class _Groups(NamedTuple):
    """Rows that are about the same."""

    places: IntArray | None
    """The rows, one group after another; None: in the order in which they are."""
    keys: Iterable[tuple[Any, ...]]
    """Number of the section, and what the rows are about."""
    ends: Sequence[int]


def _groups(sections: IntArray, frame: pl.DataFrame, names: Sequence[str]) -> _Groups:
    if all((frame[name] == frame[name][0]).all() for name in names):
        # A run of one operation: no row has to be looked at.
        ends = np.append(np.flatnonzero(np.diff(sections)) + 1, len(sections))
        about = frame.select(names).row(0)
        return _Groups(None, [(int(sections[end - 1]), *about) for end in ends.tolist()], ends.tolist())
    key = ["section", *names]
    numbered = frame.select(names).with_columns(section=pl.Series(sections), place=pl.int_range(pl.len()))
    found = numbered.group_by(key, maintain_order=True).agg("place", count=pl.len())
    ends = np.cumsum(found["count"].to_numpy())
    return _Groups(found["place"].explode().to_numpy(), found.select(key).iter_rows(), ends.tolist())


def _values(frame: pl.DataFrame, names: Sequence[str]) -> Iterator[tuple[str, pl.Series]]:
    """Give the columns of numbers, times in whole nanoseconds."""
    for name in frame.columns:
        if name in {"t_s", "dt_s"}:
            yield f"{name[:-2]}_ns", (frame[name] * NS_PER_S).round().cast(pl.Int64)
        elif name not in names and name != "phase_index":
            yield name, frame[name]


def _narrow(array: _Array) -> _Array:
    """Hold whole numbers in the smallest type that has room for them, one value as a single number."""
    if not len(array):
        return array
    least, most = array.min(), array.max()
    if least == most:
        return np.broadcast_to(array[:1].copy(), array.shape)
    if array.dtype.kind != "f":
        for kind in (np.int8, np.int16, np.int32):
            limits = np.iinfo(kind)
            if limits.min <= least and most <= limits.max:
                return array.astype(kind)
        return array.astype(np.int64, copy=False)
    return array


def _section(pieces: dict[Key, list[Columns]]) -> PhaseRows:
    """Put the pieces of a section together, and let go of them."""
    found: dict[Key, Columns] = {}
    before: Columns | None = None
    for key in [*pieces]:
        before = found[key] = _with_times_of(_joined(pieces.pop(key)), before)
    return PhaseRows(found)


def _joined(pieces: list[Columns]) -> Columns:
    """Put the pieces of one part together, in the order of time."""
    first = pieces[0]
    if len(pieces) == 1:
        return _in_time(first)
    columns = {name: _one([piece.columns[name] for piece in pieces]) for name in first.columns}
    unknown = {
        name: np.concatenate([piece.unknown.get(name, np.zeros(len(piece), dtype=bool)) for piece in pieces])
        for name in {name for piece in pieces for name in piece.unknown}
    }
    return _in_time(Columns(first.names, columns, unknown))


def _one(pieces: Sequence[_Array]) -> _Array:
    if all(piece.strides == (0,) and piece[0] == pieces[0][0] for piece in pieces):
        return np.broadcast_to(pieces[0][:1], (sum(len(piece) for piece in pieces),))
    return np.concatenate(pieces)


def _with_times_of(part: Columns, before: Columns | None) -> Columns:
    """Let a part share the times of the one before where they are the same: those of all workers are."""
    if before is None or not np.array_equal(part.columns["t_ns"], before.columns["t_ns"]):
        return part
    return Columns(part.names, {**part.columns, "t_ns": before.columns["t_ns"]}, part.unknown)


def _in_time(part: Columns) -> Columns:
    t_ns = part.columns["t_ns"]
    if not (np.diff(t_ns) < 0).any():
        return part
    order = np.argsort(t_ns, kind="stable")
    return Columns(
        part.names,
        {name: column[order] for name, column in part.columns.items()},
        {name: nulls[order] for name, nulls in part.unknown.items()},
    )
