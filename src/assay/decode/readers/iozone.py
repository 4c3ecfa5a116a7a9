"""IOzone: its table of one stream, and what its throughput mode prints; in kBytes/sec, which it takes for KiB."""

import itertools
import re
import shlex
from collections.abc import Sequence

from assay.decode.claim import Claim, Doing

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
_COMMAND = re.compile(r"^\s*Command line used: (.*)$", re.MULTILINE)
_ROW = re.compile(r"^ +([0-9]{1,15}) +([0-9]{1,12})((?: +[0-9]{1,15})+) *$", re.MULTILINE)
_CHILDREN = re.compile(
    r"^\s*Children see throughput for +([0-9]{1,6}) ([a-z -]+?)\s*= *([0-9.]{1,20}) kB/sec", re.MULTILINE
)
_EACH = re.compile(r"Each (?:process|thread) writes a ([0-9]{1,15}) [kK]Bytes? file")
_UNITS = "Output is in kBytes/sec"


def read(text: str) -> Sequence[Claim] | None:
    """Read the table, or the rates of the children."""
    command = _COMMAND.search(text)
    if command is None or "iozone" not in text.lower():
        return None
    if _UNITS not in text:
        raise ValueError(f"it is not in kBytes/sec ('{_UNITS}' is wanted: leave -O and -N out)")
    words = _words(command[1])
    flags = "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))
    is_direct, is_flushed = "I" in flags, "e" in flags or "o" in flags
    return [*_table(text, words, is_direct, is_flushed), *_throughput(text, is_direct, is_flushed)]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _table(text: str, words: Sequence[str], is_direct: bool, is_flushed: bool) -> list[Claim]:
    wanted = {int(word) for before, word in itertools.pairwise(words) if before == "-i" and word.isdigit()}
    columns = [column for number, group in _COLUMNS if number in wanted or not wanted for column in group]
    found = []
    for match in _ROW.finditer(text):
        rates = match[3].split()
        if len(rates) != len(columns):
            raise ValueError(f"a row has {len(rates)} rates where its tests (-i) make {len(columns)}")
        for (name, action), rate in zip(columns, rates, strict=True):
            found.append(
                Claim(
                    test=f"{name}, {int(match[1])} KiB by {int(match[2])}",
                    action=action,
                    bytes_per_s=float(rate) * _KIB,
                    ops_per_s=float(rate) / int(match[2]) if int(match[2]) else None,
                    set_bytes=int(match[1]) * _KIB,
                    cold_share=0.0,
                    is_direct=is_direct,
                    is_flushed=is_flushed if action is Doing.WRITE else None,
                )
            )
    return found


def _throughput(text: str, is_direct: bool, is_flushed: bool) -> list[Claim]:
    each = _EACH.search(text)
    found = []
    for match in _CHILDREN.finditer(text):
        what = match[2].strip()
        action = Doing.MIXED if "mix" in what else Doing.WRITE if "writer" in what else Doing.READ
        count = int(match[1])
        found.append(
            Claim(
                test=f"{count} {what}",
                action=action,
                bytes_per_s=float(match[3]) * _KIB,
                set_bytes=count * int(each[1]) * _KIB if each else None,
                cold_share=0.0,
                outstanding=count,
                is_direct=is_direct,
                is_flushed=is_flushed if action is Doing.WRITE else None,
            )
        )
    return found
