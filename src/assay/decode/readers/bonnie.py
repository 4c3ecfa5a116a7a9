"""Bonnie++: its line of comma-separated values, of 1.03, 1.96 to 1.97 and 1.98 (which is 2.00); the table is not needed.

From 1.9x on the tool flushes within the time; 1.03 does so only with -b, which its line does not show.
"""

import csv
import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from assay.decode.claim import Circumstances, Claim, Doing, ReportedLatency

NAME = "bonnie++"

_TESTS = (
    ("write by character", Doing.WRITE, "putc_write"),
    ("block write", Doing.WRITE, "block_write"),
    ("rewrite", Doing.REWRITE, "rewrite"),
    ("read by character", Doing.READ, "getc_read"),
    ("block read", Doing.READ, "block_read"),
)
"""In order, with the name that `assay bonnie` gives the phase."""
_FILE_TESTS = tuple(
    (f"{order} {name}", action, f"{order[:3]}_{name}")
    for order in ("sequential", "random")
    for name, action in (("create", Doing.CREATE), ("stat", Doing.STAT), ("delete", Doing.DELETE))
)
_LATENCIES = {48: 36, 50: 38}
"""The field of the longest operation of each test, since 1.96: data, seeks, files."""
_TIME = re.compile(r"([0-9]{1,12})(us|ms|s)", re.ASCII)
_NS = {"us": 1e3, "ms": 1e6, "s": 1e9}
_WHOLE = "*"
_LONGEST_LINE = 8 << 10
_SIZE = re.compile(r"([0-9]{1,12})([kKMGT]?)(?::.*)?", re.ASCII)
_FACTORS = {"k": 1 << 10, "K": 1 << 10, "": 1 << 20, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_KIB = 1024
_TOO_QUICK = "+"
# Fields of a line of 27 (1.03), 48 (1.96) and 50 (1.98): size, then the first of data, seeks and files; the flush.
_LAYOUTS = {27: (1, 2, 14 + 1, False), 48: (5, 7, 24, True), 50: (5, 9, 26, True)}
_SEEKERS_BEFORE, _SEEKERS_SINCE = 3, 5


def read(text: str) -> Iterable[Claim] | None:
    """Read every line of values."""
    found = (figure for line in text.splitlines() for figure in _of_line(line))
    first = next(found, None)
    return None if first is None else itertools.chain([first], found)


def _of_line(line: str) -> Iterator[Claim]:
    # A line of 27 or more fields that csv takes for no more than a few.
    if len(line) > _LONGEST_LINE or line.count(",") < min(_LAYOUTS) - 1:
        return
    fields = next(csv.reader([line]), [])
    if len(fields) not in _LAYOUTS or (len(fields) > 27) != fields[0].startswith("1.9"):
        return
    at_size, at_data, at_files, is_flushed = _LAYOUTS[len(fields)]
    size = _SIZE.fullmatch(fields[at_size])
    set_bytes = int(size[1]) * _FACTORS[size[2]] if size else None
    machine = fields[0 if len(fields) == 27 else 2]
    if not machine or not all(_is_value(field) for field in fields[at_data : at_data + 12]):
        return
    during = _during(fields)
    longest = (
        [_longest(field) for field in fields[_LATENCIES[len(fields)] :]] if is_flushed else [ReportedLatency()] * 12
    )
    for place, (test, action, phase) in enumerate(_TESTS):
        is_by_character = "character" in test
        yield from _figure(
            fields[at_data + 2 * place : at_data + 2 * place + 2],
            Claim(
                test=test,
                action=action,
                # Since 1.9x these take a few megabytes, however large the set.
                set_bytes=None if is_by_character and is_flushed else set_bytes,
                is_by_character=is_by_character,
                cold_share=0.0,
                is_flushed=is_flushed if action is not Doing.READ else None,
                place=(phase, _WHOLE),
                workers=1,
                queue_depth=1,
                latency=longest[place],
                during=during,
            ),
            is_rate_of_data=True,
        )
    seekers = _SEEKERS_SINCE if is_flushed else _SEEKERS_BEFORE
    seeks = Claim(
        test="random seeks",
        action=Doing.MIXED,
        set_bytes=set_bytes,
        cold_share=0.0,
        outstanding=seekers,
        is_flushed=is_flushed,
        place=("random_seeks", "seek"),
        workers=seekers,
        queue_depth=1,
        latency=longest[5],
        during=during,
    )
    yield from _figure(fields[at_data + 10 : at_data + 12], seeks)
    for place, (test, action, phase) in enumerate(_FILE_TESTS):
        flushed = is_flushed if action is not Doing.STAT else None
        figure = Claim(
            test=test,
            action=action,
            is_flushed=flushed,
            place=(phase, action.value),
            workers=1,
            queue_depth=1,
            latency=longest[6 + place],
            during=during,
        )
        yield from _figure(fields[at_files + 2 * place : at_files + 2 * place + 2], figure)


def _during(fields: Sequence[str]) -> Circumstances:
    """Read what a line reports of its run. It has no time: the seed is the time only where the user gave none."""
    is_old = len(fields) == 27
    return Circumstances(version=None if is_old else fields[1][:40] or None, machine=fields[0 if is_old else 2][:200])


def _longest(field: str) -> ReportedLatency:
    """Read the time of a test's longest operation: of those by character, of a chunk of them."""
    found = _TIME.fullmatch(field)
    return ReportedLatency(max_ns=int(found[1]) * _NS[found[2]] if found else None)


def _is_value(field: str) -> bool:
    return not field or field.startswith(_TOO_QUICK) or re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", field) is not None


def _figure(pair: Sequence[str], about: Claim, *, is_rate_of_data: bool = False) -> Iterator[Claim]:
    """Put a rate and its share of a CPU into a figure; a test that was left out has none."""
    if not pair[0]:
        return
    if pair[0].startswith(_TOO_QUICK):
        yield dataclasses.replace(about, is_too_quick=True)
        return
    rate, share = float(pair[0]), float(pair[1]) / 100 if re.fullmatch(r"[0-9]{1,6}", pair[1]) else None
    if is_rate_of_data:
        yield dataclasses.replace(about, bytes_per_s=rate * _KIB, cpu_share=share)
    else:
        yield dataclasses.replace(about, ops_per_s=rate, cpu_share=share)
