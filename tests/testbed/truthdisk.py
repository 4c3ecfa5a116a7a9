"""A disk in memory that does what it was told, slowly, and writes down what it did: a plugin for nbdkit.

nbdkit runs this file in its own Python; `truth.py` starts it. Requests are served one at a time. Settings (`key=value`):

- `size`: bytes.
- `log`: file that gets one line a request when it is answered, before its client hears of it: `R`, `W`, `F` or `T`, offset
  and length in bytes, CLOCK_MONOTONIC at its begin and its end in ns, errno of the answer (0: done).
- `hdd=1`: a hard disk of 7200 rpm and 150 MB/s. A seek takes in proportion to the square root of its distance, 8.5 ms in
  the mean over uniformly random pairs (for which E[sqrt(|x - y|)] = 8/15), then up to one turn; a disk that streams reads
  on while its client thinks.
- `flush_ms`: time that a flush takes.
- `trim_ms`: time that a discard takes; what is discarded reads as before.
- `cache=1`: writes are held in a cache that a cut of the power would empty, and take no time; so do flushes, which lie.
- `most_per_s`: reads and writes a second, at equal distances. With `burst`, only so many in all are served at that rate, as
  credits; then `later_per_s` are.
- `tired`: when that file is there, `later_per_s` are served from then on, however many credits there were. With `tired_ms`,
  each read and write takes so long more from then on.
- `fast_ms`, `slow_ms` and `slow_share`: reads and writes take the one time, and so large a share of them the other.
- `pause_every_s` and `pause_s`: whenever CLOCK_MONOTONIC is a multiple of the one, all that is asked for waits for the
  other, as it does for a device that tidies up.
- `stall` and `stall_s`: when the file `stall` appears, it is taken away and the next read or write hangs so long.
- `faults` and `fault_share`: while the file `faults` is there, so large a share of the reads and writes that begin in one
  of its ranges (a line: first byte, byte after the last) is answered with EIO.
"""

import errno
import os
import random
import time
from pathlib import Path
from typing import TextIO

import nbdkit  # type: ignore[import-not-found] # made by nbdkit, inside its own process

API_VERSION = 2

SEEK_S = 8.5e-3
TURN_S = 60 / 7200
BYTES_PER_S = 150e6
# A drive reads ahead into its buffer, which is full after a while.
READ_AHEAD_S = 0.02
ONLY_TIME = {"F": "flush_ms", "T": "trim_ms"}
"""What flushes and discards take."""


