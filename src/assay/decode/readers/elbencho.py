"""elbencho's files of results: CSV, one row a phase, the names of the columns in the first; or JSON, one document a phase.

Both say the same under other names. In the JSON every value is a string, and what a phase did not count is left out. Of the
rates `[first]` was when the fastest thread was done and `[last]` when the slowest was: the last is of the whole work. Its
CPU time is the whole machine's and not the tool's, so nothing is made of it.
"""

import csv
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.decode.claim import Claim, Doing

NAME = "elbencho"

_FIRST, _NEEDED = "ISO date,", ("operation", "threads", "IOPS [last]", "MiB/s [last]")
_ACTIONS = {
    "READ": Doing.READ,
    "WRITE": Doing.WRITE,
    "RWMIX": Doing.WRITE,
    "MIX-T": Doing.WRITE,
    "MKDIRS": Doing.CREATE,
    "STAT": Doing.STAT,
    "RMFILES": Doing.DELETE,
    "RMDIRS": Doing.DELETE,
}
_PHASE = re.compile(rf"({'|'.join(_ACTIONS)})[0-9]{{0,6}}(?:\+s)?(?:\+r)?", re.ASCII)
"""RWMIX70 has 70 % reads and MIX-T4 four threads that read; +s and +r look at each file, or read it, besides."""
_PAST_MEMORY = ("bucket", "object")
"""Kinds of paths that the client's page cache has no part in."""
_MIB = 1 << 20
_FIRST_NAMES = 1000
"""Characters in which the first document says what it is."""


@dataclasses.dataclass(frozen=True)
class _Rates:
    """Of one direction of one phase."""

    bytes_per_s: float | None
    ops_per_s: float | None
    entries_per_s: float | None
    bytes: float | None

    @property
    def is_there(self) -> bool:
        return self.bytes_per_s is not None or self.ops_per_s is not None


@dataclasses.dataclass(frozen=True)
class _Phase:
    """What both files say of a phase."""

    name: str
    hosts: int
    threads: int
    depth: int
    is_direct: bool
    largest_set_bytes: float | None
    """Of the files that were named; None where directories were. Random offsets may meet the same block many times."""
    rates: _Rates
    reads_besides: _Rates
    """Of a mix: `rates` are those of its writes."""


def read(text: str) -> Sequence[Claim] | None:
    """Read every phase, by the rate at the end of the slowest thread."""
    phases = _json_phases(text) if text.lstrip().startswith("{") else _csv_phases(text)
    return None if phases is None else [figure for phase in phases for figure in _figures(phase)]


def _figures(phase: _Phase) -> Iterator[Claim]:
    match = _PHASE.fullmatch(phase.name)
    # Names of a header that was repeated, phases that move nothing (SYNC, DROPCACHE), and the network by itself (NET).
    if match is None:
        return
    action, is_mix = _ACTIONS[match[1]], phase.reads_besides.is_there
    yield _figure(phase, phase.name + (": write" if is_mix else ""), action, phase.rates, is_mix=is_mix)
    if is_mix:
        yield _figure(phase, f"{phase.name}: read", Doing.READ, phase.reads_besides, is_mix=True)


def _figure(phase: _Phase, test: str, action: Doing, rates: _Rates, *, is_mix: bool) -> Claim:
    sizes = [size for size in (rates.bytes, phase.largest_set_bytes) if size]
    return Claim(
        test=test,
        action=action,
        bytes_per_s=rates.bytes_per_s,
        ops_per_s=rates.ops_per_s or rates.entries_per_s,
        set_bytes=int(min(sizes)) if rates.bytes else None,
        clients=phase.hosts,
        # How many of a mix read and how many wrote is not known.
        outstanding=None if is_mix else phase.hosts * phase.threads * phase.depth,
        is_direct=phase.is_direct,
        is_flushed=False if action is Doing.WRITE else None,
    )


# -- CSV ---------------------------------------------------------------------------------------------------------------


def _csv_phases(text: str) -> list[_Phase] | None:
    lines = text.splitlines()
    if not lines or not lines[0].startswith(_FIRST):
        return None
    rows = csv.DictReader(lines)
    missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
    if missing:
        raise ValueError(f"its column '{missing[0]}' is missing")
    return [_csv_phase(row) for row in rows]


