"""fio's JSON (`--output-format=json` and `json+`), whatever it printed before it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.decode.claim import Claim, Doing

NAME = "fio"

_SIZE = re.compile(r"([0-9]{1,15})([kmgtp]?)i?b?", re.ASCII | re.IGNORECASE)
_POWERS = " kmgtp"
_ONE_AT_A_TIME = frozenset({"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"})
"""Engines that pay no heed to `iodepth`; the first is what fio takes by itself."""
_FLUSHES = ("end_fsync", "fsync", "fdatasync", "fsync_on_close", "sync")


def read(text: str) -> Sequence[Claim] | None:
    """Read each job's reads and writes."""
    begin = text.find("{")
    if begin < 0 or '"fio version"' not in text[begin : begin + 1000]:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its JSON is broken ({str(error)[:100]})") from error
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise ValueError("it has no jobs")
    shared = _table(document.get("global options"))
    return [figure for job in jobs for figure in _of_job(job, shared)]


def _of_job(job: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[Claim]:
    options = {**shared, **_table(job.get("job options"))}
    # Without group_reporting each worker is a job of its own here. Of a group the CPU time is the mean of its workers.
    workers = _whole(options.get("numjobs"), 1) if "group_reporting" in options else 1
    depth = 1 if options.get("ioengine", "psync") in _ONE_AT_A_TIME else _whole(options.get("iodepth"), 1)
    cpu = workers * sum(_number(job.get(name)) for name in ("usr_cpu", "sys_cpu")) / 100
    size = _size(options.get("size"))
    if size is not None and "filename" not in options:  # a file for each worker
        size *= workers
    # By itself fio takes a file out of the page cache before it begins.
    is_emptied = str(options.get("invalidate", "1")) != "0"
    ways = [way for way in ("read", "write") if _number(_table(job.get(way)).get("total_ios")) > 0]
    for way in ways:
        found = _table(job[way])
        moved = _number(found.get("io_bytes"))
        yield Claim(
            test=f"{str(job.get('jobname', '?'))[:100]}: {way}" + (" (of a mix)" if len(ways) > 1 else ""),
            action=Doing(way),
            bytes_per_s=_number(found.get("bw_bytes")),
            ops_per_s=_number(found.get("iops")),
            set_bytes=size,
            cold_share=min(1.0, size / moved) if size and moved and is_emptied else None,
            # Shares of a mix are not known apart.
            cpu_share=cpu if len(ways) == 1 else None,
            outstanding=workers * depth if len(ways) == 1 else None,
            is_direct=str(options.get("direct", "0")) == "1",
            is_flushed=any(str(options.get(name, "0")) not in {"0", "none"} for name in _FLUSHES),
        )


def _size(text: object) -> int | None:
    match = _SIZE.fullmatch(str(text))
    return int(match[1]) * 1024 ** _POWERS.index(match[2].lower() or " ") if match else None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18 else 0.0


def _whole(value: object, usual: int) -> int:
    return int(str(value)) if re.fullmatch(r"[1-9][0-9]{0,6}", str(value)) else usual
