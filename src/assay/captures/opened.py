"""Open a capture: plain, or compressed with gzip or zstd, as lines of text.

A file is read as a stream, so its size is bounded only by time: what it makes is bounded (`samples.py`), and so is a line.
"""

import contextlib
import gzip
import io
import os
import stat
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from assay.errors import InputError

MOST_BYTES: Final = 64 << 30
"""Of the text: a day of esxtop every ten seconds has 4 GiB."""
MOST_LINE: Final = 32 << 20
"""Characters: an esxtop line of 51,000 columns has 8 MiB at most; a document of Prometheus is one line."""
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


@contextlib.contextmanager
def open_lines(path: str) -> Iterator[Iterator[str]]:
    """Give the lines of a file, without their ends.

    UTF-8 (what is not is replaced), or UTF-16 with a byte order mark, as Windows writes.

    Raises:
        InputError: It is not there, cannot be read, is no file, or has more than a capture has.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_regular(path))
            data = stack.enter_context(_unpacked(file, path))
            yield _lines(data, path)
        except FileNotFoundError:
            raise InputError(f"there is no file '{path}'") from None
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error


def _regular(path: str) -> IO[bytes]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"'{path}' is no regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


@contextlib.contextmanager
def _unpacked(file: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    begin = file.read(len(_ZSTD))
    file.seek(0)
    if begin.startswith(_GZIP):
        with gzip.GzipFile(fileobj=file) as data:
            yield data  # type: ignore[misc]
    elif begin == _ZSTD:
        with _unzstd(file, path) as data:
            yield data
    else:
        yield file


@contextlib.contextmanager
def _unzstd(file: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    command = ("zstd", "--decompress", "--stdout", "--memory=256MB", "--quiet")
    try:
        process = subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise InputError(f"'{path}' is compressed with zstd, and the program zstd is not installed") from None
    assert process.stdout is not None and process.stderr is not None  # noqa: PT018 - both are pipes
    try:
        yield process.stdout
        # Nobody may have read all of it.
        is_whole = not process.stdout.read(1)
        if is_whole and process.wait() != 0:
            said = process.stderr.read(200).decode(errors="replace").strip()
            raise InputError(f"cannot read '{path}': {said or 'it is no whole zstd file'}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def _lines(data: IO[bytes], path: str) -> Iterator[str]:
    buffered = io.BufferedReader(data) if not hasattr(data, "peek") else data  # type: ignore[type-var]
    begin = buffered.peek(2)[:2]  # type: ignore[attr-defined]
    encoding = "utf-16" if begin in _UTF16 else "utf-8-sig"
    text = io.TextIOWrapper(buffered, encoding=encoding, errors="replace", newline=None)  # type: ignore[type-var]
    read = 0
    try:
        while line := text.readline(MOST_LINE):
            read += len(line)
            if len(line) >= MOST_LINE or read > MOST_BYTES:
                raise InputError(
                    f"'{path}' has a line of more than {MOST_LINE >> 20} MiB, or more than {MOST_BYTES >> 30} GiB"
                )
            yield line.removesuffix("\n")
    finally:
        text.detach()


def name_of(path: str) -> str:
    """Name a file without its folder and the end that says how it is compressed."""
    return Path(path).name.removesuffix(".gz").removesuffix(".zst")
