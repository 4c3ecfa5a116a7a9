"""The output of bigdir: its CSV, and what the CSV cannot show.

With several clients a line is the mean over them, at the entries that all of them reached; over several machines one
of the slowest and of the fastest follows, each time by itself. Numbers have 15 digits, as the tool's own.
"""

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from assay.analysis.arrays import FloatArray
from assay.analysis.statistics.levels import SHORTEST_PIECE, Levels, find_levels
from assay.tools.bigdir.settings import Settings
from assay.tools.bigdir.steps import StepRow, Steps, fold_rows, steps
from assay.tools.front_end import Output
from assay.tools.over_clients import Fold
from assay.units import format_ns

if TYPE_CHECKING:
    from assay.report.figure import Figure

HEADER = "Iterations, MkDirOpTime(ms), EnumerationTimeDOS(ms), EnumerationOpTimeDOS(ms)"
_SEPARATOR = ", "
_DECIDABLE = 2 * SHORTEST_PIECE
_MOST_LEVELS = 4
"""More are a drift, whose steps mean nothing one by one."""


class BigDirOutput(Output[Settings]):
    """What bigdir prints."""

    @cached_property
    def found(self) -> Steps:
        """Steps of each client of this machine."""
        return steps(self.run, self.settings)

    def text(self) -> str:
        """Print a run as the tool does."""
        return csv(self.found.mean_rows())

    def of_clients(self, outputs: Sequence[Self]) -> dict[str, str]:
        """Print mean, slowest and fastest of the machines, at the entries that all of them reached."""
        by_machine = [output.found.mean_rows() for output in outputs]
        folded = {fold: [fold_rows(rows, fold) for rows in zip(*by_machine, strict=False)] for fold in Fold}
        return {fold.label(len(outputs)): csv(rows) for fold, rows in folded.items()}

    def stderr_notes(self) -> str:
        """Describe what the CSV cannot show: what was timed, how far clients lie apart, where the times change."""
        found = self.found
        if not found.common:
            return "No step was completed by every client.\n"
        return "\n".join([_what(found), *_ends(found), *_contention(found), *_changes_of(found), ""])

    def brief(self) -> str:
        """Report the first and last times in one line, and where they change, if there are steps enough, in another."""
        found = self.found
        if not found.common:
            return self.stderr_notes()
        changes = [" ".join(_changes_of(found))] if found.common >= _DECIDABLE else []
        return "\n".join([" ".join((*_ends(found), *_contention(found))), *changes, ""])

    def figures(self) -> "Sequence[Figure]":
        """Draw create time and enumeration time by entry over the entries: mean, slowest and fastest client."""
        return _drawn(self.found, self.found.count_contended() if len(self.found.clients) > 1 else None)

    def figures_of_clients(self, outputs: Sequence[Self]) -> "Sequence[Figure]":
        """Draw the same over the clients of all machines, whose clocks do not show until when all were at work."""
        clients = tuple(client for output in outputs for client in output.found.clients)
        return _drawn(Steps(self.settings, clients), None)


def _drawn(found: Steps, until: int | None) -> "Sequence[Figure]":
    from assay.tools.bigdir.figures import growth_figure  # noqa: PLC0415 - needs the chart stack

    step = found.settings.step
    return tuple(
        growth_figure(name, series, step=step, words=change_words(name, series, step), until=until)
        for name, series in (curves(found).items() if found.common else ())
    )


def csv(rows: Sequence[StepRow]) -> str:
    """Write a table with its heads."""
    return "\n".join([HEADER, *map(csv_line, rows), ""])


def csv_line(row: StepRow) -> str:
    """Write one line."""
    times = (row.create_ms, row.enumeration_ms, row.enumeration_per_entry_ms)
    return _SEPARATOR.join([str(row.entries), *(f"{value:.15G}" for value in times)])


def curves(found: Steps) -> dict[str, FloatArray]:
    """Stack the create time and the enumeration time by entry, in ns, of the clients: arrays of shape (clients, steps)."""
    settings = found.settings
    return {
        settings.create: np.array([client.create_ns[: found.common] for client in found.clients]),
        f"{settings.enumerate} of an entry": np.array(
            [client.listing_per_entry_ns[: found.common] for client in found.clients]
        ),
    }


def _what(found: Steps) -> str:
    settings = found.settings
    made = "mkdir" if settings.create == "mkdir" else "open with O_CREAT and close"
    listed = "the names alone" if settings.readdir_only else "the names, and a stat of each"
    return f"Create time is {made}; an enumeration opens the directory, reads {listed}, and closes it, once a step."


def _ends(found: Steps) -> list[str]:
    settings, words = found.settings, []
    for name, series in curves(found).items():
        last = series[:, -1]
        spread = (
            "" if len(last) == 1 else f" (clients {format_ns(float(last.min()))} to {format_ns(float(last.max()))})"
        )
        words.append(
            f"{name}: {format_ns(float(series[:, 0].mean()))} in the first step, {format_ns(float(last.mean()))} in the last"
            f"{spread}."
        )
    words.append("The CSV's create time is a mean since the first entry: it hides most of what happens late.")
    if settings.entries_left:
        words.append(f"The last {settings.entries_left} entries were made, not listed: they do not fill a step.")
    short = [client.name for client in found.clients if len(client.making_ns) < settings.steps]
    if short:
        words.append(
            f"{len(short)} of {len(found.clients)} clients did not finish; the CSV ends at"
            f" {found.common * settings.step} entries."
        )
    return words


def _contention(found: Steps) -> list[str]:
    if len(found.clients) == 1:
        return []
    until, reached = found.count_contended(), found.common * found.settings.step
    sentence = f"The CSV is the mean over {len(found.clients)} clients, which started together."
    if until < reached:
        sentence += (
            f" All were at work up to {until} entries; after that some had finished, and the others had the storage to"
            " themselves, so later times are not those of the full load."
        )
    return [sentence]


def _changes_of(found: Steps) -> list[str]:
    return [change_words(name, series, found.settings.step) for name, series in curves(found).items()]


def change_words(name: str, series: FloatArray, step: int) -> str:
    """Report the number of entries at which a time changed its level, with evidence. `series`: shape (clients, steps)."""
    mean = series.mean(axis=0)
    if len(mean) < _DECIDABLE:
        return f"{name}: {len(mean)} steps are too few to find where the time changes; {_DECIDABLE} or more are needed."
    found = find_levels(mean)
    noise = f"{'a step' if found.gathered == 1 else f'the median of {found.gathered} steps'} varies by"
    noise += f" {100 * found.noise:.0f} %"
    if found.outliers:
        noise += f"; {found.outliers} far from their neighbours not counted"
    values = [level.value for level in found.levels]
    if len(values) == 1:
        return f"{name}: no change of level over {len(mean)} steps ({noise})."
    if len(values) > _MOST_LEVELS:
        between = f"between {format_ns(min(values))} and {format_ns(max(values))}"
        return f"{name} drifts or swings: {len(values)} levels {between} over {len(mean)} steps ({noise})."
    return f"{name} changes: {'; '.join(_changes(found, step))} ({noise})."


def _changes(found: Levels, step: int) -> list[str]:
    return [
        f"after {before.end * step} entries {format_ns(after.value)} instead of {format_ns(before.value)}"
        f" ({100 * (after.value / before.value - 1):+.0f} %; {before.end - before.begin} steps before,"
        f" {after.end - after.begin} after)"
        for before, after in itertools.pairwise(found.levels)
    ]


OUTPUT = BigDirOutput
