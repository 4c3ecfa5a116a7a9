"""fio's JSON (`--output-format=json` and `json+`), whatever it printed before it.

Before 3.0 `bw` is in KiB a second, `io_bytes` in KiB and latencies in microseconds; since then there are `bw_bytes`,
`io_kbytes` and latencies in nanoseconds. Latencies are those of `clat`, issue to completion. Without `group_reporting` each
of `numjobs` workers is a job of its own.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.decode.claim import Circumstances, Claim, Doing, ReportedLatency
from assay.decode.json_documents import document_at

NAME = "fio"

_SIZE = re.compile(r"([0-9]{1,15})([kmgtp]?)i?b?", re.ASCII | re.IGNORECASE)
_POWERS = " kmgtp"
_KIB = 1024
_ONE_AT_A_TIME = frozenset({"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"})
"""Engines that pay no heed to `iodepth`; the first is what fio takes by itself."""
_FLUSHES = ("end_fsync", "fsync", "fdatasync", "fsync_on_close", "sync")


def read(text: str) -> Iterable[Claim] | None:
    """Read each job's reads and writes."""
    begin = text.find("{")
    if begin < 0 or '"fio version"' not in text[begin : begin + 1000]:
        return None
    try:
        document, _ = document_at(text, begin)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its JSON is broken ({str(error)[:100]})") from error
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise ValueError("it has no jobs")
    shared = _table(document.get("global options"))
    groups: dict[int, dict[str, int]] = {}
    for job in jobs:
        groups.setdefault(_group(job), Counter())[_name(job)] += 1
    numbers = {group: number for number, group in enumerate(groups, start=1)}
    during = Circumstances(version=_version(document), measured=_measured_at(document))
    found: list[Claim] = []
    for job in jobs:
        names = groups[_group(job)]
        # As `assay fio` names its phases and jobs.
        phase = f"{numbers[_group(job)]}-{next(iter(names))[:100]}"
        place = (phase, _name(job)) if len(names) > 1 else (phase,)
        found += _of_job(job, shared, place, during, is_part=names[_name(job)] > 1)
    return found


def _group(job: Mapping[str, Any]) -> int:
    """Give the number of the jobs that ran at once with this one."""
    group = job.get("groupid")
    return group if isinstance(group, int) else 0


def _name(job: Mapping[str, Any]) -> str:
    return str(job.get("jobname", "?"))[:100]


def _version(document: Mapping[str, Any]) -> str | None:
    return str(document.get("fio version", ""))[:40].removeprefix("fio-") or None


def _measured_at(document: Mapping[str, Any]) -> dt.datetime | None:
    """Give the time of day: fio takes it when it writes the document, which is as near as it reports."""
    stamp = _number(document.get("timestamp"))
    return dt.datetime.fromtimestamp(stamp, dt.UTC) if 0 < stamp < 1e11 else None


def _of_job(
    job: Mapping[str, Any], shared: Mapping[str, Any], place: tuple[str, ...], during: Circumstances, *, is_part: bool
) -> Iterator[Claim]:
    options = {**shared, **_table(job.get("job options"))}
    # Without group_reporting each worker is a job of its own here. Of a group the CPU time is the mean of its workers.
    workers = _whole(options.get("numjobs"), 1) if "group_reporting" in options else 1
    depth = 1 if str(options.get("ioengine", "psync")) in _ONE_AT_A_TIME else _whole(options.get("iodepth"), 1)
    cpu = workers * sum(_number(job.get(name)) for name in ("usr_cpu", "sys_cpu")) / 100
    size = _size(options.get("size"))
    if size is not None and "filename" not in options:  # a file for each worker
        size *= workers
    # By itself fio takes a file out of the page cache before it begins.
    is_emptied = str(options.get("invalidate", "1")) != "0"
    directions = [direction for direction in ("read", "write") if _bytes_moved(_table(job.get(direction))) > 0]
    for direction in directions:
        found = _table(job[direction])
        moved = _bytes_moved(found)
        is_old = "bw_bytes" not in found
        ops, runtime_ms = (_number(found.get(name)) for name in ("total_ios", "runtime"))
        yield Claim(
            test=f"{_name(job)}: {direction}" + (" (of a mix)" if len(directions) > 1 else ""),
            action=Doing(direction),
            bytes_per_s=_rate(found, "bw", _KIB) if is_old else _rate(found, "bw_bytes"),
            ops_per_s=_rate(found, "iops"),
            set_bytes=size,
            cold_share=min(1.0, size / moved) if size and moved and is_emptied else None,
            # The shares of a mix are unknown.
            cpu_share=cpu if len(directions) == 1 else None,
            outstanding=workers * depth if len(directions) == 1 else None,
            is_direct=str(options.get("direct", "0")) == "1",
            is_flushed=any(str(options.get(name, "0")) not in {"0", "none"} for name in _FLUSHES),
            place=(*place, direction),
            workers=workers,
            queue_depth=depth,
            ops=int(ops) if ops else None,
            moved_bytes=int(moved),
            errors=int(_number(job["total_err"])) if "total_err" in job else None,
            seconds=runtime_ms / 1000 if runtime_ms else None,
            latency=_latency(found),
            is_part=is_part,
            objection=f"the job ended with error {int(_number(job['error']))}" if _number(job.get("error")) else "",
            during=during,
        )


def _bytes_moved(found: Mapping[str, Any]) -> float:
    """Give the bytes of one direction."""
    is_old = "bw_bytes" not in found and "io_kbytes" not in found
    return _number(found.get("io_bytes")) * (_KIB if is_old else 1)


def _rate(found: Mapping[str, Any], name: str, unit: int = 1) -> float | None:
    """Give a rate; None for null, which `assay fio` writes where clients were hardly at work together."""
    return None if name in found and found[name] is None else _number(found.get(name)) * unit


def _latency(found: Mapping[str, Any]) -> ReportedLatency:
    name, unit_ns = ("clat_ns", 1.0) if "clat_ns" in found else ("clat", 1000.0)
    latency = _table(found.get(name))
    shares = {_number_of(share): value for share, value in _table(latency.get("percentile")).items()}

    def ns(value: object) -> float | None:
        return _number(value) * unit_ns or None

    return ReportedLatency(
        mean_ns=ns(latency.get("mean")),
        p50_ns=ns(shares.get(50.0)),
        p90_ns=ns(shares.get(90.0)),
        p99_ns=ns(shares.get(99.0)),
        p99_9_ns=ns(shares.get(99.9)),
        max_ns=ns(latency.get("max")),
    )


def _number_of(text: str) -> float:
    """Read the name of a percentile; those of lists that were not filled are all `0.00`."""
    return float(text) if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", text) else 0.0


def _size(text: object) -> int | None:
    match = _SIZE.fullmatch(str(text))
    return int(match[1]) * 1024 ** _POWERS.index(match[2].lower() or " ") if match else None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18 else 0.0


def _whole(value: object, usual: int) -> int:
    return int(str(value)) if re.fullmatch(r"[1-9][0-9]{0,6}", str(value)) else usual
