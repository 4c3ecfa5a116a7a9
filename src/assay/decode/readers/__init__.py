"""Find the tool that printed an output.

A reader is a module with `NAME` and `read(text)`: a new one is a file here and its line below.

`read` gives the figures one by one, or None where the text is not that tool's; it raises ValueError with a message
where the text is the tool's but cannot be used.

What anybody wrote is bounded before it is taken to pieces, for what comes of a byte can take a hundred: lines, values and
figures are counted, and the first too many ends the reading.
"""

import csv
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from assay.decode.claim import Claim
from assay.decode.readers import bonnie, dd, elbencho, fio, io500, iozone, phoronix, postmark, result_table, vdbench
from assay.errors import InputError

READERS: tuple[tuple[str, Callable[[str], Iterable[Claim] | None]], ...] = (
    (fio.NAME, fio.read),
    (elbencho.NAME, elbencho.read),
    (iozone.NAME, iozone.read),
    (bonnie.NAME, bonnie.read),
    (postmark.NAME, postmark.read),
    (vdbench.NAME, vdbench.read),
    (phoronix.NAME, phoronix.read),
    (io500.NAME, io500.read),
    (result_table.NAME, result_table.read),
    (dd.NAME, dd.read),
)
"""In the order in which they are asked: those that cannot be mistaken first."""

MOST_FIGURES: Final = 10_000
MOST_LINES: Final = 600_000
MOST_VALUES: Final = 600_000
_SEPARATORS: Final = ",[{<"
"""One of them precedes each value of CSV, JSON and XML but the first."""
_LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""As `str.splitlines` takes them."""


_OF_CLIENTS: Final = re.compile(
    r"^==== (?:client (\S{1,200})|(?:[a-z]{1,20} of|all) [0-9]{1,9} clients)$", re.MULTILINE
)
"""Heads of the texts that Assay's own tools print of several clients; of all together where no client is named."""


def read(text: str, source: str, tool: str | None = None) -> tuple[str, tuple[Claim, ...]]:
    """Find the tool that printed a text, and its figures; raises InputError.

    Args:
        text: What it printed.
        source: Its file, for messages.
        tool: Name of its reader; None: it is found out.
    """
    check_size(text, source)
    names = [name for name, _ in READERS]
    if tool is not None and tool not in names:
        raise InputError(f"there is no format '{tool[:40]}'; there are {', '.join(names)}")
    for name, reader in READERS:
        if tool not in {None, name}:
            continue
        try:
            claims = _read_each(text, reader)
            figures = None if claims is None else tuple(itertools.islice(claims, MOST_FIGURES + 1))
        except (ValueError, csv.Error) as error:
            raise InputError(f"{source}: is an output of {name}, but {error}") from error
        if figures is not None:
            if not figures:
                raise InputError(f"{source}: is an output of {name} without a result")
            if len(figures) > MOST_FIGURES:
                raise InputError(f"{source}: has more than {MOST_FIGURES} figures. Split it")
            return name, figures
    if tool is not None:
        raise InputError(
            f"{source}: is not an output of {tool} in a supported format. Give it the whole of what the tool printed"
        )
    known = ", ".join(names)
    raise InputError(
        f"{source}: is not an output in a supported format: {known}. Give it the whole of what the tool printed"
    )


def _read_each(text: str, reader: Callable[[str], Iterable[Claim] | None]) -> Iterable[Claim] | None:
    """Read the text of each client as one of a machine of that name; what folds them is the same figures again."""
    _, *parts = _OF_CLIENTS.split(text)
    if not parts:
        return reader(text)
    found = [(name, reader(part)) for name, part in zip(parts[::2], parts[1::2], strict=True) if name]
    if all(claims is None for _, claims in found):
        return None
    return _add_names(found)


def _add_names(found: Iterable[tuple[str, Iterable[Claim] | None]]) -> Iterator[Claim]:
    for name, claims in found:
        if claims is None:
            raise ValueError(f"that of client {name} is not")
        for claim in claims:
            yield dataclasses.replace(claim, during=dataclasses.replace(claim.during, machine=name))


def check_size(text: str, source: str) -> None:
    """Refuse a text of which too much would have to be held; raises InputError."""
    lines, values = (sum(map(text.count, marks)) for marks in (_LINE_ENDS, _SEPARATORS))
    lines -= text.count("\r\n")
    for found, most, what in ((lines, MOST_LINES, "lines"), (values, MOST_VALUES, "values")):
        if found > most:
            raise InputError(f"{source}: has {found} {what}; the limit is {most}. Split it")
