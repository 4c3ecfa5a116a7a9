"""How far apart do engines begin that are told one time to start at?

    python -m bench.start_skew DIR              five engines, 30 runs

Each engine has a folder of its own in DIR and one worker that reads a small file from the page cache. All are told the same
CLOCK_MONOTONIC of the start, as clients of one run are; on one machine that clock is common to all, so what is told here is
the truth, and not what a run finds out. A machine with fewer CPUs than engines cannot begin at once: what it adds is in the
figures.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from assay import events
from assay.running.engine import find_engine
from bench import loads

DATA_BYTES = 1 << 20
US_PER_NS = 1e-3
_E = TypeVar("_E", events.Hello, events.Ready, events.Started, events.PhaseFinished)


@dataclass(frozen=True)
class Begun:
    """How a phase began; nanoseconds of the engine's CLOCK_MONOTONIC."""

    start_ns: int
    """As it was ordered to its workers."""
    late_ns: int | None
    """As the engine tells it."""
    first_ns: int
    """The first operation was issued."""


class Starting:
    """An engine whose phase is ready to start; the block's end ends it."""

    def __init__(self, directory: Path, operations: int, prefix: Sequence[str] = ()) -> None:
        """Start it on so many reads in a directory that is there, with words in front of its command."""
        self._process = subprocess.Popen(
            [*prefix, find_engine()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        try:
            self._tell(loads.random_read(DATA_BYTES).measured(directory, operations).to_json())
            self._zero_ns = self._next(events.Hello).clock.monotonic_at_zero_ns
            self._next(events.Ready)
        except BaseException:
            self._end()
            raise

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def _next(self, kind: type[_E]) -> _E:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = events.decode(line)
            if isinstance(event, kind):
                return event
            if isinstance(event, events.Error):
                break
        raise SystemExit(f"{find_engine()} did not come to {kind.__name__}")

    def start(self, at_ns: int) -> None:
        """Order the start at a time of its own clock."""
        self._tell(msgspec.json.encode(events.Start(phase_index=0, at_monotonic_ns=at_ns)))

    def begun(self) -> Begun:
        """Wait for the end of the phase."""
        started = self._next(events.Started)
        finished = self._next(events.PhaseFinished)
        first = [worker.first_op_ns for worker in finished.workers if worker.first_op_ns is not None]
        return Begun(self._zero_ns + started.start_ns, started.late_ns, self._zero_ns + min(first))

    def __enter__(self) -> Self:
        """It is ready."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._end()

    def _end(self) -> None:
        """Close its input, which is a stop, and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.read()
        self._process.wait()
        self._process.stdout.close()


def together(directory: Path, engines: int, operations: int, lead_s: float) -> tuple[int, list[Begun]]:
    """Start so many engines at one time, some time ahead; gives the time, and how each began."""
    with ExitStack() as running:
        folders = [directory / str(number) for number in range(engines)]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        ready = [running.enter_context(Starting(folder, operations)) for folder in folders]
        at_ns = time.monotonic_ns() + round(lead_s * 1e9)
        for one in ready:
            one.start(at_ns)
        return at_ns, [one.begun() for one in ready]


def quantile(values: Sequence[int], share: float) -> int:
    """Give the value of rank ceil(share x n)."""
    return sorted(values)[max(0, -(-round(share * 100) * len(values) // 100) - 1)]


def _row(name: str, values: Sequence[int]) -> str:
    told = [quantile(values, share) * US_PER_NS for share in (0.5, 0.99)] + [max(values) * US_PER_NS]
    return f"| {name} | " + " | ".join(f"{value:,.0f}" for value in told) + " |"


def table(runs: Sequence[tuple[int, Sequence[Begun]]]) -> str:
    """Give the figures as a table of Markdown, in microseconds."""
    skews = [max(one.first_ns for one in begun) - min(one.first_ns for one in begun) for _, begun in runs]
    firsts = [one.first_ns - at_ns for at_ns, begun in runs for one in begun]
    lates = [one.late_ns or 0 for _, begun in runs for one in begun]
    rows = (
        _row("from the first engine's first operation to the last engine's", skews),
        _row("from the agreed time to an engine's first operation", firsts),
        _row("late, as an engine tells it before it begins", lates),
    )
    return "\n".join(("| µs | p50 | p99 | most |", "| --- | ---: | ---: | ---: |", *rows))


def main() -> None:
    """Run the engines and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("directory", type=Path, help="a folder for small files, which are removed")
    parser.add_argument("--engines", type=int, default=5)
    parser.add_argument(
        "--operations", type=int, default=1, help="of each engine; many keep a CPU from the next engine"
    )
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--lead", type=float, default=0.2, help="seconds from the order to the start")
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory(prefix="assay-starts-", dir=arguments.directory) as folder:
        for number in range(arguments.runs):
            runs.append(together(Path(folder), arguments.engines, arguments.operations, arguments.lead))
            print(f"\rrun {number + 1} of {arguments.runs}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    each = f"{arguments.engines} engines of {arguments.operations} operations"
    print(f"{each}, {arguments.runs} runs, {os.cpu_count()} CPUs\n\n{table(runs)}")


if __name__ == "__main__":
    main()
