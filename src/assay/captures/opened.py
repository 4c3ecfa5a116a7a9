"""Open a capture: plain, or compressed with gzip or zstd, as lines of text.

A file is read as a stream, so its size is bounded only by time: what it makes is bounded (`samples.py`), and so is a line.
"""

import codecs
import contextlib
import gzip
import io
import os
import stat
import subprocess
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Final

from assay.errors import InputError

MOST_BYTES: Final = 64 << 30
"""Of the text: a day of esxtop every ten seconds has 4 GiB."""
MOST_LINE: Final = 128 << 20
"""Characters: an esxtop line of 51,000 columns has 8 MiB at most; a document of Prometheus is one line."""
ZIP: Final = b"PK\x03\x04"
"""What a workbook begins with."""
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_AS_WINDOWS: Final = "assay-windows-1252"

Note = Callable[[str], None]
Unpacked = io.BufferedReader | gzip.GzipFile


class CutLine(str):
    """The last line of a file where its end is missing: its last number may be, too."""

    __slots__ = ()


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Read what is no UTF-8 as Windows of Western Europe writes it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return bytes(error.object[error.start : error.end]).decode("cp1252", errors="replace"), error.end


codecs.register_error(_AS_WINDOWS, _as_windows)


@contextlib.contextmanager
def open_lines(path: str, note: Note) -> Iterator[Iterator[str]]:
    """Give the lines of a file, without their ends.

    UTF-8, or UTF-16 with a byte order mark, as Windows writes; bytes that are neither are read as Windows-1252. `note` gets
    what is missing.

    Raises:
        InputError: It is not there, cannot be read, is no file, or has more than a capture has.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_regular(path))
            data = stack.enter_context(_unpacked(file, path, note))
            yield stack.enter_context(contextlib.closing(_lines(data, path, note)))
        except FileNotFoundError:
            raise InputError(f"there is no file '{path}'") from None
        except (OSError, zlib.error) as error:
            raise InputError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error


def is_zip(path: str) -> bool:
    """Whether the file is an archive, as workbooks are; False where it cannot be read."""
    try:
        with _regular(path) as file:
            return file.read(len(ZIP)) == ZIP
    except OSError:
        return False


def whole_lines(lines: Iterable[str], note: Note) -> Iterator[str]:
    """Give all lines but a last one that was cut off."""
    for line in lines:
        if isinstance(line, CutLine):
            note("the last line has no end, so it may be cut off, and is left out")
        else:
            yield line


def _regular(path: str) -> io.BufferedReader:
    if "\0" in path:
        raise InputError("a name of a file has no zero byte")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"'{path}' is no regular file")
    return os.fdopen(descriptor, "rb")


@contextlib.contextmanager
def _unpacked(file: io.BufferedReader, path: str, note: Note) -> Iterator[Unpacked]:
    begin = os.pread(file.fileno(), len(_ZSTD), 0)  # without a buffer: a program reads on from the descriptor
    if begin.startswith(_GZIP):
        with gzip.GzipFile(fileobj=file) as data:
            yield data
    elif begin == _ZSTD:
        with _unzstd(file, path, note) as output:
            yield output
    else:
        yield file


@contextlib.contextmanager
def _unzstd(file: io.BufferedReader, path: str, note: Note) -> Iterator[io.BufferedReader]:
    command = ("zstd", "--decompress", "--stdout", "--memory=256MB", "--quiet")
    output_end, input_end = os.pipe()
    try:
        with os.fdopen(output_end, "rb") as output:
            try:
                process = subprocess.Popen(command, stdin=file, stdout=input_end, stderr=subprocess.PIPE)
            finally:
                os.close(input_end)
            with process:
                try:
                    yield output
                    # Nobody may have read all of it.
                    if not output.read(1):
                        _check_end(process, path, note)
                finally:
                    process.kill()
    except FileNotFoundError:
        raise InputError(f"'{path}' is compressed with zstd, and the program zstd is not installed") from None


def _check_end(process: subprocess.Popen[bytes], path: str, note: Note) -> None:
    _, errors = process.communicate()
    if process.returncode == 0:
        return
    message = errors[:200].decode(errors="replace").strip()
    if "premature end" not in message:
        raise InputError(f"cannot read '{path}': {message or 'it is no whole zstd file'}")
    note("the file is cut off: its compressed data has no end")


def _lines(data: Unpacked, path: str, note: Note) -> Generator[str]:
    read = 0
    text = None
    try:
        begin = data.peek(2)[:2]
        encoding = "utf-16" if begin in _UTF16 else "utf-8-sig"
        text = io.TextIOWrapper(data, encoding=encoding, errors=_AS_WINDOWS, newline=None)
        while line := text.readline(MOST_LINE):
            read += len(line)
            if len(line) >= MOST_LINE or read > MOST_BYTES:
                raise InputError(
                    f"'{path}' has a line of more than {MOST_LINE >> 20} MiB, or more than {MOST_BYTES >> 30} GiB"
                )
            yield line[:-1] if line.endswith("\n") else CutLine(line)
    except EOFError:  # of gzip
        note("the file is cut off: its compressed data has no end")
    finally:
        if text is not None:
            text.detach()


def name_of(path: str) -> str:
    """Name a file without its folder and the suffix of its compression."""
    return Path(path).name.removesuffix(".gz").removesuffix(".zst")
