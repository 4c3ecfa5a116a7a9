"""Read the kinds of disks that are compared, with their capacities and prices."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from assay.errors import InputError
from assay.results import Document
from assay.sizing.disks import DiskKind, parse_disk, parse_run
from assay.sizing.measured_disk import measured_disk

_AMOUNT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(B|kB|MB|GB|TB|PB|KiB|MiB|GiB|TiB|PiB)?")
_UNITS: Final = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
}  # fmt: skip
"""A disk's own capacity is decimal on its label."""


def kinds_of(
    texts: Sequence[str],
    sizes: Sequence[str],
    prices: Sequence[str],
    document_of: Callable[[str], Document],
    *,
    is_declustered: bool,
    burstiness: float,
) -> list[tuple[DiskKind, float | None, float | None]]:
    """Give each kind with its capacity in bytes and its price, where they are given.

    Args:
        texts: As on the command line.
        sizes: `NAME=SIZE`, or the size alone of the only kind.
        prices: `NAME=PRICE` likewise.
        document_of: Gives the results of a run that a kind is taken from.
        is_declustered: Whether disks share one queue.
        burstiness: Squared coefficient of variation of the times between arrivals.

    Raises:
        InputError: A kind is not known, is named twice, or a capacity or price is none, or of no kind.
    """
    kinds: list[DiskKind] = []
    for text in texts:
        if (measured := parse_run(text)) is not None:
            name, run, labels = measured
            kinds.append(measured_disk(name, document_of(run), labels))
        else:
            kinds.append(parse_disk(text, is_declustered=is_declustered, burstiness=burstiness))
    names = [kind.name for kind in kinds]
    if len({*names}) < len(names):
        raise InputError("--disk: a kind is named twice")
    of_size = _by_name(sizes, "--disk-size", names)
    of_price = _by_name(prices, "--price", names)
    return [(kind, of_size.get(kind.name), of_price.get(kind.name)) for kind in kinds]


def _by_name(texts: Sequence[str], option: str, names: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        name, is_named, amount = text.rpartition("=")
        if not is_named and len(names) > 1:
            raise InputError(f"{option} {text[:40]}: of which disk? Write {names[0]}=...")
        name = name if is_named else names[0]
        if name not in names:
            raise InputError(f"{option} {text[:40]}: there is no --disk {name}; there are {', '.join(names)}")
        match = _AMOUNT.fullmatch(amount.strip())
        if match is None or (match[2] and option == "--price") or not float(match[1]):
            raise InputError(f"{option} '{text[:40]}': write {names[0]}={'320' if option == '--price' else '600GB'}")
        found[name] = float(match[1]) * _UNITS[match[2] or "B"]
    return found
