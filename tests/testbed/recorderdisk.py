"""A disk in memory that keeps every write and every flush in the order of their answers: a plugin for nbdkit.

nbdkit runs this file in its own Python; `power_cut.py` starts it and reads the log. Requests are served one at a time, and
the log has each before its client hears of the answer: what a program did after it was told is later in the log, too.
Settings (`key=value`):

- `image`: file with what the disk holds at the start; it is not written.
- `log`: file that gets a record a request: `HEADER` (`W` or `F`, offset, length), and the data of a write.
"""

import struct
from pathlib import Path

import nbdkit  # type: ignore[import-not-found] # made by nbdkit, inside its own process

API_VERSION = 2
HEADER = struct.Struct("<cQQ")

settings = {"image": "", "log": ""}


class Disk:
    """The one disk of this process."""

    def begin(self) -> None:
        """Read what is on it, and begin the log."""
        self.data = bytearray(Path(settings["image"]).read_bytes())
        self._log = Path(settings["log"]).open("wb", buffering=0)  # noqa: SIM115 - open as long as the disk is

    def record(self, kind: bytes, offset_bytes: int, data: bytes) -> None:
        """Add a record to the log."""
        self._log.write(HEADER.pack(kind, offset_bytes, len(data)) + data)


DISK = Disk()


# -- what nbdkit calls (nbdkit-python-plugin(3)) -----------------------------------------------------------------------


def config(key: str, value: str) -> None:
    """Take one setting; nbdkit shows the KeyError of an unknown one."""
    if key not in settings:
        raise KeyError(f"recorderdisk has no setting '{key}'")
    settings[key] = value


def get_ready() -> None:
    """All settings are known."""
    DISK.begin()


def thread_model() -> int:
    """One request at a time."""
    return int(nbdkit.THREAD_MODEL_SERIALIZE_ALL_REQUESTS)


def open(_readonly: bool) -> int:  # noqa: A001 - its name in the interface
    """Let every connection see the one disk."""
    return 1


def get_size(_handle: int) -> int:
    """Size in bytes."""
    return len(DISK.data)


def can_write(_handle: int) -> bool:
    """It can be written."""
    return True


def can_flush(_handle: int) -> bool:
    """A flush reaches it, as a request of its own."""
    return True


def can_fua(_handle: int) -> int:
    """A write that must be durable is a write and a flush."""
    return int(nbdkit.FUA_EMULATE)


def pread(_handle: int, buffer: bytearray, offset: int, _flags: int) -> None:
    """Read."""
    buffer[:] = DISK.data[offset : offset + len(buffer)]


def pwrite(_handle: int, buffer: bytes, offset: int, _flags: int) -> None:
    """Write."""
    data = bytes(buffer)
    DISK.record(b"W", offset, data)
    DISK.data[offset : offset + len(data)] = data


def flush(_handle: int, _flags: int) -> None:
    """Make what was written durable."""
    DISK.record(b"F", 0, b"")
