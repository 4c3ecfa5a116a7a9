"""Run a tool once: operations done, the seconds they took, CPU seconds of the whole process."""

import resource
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from assay import events


@dataclass(frozen=True)
class Extent:
    """Operations of a run, and of the longer one of the pair that it belongs to: both runs find as many files."""

    ops: int
    most: int


def nothing(_: Extent) -> None:
    """Need no preparation."""


@dataclass(frozen=True)
class Tool:
    """A tool in one scenario.

    `command` is its command line; `read` takes operations and seconds from its standard output; `stdin` is a Plan for
    the engine; `before`, which is not measured, makes what the run wants to find; `note` is what differs from the others.
    """

    name: str
    command: Callable[[Extent], Sequence[str]]
    read: Callable[[str], tuple[int, float]]
    stdin: Callable[[Extent], bytes] | None = None
    before: Callable[[Extent], None] = nothing
    note: str = ""


@dataclass(frozen=True)
class Run:
    """One run of one tool: operations, the seconds that the tool says they took, CPU seconds of the whole process."""

    ops: int
    seconds: float
    cpu_s: float


def execute(tool: Tool, extent: Extent, prefix: Sequence[str] = ()) -> tuple[Run, str]:
    """Run a tool once, `prefix` in front; returns what it did and its standard error.

    Raises:
        SystemExit: The tool failed.
    """
    tool.before(extent)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    plan_json = None if tool.stdin is None else tool.stdin(extent)
    stdout, stderr = speak([*prefix, *tool.command(extent)], plan_json)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ops, seconds = tool.read(stdout)
    if ops != extent.ops:
        raise SystemExit(f"{tool.name} did {ops} operations, not {extent.ops}: {stderr[-500:]}")
    return Run(ops, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), stderr


def speak(command: Sequence[str], plan_json: bytes | None) -> tuple[str, str]:
    """Run a command to its end; with a Plan, be the engine's other side, and let every phase start at once.

    Returns:
        Standard output and standard error.

    Raises:
        SystemExit: The command failed.
    """
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        if plan_json is None:
            process.stdin.close()
        else:
            process.stdin.write(plan_json + b"\n" + msgspec.json.encode(events.StartWhenReady()) + b"\n")
            process.stdin.flush()
        stdout = process.stdout.read()
        process.stdin.close()
        exit_code = process.wait()
        errors.seek(0)
        stderr = errors.read().decode(errors="replace")
    if exit_code != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {exit_code}: {stderr[-500:]}")
    return stdout.decode(), stderr
