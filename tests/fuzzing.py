"""Inputs that nobody would write: samples of the real ones, changed at random by a seed, and what a reader may do with them.

A reader may take an input or refuse it with an error of Assay's own. Anything else, a hang, or a case that takes the
machine's memory, is a fault; the failure names the seed and shows the input, so that it becomes a test of its own.
"""

import os
import random
import re
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from assay.errors import AssayError

CASES = int(os.environ.get("ASSAY_FUZZ", "10000"))
"""Cases for each reader."""
SEED = int(os.environ.get("ASSAY_FUZZ_SEED", "1"))
LONGEST_CASE_S = 10
MOST_MEMORY_BYTES = 1 << 30
_LOOKED_AT = 10_000
WORDS = (
    *(
        b"0",
        b"-1",
        b"1",
        b"4294967295",
        b"4294967296",
        b"18446744073709551615",
        b"9e18",
        b"1e999",
        b"-0.0",
        b"nan",
        b"inf",
    ),
    *(
        b"9" * 400,
        b"9" * 5000,
        b"1e-400",
        b"0x10",
        b"1_000",
        b"+1",
        b"true",
        b"null",
        b'""',
        b"''",
        b"{}",
        b"[]",
        b"[" * 300,
    ),
    *(
        b"{" * 300,
        b"(" * 300,
        b'{"a":' * 300,
        b"\x00",
        b"\x1b[2J",
        b"\xff\xfe",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xe2\x80\xae",
        b"\n",
    ),
    *(
        b"\r\n",
        b"\t",
        b'"',
        b"'",
        b"\\",
        b"/",
        b"..",
        b"../../etc/shadow",
        b"/dev/zero",
        b"${x}",
        b"${",
        b"%s",
        b"%",
        b"#",
        b"=",
    ),
    *(b"1KiB", b"1 EiB", b"1e30GiB", b"5s", b"-5s", b"99999999h", b"50%", b"[/b]", b"A" * 70000),
)
"""What breaks readers elsewhere."""


@dataclass(frozen=True)
class Reader:
    """Something that takes what others wrote."""

    name: str
    samples: Sequence[bytes]
    read: Callable[[bytes], object]
    share: float = 1.0
    """Of the cases: readers that take long get fewer."""


def changed(sample: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Change a sample at one to six places."""
    data = bytearray(sample)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 2, 8, 40, 400)))
        match chance.randrange(8):
            case 0:
                data[at:end] = b""
            case 1:
                data[at:at] = data[at:end] * chance.choice((1, 2, 50))
            case 2:
                data[at:end] = chance.randbytes(end - at)
            case 3 | 4:
                data[at : at if chance.random() < 0.5 else end] = chance.choice(WORDS)
            case 5:
                other = chance.choice(others)
                begin = chance.randrange(len(other) + 1)
                data[at:end] = other[begin : begin + chance.choice((1, 8, 40, 400))]
            case 6:
                data = data[:at]
            case _:
                _replace_number(data, chance)
    return bytes(data)


def _replace_number(data: bytearray, chance: random.Random) -> None:
    """Put a word in the place of a number."""
    found = [*re.finditer(rb"[0-9]+", data[:_LOOKED_AT])]
    if found:
        data[slice(*chance.choice(found).span())] = chance.choice(WORDS)


@contextmanager
def _watched() -> Iterator[None]:
    def ring(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"no answer within {LONGEST_CASE_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST_CASE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fuzz(reader: Reader, cases: int = CASES, seed: int = SEED) -> int:
    """Give a reader so many changed samples, and return how many it took; a fault is an AssertionError with the input."""
    taken = 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    for number in range(max(int(cases * reader.share), 1)):
        chance = random.Random(f"{reader.name} {seed} {number}")  # noqa: S311 - the same cases again
        data = changed(chance.choice(reader.samples), reader.samples, chance)
        try:
            with _watched():
                reader.read(data)
            taken += 1
        except AssayError:
            pass
        except BaseException as error:
            text = f"{reader.name}: case {number} of seed {seed}: {type(error).__name__}: {error}"
            raise AssertionError(f"{text}\n{data[:2000]!r}") from error
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        assert used - peak < MOST_MEMORY_BYTES, f"{reader.name}: case {number} of seed {seed} took {used - peak} bytes"
    return taken
