"""What does one operation cost in the engine? Beside it: the same system calls in a bare loop, and fio.

    make bench            writes docs/performance.md

Every tool does the same fixed number of operations on the same files, in turn, round after round: a machine that is busy
with other work is busy for all of them, so the ratios hold where the absolute rates do not. A cost is the difference of a
long and a short run divided by the difference of their operations, so that start-up is in no figure.

Instructions come from the hardware counters (`perf stat`) where the machine lets programs count, user and kernel apart;
elsewhere from valgrind, which counts user instructions exactly, but runs without the vDSO: clock reads are system calls
there, so their few dozen user instructions a read are missing from all tools alike. Rates come from each tool's own
report. fio takes part in the data loads only: its file options for the others are not worked out here yet.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay import events, plan
from assay.engine import find_engine

ROOT = Path(__file__).resolve().parent.parent
BLOCK_BYTES = 4096
DATA_BYTES = 256 << 20
TREE_FILES = 20_000


@dataclass(frozen=True)
class Run:
    """One run of one tool: operations, the seconds that the tool says they took, CPU seconds of the whole process."""

    ops: int
    seconds: float
    cpu_s: float


@dataclass(frozen=True)
class Tool:
    """A tool in one scenario: `command(ops)` is its command line, `read(stdout)` gives operations and seconds."""

    name: str
    command: Callable[[int], Sequence[str]]
    read: Callable[[str], tuple[int, float]]
    stdin: Callable[[int], bytes] | None = None


@dataclass(frozen=True)
class Scenario:
    """One load, and the tools that can do it; `before` brings the directory back to the same state."""

    name: str
    title: str
    ops: int
    tools: tuple[Tool, ...]
    before: Callable[[], None]


# -- the tools ---------------------------------------------------------------------------------------------------------


def assay_tool(job: plan.Job, sets: tuple[plan.FileSet, ...], directory: Path) -> Tool:
    """The engine itself, fed with the Plan and an early start."""

    def stdin(ops: int) -> bytes:
        phase = plan.Phase(
            name="bench",
            title="bench",
            before=tuple(plan.Prepare(set=s.name) for s in sets),
            jobs=(msgspec.structs.replace(job, stop=plan.Stop(ops=ops)),),
        )
        whole = plan.Plan(
            name="bench",
            origin=plan.Origin(front_end="assay", source="bench", sha256=""),
            seed=1,
            targets=(plan.Target(name="target", uri=directory.as_uri()),),
            file_sets=sets,
            phases=(phase,),
        )
        return whole.to_json()

    def read(stdout: str) -> tuple[int, float]:
        for line in stdout.splitlines():
            event = events.decode(line.encode())
            if isinstance(event, events.Error):
                raise SystemExit(f"assay-engine: {event.text}")
            if isinstance(event, events.PhaseFinished):
                workers = [w for w in event.workers if w.first_op_ns is not None and w.last_op_ns is not None]
                begun = min(w.first_op_ns or 0 for w in workers)
                ended = max(w.last_op_ns or 0 for w in workers)
                timed = sum(w.completed for w in workers) // (3 if job.timed else 1)
                return timed, (ended - begun) / 1e9
        raise SystemExit("assay-engine ended without a finished phase")

    return Tool("assay", lambda _: [str(find_engine())], read, stdin)


def bare_tool(*arguments: str) -> Tool:
    """The bare loop of engine/examples/bare.rs."""

    def read(stdout: str) -> tuple[int, float]:
        ops, seconds = stdout.split()
        return int(ops), float(seconds)

    return Tool("bare loop", lambda ops: [str(ROOT / "target/release/examples/bare"), *arguments, str(ops)], read)


def fio_tool(kind: str, options: Callable[[int], Sequence[str]]) -> Tool | None:
    """fio, with `options(ops)` beside the common ones; `kind` is the key of its result."""
    program = shutil.which("fio")
    if program is None:
        return None

    def read(stdout: str) -> tuple[int, float]:
        found = json.loads(stdout[stdout.index("{") :])["jobs"][0][kind]
        return int(found["total_ios"]), float(found["runtime"]) / 1e3

    return Tool("fio", lambda ops: [program, "--name=a", "--output-format=json", "--thread", *options(ops)], read)


# -- running -----------------------------------------------------------------------------------------------------------


def execute(tool: Tool, ops: int, prefix: Sequence[str] = ()) -> tuple[Run, str]:
    """Run a tool once; returns what it did and its standard error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [*prefix, *tool.command(ops)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stdout = bytearray()
    if tool.stdin is not None:
        process.stdin.write(tool.stdin(ops) + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            stdout += line
            event = events.decode(line)
            if isinstance(event, events.Ready):
                start = events.Start(phase_index=event.phase_index, at_realtime_ns=0)
                process.stdin.write(msgspec.json.encode(start) + b"\n")
                process.stdin.flush()
    process.stdin.close()
    stdout += process.stdout.read()
    errors = process.stderr.read().decode()
    if process.wait() != 0:
        raise SystemExit(f"{tool.name}: {errors[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done, seconds = tool.read(stdout.decode())
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(done, seconds, cpu_s), errors


def counter() -> tuple[str, Sequence[str], Callable[[str], tuple[int, int | None]]]:
    """How instructions are counted here: name, command prefix, and how to read user and kernel counts from stderr."""
    perf = ["perf", "stat", "-x,", "-e", "instructions:u,instructions:k", "--"]
    if shutil.which("perf"):
        probe = subprocess.run([*perf, "true"], capture_output=True, text=True, check=False)
        if probe.returncode == 0 and "not supported" not in probe.stderr and "not counted" not in probe.stderr:
            return "perf stat", perf, _read_perf
    if shutil.which("valgrind"):
        cachegrind = ["--tool=cachegrind", "--cache-sim=no", "--branch-sim=no", "--cachegrind-out-file=/dev/null"]
        return "valgrind", ["valgrind", *cachegrind], _read_valgrind
    raise SystemExit(
        "neither perf counters nor valgrind: instructions cannot be counted here (apt-get install valgrind)"
    )


def _read_perf(stderr: str) -> tuple[int, int | None]:
    counts = [int(line.split(",")[0]) for line in stderr.splitlines() if "instructions" in line]
    return counts[0], counts[1]


def _read_valgrind(stderr: str) -> tuple[int, int | None]:
    found = re.search(r"I +refs: +([\d,]+)", stderr)
    if found is None:
        raise SystemExit(f"valgrind said no count: {stderr[-500:]}")
    return int(found[1].replace(",", "")), None


@dataclass(frozen=True)
class Cost:
    """Of one tool in one scenario, medians over the rounds."""

    iops: float
    cpu_us_per_op: float
    user_instructions: float | None
    kernel_instructions: float | None


def instructions_per_op(scenario: Scenario, tool: Tool, ops: int) -> tuple[float, float | None]:
    """User and kernel instructions of one operation: a long run less a short one."""
    _, prefix, read = counter()
    counted = []
    for n in (ops // 5, ops):
        scenario.before()
        run, stderr = execute(tool, n, prefix)
        counted.append((run.ops, *read(stderr)))
    (few, few_user, few_kernel), (many, many_user, many_kernel) = counted
    kernel = None
    if few_kernel is not None and many_kernel is not None:
        kernel = (many_kernel - few_kernel) / (many - few)
    return (many_user - few_user) / (many - few), kernel


def measure(scenario: Scenario, rounds: int, *, instructions: bool) -> dict[str, Cost]:
    """All tools in turn, `rounds` times, then their instructions."""
    runs: dict[str, list[Run]] = {tool.name: [] for tool in scenario.tools}
    start_up: dict[str, list[Run]] = {tool.name: [] for tool in scenario.tools}
    for number in range(rounds):
        turn = scenario.tools if number % 2 == 0 else scenario.tools[::-1]
        for tool in turn:
            for n, into in ((scenario.ops // 20, start_up), (scenario.ops, runs)):
                scenario.before()
                into[tool.name].append(execute(tool, n)[0])
    costs = {}
    for tool in scenario.tools:
        pairs = list(zip(runs[tool.name], start_up[tool.name], strict=True))
        cpu = statistics.median((long.cpu_s - short.cpu_s) / (long.ops - short.ops) for long, short in pairs)
        counted: tuple[float | None, float | None] = (None, None)
        if instructions:
            counted = instructions_per_op(scenario, tool, max(scenario.ops // 20, 2000))
        iops = statistics.median(run.ops / run.seconds for run in runs[tool.name])
        costs[tool.name] = Cost(iops, cpu * 1e6, *counted)
        print(f"{scenario.name:8} {tool.name:10} {costs[tool.name]}", file=sys.stderr)
    return costs


# -- the scenarios -----------------------------------------------------------------------------------------------------


def op(kind: plan.OpKind, **what: object) -> plan.Do:
    """One operation, named as its kind."""
    return plan.Do(op=plan.Op(op=kind, name=kind.value, **what))  # type: ignore[arg-type]


def data_set(name: str) -> plan.FileSet:
    """One file of incompressible data that stays for the next run."""
    size = plan.Fixed(value=float(DATA_BYTES))
    return plan.FileSet(
        name=name, target="target", path=name, files=1, size=size, keep=True, reuse=plan.Reuse.IF_MATCHES
    )


def tree(name: str, existing: float, *, keep: bool) -> plan.FileSet:
    """Small files, a thousand a directory."""
    return plan.FileSet(
        name=name,
        target="target",
        path=name,
        files=TREE_FILES,
        size=plan.Fixed(value=float(BLOCK_BYTES)),
        layout=plan.PerDirectory(files=1000),
        existing_share=existing,
        keep=keep,
        reuse=plan.Reuse.IF_MATCHES if keep else plan.Reuse.NEVER,
    )


def tools(*found: Tool | None) -> tuple[Tool, ...]:
    """Those that are installed."""
    return tuple(tool for tool in found if tool is not None)


def nothing() -> None:
    """A load that leaves the directory as it was."""


def read_scenario(directory: Path) -> Scenario:
    """4 KiB random reads from the page cache."""
    block = plan.Fixed(value=float(BLOCK_BYTES))
    read = op(plan.OpKind.READ, file=plan.FromSet(set="data", pick=plan.Own()), access=plan.RandomAccess(), size=block)
    file = directory / "assay-data/data/f00000000"
    fio = fio_tool(
        "read",
        lambda n: [
            f"--filename={file}", "--rw=randread", "--bs=4k", "--ioengine=psync", f"--size={DATA_BYTES}",
            f"--io_size={n * BLOCK_BYTES}", "--norandommap",
        ],
    )  # fmt: skip
    job = plan.Job(name="read", body=plan.Loop(actions=(read,)))
    engine = assay_tool(job, (data_set("data"),), directory)
    execute(engine, 1000)
    return Scenario(
        "read",
        "4 KiB cached random read, psync, tmpfs",
        1_000_000,
        tools(engine, bare_tool("read", str(file), str(DATA_BYTES)), fio),
        nothing,
    )


def uring_scenario(directory: Path) -> Scenario:
    """4 KiB O_DIRECT random reads, 32 in flight, from a direct-I/O loop device."""
    block = plan.Fixed(value=float(BLOCK_BYTES))
    read = op(plan.OpKind.READ, file=plan.FromSet(set="data", pick=plan.Own()), access=plan.RandomAccess(), size=block)
    file = directory / "assay-data/data/f00000000"
    fio = fio_tool(
        "read",
        lambda n: [
            f"--filename={file}", "--rw=randread", "--bs=4k", "--ioengine=io_uring", "--iodepth=32", "--direct=1",
            f"--size={DATA_BYTES}", f"--io_size={n * BLOCK_BYTES}", "--norandommap",
            "--fixedbufs", "--registerfiles", "--iodepth_batch_submit=16", "--iodepth_batch_complete_max=32",
        ],
    )  # fmt: skip
    job = plan.Job(
        name="read",
        body=plan.Loop(actions=(read,)),
        backend=plan.IoUring(),
        queue_depth=32,
        open=plan.OpenFlags(direct=plan.Direct.ON),
    )
    engine = assay_tool(job, (data_set("data"),), directory)
    execute(engine, 1000)
    return Scenario(
        "uring",
        "4 KiB O_DIRECT random read, io_uring depth 32, ext4 on a direct-I/O loop",
        200_000,
        tools(engine, bare_tool("uring", str(file), str(DATA_BYTES)), fio),
        nothing,
    )


def stat_scenario(directory: Path) -> Scenario:
    """Stat of files in a tree."""
    stat = op(plan.OpKind.STAT, file=plan.FromSet(set="tree", pick=plan.RandomFile()))
    engine = assay_tool(
        plan.Job(name="stat", body=plan.Loop(actions=(stat,))), (tree("tree", 1.0, keep=True),), directory
    )
    execute(engine, 1000)
    bare = bare_tool("stat", str(directory / "assay-data/tree"), str(TREE_FILES))
    return Scenario("stat", "stat of 20,000 files in a tree, tmpfs", 200_000, (engine, bare), nothing)


SCENARIOS: dict[str, tuple[str, Callable[[Path], Scenario]]] = {
    "read": ("tmpfs", read_scenario),
    "uring": ("loop", uring_scenario),
    "stat": ("tmpfs", stat_scenario),
}


# -- the page ----------------------------------------------------------------------------------------------------------


def page(costs: dict[str, tuple[Scenario, dict[str, Cost]]], rounds: int) -> str:
    """docs/performance.md."""
    method = (
        "Written by `make bench`; do not edit. Every tool does the same operations on the same files, in turn, "
        f"{rounds} rounds, medians. Rates are given as a ratio to the engine's in the same rounds: absolute rates of a "
        "shared machine prove nothing. CPU is of the whole process, start-up left out; instructions are counted by "
        f"{counter()[0]}{_caveat()}."
    )
    machine = f"Linux {os.uname().release}, {os.cpu_count()} CPUs; {_versions()}."
    lines = ["# What an operation costs", "", method, "", machine]
    for scenario, found in costs.values():
        own = found["assay"]
        lines += ["", f"## {scenario.title}", ""]
        lines += [
            "| tool | user instructions/op | kernel instructions/op | CPU µs/op | rate of Assay / rate of the tool |"
        ]
        lines += ["| --- | ---: | ---: | ---: | ---: |"]
        lines += [
            f"| {name} | {_count(cost.user_instructions)} | {_count(cost.kernel_instructions)} "
            f"| {cost.cpu_us_per_op:.2f} | {'' if name == 'assay' else f'{own.iops / cost.iops:.2f}'} |"
            for name, cost in found.items()
        ]
    return "\n".join(lines) + "\n"


def _caveat() -> str:
    if counter()[0] == "perf stat":
        return ""
    return (
        ", which counts user instructions only and runs without the vDSO (clock reads cost no user instructions there)"
    )


def _count(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.0f}"


def _versions() -> str:
    fio = shutil.which("fio")
    said = (
        [subprocess.run([fio, "--version"], capture_output=True, text=True, check=True).stdout.strip()] if fio else []
    )
    return ", ".join(said) or "fio is not installed here"


def main() -> None:
    """Run the scenarios and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=sorted(SCENARIOS), action="append")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/performance.md")
    arguments = parser.parse_args()
    costs = {}
    for name in arguments.only or SCENARIOS:
        where, make = SCENARIOS[name]
        with ExitStack() as stack:
            directory = _place(where, stack)
            if directory is None:
                print(f"{name}: left out, needs root and a loop device", file=sys.stderr)
                continue
            scenario = make(directory)
            costs[name] = (scenario, measure(scenario, arguments.rounds, instructions=True))
    arguments.output.write_text(page(costs, arguments.rounds))
    print(f"written: {arguments.output}")


def _place(where: str, stack: ExitStack) -> Path | None:
    """A fresh directory on tmpfs, or on ext4 over a direct-I/O loop device on tmpfs."""
    base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/dev/shm")))
    if where == "tmpfs":
        return base
    if os.geteuid() != 0:
        return None
    image, mount = base / "image", base / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(4 * DATA_BYTES)
    losetup = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
    device = subprocess.run(losetup, capture_output=True, text=True, check=True).stdout.strip()
    stack.callback(subprocess.run, ["losetup", "--detach", device], check=False)
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    subprocess.run(["mount", device, str(mount)], check=True)
    stack.callback(subprocess.run, ["umount", str(mount)], check=True)
    return mount


if __name__ == "__main__":
    main()
