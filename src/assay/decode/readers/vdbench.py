"""vdbench: its flatfile, in columns by blanks under one line of names, and the tables of its summary.

Of each run there is a line an interval, and one of the mean (`avg_2-5`: of the intervals 2 to 5). Only the means are
figures. MB are 1024 * 1024 bytes, response times milliseconds.
"""

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from assay.decode.claim import Circumstances, Claim, Doing, ReportedLatency

NAME = "vdbench"

_NAMES = re.compile(r"^[ \t]*tod +(?:timestamp +)?Run +Interval +reqrate +.*$", re.MULTILINE)
_MEAN = re.compile(r"avg_([0-9]{1,9})-([0-9]{1,9})")
_STAMP = re.compile(r"([0-9]{2})/([0-9]{2})/([0-9]{4})-([0-9]{2}):([0-9]{2}):([0-9]{2})-(?:UTC|GMT)")
_STARTING = re.compile(r"Starting RD=([^;\s]{1,200})(?:;([^\n]{0,400}))?")
_SUMMARY_MEAN = re.compile(r"^\S* *avg_([0-9]{1,9})-([0-9]{1,9}) +([-0-9.NaInf ]{1,600})$", re.MULTILINE)
_SUMMARY_HEAD = re.compile(r"interval +i/o +MB/sec +bytes +read +resp +read +write +(?:read +write|resp +resp)")
_LOOPS = re.compile(r"For loops: ([^\n]{1,200})")
_MIB = 1 << 20
_MOST_RUNS = 10_000


def read(text: str) -> Iterable[Claim] | None:
    """Read the means of a flatfile, or of a summary."""
    if (names := _NAMES.search(text)) is not None:
        return _flatfile(text[names.start() :])
    if "Vdbench" in text[:20_000] or "Starting RD=" in text:
        if _STARTING.search(text) is None or _SUMMARY_MEAN.search(text) is None:
            return None
        return _summary(text)
    return None


# -- the flatfile ------------------------------------------------------------------------------------------------------


def _flatfile(text: str) -> Iterator[Claim]:
    names, *lines = text.splitlines()
    columns = names.split()
    for line in lines:
        cells = line.split()
        if not cells or cells[0].startswith("*") or cells[:1] == columns[:1]:
            continue
        row = dict(zip(columns, cells, strict=False))
        if len(cells) == len(columns) and (mean := _MEAN.fullmatch(row["Interval"])) and int(mean[2]) >= int(mean[1]):
            yield from _of_row(row)


def _of_row(row: Mapping[str, str]) -> Iterator[Claim]:
    rate, moved = _number(row.get("rate")), _number(row.get("MB/sec"))
    if rate is None and moved is None:
        return
    threads, asked = _number(row.get("threads")), row["reqrate"]
    # The same run at another rate or with other threads is no repeat of it.
    place = f"{row['Run']} iorate={asked}" + (f" threads={row['threads']}" if threads else "")
    yield _figure(
        place,
        rate=rate,
        moved=moved,
        read_percent=_number(row.get("read%", row.get("rdpct"))),
        response_ms=_number(row.get("resp")),
        longest_ms=_number(row.get("resp_max")),
        when=_stamp(row.get("timestamp", "")),
    )


def _stamp(text: str) -> dt.datetime | None:
    """Read the time of a line where it is marked as UTC: names of other zones are ambiguous."""
    if (found := _STAMP.fullmatch(text)) is None:
        return None
    month, day, year, hour, minute, second = (int(part) for part in found.groups())
    try:
        return dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC)
    except ValueError:
        return None


# -- the summary -------------------------------------------------------------------------------------------------------


def _summary(text: str) -> Iterator[Claim]:
    starts = list(itertools.islice(_STARTING.finditer(text), _MOST_RUNS + 1))
    if len(starts) > _MOST_RUNS:
        raise ValueError(f"it has more than {_MOST_RUNS} runs")
    ends = [match.start() for match in starts[1:]] + [len(text)]
    for start, end in zip(starts, ends, strict=True):
        section = text[start.end() : end]
        loops = _LOOPS.search(start[2] or "")
        loop_text = f" {loops[1].strip()}" if loops and loops[1].strip() != "None" else ""
        if _SUMMARY_HEAD.search(section) is None:
            raise ValueError(
                f"the table of RD={start[1]} is not of raw I/O; give its flatfile.html, which names its columns"
            )
        for mean in _SUMMARY_MEAN.finditer(section):
            cells = mean[3].split()
            if int(mean[2]) < int(mean[1]) or len(cells) < 7:
                continue
            rate, moved, _bytes, read_percent, response = (_number(cell) for cell in cells[:5])
            yield _figure(
                f"{start[1]}{loop_text}",
                rate=rate,
                moved=moved,
                read_percent=read_percent,
                response_ms=response,
                longest_ms=None,
                when=None,
            )


def _figure(
    place: str,
    *,
    rate: float | None,
    moved: float | None,
    read_percent: float | None,
    response_ms: float | None,
    longest_ms: float | None,
    when: dt.datetime | None,
) -> Claim:
    action = {100.0: Doing.READ, 0.0: Doing.WRITE}.get(-1.0 if read_percent is None else read_percent, Doing.MIXED)
    return Claim(
        test=place,
        action=action,
        bytes_per_s=None if moved is None else moved * _MIB,
        ops_per_s=rate,
        outstanding=None,
        latency=ReportedLatency(
            mean_ns=response_ms * 1e6 if response_ms else None, max_ns=longest_ms * 1e6 if longest_ms else None
        ),
        during=Circumstances(measured=when),
    )


def _number(text: str | None) -> float | None:
    """Read a cell; None for what was not measured (`n/a`, `NaN`)."""
    if text is None or re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", text) is None:
        return None
    return float(text)
