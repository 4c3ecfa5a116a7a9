"""Compute the unpacked size of a Parquet file from its footer and page headers, before anything is unpacked.

A few kilobytes of Parquet can represent terabytes, and a footer can claim anything: so every page that the footer names
is looked at, and their sums are held to the footer. The reader allocates what the pages declare, no more. Numbers of
fields are those of parquet.thrift (apache/parquet-format), written in Thrift's compact protocol.
"""

import dataclasses
import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import polars as pl

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
_DEEPEST: Final = 12
_MOST_VALUES: Final = 4_000_000
_LONGEST_VARINT: Final = 10

_TYPES: Final[Mapping[type[pl.DataType], tuple[int, int]]] = {
    pl.Int32: (1, 4),
    pl.UInt32: (1, 4),
    pl.Int64: (2, 8),
    pl.Float64: (5, 8),
    pl.String: (6, 16),
}
"""Physical type in the file, and bytes of a value in memory (of a text, its view)."""


@dataclasses.dataclass(frozen=True)
class Unpacked:
    """What a table is in memory."""

    rows: int
    bytes: int
    """Of its values, and of the pages that they come from."""
    group_bytes: int
    """The same of its largest row group: the least that is unpacked at once."""
    columns: tuple[str, ...]
    """Those that it has."""


def unpacked_bytes(data: bytes, columns: Mapping[str, pl.DataType], optional: Collection[str] = frozenset()) -> int:
    """Return how much memory a table takes; see `unpacked`."""
    return unpacked(data, columns, optional).bytes


def unpacked(data: bytes, columns: Mapping[str, pl.DataType], optional: Collection[str] = frozenset()) -> Unpacked:
    """Work out how much memory a table takes.

    Args:
        data: The whole file.
        columns: What it must hold, in order.
        optional: Columns that may be absent; they are counted nonetheless.

    Raises:
        ValueError: it is no Parquet file, holds other columns, or its parts contradict each other.
    """
    if len(data) < 2 * len(_MAGIC) + _TAIL_BYTES or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ValueError("it is no Parquet file")
    (length,) = struct.unpack("<I", data[-_TAIL_BYTES:-4])
    end = len(data) - _TAIL_BYTES
    if length > end - len(_MAGIC):
        raise ValueError("its footer is longer than the file")
    footer = _Thrift(data, end - length, end).read()
    found = _check_schema(_list(footer, 2), columns, optional)
    groups = _list(footer, 4)
    rows = [_count(group, 3) for group in groups]
    if sum(rows) != _count(footer, 3):
        raise ValueError("its footer contradicts itself")
    row_bytes = sum(_TYPES[type(kind)][1] for kind in columns.values())
    sizes = [count * row_bytes + _of_group(data, group, len(found)) for count, group in zip(rows, groups, strict=True)]
    return Unpacked(sum(rows), sum(sizes), max(sizes, default=0), found)


def _check_schema(
    schema: Sequence[Any], columns: Mapping[str, pl.DataType], optional: Collection[str]
) -> tuple[str, ...]:
    """Refuse other columns than those wanted, in name, order or type, and any that are nested; name those that are there."""
    leaves = [_struct(leaf) for leaf in schema[1:]]
    found = [leaf.get(4) for leaf in leaves]
    columns = {name: kind for name, kind in columns.items() if name not in optional or name.encode() in found}
    if missing := [name for name in columns if name.encode() not in found]:
        raise ValueError(f"column '{missing[0]}' is missing")
    if found != [name.encode() for name in columns]:
        raise ValueError("it has other columns than a run has")
    for leaf, (name, kind) in zip(leaves, columns.items(), strict=True):
        if leaf.get(1) != _TYPES[type(kind)][0] or leaf.get(3) not in {0, 1} or leaf.get(5):
            raise ValueError(f"column '{name}' is of another type")
    return tuple(columns)


def _of_group(data: bytes, group: Any, columns: int) -> int:
    """Sum up the pages of a row group."""
    rows, chunks = _count(group, 3), _list(group, 1)
    if len(chunks) != columns:
        raise ValueError("a part of it has missing columns")
    return sum(_of_chunk(data, _struct(chunk), rows) for chunk in chunks)


def _of_chunk(data: bytes, chunk: dict[int, Any], rows: int) -> int:
    """Sum up the pages of one column of a row group."""
    text = _struct(chunk.get(3))
    if 1 in chunk or _count(text, 5) != rows:
        raise ValueError("a column of it contradicts its footer")
    at = min(_count(text, place) for place in (9, 11) if place in text or place == 9)
    end = at + _count(text, 7)
    if not len(_MAGIC) <= at <= end <= len(data):
        raise ValueError("a column of it lies outside the file")
    values = size_bytes = 0
    while at < end:
        header = _Thrift(data, at, end)
        page = header.read()
        at = header.at + _count(page, 3)
        size_bytes += _count(page, 2)
        for of_data in (5, 8):
            if of_data in page:
                values += _count(page[of_data], 1)
        # Of a dictionary, whose values take 4 bytes or more each.
        if 7 in page and _count(page[7], 1) * 4 > _count(page, 2):
            raise ValueError("a dictionary of it is larger than its page")
    if at != end or values != rows:
        raise ValueError("the pages of a column contradict its footer")
    return size_bytes


def _struct(value: Any) -> dict[int, Any]:
    if not isinstance(value, dict):
        raise ValueError("its footer is broken")  # noqa: TRY004 - of the file, not of the caller
    return value


def _list(value: Any, field: int) -> list[Any]:
    found = _struct(value).get(field)
    if not isinstance(found, list):
        raise ValueError("its footer is broken")  # noqa: TRY004 - as above
    return found


def _count(value: Any, field: int) -> int:
    found = _struct(value).get(field)
    if not isinstance(found, int) or found < 0:
        raise ValueError("its footer is broken")
    return found


class _Thrift:
    """Reads one struct: fields by number, with lists, binaries and whole numbers as values."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.at = at
        self._data = data
        self._end = end
        self._left = _MOST_VALUES

    def read(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 0x0F
            # A truth value is in the head itself.
            fields[number] = kind == 1 if kind in {1, 2} else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise ValueError("its footer never ends")
        match kind:
            case 1 | 2 | 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._varint())
            case 9 | 10:
                head = self._byte()
                count = self._varint() if head >> 4 == 0x0F else head >> 4
                if count > self._end - self.at:
                    raise ValueError("its footer is cut short")
                return [
                    self.read(depth + 1) if head & 0x0F == 12 else self._value(head & 0x0F, depth + 1)
                    for _ in range(count)
                ]
            case 12:
                return self.read(depth + 1)
        raise ValueError("its footer is broken")

    def _byte(self) -> int:
        if self.at >= self._end:
            raise ValueError("its footer is cut short")
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        if count > self._end - self.at:
            raise ValueError("its footer is cut short")
        self.at += count
        return self._data[self.at - count : self.at]

    def _varint(self) -> int:
        value = 0
        for place in range(_LONGEST_VARINT):
            byte = self._byte()
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise ValueError("its footer is broken")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
