"""The table of invariants: the rows of the package, with those of the user's own file in their place.

The file is data: it is read up to `MOST_BYTES` and `MOST_ROWS`, and an error names the file and the row.
"""

import dataclasses
import enum
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from assay import xdg
from assay.errors import InputError
from assay.input_text import read_text

NAME: Final = "invariants.toml"
"""Of the user's own file, in Assay's configuration folder."""
MOST_BYTES: Final = 256 << 10
MOST_ROWS: Final = 500
_MOST_CHARACTERS: Final = 400
_LARGEST: Final = 1e15
_PACKAGED: Final = Path(__file__).with_name("table.toml")
_WHAT: Final = "table of invariants"
_ID = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")


class InvariantKind(enum.StrEnum):
    """What a row is a rule for."""

    RANDOM_READ = "random_read"
    RANDOM_WRITE = "random_write"
    SEQUENTIAL_READ = "sequential_read"
    SEQUENTIAL_WRITE = "sequential_write"
    DURABLE_WRITE = "durable_write"
    HALF_TURN = "half_turn"
    """Of a hard disk: the mean time until a random place passes the head."""
    INTERFACE = "interface"
    LINK = "link"
    CPU_COST = "cpu_cost"
    WINDOW = "window"
    WRITE_GAIN = "write_gain"
    """Random writes by random reads."""


UNITS: Final[Mapping[InvariantKind, str]] = {
    InvariantKind.RANDOM_READ: "IOPS",
    InvariantKind.RANDOM_WRITE: "IOPS",
    InvariantKind.SEQUENTIAL_READ: "MB/s",
    InvariantKind.SEQUENTIAL_WRITE: "MB/s",
    InvariantKind.DURABLE_WRITE: "IOPS",
    InvariantKind.HALF_TURN: "ms",
    InvariantKind.INTERFACE: "MB/s",
    InvariantKind.LINK: "MB/s",
    InvariantKind.CPU_COST: "cycles/byte",
    InvariantKind.WINDOW: "bytes per round trip",
    InvariantKind.WRITE_GAIN: "times",
}
"""The unit of each kind; MB is 10^6 bytes."""


class Invariant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row: a usual range, or a limit."""

    id: str
    about: str
    """A class of the table."""
    kind: InvariantKind
    low: float
    high: float
    unit: str
    condition: str
    source: str
    is_limit: bool = False
    """Whether nothing is above `high`; for `half_turn`, below `low`."""
    least_in_flight: int | None = None
    most_in_flight: int | None = None
    least_block_bytes: int | None = None
    most_block_bytes: int | None = None
    line_bytes_per_s: float | None = None
    """Of a link: its nominal rate."""

    @property
    def si_factor(self) -> float:
        """Factor from `unit` to bytes, operations, seconds or 1."""
        return {"MB/s": 1e6, "ms": 1e-3}.get(self.unit, 1.0)

    def is_for(self, *, in_flight: int, block_bytes: float) -> bool:
        """Whether the row is for operations of this size, with this many in flight."""
        bounds = (
            (in_flight, self.least_in_flight, self.most_in_flight),
            (block_bytes, self.least_block_bytes, self.most_block_bytes),
        )
        return all((least or 0) <= value <= (math.inf if most is None else most) for value, least, most in bounds)


@dataclasses.dataclass(frozen=True)
class InvariantTable:
    """All rows, and where they come from."""

    classes: Mapping[str, str]
    """Names of the classes, with an article."""
    rows: tuple[Invariant, ...]
    own_ids: frozenset[str]
    """Rows from the user's own file."""
    own_file: Path | None
    """None: there is none."""

    def of_kind(self, kind: InvariantKind) -> tuple[Invariant, ...]:
        """Return the rows of a kind."""
        return tuple(row for row in self.rows if row.kind is kind)

    def name(self, row: Invariant) -> str:
        """Return the class of a row in words."""
        return self.classes[row.about]

    def link(self, line_bytes_per_s: float) -> Invariant | None:
        """Return the row of a link by its nominal rate; None: there is none."""
        rows = self.of_kind(InvariantKind.LINK)
        return next((row for row in rows if math.isclose(row.line_bytes_per_s or 0.0, line_bytes_per_s)), None)


