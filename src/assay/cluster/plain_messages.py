"""A message between leader and client: numbers, text, bytes, lists and maps in MessagePack, and not too many of them."""

from typing import Any, Final

import msgspec

MOST_OBJECTS: Final = 1 << 17
"""In one message: a byte each would make seventy of memory."""
_CONTAINERS: Final = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}
"""Bytes of the count, and objects for each that is counted, by the first byte of a list or map (of MessagePack)."""
_VARIABLE: Final = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)} | {
    0xD9: (1, 0),
    0xDA: (2, 0),
    0xDB: (4, 0),
}
"""Bytes of the length, and bytes in addition, of text, bytes and extensions."""
_FIXED: Final = {0xC0: 0, 0xC1: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8} | {
    0xD0: 1,
    0xD1: 2,
    0xD2: 4,
    0xD3: 8,
    0xD4: 2,
    0xD5: 3,
    0xD6: 5,
    0xD7: 9,
    0xD8: 17,
}
"""Bytes after the first of all else that has more than one."""


def decode(frame: bytes | memoryview) -> Any:
    """Read a message; raises ValueError for what is none."""
    _check_objects(frame)
    try:
        return msgspec.msgpack.decode(frame)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _check_objects(frame: bytes | memoryview) -> None:
    """Raise ValueError for more objects than a message has; what ends too soon is for the decoder to find."""
    at, to_come, found = 0, 1, 0
    while to_come and at < len(frame):
        first = frame[at]
        at, to_come, found = at + 1, to_come - 1, found + 1
        if first <= 0x7F or first >= 0xE0:
            continue
        if first <= 0x9F:
            to_come += (first & 0x0F) * (2 if first <= 0x8F else 1)
        elif first <= 0xBF:
            at += first & 0x1F
        elif first in _CONTAINERS:
            width, each = _CONTAINERS[first]
            to_come += int.from_bytes(frame[at : at + width], "big") * each
            at += width
        elif first in _VARIABLE:
            width, extra = _VARIABLE[first]
            at += width + extra + int.from_bytes(frame[at : at + width], "big")
        else:
            at += _FIXED[first]
        if found + to_come > MOST_OBJECTS:
            raise ValueError(f"more than {MOST_OBJECTS} values in one message")
