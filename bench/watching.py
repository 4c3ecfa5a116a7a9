"""What does watching cost? The same reads with and without the engine's look at the machine, in turns.

    make bench                  has it on its page
    python -m bench.watching    it alone, on standard output

The CPU time of watching is the engine's own count of its main and sampling threads. The rate is that of one worker that
reads from the page cache, which has nothing to wait for, so that whatever is taken from it shows. Others' work on the
machine moves both of a pair; many pairs in turns leave a median and its 95 % interval (order statistics of the ratios).
"""

import math
import statistics
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay import events, plan
from assay.running.engine import find_engine
from bench.loads import SAMPLE_INTERVAL_S, Load, random_read
from bench.page import LINE_CHARACTERS
from bench.running import speak

INTERVALS_S = (1.0, 0.1, 0.01)
"""The usual one, that of the short phases of a quick run, and one so short that its cost shows on a busy machine."""
SECONDS = 2.0
ROUNDS = 25
DATA_BYTES = 64 << 20
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Watched:
    """One run: reads a second, and the share of a core that watching took."""

    rate: float
    share: float


def measure(load: Load, directory: Path, interval_s: float) -> Watched:
    """Read for a while, looked at so often."""
    job = msgspec.structs.replace(load.job, stop=plan.Stop(seconds=SECONDS))
    its_plan = load.preparation(directory)
    (phase,) = its_plan.phases
    phase = msgspec.structs.replace(phase, jobs=(job,), stop=plan.Stop(seconds=SECONDS))
    its_plan = msgspec.structs.replace(its_plan, phases=(phase,), sample_interval_s=interval_s)
    said, _ = speak([str(find_engine())], its_plan.to_json())
    watched_ns, times_ns, done = [], [], 0
    for line in said.splitlines():
        event = events.decode(line.encode())
        if isinstance(event, events.Error):
            raise SystemExit(f"assay-engine: {event.text}")
        if isinstance(event, events.Interval):
            watched_ns.append(event.observer_cpu_ns)
            times_ns.append(event.t_ns)
        if isinstance(event, events.PhaseFinished):
            done = sum(worker.completed for worker in event.workers)
    share = (watched_ns[-1] - watched_ns[0]) / (times_ns[-1] - times_ns[0])
    return Watched(rate=done / SECONDS, share=share)


def section(rounds: int = ROUNDS) -> Iterator[str]:
    """Measure it, and tell it as a part of the page."""
    yield "## What watching costs"
    yield ""
    text = (
        "The engine looks at the machine's counters and hands its histograms over once an interval. One worker reads 4 KiB"
        f" at random from the page cache for {SECONDS:g} s, with and without that, {rounds} pairs in turns. The share of a"
        " core is the engine's own count of its main and sampling threads; the rate is given as the median of the pairs'"
        " ratios with its 95 % interval. Where others share the machine that interval is wider than what is looked for at"
        " the usual interval. So the last column takes what is lost at the lower end of it, by as much as the CPU time of"
        " watching is less at a look a second: a bound of the same thing in each row, and the tighter the oftener there was"
        " a look."
        " `python -m bench.watching` measures this part alone."
    )
    yield textwrap.fill(text, LINE_CHARACTERS)
    yield ""
    yield "| interval | of a core | rate, watched by unwatched | at a look a second, of the rate at most |"
    yield "| ---: | ---: | ---: | ---: |"
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/dev/shm") as name:
        load, directory = random_read(DATA_BYTES), Path(name)
        usual_share = None
        for interval_s in INTERVALS_S:
            watched, ratios = [], []
            for number in range(rounds):
                order = (interval_s, SAMPLE_INTERVAL_S) if number % 2 == 0 else (SAMPLE_INTERVAL_S, interval_s)
                pair = {each: measure(load, directory, each) for each in order}
                watched.append(pair[interval_s].share)
                ratios.append(pair[interval_s].rate / pair[SAMPLE_INTERVAL_S].rate)
                print(f"{interval_s:g} s: {watched[-1]:.3%} of a core, {ratios[-1]:.4f}", file=sys.stderr)
            low, high = _interval(sorted(ratios))
            share = statistics.median(watched)
            # INTERVALS_S begins with a look a second.
            usual_share = usual_share or share
            yield (
                f"| {1e3 * interval_s:,.0f} ms | {share:.2%} | {statistics.median(ratios):.4f}"
                f" ({low:.4f} to {high:.4f}) | {max(1 - low, 0.0) * usual_share / share:.2%} |"
            )


def _interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Order statistics that enclose the median in 95 of 100 cases (binomial, its normal approximation)."""
    count = len(ratios)
    first = max(0, math.floor(count / 2 - NORMAL_95 * math.sqrt(count) / 2))
    return ratios[first], ratios[count - 1 - first]


if __name__ == "__main__":
    print("\n".join(section()))
