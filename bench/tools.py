"""The tools that are compared: the engine, a bare loop, fio, elbencho."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from assay import events
from assay.running.engine import find_engine
from bench.loads import Load
from bench.running import Extent, Tool, nothing

ROOT = Path(__file__).resolve().parent.parent
ASSAY, BARE, FIO, ELBENCHO = "Assay", "bare loop", "fio", "elbencho"
BARE_PROGRAM = ROOT / "target/release/examples/bare"

Options = Callable[[Extent], Sequence[str]]


def assay(
    load: Callable[[int], Load], directory: Path, *, before: Callable[[Extent], None] = nothing, note: str = ""
) -> Tool:
    """The engine itself; `load(most)` is the load for runs of up to so many operations."""

    def stdin(extent: Extent) -> bytes:
        return load(extent.most).measured(directory, extent.ops).to_json()

    calls = load(1).calls
    return Tool(ASSAY, lambda _: [str(find_engine())], lambda said: _read_assay(said, calls), stdin, before, note)


def _read_assay(stdout: str, calls: int) -> tuple[int, float]:
    for line in stdout.splitlines():
        event = events.decode(line.encode())
        if isinstance(event, events.Error):
            raise SystemExit(f"assay-engine: {event.text}")
        if isinstance(event, events.PhaseFinished):
            workers = [w for w in event.workers if w.first_op_ns is not None and w.last_op_ns is not None]
            begun = min(w.first_op_ns or 0 for w in workers)
            ended = max(w.last_op_ns or 0 for w in workers)
            return sum(w.completed for w in workers) // calls, (ended - begun) / 1e9
    raise SystemExit("assay-engine ended without a finished phase")


def bare(arguments: Sequence[str], *, before: Callable[[Extent], None] = nothing, note: str = "") -> Tool:
    """The bare loop of engine/examples/bare.rs."""

    def read(stdout: str) -> tuple[int, float]:
        ops, seconds = stdout.split()
        return int(ops), float(seconds)

    command = [str(BARE_PROGRAM), *arguments]
    return Tool(BARE, lambda extent: [*command, str(extent.ops)], read, before=before, note=note)


def fio(kind: str, options: Options, *, before: Callable[[Extent], None] = nothing, note: str = "") -> Tool | None:
    """fio, if it is installed; `kind` is the key of its result."""
    program = shutil.which("fio")
    if program is None:
        return None

    def read(stdout: str) -> tuple[int, float]:
        found = json.loads(stdout[stdout.index("{") :])["jobs"][0][kind]
        return int(found["total_ios"]), float(found["runtime"]) / 1e3

    common = [program, "--name=bench", "--output-format=json", "--thread"]
    return Tool(FIO, lambda extent: [*common, *options(extent)], read, before=before, note=note)


def elbencho(
    directory: Path, phase: str, options: Options, *, before: Callable[[Extent], None] = nothing, note: str = ""
) -> Tool | None:
    """elbencho, if it can work in the directory; `phase` is the name of its result."""
    program = find_elbencho()
    if program is None or why_no_elbencho(directory):
        return None

    def read(stdout: str) -> tuple[int, float]:
        found = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
        ends = [one["last_done"] for one in found if one["phase_type"] == phase]
        ops = [(int(end.get("entries") or int(end["bytes"]) // 4096), end) for end in ends]
        seconds = sum(count / float(end.get("entries/s") or end["iops"]) for count, end in ops)
        return sum(count for count, _ in ops), seconds

    # Without the files it would leave its results in /var/tmp.
    files = ["--jsonfile", "/dev/stdout", "--resfile", "/dev/null", "--csvfile", "/dev/null"]
    common = [program, "-t", "1", "--lat", "--latpercent", "--nolive", *files]
    return Tool(ELBENCHO, lambda extent: [*common, *options(extent)], read, before=before, note=note)


def why_no_elbencho(directory: Path) -> str:
    """Why elbencho takes no part in a directory; empty where it does."""
    if find_elbencho() is None:
        return "not installed here: put it on PATH or name it in $ELBENCHO"
    if directory.is_relative_to("/dev"):
        return "refuses to work below /dev, where the tmpfs of an unprivileged user is; for root it gets one elsewhere"
    return ""


def find_elbencho() -> str | None:
    """$ELBENCHO, or elbencho on PATH."""
    return os.environ.get("ELBENCHO") or shutil.which("elbencho")


def versions() -> str:
    """Which peers there are, and which versions."""
    return ", ".join((_version("fio", shutil.which("fio")), _version("elbencho", find_elbencho())))


def _version(name: str, program: str | None) -> str:
    if program is None:
        return f"{name} is not installed"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    numbers = [line.split(":", 1)[1].strip() for line in said.splitlines() if "Version:" in line]
    return f"{name} {numbers[0]}" if numbers else said.strip()