def _csv_phase(row: Mapping[str, str | None]) -> _Phase:
    hosts, threads, depth = (_whole(row.get(name)) for name in ("hosts", "threads", "IO depth"))
    return _Phase(
        name=(row.get("operation") or "").upper(),
        hosts=hosts,
        threads=threads,
        depth=depth,
        is_direct=row.get("direct IO") == "1" or row.get("path type") in _PAST_MEMORY,
        largest_set_bytes=_files_bytes(
            row.get("path type"), row.get("paths"), row.get("file size"), hosts, row.get("shared paths")
        ),
        rates=_csv_rates(row, ""),
        reads_besides=_csv_rates(row, "rwmix read "),
    )


def _csv_rates(row: Mapping[str, str | None], of: str) -> _Rates:
    moved, total = (_number(row.get(f"{of}{name} [last]")) for name in ("MiB/s", "MiB"))
    return _Rates(
        bytes_per_s=moved * _MIB if moved else None,
        ops_per_s=_number(row.get(f"{of}IOPS [last]")),
        entries_per_s=_number(row.get(f"{of}entries/s [last]")),
        bytes=total * _MIB if total else None,
    )


# -- JSON --------------------------------------------------------------------------------------------------------------


def _json_phases(text: str) -> list[_Phase] | None:
    """Read one document after another, as the tool adds them to its file."""
    if '"phase_type"' not in text[:_FIRST_NAMES]:
        return None
    decoder, begin = json.JSONDecoder(), 0
    documents: list[Mapping[str, Any]] = []
    while (begin := _begin(text, begin)) < len(text):
        try:
            document, begin = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"its JSON is broken after {len(documents)} phases ({str(error)[:100]})") from error
        if not (isinstance(document, dict) and "phase_type" in document and "last_done" in document):
            raise ValueError(f"document {len(documents) + 1} of its JSON is no phase")
        documents.append(document)
    return [_json_phase(document) for document in documents]


def _begin(text: str, after: int) -> int:
    while after < len(text) and text[after] in " \t\r\n":
        after += 1
    return after


def _json_phase(document: Mapping[str, Any]) -> _Phase:
    config, done = _table(document.get("config")), _table(document.get("last_done"))
    hosts, threads, depth = (_whole(config.get(name)) for name in ("hosts", "threads", "io_depth"))
    kind = config.get("path_type")
    return _Phase(
        name=str(document["phase_type"]).upper(),
        hosts=hosts,
        threads=threads,
        depth=depth,
        is_direct=_is_true(config.get("direct_io")) or kind in _PAST_MEMORY,
        largest_set_bytes=_files_bytes(
            kind, config.get("paths"), config.get("file_size"), hosts, config.get("shared_service_paths")
        ),
        rates=_json_rates(done),
        reads_besides=_json_rates(_table(done.get("rwmix_read"))),
    )


def _json_rates(done: Mapping[str, Any]) -> _Rates:
    return _Rates(
        bytes_per_s=_number(done.get("bytes/s")),
        ops_per_s=_number(done.get("iops")),
        entries_per_s=_number(done.get("entries/s")),
        bytes=_number(done.get("bytes")),
    )


# -- values ------------------------------------------------------------------------------------------------------------


def _files_bytes(kind: object, paths: object, file_size: object, hosts: int, shared: object) -> float | None:
    """Give the size of the files or devices that were named; None for trees of directories."""
    if kind not in ("file", "blockdev", "object"):
        return None
    each, count = _number(file_size), _number(paths)
    return each * count * (1 if _is_true(shared) else hosts) if each and count else None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_true(value: object) -> bool:
    return value in ("true", "1", True)


def _number(value: object) -> float | None:
    """Read a number above 0, written as one or as a string."""
    try:
        number = float(value) if isinstance(value, str | int | float) else 0.0
    except (ValueError, OverflowError):
        return None
    return number if 0 < number < 1e18 else None


def _whole(value: object) -> int:
    return int(min(_number(value) or 1, 1e6)) or 1