class Disk:
    """The one disk of this process."""

    def __init__(self) -> None:
        """Settings as nbdkit will name them, at their defaults."""
        self.settings = {
            "size": "0",
            "log": "",
            "hdd": "0",
            "flush_ms": "0",
            "trim_ms": "0",
            "cache": "0",
            "most_per_s": "0",
            "burst": "0",
            "later_per_s": "0",
            "tired": "",
            "tired_ms": "0",
            "fast_ms": "0",
            "slow_ms": "0",
            "slow_share": "0",
            "pause_every_s": "0",
            "pause_s": "0",
            "stall": "",
            "stall_s": "0",
            "faults": "",
            "fault_share": "0",
        }
        self._random = random.Random(1)  # noqa: S311 - a known sequence is what is wanted
        self._head_bytes = 0
        self._free_at_s = 0.0
        self._next_s = 0.0
        self._served = 0
        self._bad_ranges: list[tuple[int, int]] = []
        self._faults_changed_ns = 0

    def begin(self) -> None:
        """Make the medium and the log, once all settings are known."""
        self.data = bytearray(int(self.settings["size"]))
        self._log: TextIO = Path(self.settings["log"]).open("w", buffering=1)  # noqa: SIM115 - open as long as the disk is

    def serve(self, kind: str, offset_bytes: int, length_bytes: int) -> None:
        """Take the time that a request takes, write it down, and fail it if it is one of those."""
        begin_ns = time.monotonic_ns()
        code = 0
        if kind in ONLY_TIME:
            _sleep_until(begin_ns / 1e9 + float(self.settings[ONLY_TIME[kind]]) / 1e3)
        else:
            self._stall()
            self._pause()
            self._take_turn()
            self._take_one_of_two()
            if self.settings["hdd"] == "1" and not (kind == "W" and self.settings["cache"] == "1"):
                self._move(offset_bytes, length_bytes)
            code = errno.EIO if self._is_bad(offset_bytes) else 0
        self._log.write(f"{kind} {offset_bytes} {length_bytes} {begin_ns} {time.monotonic_ns()} {code}\n")
        if code:
            nbdkit.set_error(code)
            raise OSError(code, "as the test asked for")

    def _stall(self) -> None:
        trigger = self.settings["stall"]
        if trigger and os.path.exists(trigger):  # noqa: PTH110 - once a request
            Path(trigger).unlink()
            _sleep_until(time.monotonic() + float(self.settings["stall_s"]))

    def _pause(self) -> None:
        every_s, pause_s = float(self.settings["pause_every_s"]), float(self.settings["pause_s"])
        now_s = time.monotonic()
        if every_s and now_s % every_s < pause_s:
            _sleep_until(now_s - now_s % every_s + pause_s)

    def _take_turn(self) -> None:
        burst, tired = int(self.settings["burst"]), self.settings["tired"]
        is_tired = (burst and self._served >= burst) or (tired and os.path.exists(tired))  # noqa: PTH110 - as above
        per_s = float(self.settings["later_per_s" if is_tired else "most_per_s"])
        self._served += 1
        if per_s:
            # Who comes late does not get back what it did not ask for.
            self._next_s = max(self._next_s + 1 / per_s, time.monotonic())
            _sleep_until(self._next_s)
        if is_tired:
            _sleep_until(time.monotonic() + float(self.settings["tired_ms"]) / 1e3)

    def _take_one_of_two(self) -> None:
        is_slow = self._random.random() < float(self.settings["slow_share"])
        takes_ms = float(self.settings["slow_ms" if is_slow else "fast_ms"])
        if takes_ms:
            _sleep_until(time.monotonic() + takes_ms / 1e3)

    def _move(self, offset_bytes: int, length_bytes: int) -> None:
        begin_s = now_s = time.monotonic()
        takes_s = length_bytes / BYTES_PER_S
        if offset_bytes != self._head_bytes:
            distance = abs(offset_bytes - self._head_bytes) / len(self.data)
            takes_s += SEEK_S * distance**0.5 / (8 / 15) + TURN_S * self._random.random()
        elif now_s - self._free_at_s < READ_AHEAD_S:
            begin_s = self._free_at_s
        self._head_bytes = offset_bytes + length_bytes
        self._free_at_s = begin_s + takes_s
        _sleep_until(self._free_at_s)

    def _is_bad(self, offset_bytes: int) -> bool:
        if not self.settings["faults"]:
            return False
        try:
            changed_ns = os.stat(self.settings["faults"]).st_mtime_ns  # noqa: PTH116 - once a request
        except FileNotFoundError:
            return False
        if changed_ns != self._faults_changed_ns:
            lines = Path(self.settings["faults"]).read_text().splitlines()
            self._bad_ranges = [(int(first), int(end)) for first, end in (line.split() for line in lines)]
            self._faults_changed_ns = changed_ns
        if not any(first <= offset_bytes < end for first, end in self._bad_ranges):
            return False
        return self._random.random() < float(self.settings["fault_share"])


DISK = Disk()


def _sleep_until(end_s: float) -> None:
    while (left_s := end_s - time.monotonic()) > 0:
        time.sleep(left_s)


# -- what nbdkit calls (nbdkit-python-plugin(3)) -----------------------------------------------------------------------


def config(key: str, value: str) -> None:
    """Take one setting; nbdkit shows the KeyError of an unknown one."""
    if key not in DISK.settings:
        raise KeyError(f"truthdisk has no setting '{key}'")
    DISK.settings[key] = value


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


def can_trim(_handle: int) -> bool:
    """It takes discards."""
    return True


def can_fua(_handle: int) -> int:
    """A write that must be durable is a write and a flush."""
    return int(nbdkit.FUA_EMULATE)


def pread(_handle: int, buffer: bytearray, offset: int, _flags: int) -> None:
    """Read."""
    DISK.serve("R", offset, len(buffer))
    buffer[:] = DISK.data[offset : offset + len(buffer)]


def pwrite(_handle: int, buffer: bytes, offset: int, _flags: int) -> None:
    """Write."""
    DISK.serve("W", offset, len(buffer))
    DISK.data[offset : offset + len(buffer)] = buffer


def flush(_handle: int, _flags: int) -> None:
    """Make what was written durable."""
    DISK.serve("F", 0, 0)


def trim(_handle: int, count: int, offset: int, _flags: int) -> None:
    """Hear that blocks are not needed any more."""
    DISK.serve("T", offset, count)
