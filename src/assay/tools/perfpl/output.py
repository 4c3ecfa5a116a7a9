"""The output of perf.pl: its parameters, its table, and what the table cannot show.

    Block Count = BLOCKSPERFILE * TOTALFILES        Capacity = BLOCKSIZE * Block Count / 2^20
    MB/s = Capacity / Total Seconds                 Mb/s = 8 * MB/s

Total Seconds are those of a clock of whole seconds, as the script reads it before and after: the second in which the last
file was closed less that in which the first was begun. The last row is the arithmetic mean of its columns. What happened in
less than a second has no rate on that clock. `stderr_notes` has the same by the engine's clock.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from assay import events
from assay.analysis.arrays import FloatArray
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.analysis.statistics.levels import find_levels, settled
from assay.targets import directories
from assay.tools.front_end import Output
from assay.tools.measured import Totals, totals, workers
from assay.tools.over_clients import Fold
from assay.tools.perfpl.plan import FILE
from assay.tools.perfpl.settings import FORK, Settings
from assay.units import ABSENT, MIB, format_ns, format_number, format_seconds

if TYPE_CHECKING:
    from assay.report.figure import Figure


COLUMNS = (
    "Block Size",
    "Block Count",
    "Capacity (MB)",
    "Iteration",
    "Total Seconds",
    "Transfer Rate (MB/s)",
    "Transfer Rate (Mb/s)",
)
FEWEST_FOR_WARM_UP = 5
"""Iterations needed to distinguish a warm-up from chance."""
_SEPARATOR = " | "
_BITS = 8


@dataclass(frozen=True)
class Iteration:
    """One iteration that wrote all its files."""

    number: int
    seconds: float
    """From the start of the first create to the end of the last close, and the flush of the file system if asked for."""
    clock_seconds: int
    """The same by a clock of whole seconds."""
    files: int
    parts: dict[str, Totals]
    """By operation, in the order of a file's life."""


@dataclass(frozen=True)
class Iterations:
    """What a run measured."""

    settings: Settings
    whole: tuple[Iteration, ...]
    cut: tuple[int, ...]
    """Numbers of the iterations that were begun and did not write all their files."""


@dataclass(frozen=True)
class TableRow:
    """A row of the table, of one client or folded over several."""

    iteration: int
    seconds: float
    """By the clock of whole seconds."""
    rate: float | None
    """MB/s; None: it began and ended in one second."""


def iterations(run: RunRecord, settings: Settings) -> Iterations:
    """Find the iterations of a run, whole or cut."""
    hello = run.first(events.Hello)
    epoch_ns = hello.clock.realtime_at_zero_ns if hello else 0
    found = [(phase.index + 1, _iteration(phase, settings, epoch_ns)) for phase in run.phases]
    return Iterations(
        settings=settings,
        whole=tuple(iteration for _, iteration in found if iteration is not None),
        cut=tuple(number for number, iteration in found if iteration is None),
    )


def _iteration(phase: PhaseRecord, settings: Settings, epoch_ns: int) -> Iteration | None:
    worked = workers(phase)
    files = totals(phase, FILE).ops
    syncs = [step for step in phase.steps if step.step == "sync"]
    is_whole = files == settings.files and len(worked) == 1 and (bool(syncs) or not settings.sync)
    if not is_whole or worked[0].first_op_ns is None:
        return None
    sync_s = sum(step.seconds for step in syncs)
    begin_ns = epoch_ns + worked[0].first_op_ns
    seconds = worked[0].seconds + sync_s
    end_ns = begin_ns + int(seconds * NS_PER_S)
    return Iteration(
        number=phase.index + 1,
        seconds=seconds,
        clock_seconds=end_ns // NS_PER_S - begin_ns // NS_PER_S,
        files=files,
        parts={name: totals(phase, name) for name in settings.parts},
    )


