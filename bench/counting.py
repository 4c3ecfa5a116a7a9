"""How many instructions does one operation cost?

Hardware counters (`perf stat`) count user and kernel apart, where the machine lets programs count. Elsewhere valgrind
counts user instructions exactly. It runs programs without the vDSO: a clock read is a system call there, so what the vDSO
executes to read the clock is in no figure. What the program itself executes is all there.

A count is the difference of a long and a short run divided by the difference of their operations, so that start-up,
laying out and what a tool prepares for each file are in no figure.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.running import Extent, Tool, execute


@dataclass(frozen=True)
class Instructions:
    """Of one run, or of one operation; kernel instructions are None where they cannot be counted."""

    user: float
    kernel: float | None


@dataclass(frozen=True)
class Counter:
    """A program that counts: its name, its command line, and how to read its standard error."""

    name: str
    prefix: Sequence[str]
    read: Callable[[str], Instructions]


def perf() -> Counter | None:
    """Hardware counters, if this machine lets programs use them."""
    prefix = ["perf", "stat", "-x,", "-e", "instructions:u,instructions:k", "--"]
    if shutil.which("perf") is None:
        return None
    probe = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0 or "<not " in probe.stderr:
        return None
    return Counter("perf stat", prefix, _read_perf)


def valgrind() -> Counter | None:
    """Exact counts of user instructions, if valgrind is installed."""
    if shutil.which("valgrind") is None:
        return None
    options = ["--tool=cachegrind", "--cache-sim=no", "--branch-sim=no", "--cachegrind-out-file=/dev/null"]
    return Counter("valgrind", ["valgrind", *options], _read_valgrind)


def per_op(counter: Counter, tool: Tool, few: int, many: int) -> Instructions:
    """Instructions of one operation, from runs of few and of many operations."""
    short = counter.read(execute(tool, Extent(few, many), counter.prefix)[1])
    long = counter.read(execute(tool, Extent(many, many), counter.prefix)[1])
    kernel = None
    if short.kernel is not None and long.kernel is not None:
        kernel = (long.kernel - short.kernel) / (many - few)
    return Instructions((long.user - short.user) / (many - few), kernel)


def _read_perf(stderr: str) -> Instructions:
    user, kernel = (float(line.split(",")[0]) for line in stderr.splitlines() if ",instructions:" in line)
    return Instructions(user, kernel)


def _read_valgrind(stderr: str) -> Instructions:
    """One line for each process."""
    counts = [int(count.replace(",", "")) for count in re.findall(r"I +refs: +([\d,]+)", stderr)]
    if not counts:
        raise SystemExit(f"valgrind said no count: {stderr[-500:]}")
    return Instructions(float(sum(counts)), None)
