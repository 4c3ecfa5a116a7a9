"""Test whether O_DIRECT works in a directory, and whether it bypasses the page cache.

A file system may refuse O_DIRECT, or take it and go through the cache all the same (tmpfs, ext4 with data=journal, some
FUSE). So a small file is written and read with O_DIRECT, and mincore(2) reports whether its pages are in the cache after
the read. The file has a random name, is opened with O_EXCL and unlinked at once: a foreign file is never touched, and
the kernel frees the space even if this process is killed.

Limit: a file system that goes through the cache and empties it again afterwards (btrfs does with checksums, seen on
Linux 6.18) looks as if it passed it by.
"""

import contextlib
import ctypes
import mmap
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

_SIZE_BYTES = 256 * 1024


class DirectIo(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the probe."""

    works: bool
    cached_share: float | None
    """Share of the file's pages in the page cache after reading them with O_DIRECT; None if mincore cannot read it."""
    reason: str = ""
    """Why it does not work."""


@contextlib.contextmanager
def _nameless_file(directory: Path) -> Iterator[tuple[int, int | OSError]]:
    """A new file that has no name any more, open as usual and with O_DIRECT (or why it could not be)."""
    name = f".assay-doctor-{secrets.token_hex(8)}"
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Created without O_DIRECT: where that is refused, open(2) would leave the file behind.
        plain = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            direct: int | OSError
            try:
                # The very file that was made: somebody else may have put another under its name.
                direct = os.open(f"/proc/self/fd/{plain}", os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
            except OSError as error:
                direct = error
        finally:
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        try:
            yield plain, direct
        finally:
            if isinstance(direct, int):
                os.close(direct)
    finally:
        os.close(plain)


def _cached_share(descriptor: int) -> float | None:
    """Share of the first `_SIZE_BYTES` of a file that is in the page cache (mincore(2))."""
    pages = _SIZE_BYTES // mmap.PAGESIZE
    resident = (ctypes.c_ubyte * pages)()
    try:
        mapping = mmap.mmap(descriptor, _SIZE_BYTES)
    except OSError:
        return None
    with mapping:
        first = ctypes.c_char.from_buffer(mapping)
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(_SIZE_BYTES), resident)
        # The mapping cannot be closed while something points into it.
        del first
    return None if failed else sum(byte & 1 for byte in resident) / pages


def probe(directory: Path) -> DirectIo:
    """Write and read 256 KiB with O_DIRECT in a directory.

    Raises:
        OSError: No file can be made there at all.
    """
    with _nameless_file(directory) as (plain, direct), mmap.mmap(-1, _SIZE_BYTES) as aligned:
        if isinstance(direct, OSError):
            return DirectIo(works=False, cached_share=None, reason=direct.strerror or str(direct))
        aligned.write(secrets.token_bytes(_SIZE_BYTES))
        try:
            written = os.pwritev(direct, [aligned], 0)
            read = os.preadv(direct, [aligned], 0)
        except OSError as error:
            return DirectIo(works=False, cached_share=None, reason=error.strerror or str(error))
        if min(written, read) < _SIZE_BYTES:
            return DirectIo(works=False, cached_share=None, reason=f"only {min(written, read)} bytes were moved")
        return DirectIo(works=True, cached_share=_cached_share(plain))