class PerfPlOutput(Output[Settings]):
    """What perf.pl prints."""

    @cached_property
    def _found(self) -> Iterations:
        return iterations(self.run, self.settings)

    def text(self) -> str:
        """Print a run as the script does."""
        base = directories(self.run.plan)["target"]
        return "\n".join([*_parameters(self.settings, str(base)), "", *table(self.settings, self.rows), ""])

    @property
    def rows(self) -> list[TableRow]:
        """Rows of the table."""
        return [row_of(self.settings, each.number, each.clock_seconds) for each in self._found.whole]

    def of_clients(self, outputs: Sequence[Self]) -> dict[str, str]:
        """Print the table of the mean, the slowest and the fastest client, of the iterations that each of them did whole."""
        by_client = [{row.iteration: row for row in output.rows} for output in outputs]
        done = [
            [rows[number] for rows in by_client] for number in by_client[0] if all(number in rows for rows in by_client)
        ]
        settings = self.settings
        return {
            fold.label(len(outputs)): "\n".join(
                [*table(settings, [fold.record(rows, lambda row: -row.seconds) for rows in done]), ""]
            )
            for fold in Fold
        }

    def stderr_notes(self) -> str:
        """Report exact times, total work by total time, the warm-up, and what a file's time went into."""
        found = self._found
        if not found.whole:
            return "No iteration wrote all its files.\n"
        capacity = self.settings.capacity_bytes / MIB
        lines = [
            "By the engine's clock, with the mean time of each operation (MiB is 2^20 bytes, as the script's MB):",
            "",
        ]
        lines += [_exact_heading(found.whole[0])]
        lines += [_exact_row(iteration, capacity) for iteration in found.whole]
        lines += ["", *_rate_words(found, capacity), *_time_words(self.settings), ""]
        return "\n".join(lines)

    def brief(self) -> str:
        """Report total work by total time, the warm-up, and what the table omits, in one line."""
        if not self._found.whole:
            return self.stderr_notes()
        words = _rate_words(self._found, self.settings.capacity_bytes / MIB)
        return f"{' '.join(words)} Each iteration: 'assay show {self.run.run_id} --classic'.\n"

    def figures(self) -> "Sequence[Figure]":
        """Draw the iterations, the warm-up apart, and what a file's time went into."""
        from assay.tools.perfpl.figures import iteration_figures  # noqa: PLC0415 - needs the chart stack

        whole = self._found.whole
        if not whole:
            return ()
        capacity = self.settings.capacity_bytes / MIB
        seconds = np.array([iteration.seconds for iteration in whole])
        return iteration_figures(
            numbers=[iteration.number for iteration in whole],
            rates=capacity / seconds,
            warm_up=warm_up(seconds) or 0,
            words=" ".join(_rate_words(self._found, capacity)[:2]),
            total=capacity * len(seconds) / float(seconds.sum()),
            parts={name: [iteration.parts[name].mean_ns or 0.0 for iteration in whole] for name in whole[0].parts},
            writes_per_file=self.settings.blocks_per_file,
        )


# -- the script's own output -------------------------------------------------------------------------------------------


def _parameters(settings: Settings, base: str) -> list[str]:
    flush = [name for name, wanted in (("fsync", settings.fsync), ("sync", settings.sync)) if wanted]
    command = [f"dd command: {shlex.join(settings.dd('FILE'))}"] if settings.mode == FORK else []
    return [
        "Running Parameters:",
        f"basedir = {base}",
        f"dd blocksize = {settings.block_size_bytes}",
        f"dd blocksperfile = {settings.blocks_per_file}",
        f"total files = {settings.files}",
        f"files per directory = {settings.files_per_directory}",
        f"loop iterations = {settings.iterations}",
        f"mode = {settings.mode}{''.join(f', {name} in the time' for name in flush)}",
        *command,
    ]


def row_of(settings: Settings, iteration: int, clock_seconds: int) -> TableRow:
    """Work a row out."""
    return TableRow(iteration, clock_seconds, settings.capacity_bytes / MIB / clock_seconds if clock_seconds else None)


def table(settings: Settings, rows: Sequence[TableRow]) -> list[str]:
    """Lay the table out."""
    capacity = settings.capacity_bytes / MIB
    first = (settings.block_size_bytes, settings.blocks_per_file * settings.files, _number(capacity))
    lines = [_SEPARATOR.join(COLUMNS)]
    lines += [_row(*first, row.iteration, *_cells(row)) for row in rows]
    if rows:
        lines.append(_row("Average", "", "", "", *_cells(Fold.MEAN.record(rows, lambda row: -row.seconds))))
    return lines


def _cells(row: TableRow) -> tuple[str, str, str]:
    return _number(row.seconds), _number(row.rate), _number(row.rate, times=_BITS)


