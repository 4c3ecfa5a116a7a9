"""What others did to a file system before: it is as full as it was, and not as fast."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.host import need_root, need_tools, stop


def free_inodes(folder: Path, count: int) -> None:
    """Make so many files in a folder and remove them.

    From the next second on, for minutes, ext4 without a journal passes the inodes by, one by one for each new file.
    """
    come_and_go(folder, count)
    time.sleep(2)


def grow_directory(folder: Path, names: int) -> None:
    """Make a folder that has held so many names and holds none: that of ext4 never shrinks, and is searched to its end."""
    folder.mkdir()
    come_and_go(folder, names)


def come_and_go(folder: Path, count: int) -> None:
    """Make so many files in a folder and remove them."""
    files = [folder / f"came-and-went-{number:08d}" for number in range(count)]
    for file in files:
        file.touch()
    for file in files:
        file.unlink()


@contextmanager
def giving_back(directory: Path, every_s: float) -> Iterator[None]:
    """Tell the device of an XFS again and again, 2 MiB at a time, which blocks are free: XFS does not note that it did."""
    need_root()
    need_tools("fstrim")
    process = subprocess.Popen([sys.executable, "-c", _GIVE_BACK, directory, str(every_s)])
    try:
        yield
    finally:
        stop(process)


_GIVE_BACK = """
import os, subprocess, sys, time
directory, every_s = sys.argv[1], float(sys.argv[2])
space = os.statvfs(directory)
size, piece, at = space.f_blocks * space.f_frsize, 2 << 20, 0
while True:
    words = ["fstrim", "--offset", str(at), "--length", str(piece), directory]
    subprocess.run(words, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    at = (at + piece) % size
    time.sleep(every_s)
"""
