"""IOzone: its table of one stream, and what its throughput mode prints; in kBytes/sec, which it takes for KiB."""

import dataclasses
import datetime as dt
import itertools
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from assay.decode.claim import Circumstances, Claim, Doing, ReportedCell

NAME = "iozone"

_KIB = 1024
_COLUMNS: tuple[tuple[int, tuple[tuple[str, Doing], ...]], ...] = (
    (0, (("write", Doing.WRITE), ("rewrite", Doing.WRITE))),
    (1, (("read", Doing.READ), ("reread", Doing.READ))),
    (2, (("random read", Doing.READ), ("random write", Doing.WRITE))),
    (3, (("backward read", Doing.READ),)),
    (4, (("record rewrite", Doing.WRITE),)),
    (5, (("stride read", Doing.READ),)),
    (6, (("fwrite", Doing.WRITE), ("refwrite", Doing.WRITE))),
    (7, (("fread", Doing.READ), ("refread", Doing.READ))),
)
"""By the number of `-i`: the columns of the table."""
_CHILD_TESTS = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "backward-read",
    "stride readers": "stride-read",
    "random readers": "random-read",
    "mixed workload": "mixed",
    "random writers": "random-write",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
    "fwriters": "fwrite",
    "freaders": "fread",
}
"""What the lines of throughput mode are called, and their tests; `assay iozone` calls its phases so."""
_PROGRAM = re.compile("iozone", re.IGNORECASE)
_VERSION = re.compile(r"Version \$Revision: ([0-9.]{1,20}) \$")
_RUN = re.compile(r"^[ \t]*Run began: (.{1,40})$", re.MULTILINE)
_COMMAND = re.compile(r"^[ \t]*Command line used: (.{0,20000})$", re.MULTILINE)
_ROW = re.compile(r"^ +([0-9]{1,15}) +([0-9]{1,12})((?: +[0-9]{1,15})+) *$", re.MULTILINE)
_CHILDREN = re.compile(
    r"^[ \t]*Children see throughput for +([0-9]{1,6}) ([a-z -]{1,60}?)\s{0,20}= *([0-9.]{1,20}) kB/sec", re.MULTILINE
)
_EACH = re.compile(
    r"Each (?:process|thread) writes a ([0-9]{1,15}) [kK]Bytes? file(?: in ([0-9]{1,12}) [kK]Bytes? records)?",
    re.IGNORECASE,
)
_UNITS = "Output is in kBytes/sec"


def read(text: str) -> Iterable[Claim] | None:
    """Read the table, or the rates of the children."""
    command = _COMMAND.search(text)
    if command is None or _PROGRAM.search(text) is None:
        return None
    if _UNITS not in text:
        raise ValueError(f"it is not in kBytes/sec ('{_UNITS}' is required: leave -O and -N out)")
    words = _words(command[1])
    flags = "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))
    is_direct, is_flushed = "I" in flags, "e" in flags or "o" in flags
    during = _during(text)
    found = itertools.chain(_table(text, words, is_direct, is_flushed), _throughput(text, is_direct, is_flushed))
    return (dataclasses.replace(figure, during=during) for figure in found)


def _during(text: str) -> Circumstances:
    version, run = _VERSION.search(text), _RUN.search(text)
    try:
        began = dt.datetime.strptime(run[1].strip(), "%a %b %d %H:%M:%S %Y") if run else None  # noqa: DTZ007 - it prints none
    except ValueError:
        began = None
    return Circumstances(version=version[1] if version else None, measured=began)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _table(text: str, words: Sequence[str], is_direct: bool, is_flushed: bool) -> Iterator[Claim]:
    wanted = {int(word) for before, word in itertools.pairwise(words) if before == "-i" and word.isdigit()}
    columns = [column for number, group in _COLUMNS if number in wanted or not wanted for column in group]
    for match in _ROW.finditer(text):
        rates = match[3].split()
        if len(rates) != len(columns):
            raise ValueError(f"a row has {len(rates)} rates where its tests (-i) make {len(columns)}")
        file_kib, record_kib = int(match[1]), int(match[2])
        # As `assay iozone`, whose files hold whole records.
        sizes = (file_kib // record_kib * record_kib * _KIB, record_kib * _KIB) if record_kib else None
        for (name, action), rate in zip(columns, rates, strict=True):
            yield Claim(
                test=f"{name}, {file_kib} KiB by {record_kib}",
                action=action,
                bytes_per_s=float(rate) * _KIB,
                ops_per_s=float(rate) / record_kib if record_kib else None,
                set_bytes=file_kib * _KIB,
                cold_share=0.0,
                is_direct=is_direct,
                is_flushed=is_flushed if action is Doing.WRITE else None,
                place=(f"{(word := _word(name))}-{file_kib}-{record_kib}", word),
                cell=ReportedCell(word.replace("-", " "), *sizes) if sizes and sizes[0] else None,
                workers=1,
                queue_depth=1,
            )


def _word(name: str) -> str:
    """Name a column as `assay iozone` names its phases."""
    return {"refwrite": "frewrite", "refread": "freread"}.get(name, name.replace(" ", "-"))


def _throughput(text: str, is_direct: bool, is_flushed: bool) -> Iterator[Claim]:
    each = _EACH.search(text)
    record = int(each[2] or 0) if each else 0
    for match in _CHILDREN.finditer(text):
        what = match[2].strip()
        action = Doing.MIXED if "mix" in what else Doing.WRITE if "writer" in what else Doing.READ
        count, rate = int(match[1]), float(match[3])
        test = _CHILD_TESTS.get(what, what.replace(" ", "-"))
        yield Claim(
            test=f"{count} {what}",
            action=action,
            bytes_per_s=rate * _KIB,
            ops_per_s=rate / record if record else None,
            set_bytes=count * int(each[1]) * _KIB if each else None,
            cold_share=0.0,
            outstanding=count,
            is_direct=is_direct,
            is_flushed=is_flushed if action is Doing.WRITE else None,
            place=(f"{test}-{count}", test),
            workers=count,
            queue_depth=1,
        )
