"""elbencho's files of results: CSV, one row a phase, the names of the columns in the first; or JSON, one document a phase.

Both have the same values under other names. In the JSON every value is a string, and what a phase did not count is left
out. Of the rates `[first]` was when the fastest thread was done and `[last]` when the slowest was: the last is of the
whole work. Its CPU time is the whole machine's and not the tool's, so nothing is made of it.
"""

import csv
import dataclasses
import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.decode.claim import Circumstances, Claim, Doing, ReportedLatency
from assay.decode.json_documents import document_at

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
_JSON = re.compile(r"\s*\{")
_LONGEST_HEAD = 64 << 10
_MIB = 1 << 20
_FIRST_NAMES = 1000
"""Characters in which the first document identifies itself."""


@dataclasses.dataclass(frozen=True)
class _Rates:
    """Of one direction of one phase."""

    bytes_per_s: float | None
    ops_per_s: float | None
    entries_per_s: float | None
    bytes: float | None
    latency: ReportedLatency

    @property
    def is_there(self) -> bool:
        return self.bytes_per_s is not None or self.ops_per_s is not None


@dataclasses.dataclass(frozen=True)
class _Phase:
    """What both files report of a phase."""

    name: str
    hosts: int
    threads: int
    depth: int
    is_direct: bool
    largest_set_bytes: float | None
    """Of the files that were named; None where directories were. Random offsets may hit the same block many times."""
    block_bytes: float | None
    is_random: bool
    seconds: float | None
    """Of the slowest thread."""
    during: Circumstances
    rates: _Rates
    mixed_reads: _Rates
    """Of a mix: `rates` are those of its writes."""


def read(text: str) -> Iterable[Claim] | None:
    """Read every phase, by the rate at the end of the slowest thread."""
    phases = _json_phases(text) if _JSON.match(text) else _csv_phases(text)
    return None if phases is None else (figure for phase in phases for figure in _figures(phase))


def _figures(phase: _Phase) -> Iterator[Claim]:
    match = _PHASE.fullmatch(phase.name)
    # Names of a header that was repeated, phases that move nothing (SYNC, DROPCACHE), and the network by itself (NET).
    if match is None:
        return
    action, is_mix = _ACTIONS[match[1]], phase.mixed_reads.is_there
    yield _figure(phase, phase.name + (": write" if is_mix else ""), action, phase.rates, is_mix=is_mix)
    if is_mix:
        yield _figure(phase, f"{phase.name}: read", Doing.READ, phase.mixed_reads, is_mix=True)


def _figure(phase: _Phase, test: str, action: Doing, rates: _Rates, *, is_mix: bool) -> Claim:
    sizes = [size for size in (rates.bytes, phase.largest_set_bytes) if size]
    return Claim(
        test=test,
        action=action,
        bytes_per_s=rates.bytes_per_s,
        ops_per_s=rates.ops_per_s or rates.entries_per_s,
        set_bytes=int(min(sizes)) if rates.bytes else None,
        clients=phase.hosts,
        # How many of a mix read and how many wrote is unknown.
        outstanding=None if is_mix else phase.hosts * phase.threads * phase.depth,
        is_direct=phase.is_direct,
        is_flushed=False if action is Doing.WRITE else None,
        # One file may hold phases of many runs with other sizes and depths: they are no repeats of each other.
        place=(f"{phase.name.lower()}{_settings(phase)}", action.value),
        workers=phase.hosts * phase.threads,
        queue_depth=phase.depth,
        latency=rates.latency,
        moved_bytes=int(rates.bytes) if rates.bytes else None,
        seconds=phase.seconds,
        during=phase.during,
    )


def _settings(phase: _Phase) -> str:
    """Describe the settings of a phase, for its key."""
    hosts = f" hosts={phase.hosts}" if phase.hosts > 1 else ""
    block = f" block={int(phase.block_bytes)}" if phase.block_bytes else ""
    flags = "".join(f" {word}" for word, holds in (("random", phase.is_random), ("direct", phase.is_direct)) if holds)
    return f"{hosts} threads={phase.threads} depth={phase.depth}{block}{flags}"


def _during(version: object, date: object) -> Circumstances:
    try:
        began = dt.datetime.fromisoformat(str(date)[:40]) if date else None
    except ValueError:
        began = None
    return Circumstances(version=str(version)[:40] if version else None, measured=began)


# -- CSV ---------------------------------------------------------------------------------------------------------------


