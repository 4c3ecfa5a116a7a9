"""Define the errors, each with its exit code.

AssayError
├── InputError (2)         the user can fix it by editing a file or a flag
│   ├── PlanError          the Plan is not possible
│   └── FrontEndError      a load file or command line, with its line
├── RunError (3)           the machine refused
├── BundleError (2)        the run is not there, or does not match its manifest
└── Interrupted (130)      Ctrl-C; what was measured is kept
"""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

MEASURED = 0
NOT_TRUSTED = 1
BAD_INPUT = 2
COULD_NOT_RUN = 3
INTERRUPTED = 130

EXIT_CODES = {
    MEASURED: "measured (warnings are printed with the results)",
    NOT_TRUSTED: "measured, but a result must not be used or operations failed",
    BAD_INPUT: "bad input",
    COULD_NOT_RUN: "could not run",
    INTERRUPTED: "Ctrl-C, TERM or HUP (what was measured is kept)",
}
"""The rule: what ended a run early has its code; else a finding that is `invalid`, or an operation that failed, makes 1."""


def reason_of(error: OSError) -> str:
    """Describe why the system refused a call, with the limit if known."""
    limits = {errno.EFBIG: " (ulimit -f)", errno.EMFILE: " (ulimit -n)", errno.EAGAIN: " (ulimit -u)"}
    return f"{error.strerror}{limits.get(error.errno or 0, '')}"


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an OSError of a call on an open file, which has none."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def refusal(error: BaseException) -> str | None:
    """Describe what the machine refused; None for a fault of Assay."""
    text = str(error)
    match error:
        case OSError(errno=int(), filename=place):
            return f"{place}: {reason_of(error)}" if place else reason_of(error)
        case MemoryError() | ImportError() if isinstance(error, MemoryError) or "failed to map segment" in text:
            return "not enough memory for assay itself; free some, or raise the limit (ulimit -v)"
    # Threads of Python, and those of libraries, which panic without them.
    if "can't start new thread" in text or "WouldBlock" in text:
        return "no more threads can be started; end some processes, or raise the limit (ulimit -u)"
    return None


class AssayError(Exception):
    """Base of all errors that a caller may want to catch."""

    exit_code = COULD_NOT_RUN


class InputError(AssayError):
    """The user can fix it by editing a file or a flag."""

    exit_code = BAD_INPUT


class PlanError(InputError):
    """The Plan is not possible."""


class FrontEndError(InputError):
    """A load file or command line cannot be read as intended."""

    def __init__(self, source: str, line: int | None, text: str) -> None:
        """Put `source:line:` in front of the text."""
        super().__init__(f"{source}:{line}: {text}" if line is not None else f"{source}: {text}")
        self.source = source
        self.line = line


class RunError(AssayError):
    """The system refused."""


class BundleError(AssayError):
    """The run is not there, or does not match its manifest."""

    exit_code = BAD_INPUT


class Interrupted(AssayError):
    """Ctrl-C; what was measured is kept."""

    exit_code = INTERRUPTED
