"""Readers with the faults that a fuzzer looks for, one each, behind a word that it has to come upon."""

import os
import time

from assay.errors import InputError
from fuzzing.reader import Reader

SAMPLES = (b'{"size": 17, "name": "x"}',)


def raises(data: bytes) -> object:
    """Take a number for a size that fits into 32 bits."""
    if b"4294967296" in data:
        raise OverflowError("planted")
    raise InputError("refused in words")


def dies(data: bytes) -> object:
    """Abort, as a panic in a library does."""
    if b"\\ud800" in data:
        os.abort()
    return None


def hangs(data: bytes) -> object:
    """Never come back."""
    while b"${x}" in data:
        time.sleep(1)
    return None


def swells(data: bytes) -> object:
    """Take the memory that a number says."""
    return len(b"x" * (3 << 29)) if b"18446744073709551615" in data else 0


READERS = {
    name: Reader(name, SAMPLES, read)
    for name, read in {
        "sound": lambda _: None,
        "raises": raises,
        "dies": dies,
        "hangs": hangs,
        "swells": swells,
    }.items()
}
