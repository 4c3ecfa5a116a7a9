"""Ask the engine about traces: start it, show its progress, read its answer."""

import subprocess
import tempfile
from collections.abc import Callable
from typing import Any, Final

import msgspec

from assay.errors import InputError, RunError, reason_of
from assay.running.engine import find_engine
from assay.workingset.trace_files import TraceFiles

Progress = Callable[[int, int], None]
"""Gets bytes and requests read so far."""
_BAD_INPUT: Final = 2
_SHOWN: Final = 1000


class TraceTotals(msgspec.Struct, frozen=True):
    """Requests of all traces; `late` had an earlier time than the one before, and `..._blocks` are accesses to blocks."""

    reads: int
    writes: int
    read_bytes: int
    written_bytes: int = msgspec.field(name="write_bytes")
    read_blocks: int
    write_blocks: int
    begin_ns: int
    end_ns: int
    late: int


class ServedShare(msgspec.Struct, frozen=True):
    """What an LRU cache of a size serves, with the ends of the 95 % interval of `hit`."""

    blocks: int
    hit: float
    read_hit: float | None
    write_hit: float | None
    low: float
    high: float


class SizeInterval(msgspec.Struct, frozen=True):
    """A size in blocks, with the ends of its 95 % interval."""

    blocks: float
    low: float
    high: float


class UsedBlocks(msgspec.Struct, frozen=True):
    """Number and different blocks of each window of one length that has requests."""

    seconds: int
    used: list[tuple[int, float]]


class HitCurve(msgspec.Struct, frozen=True):
    """Hits by size; `rate` is the share of the blocks that was looked at."""

    rate: float
    sampled_keys: int
    footprint_blocks: float
    served: list[ServedShare]
    asked: list[ServedShare]
    ws90: SizeInterval | None
    windows: list[UsedBlocks]
    windows_are_cut: bool


class PolicyHits(msgspec.Struct, frozen=True):
    """Hit ratios of one policy, by the sizes that were asked for."""

    name: str
    hits: list[float | None]


class TierPeriod(msgspec.Struct, frozen=True):
    """Shares of the accesses of one period that fast storage serves; None in the first, which has no period before it."""

    begin_ns: int
    accesses: int
    alike: float | None
    devices: float | None
    extents: float | None
    cache: float


class TierShares(msgspec.Struct, frozen=True):
    """What fast storage serves."""

    capacity_bytes: int
    fast_bytes: int
    periods: list[TierPeriod]


class NamedTrace(msgspec.Struct, frozen=True):
    """A trace, and its format."""

    name: str
    format: str


class EngineAnswer(msgspec.Struct, frozen=True):
    """What the engine found; `epoch` is `unix`, `own` or `none`."""

    traces: list[NamedTrace]
    devices: list[str]
    epoch: str
    origin_ns: int
    is_of_objects: bool
    totals: TraceTotals
    curve: HitCurve | None
    policies: list[PolicyHits] | None
    tiers: TierShares | None
    notes: list[str]


class _EngineProgress(msgspec.Struct, frozen=True):
    bytes: int
    requests: int


class _OutLine(msgspec.Struct, frozen=True):
    progress: _EngineProgress | None = None
    answer: EngineAnswer | None = None


def ask_engine(question: dict[str, Any], traces: TraceFiles, progress: Progress) -> EngineAnswer:
    """Let the engine read traces and answer.

    Raises:
        InputError: A trace is not as it has to be.
        RunError: The engine could not be started, or gave no answer.
    """
    program = find_engine()
    words = [str(program), "workingset", msgspec.json.encode(question).decode()]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, pass_fds=traces.descriptors)
        except OSError as error:
            raise RunError(f"{program} could not be started: {reason_of(error)}") from error
        with process:
            try:
                answer = _read(process, progress)
            finally:
                process.kill()  # Without effect at its own end.
        errors.seek(0)
        message = errors.read(_SHOWN).decode(errors="replace").strip().removeprefix("assay-engine: ")
    if answer is None:
        if process.returncode == _BAD_INPUT:
            # What cannot be unpacked is the reason, where the engine found that its data ends too early.
            traces.check_ends()
            raise InputError(message)
        raise RunError(f"assay-engine gave no answer: {message or f'it ended with {process.returncode}'}")
    traces.check_ends()
    return answer


def _read(process: subprocess.Popen[bytes], progress: Progress) -> EngineAnswer | None:
    assert process.stdout is not None  # noqa: S101 - opened as a pipe above
    answer = None
    for text in process.stdout:
        try:
            line = msgspec.json.decode(text, type=_OutLine)
        except msgspec.DecodeError as error:
            raise RunError(f"assay-engine printed what is no answer ({error}): {text[:80]!r}") from error
        if line.progress is not None:
            progress(line.progress.bytes, line.progress.requests)
        answer = line.answer
    process.wait()
    return answer