class _TableFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    classes: dict[str, str] = {}
    invariant: tuple[Invariant, ...] = ()


def packaged_path() -> Path:
    """Return the path of the table of the package."""
    return _PACKAGED


def own_path() -> Path | None:
    """Return the path of the user's own table, whether or not it exists; None for a user without a home."""
    try:
        return xdg.folder("XDG_CONFIG_HOME", "~/.config") / NAME
    except InputError:
        return None


def load() -> InvariantTable:
    """Read the table of the package and the user's own file.

    Raises:
        InputError: the user's file cannot be read as a table; file, row and key are named.
    """
    path = own_path()
    return _load(path, _identity(path))


def own_text() -> str:
    """Return the text of the user's own file, empty where there is none; raises InputError where it cannot be read."""
    path = own_path()
    try:
        return read_text(str(path), _WHAT, MOST_BYTES) if path else ""
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _identity(path: Path | None) -> tuple[int, ...] | None:
    """Return what changes when somebody changes a file; None: it is not there."""
    try:
        state = path.stat() if path else None
    except OSError:
        return None
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) if state else None


@lru_cache(maxsize=4)
def _load(path: Path | None, identity: tuple[int, ...] | None) -> InvariantTable:
    packaged = _decode(_PACKAGED.read_text(encoding="utf-8"), str(_PACKAGED))
    text = own_text() if identity else ""
    own = _decode(text, str(path)) if text else _TableFile()
    classes = {**packaged.classes, **own.classes}
    by_id = {row.id: row for row in (*packaged.invariant, *own.invariant)}
    for row in own.invariant:
        if row.about not in classes:
            raise InputError(f"{path}: row '{row.id}': about = '{row.about}' is no class; add it to [classes]")
    return InvariantTable(
        classes=classes,
        rows=tuple(by_id.values()),
        own_ids=frozenset(row.id for row in own.invariant),
        own_file=path if text else None,
    )


def _decode(text: str, where: str) -> _TableFile:
    try:
        found = msgspec.convert(tomllib.loads(text), _TableFile)
    # TOMLDecodeError and ValidationError are ValueErrors.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: {error}") from error
    if len(found.invariant) > MOST_ROWS or len(found.classes) > MOST_ROWS:
        raise InputError(f"{where}: more than {MOST_ROWS} rows or classes")
    for name, words in found.classes.items():
        _check_words(f"{where}: class '{name[:40]}'", name, (words,))
    seen: set[str] = set()
    for number, row in enumerate(found.invariant, start=1):
        place = f"{where}: row {number} ('{row.id[:40]}')"
        _check_words(place, row.id, (row.condition, row.source))
        _check_numbers(place, row)
        if row.id in seen:
            raise InputError(f"{place}: another row has this id")
        seen.add(row.id)
    return found


def _check_words(place: str, name: str, texts: Iterable[str]) -> None:
    if not _ID.fullmatch(name):
        raise InputError(f"{place}: a name has up to 40 lower-case letters, digits, '-' and '.'")
    for text in texts:
        if not text.strip() or len(text) > _MOST_CHARACTERS or not text.isprintable():
            raise InputError(f"{place}: a text has 1 to {_MOST_CHARACTERS} printable characters")


def _check_numbers(place: str, row: Invariant) -> None:
    if row.unit != UNITS[row.kind]:
        raise InputError(f"{place}: unit = '{row.unit[:20]}'; for {row.kind} it is '{UNITS[row.kind]}'")
    if not 0 < row.low <= row.high <= _LARGEST:
        raise InputError(
            f"{place}: low = {row.low:g} and high = {row.high:g}; they are above 0, and low is the smaller"
        )
    if (row.kind is InvariantKind.LINK) != (row.line_bytes_per_s is not None):
        raise InputError(f"{place}: line_bytes_per_s is for kind 'link', and needed there")
    bounds = (
        row.least_in_flight, row.most_in_flight, row.least_block_bytes, row.most_block_bytes, row.line_bytes_per_s,
    )  # fmt: skip
    if any(bound is not None and not 0 < bound <= _LARGEST for bound in bounds):
        raise InputError(f"{place}: a bound is above 0")
    for least, most in (bounds[:2], bounds[2:4]):
        if least is not None and most is not None and least > most:
            raise InputError(f"{place}: 'least' is above 'most'")