def _csv_phases(text: str) -> Iterable[_Phase] | None:
    if not text.startswith(_FIRST):
        return None
    lines = text.splitlines()
    if len(lines[0]) > _LONGEST_HEAD:
        raise ValueError(f"its first line has more than {_LONGEST_HEAD} characters")
    rows = csv.DictReader(lines)
    missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
    if missing:
        raise ValueError(f"its column '{missing[0]}' is missing")
    return (_csv_phase(row) for row in rows)


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
        block_bytes=_number(row.get("block size")),
        is_random=row.get("random") == "1",
        seconds=_ms(row.get("time ms [last]")),
        during=_during(row.get("version"), row.get("ISO date")),
        rates=_csv_rates(row, ""),
        mixed_reads=_csv_rates(row, "rwmix read "),
    )


def _csv_rates(row: Mapping[str, str | None], of: str) -> _Rates:
    moved, total = (_number(row.get(f"{of}{name} [last]")) for name in ("MiB/s", "MiB"))
    return _Rates(
        bytes_per_s=moved * _MIB if moved else None,
        ops_per_s=_number(row.get(f"{of}IOPS [last]")),
        entries_per_s=_number(row.get(f"{of}entries/s [last]")),
        bytes=total * _MIB if total else None,
        latency=_csv_latency(row, of),
    )


def _csv_latency(row: Mapping[str, str | None], of: str) -> ReportedLatency:
    """Give the latencies of I/Os; of phases that have none, of entries."""
    for kind in ("IO", "Ent"):
        mean, longest = (_number(row.get(f"{of}{kind} lat us [{which}]")) for which in ("avg", "max"))
        if mean or longest:
            return _latency(mean, longest)
    return ReportedLatency()


def _latency(mean_us: float | None, max_us: float | None) -> ReportedLatency:
    return ReportedLatency(mean_ns=mean_us * 1e3 if mean_us else None, max_ns=max_us * 1e3 if max_us else None)


# -- JSON --------------------------------------------------------------------------------------------------------------


def _json_phases(text: str) -> list[_Phase] | None:
    """Read one document after another, as the tool adds them to its file."""
    if '"phase_type"' not in text[:_FIRST_NAMES]:
        return None
    begin = 0
    documents: list[Mapping[str, Any]] = []
    while (begin := _begin(text, begin)) < len(text):
        try:
            document, begin = document_at(text, begin)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"its JSON is broken after {len(documents)} phases ({str(error)[:100]})") from error
        if not (isinstance(document, dict) and "phase_type" in document and "last_done" in document):
            raise ValueError(f"document {len(documents) + 1} of its JSON is not a phase")
        documents.append(document)
    return [_json_phase(document) for document in documents]


def _begin(text: str, after: int) -> int:
    while after < len(text) and text[after] in " \t\r\n":
        after += 1
    return after


def _json_phase(document: Mapping[str, Any]) -> _Phase:
    config, done = _table(document.get("config")), _table(document.get("last_done"))
    latency = _table(done.get("latency"))
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
        block_bytes=_number(config.get("block_size")),
        is_random=_is_true(config.get("random_offsets")),
        seconds=_ms(done.get("elapsed_time_ms")),
        during=_during(config.get("version"), document.get("iso_start_date")),
        rates=_json_rates(done, {kind: _table(latency.get(kind)) for kind in _KINDS}),
        mixed_reads=_json_rates(
            _table(done.get("rwmix_read")),
            {kind: _table(_table(latency.get(kind)).get("rwmix_read")) for kind in _KINDS},
        ),
    )


_KINDS = ("IO", "entries")


def _json_rates(done: Mapping[str, Any], latency: Mapping[str, Mapping[str, Any]]) -> _Rates:
    latency_row = next((latency[kind] for kind in _KINDS if latency[kind]), {})
    return _Rates(
        bytes_per_s=_number(done.get("bytes/s")),
        ops_per_s=_number(done.get("iops")),
        entries_per_s=_number(done.get("entries/s")),
        bytes=_number(done.get("bytes")),
        latency=_latency(_number(latency_row.get("avg_us")), _number(latency_row.get("max_us"))),
    )


# -- values ------------------------------------------------------------------------------------------------------------


def _files_bytes(kind: object, paths: object, file_size: object, hosts: int, shared: object) -> float | None:
    """Give the size of the files or devices that were named; None for trees of directories."""
    if kind not in ("file", "blockdev", "object"):
        return None
    each, count = _number(file_size), _number(paths)
    return each * count * (1 if _is_true(shared) else hosts) if each and count else None


def _ms(value: object) -> float | None:
    number = _number(value)
    return number / 1000 if number else None


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