def _row(*cells: object) -> str:
    return _SEPARATOR.join(str(cell) for cell in cells)


def _number(value: float | None, *, times: int = 1) -> str:
    """Print ten digits without trailing zeroes, as the published tables have."""
    return ABSENT if value is None else f"{value * times:.10g}"


# -- what the table cannot show -----------------------------------------------------------------------------------------


def _exact_heading(iteration: Iteration) -> str:
    parts = "".join(f"{name:>10}" for name in iteration.parts)
    return f"{'iteration':>9}{'seconds':>14}{'MiB/s':>10}{'files/s':>10}{parts}"


def _exact_row(iteration: Iteration, capacity: float) -> str:
    parts = "".join(f"{format_ns(part.mean_ns):>10}" for part in iteration.parts.values())
    rates = f"{format_number(capacity / iteration.seconds):>10}{format_number(iteration.files / iteration.seconds):>10}"
    return f"{iteration.number:>9}{iteration.seconds:>14.6f}{rates}{parts}"


def _rate_words(found: Iterations, capacity: float) -> list[str]:
    """Report the rates, first over all iterations, then without a warm-up, and of which there is none."""
    seconds = np.array([iteration.seconds for iteration in found.whole])
    rates = capacity / seconds
    total = capacity * len(seconds) / float(seconds.sum())
    sentences = [f"Total work by total time: {_rate(total)}. Mean of the rates: {_rate(float(rates.mean()))}."]
    if len(seconds) > 1:
        deviation = float(rates.std(ddof=1) / rates.mean())
        sentences[0] += f" Standard deviation of the rates: {100 * deviation:.1f} %."
    sentences.append(warm_up_words(seconds, capacity))
    blind = [iteration.number for iteration in found.whole if iteration.clock_seconds == 0]
    if blind:
        sentences.append(
            f"{len(blind)} of {len(seconds)} iterations began and ended in one second of the script's clock, so its table"
            f" has no rate for them ({ABSENT}) and no average."
        )
    return sentences + [f"Iteration {number} did not write all its files and is not counted." for number in found.cut]


def _time_words(settings: Settings) -> list[str]:
    """Report what is in the time of an iteration."""
    waits = "; the final sync is."
    if not settings.sync:
        flush = " but the fsync of each file." if settings.fsync else ": --fsync or --sync does."
        waits = f". Nothing waits for the data to reach storage{flush}"
    sentences = [
        f"Making the directories before an iteration and deleting the files after it is not in the time{waits}"
    ]
    if settings.mode == FORK:
        sentences.append(
            "Each file is a process of dd: most of the time of a small one is that of starting it. Its zeros are what"
            " storage that compresses or leaves out zeros does not store. --mode native has neither."
        )
    return sentences


def _rate(mib_per_s: float) -> str:
    return f"{format_number(mib_per_s)} MiB/s"


def warm_up(seconds: FloatArray) -> int | None:
    """Count the iterations before the times settled; None: they did not, or there are too few to decide."""
    if len(seconds) < FEWEST_FOR_WARM_UP:
        return None
    last = settled(find_levels(seconds, shortest=2))
    return None if last is None else last.begin


def warm_up_words(seconds: FloatArray, capacity: float) -> str:
    """Report which iterations were a warm-up, and the rate of the rest, total work by total time."""
    count = warm_up(seconds)
    if len(seconds) < FEWEST_FOR_WARM_UP:
        return f"Fewer than {FEWEST_FOR_WARM_UP} iterations: too few to detect a warm-up."
    if count is None:
        return "The times did not settle: no average of them describes a state of the system. Use more iterations."
    if count == 0:
        return "No warm-up: the times have one level."
    before, rest = float(seconds[:count].mean()), seconds[count:]
    numbers = "Iteration 1 differs" if count == 1 else f"Iterations 1 to {count} differ"
    why = "a warm-up" if before > rest.mean() else "faster, so a cache that filled, or the machine was quieter"
    return (
        f"{numbers} ({why}): mean {format_seconds(before)}, then {format_seconds(float(rest.mean()))}. Without them"
        f" {_rate(capacity * len(rest) / float(rest.sum()))}, total work by total time."
    )


OUTPUT = PerfPlOutput
