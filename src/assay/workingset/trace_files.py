"""Give traces to the engine: plain files as they are, compressed ones through the program that unpacks them.

The engine gets open descriptors, so a name cannot lead elsewhere once it was checked. `-` is standard input.
"""

import os
import signal
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from assay.errors import InputError, RunError, reason_of

STDIN: Final = "-"
MOST_TRACES: Final = 256
"""Each has a descriptor, and a compressed one a program."""
_PROGRAMS: Final = {
    b"\x1f\x8b": ("gzip", "--decompress", "--stdout"),
    b"\x28\xb5\x2f\xfd": ("zstd", "--decompress", "--stdout", "--memory=256MB", "--quiet"),
    b"\xfd7zXZ\0": ("xz", "--decompress", "--stdout", "--memlimit=256MiB"),
}
"""By what a file begins with."""
_ENDINGS: Final = (".gz", ".zst", ".xz")


class TraceFiles:
    """Open traces. As a context manager they are closed with the block, and no program is left behind.

    Attributes:
        places: Where the engine reads each trace, and what it is called.
        descriptors: What the engine has to inherit.
        size_bytes: Of all files together; None where one of them is compressed, or is standard input.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        """Open them; raises InputError and RunError."""
        self.places: list[dict[str, str]] = []
        self.descriptors: list[int] = []
        self.size_bytes: int | None = 0
        self._programs: list[tuple[str, subprocess.Popen[bytes]]] = []
        try:
            for path in paths:
                self._open(path)
        except BaseException:
            self.close()
            raise

    def _open(self, path: str) -> None:
        name = "standard input" if path == STDIN else name_of(path)
        if path == STDIN:
            self.size_bytes = None
            self.places.append({"path": STDIN, "name": name})
            return
        descriptor = open_regular(path)
        self.descriptors.append(descriptor)
        try:
            begin = os.pread(descriptor, 6, 0)
        except OSError as error:
            raise InputError(f"cannot read '{path}': {reason_of(error)}") from error
        command = next((words for magic, words in _PROGRAMS.items() if begin.startswith(magic)), None)
        if command is not None:
            self.size_bytes = None
            descriptor = self._unpacked(path, descriptor, command)
        elif self.size_bytes is not None:
            self.size_bytes += os.fstat(descriptor).st_size
        self.places.append({"path": f"/dev/fd/{descriptor}", "name": name})

    def _unpacked(self, path: str, descriptor: int, command: tuple[str, ...]) -> int:
        output_end, input_end = os.pipe()
        self.descriptors.append(output_end)
        try:
            program = subprocess.Popen(command, stdin=descriptor, stdout=input_end, stderr=subprocess.PIPE)
        except FileNotFoundError:
            raise InputError(
                f"'{path}' is compressed with {command[0]}, and the program {command[0]} is not installed"
            ) from None
        except OSError as error:
            raise RunError(f"{command[0]} could not be started: {reason_of(error)}") from error
        finally:
            os.close(input_end)
        self._programs.append((path, program))
        return output_end

    def check_ends(self) -> None:
        """Refuse a trace whose compressed data is cut off or damaged, after the engine's end; raises InputError."""
        self._close_descriptors()  # What the engine did not read, nobody does: the program need not wait for that.
        for path, program in self._programs:
            _, errors = program.communicate()
            if program.returncode not in {0, -signal.SIGPIPE}:
                message = errors[:200].decode(errors="replace").strip() or "its compressed data has no end"
                raise InputError(f"cannot read '{path}': {message}")

    def close(self) -> None:
        """Close them, and end what unpacks them."""
        self._close_descriptors()
        for _, program in self._programs:
            program.kill()
            program.wait()
            if program.stderr is not None:
                program.stderr.close()
        self._programs.clear()

    def _close_descriptors(self) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())

    def __enter__(self) -> Self:
        """Give the open traces."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them."""
        self.close()


def check_traces(paths: Sequence[str]) -> None:
    """Refuse traces that are not there; raises InputError."""
    if len(paths) > MOST_TRACES:
        raise InputError(f"these are {len(paths)} traces; {MOST_TRACES} are the most")
    if paths.count(STDIN) > 1:
        raise InputError("standard input (-) can be read once")
    for path in paths:
        if path != STDIN:
            os.close(open_regular(path))


def open_regular(path: str) -> int:
    """Open a file to be read; raises InputError where it is none."""
    if "\0" in path:
        raise InputError("a name of a file has no zero byte")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {reason_of(error)}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"'{path}' is no regular file; give a pipe to standard input (-)")
    return descriptor


def name_of(path: str) -> str:
    """Name a trace: its file without the folder and the end that says how it is compressed."""
    name = Path(path).name.encode(errors="replace").decode(errors="replace")
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name
