"""Look into a file that a survey chose: its extents, and how far blocks of it can be compressed.

The way to it is gone from open folder to open folder, over no link. What lies there is looked at before it is opened, and
opened only if it is still the regular file that was chosen: no pipe and no device is opened. Its time of access stays as it
was where this user may ask for that.
"""

import contextlib
import fcntl
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from random import Random
from typing import Final
from urllib.parse import unquote_to_bytes

from assay.surveys.tree_survey import ChosenFile

BLOCK_BYTES: Final = 64 << 10
BLOCKS: Final = 4
"""Of a file; all of it where it is no longer."""
_FIEMAP = 0xC020660B
"""FS_IOC_FIEMAP of linux/fiemap.h; with room for no extent it counts."""
_HEAD = struct.Struct("=QQLLLL")
_MOST_OFFSET = (1 << 64) - 1
_FAST = 1
"""zlib's level: what storage that compresses as it writes can afford."""


@contextlib.contextmanager
def opened(root: int, chosen: ChosenFile) -> Iterator[int | None]:
    """Open a chosen file below an open directory, to read; None where it is gone, another file, or may not be read."""
    with contextlib.ExitStack() as held:
        yield _open(root, chosen, held)


def _open(root: int, chosen: ChosenFile, held: contextlib.ExitStack) -> int | None:
    *folders, name = unquote_to_bytes(chosen.path).split(b"/")
    here = root
    try:
        for folder in folders:
            here = _held(os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here), held)
        found = _held(os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=here), held)
        facts = os.fstat(found)
        # Without blocks there is nothing on storage: a hole, or what an archive would have to bring back.
        if not stat.S_ISREG(facts.st_mode) or facts.st_ino != chosen.inode or not facts.st_blocks:
            return None
        # The very file that was looked at, whatever its name means by now.
        place, flags = f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
        try:
            return _held(os.open(place, flags | os.O_NOATIME), held)
        except PermissionError:
            return _held(os.open(place, flags), held)
    except OSError:
        return None


def _held(descriptor: int, held: contextlib.ExitStack) -> int:
    held.callback(os.close, descriptor)
    return descriptor


def count_extents(descriptor: int) -> int | None:
    """Count the extents of a file; None where the file system does not report them."""
    request = _HEAD.pack(0, _MOST_OFFSET, 0, 0, 0, 0)
    try:
        return int(_HEAD.unpack(fcntl.ioctl(descriptor, _FIEMAP, request))[3])
    except OSError:
        return None


def compressed_share(descriptor: int, size_bytes: int, random: Random) -> float | None:
    """Compress some blocks of a file: compressed bytes by bytes, 1 at most; None where nothing could be read."""
    read = compressed = 0
    try:
        for offset in _offsets(size_bytes, random):
            block = os.pread(descriptor, BLOCK_BYTES, offset)
            read += len(block)
            compressed += min(len(block), len(zlib.compress(block, _FAST)))
    except OSError:
        return None
    return compressed / read if read else None


def _offsets(size_bytes: int, random: Random) -> list[int]:
    """Choose blocks evenly over a file: one at random in each of as many equal parts."""
    blocks = -(-size_bytes // BLOCK_BYTES)
    if blocks <= BLOCKS:
        return [number * BLOCK_BYTES for number in range(blocks)]
    return [
        BLOCK_BYTES * random.randrange(part * blocks // BLOCKS, (part + 1) * blocks // BLOCKS) for part in range(BLOCKS)
    ]
