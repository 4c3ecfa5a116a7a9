"""Have the engine survey a directory, and read along.

The engine surveys its working directory: no path is handed over that could mean another place by then. Its standard input
has the request, and when that ends it stops with what was counted so far.
"""

import contextlib
import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.errors import InputError, Interrupted, RunError, reason_of
from assay.running.engine import find_engine
from assay.running.stopping import Stops
from assay.surveys.tree_survey import NO_STATE, SurveyProgress, TreeSurvey

STATE_S = 60.0
"""Time between two states that another survey could go on from."""
_POLL_S = 0.1
_BLOCK_BYTES = 1 << 20
_MOST_LINE_BYTES = 1 << 28
"""A state has a count for each of a million sizes and entries, and half a million directories."""
_BAD_CALL = 2
_SHOWN = 300
_decoder: msgspec.json.Decoder[TreeSurvey | SurveyProgress] = msgspec.json.Decoder(TreeSurvey | SurveyProgress)


@dataclass(frozen=True, slots=True)
class SurveyAsked:
    """What to survey, and how."""

    directory: Path
    crosses_mounts: bool = False
    threads: int = 8
    has_samples: bool = True
    """Whether files are chosen to look into."""
    keeps_state: bool = False
    """Whether states are wanted, every minute and at a stop."""
    state: bytes = bytes(NO_STATE)
    """Of an earlier survey that is gone on with."""

    def request(self) -> bytes:
        """Write the engine's first line of input."""
        fields = {
            "crosses_mounts": self.crosses_mounts,
            "threads": self.threads,
            "samples": self.has_samples,
            "state_s": STATE_S if self.keeps_state else None,
            "state": msgspec.Raw(self.state),
        }
        return msgspec.json.encode(fields) + b"\n"


def survey_tree(
    asked: SurveyAsked, shows: Callable[[SurveyProgress], None], keeps: Callable[[TreeSurvey], None], stops: Stops
) -> TreeSurvey:
    """Survey a directory.

    Args:
        asked: What, and how.
        shows: Is given the progress, twice a second.
        keeps: Is given what was counted so far, once a minute, with the state to go on from.
        stops: At the first signal the survey ends with what it has, at the second without.

    Raises:
        Interrupted: A second signal came.
        InputError: The earlier survey is not one of this directory.
        RunError: The directory cannot be read, or the engine cannot be started or does not answer.
    """
    with tempfile.TemporaryFile() as log, _started(asked.directory, log.fileno()) as process:
        last: TreeSurvey | None = None
        for line in _lines(process, asked.request(), stops):
            report = _decoded(line)
            if isinstance(report, SurveyProgress):
                shows(report)
            elif report.is_last:
                last = report
            else:
                keeps(report)
        code = process.wait()
        if last is not None and code == 0:
            return last
        if stops.count > 1:
            raise Interrupted(f"{asked.directory}: the survey was ended without a result")
        log.seek(0)
        reason = log.read(_SHOWN).decode(errors="replace").strip().removeprefix("assay-engine: ")
    if code == _BAD_CALL:
        raise InputError(f"{asked.directory}: {reason}")
    raise RunError(f"{asked.directory} was not surveyed: {reason or f'the engine ended with code {code}'}")


@contextlib.contextmanager
def _started(directory: Path, log: int) -> "Iterator[subprocess.Popen[bytes]]":
    program = find_engine()
    try:
        process = subprocess.Popen(
            [program, "survey"],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        raise RunError(f"{program} could not be started in {directory}: {reason_of(error)}") from error
    try:
        yield process
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if process.poll() is None:
            process.kill()
        process.wait()


def _lines(process: "subprocess.Popen[bytes]", request: bytes, stops: Stops) -> Iterator[bytes]:
    """Send the request, then give lines as they come; pass stops on meanwhile."""
    assert process.stdin is not None  # noqa: S101 - opened as pipes above
    assert process.stdout is not None  # noqa: S101
    with contextlib.suppress(BrokenPipeError):  # it has ended, with its reason
        process.stdin.write(request)
        process.stdin.flush()
    line = bytearray()
    while True:
        if stops.count == 1 and not process.stdin.closed:
            with contextlib.suppress(OSError):
                process.stdin.close()
        elif stops.count > 1:
            process.kill()
        if not select.select([process.stdout], [], [], _POLL_S)[0]:
            continue
        block = os.read(process.stdout.fileno(), _BLOCK_BYTES)
        if not block:
            return
        *ends, rest = block.split(b"\n")
        for end in ends:
            yield bytes(line + end)
            line.clear()
        line += rest
        if len(line) > _MOST_LINE_BYTES:
            raise RunError("the engine wrote a line without an end; is it the assay-engine of this version?")


def _decoded(line: bytes) -> TreeSurvey | SurveyProgress:
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError as error:
        raise RunError(
            f"the engine wrote a line that is no survey ({error}); is it the assay-engine of this version?"
        ) from error
