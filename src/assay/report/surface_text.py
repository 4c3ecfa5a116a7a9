"""Print a surface of two sides within 80 columns, and describe it.

    write: B / A in per cents, file sizes down, record sizes across
              4K   8K  16K  32K  64K  all
       64K   +31  +28  +12    .   -9  +14
        1M   +30 |+27    .    x   -8  +11

`.` is not significant, `x` does not count, `?` is to be checked; `|` and `-` mark where the rate of a side falls off a
cliff. From twice on a ratio is a factor (`x2.4`). Numbers of fewer than three runs are in no way shown to last: `~`.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay.compare.surfaces.landmarks import FILE, RECORD
from assay.compare.surfaces.surface import (
    AgainState,
    CellAgain,
    ClaimState,
    Cliff,
    ComparedSurface,
    Crossover,
    MeanOfCells,
    SurfaceCell,
)
from assay.outward import one_line
from assay.report.wrapping import wrap
from assay.units import ABSENT, KIB, format_bytes, format_names, format_number, format_share

_ROW = 7
_CELL = 5
_COLUMNS: Final = 13
"""Of record sizes side by side; more are further maps."""
_MEAN = 6
_WIDTH = 80
_MOST_NAMED = 6
_TWICE = 1.995


def surface_lines(surface: ComparedSurface, effect: float) -> Iterator[str]:
    """Write a surface: its maps, then its sentences."""
    yield f"{surface.test}: B / A in per cents, file sizes down, record sizes across"
    for start in range(0, len(surface.records), _COLUMNS):
        yield from _map(
            surface, surface.records[start : start + _COLUMNS], is_last=start + _COLUMNS >= len(surface.records)
        )
    yield from wrap(_legend(surface), _WIDTH)
    for sentence in surface_sentences(surface, effect):
        first, *others = wrap(sentence, _WIDTH - 2)
        yield first
        yield from (f"  {line}" for line in others)


# -- the map -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cliffs:
    """Between which cells some side falls or climbs: the cell after it, by file and record size."""

    before_record: frozenset[tuple[int, int]]
    before_file: frozenset[tuple[int, int]]


def _map(surface: ComparedSurface, records: Sequence[int], *, is_last: bool) -> Iterator[str]:
    cliffs = _Cliffs(
        frozenset((cliff.at_bytes, cliff.to_bytes) for cliff in surface.cliffs if cliff.along == RECORD),
        frozenset((cliff.to_bytes, cliff.at_bytes) for cliff in surface.cliffs if cliff.along == FILE),
    )
    cells = {(cell.file_bytes, cell.record_bytes): cell for cell in surface.cells}
    means = {mean.size_bytes: mean for mean in surface.by_file}
    heads = "".join(f"{short_size(record):>{_CELL}}" for record in records)
    yield f"{'':{_ROW}}{heads}{'all' if is_last else '':>{_MEAN}}".rstrip()
    for file_bytes in surface.files:
        under = [(file_bytes, record) in cliffs.before_file for record in records]
        if any(under):
            yield (" " * _ROW + "".join(f"{'-' * (_CELL - 1) if here else '':>{_CELL}}" for here in under)).rstrip()
        row = "".join(
            ("|" if (file_bytes, record) in cliffs.before_record else " ")
            + f"{cell_mark(cells.get((file_bytes, record))):>{_CELL - 1}}"
            for record in records
        )
        mean = _mean_mark(means[file_bytes]) if is_last else ""
        yield f"{short_size(file_bytes):>{_ROW}}{row}{mean:>{_MEAN}}".rstrip()
    columns = {mean.size_bytes: mean for mean in surface.by_record}
    last = "".join(f"{_mean_mark(columns[record]):>{_CELL}}" for record in records)
    yield f"{'all':>{_ROW}}{last}{_mean_mark(surface.whole) if is_last else '':>{_MEAN}}".rstrip()


def cell_mark(cell: SurfaceCell | None) -> str:
    """Print a cell in four characters; empty: it was not measured."""
    if cell is None:
        return ""
    if cell.ratio is None:
        return "x"
    is_odd = cell.neighbours_ratio is not None
    if cell.interval is not None and not cell.is_significant:
        return ".?" if is_odd else "."
    if is_odd:
        return f"{_briefly(cell.ratio)}?"
    return change(cell.ratio) if cell.interval is not None else f"~{_briefly(cell.ratio)}"


def change(ratio: float) -> str:
    """Print a ratio as per cents, `+12` or `-9`, or from twice on as a factor, `x2.4`; nothing is less by all of it."""
    if ratio < _TWICE:
        return f"{max(100 * (ratio - 1), -99.0):+.0f}"
    return f"x{ratio:.1f}" if ratio < 9.95 else f"x{min(ratio, 999.0):.0f}"


def _briefly(ratio: float) -> str:
    """Print it in three characters."""
    text = change(ratio)
    return text if len(text) < _CELL - 1 else f"x{ratio:.0f}" if ratio < 99.5 else ">99"


def _mean_mark(mean: MeanOfCells) -> str:
    if mean.ratio is None:
        return "x"
    return "." if mean.interval is not None and not mean.is_significant else change(mean.ratio)


def _legend(surface: ComparedSurface) -> str:
    marks = {cell_mark(cell) for cell in surface.cells}
    tested = sum(cell.interval is not None for cell in surface.cells)
    parts = []
    if tested:
        parts.append(
            f". not significant: of the marked cells at most {100 * surface.false_marks:g} % are expected to be wrong"
            f" ({tested} cells looked at; where nothing differs, any is marked in {100 * surface.false_marks:g} % of"
            " comparisons)"
        )
    if tested < sum(cell.ratio is not None for cell in surface.cells):
        parts.append("~ fewer than three runs of a side: seen, and shown to last by nothing")
    if "x" in marks:
        parts.append("x does not count")
    if any(mark.endswith("?") for mark in marks):
        parts.append("? to be checked")
    if surface.cliffs:
        parts.append("| and ---- a cliff of a side")
    return "; ".join(parts) + "."


# -- sentences ---------------------------------------------------------------------------------------------------------


def surface_sentences(surface: ComparedSurface, effect: float) -> Iterator[str]:
    """Describe the surface."""
    yield f"{_mean_text(surface.whole)}."
    for region in surface.regions:
        yield f"Region {region.name}: {_mean_text(region)}."
    if surface.weighted is not None:
        yield (
            f"Weighted by file sizes: B / A {surface.weighted.ratio:.3f}{_ends(surface.weighted.interval)}; the rows have"
            f" {format_share(surface.weighted.covered)} of the files."
        )
    yield from _never_worse(surface, effect)
    yield from _crossovers_text(surface.crossovers)
    yield from _cliffs_text(surface.cliffs)
    yield from _again_text(surface.again)
    yield from _odd_text(surface)
    yield from _left_out(surface.cells)


def _mean_text(mean: MeanOfCells) -> str:
    if mean.ratio is None or mean.median_ratio is None:
        return "no cell counts"
    tested = "" if mean.interval is not None else ", of fewer than three runs of a side: shown to last by nothing"
    counts = (
        f"better in {mean.better}, worse in {mean.worse}, equal in {mean.equal}, open in {mean.open} of {mean.cells}"
    )
    return (
        f"B / A {mean.ratio:.3f}{_ends(mean.interval)}, geometric mean of {mean.cells} cells, median"
        f" {mean.median_ratio:.3f}{tested or f'; {counts}'}"
    )


def _ends(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" ({interval[0]:.3f} to {interval[1]:.3f})"


def _never_worse(surface: ComparedSurface, effect: float) -> Iterator[str]:
    claim = surface.never_worse
    if not claim.cells or effect >= 1:
        return
    words = f"B is never worse than A by more than {100 * effect:g} %"
    places = {cell.label: _place(cell) for cell in surface.cells}
    against = _named([places[label] for label in claim.against])
    if not claim.is_shown:
        if claim.state is ClaimState.CONTRADICTED:
            yield f"'{words}' is not what was seen: {len(claim.against)} of {claim.cells} cells, {against}."
        return
    match claim.state:
        case ClaimState.HELD:
            yield f"{words}: held, in all {claim.cells} cells at once at 95 %."
        case ClaimState.CONTRADICTED:
            yield f"{words}: contradicted by {len(claim.against)} of {claim.cells} cells, {against}."
        case ClaimState.OPEN:
            yield f"{words}: open, {len(claim.open)} of {claim.cells} cells do not show it yet; more runs are needed."


def _crossovers_text(crossovers: Sequence[Crossover]) -> Iterator[str]:
    """Describe the crossovers between two sizes in one sentence, those of the means first."""

    def between(crossover: Crossover) -> tuple[str, str, int, int]:
        return crossover.along, crossover.better_below, crossover.below_bytes, crossover.above_bytes

    places = [list(some) for _, some in itertools.groupby(sorted(crossovers, key=between), between)]
    places.sort(key=lambda some: (all(each.at_bytes is not None for each in some), -len(some)))
    for some in places[:_MOST_NAMED]:
        along, below, below_bytes, above_bytes = between(some[0])
        other = FILE if along == RECORD else RECORD
        lines = [short_size(each.at_bytes) for each in some if each.at_bytes is not None]
        of = [f"over all {other} sizes"] if len(lines) < len(some) else []
        of += [f"with {other}s of {_named(lines)}"] if lines else []
        at = sorted(each.crossing_bytes for each in some)
        ends = list(dict.fromkeys(format_bytes(crossing) for crossing in (at[0], at[-1])))
        is_shown = some[0].is_shown
        ahead = "better" if is_shown else "ahead"
        yield (
            f"Crossover {'' if is_shown else 'seen '}by {along} size, {' and '.join(of)}: {below} {ahead} up to"
            f" {format_size(below_bytes)}, {'A' if below == 'B' else 'B'} from {format_size(above_bytes)} on; the line"
            f" between crosses at about {' to '.join(ends)}"
            f"{'' if is_shown else '; of fewer than three runs of a side, and shown to last by nothing'}."
        )
    if len(places) > _MOST_NAMED:
        yield f"Crossovers between {len(places) - _MOST_NAMED} more pairs of sizes: --json has them."


def _cliffs_text(cliffs: Sequence[Cliff]) -> Iterator[str]:
    """Describe the cliffs between two sizes in one sentence, the largest first."""

    def between(cliff: Cliff) -> tuple[str, int, int]:
        return cliff.along, cliff.from_bytes, cliff.to_bytes

    places = [list(some) for _, some in itertools.groupby(sorted(cliffs, key=between), between)]
    places.sort(key=lambda some: -max(_times(cliff) for cliff in some))
    for some in places[:_MOST_NAMED]:
        along, from_bytes, to_bytes = between(some[0])
        parts = []
        for side in "AB":
            for verb, mine in (
                ("falls", [c for c in some if c.factor > 1]),
                ("climbs", [c for c in some if c.factor < 1]),
            ):
                times = [_times(cliff) for cliff in mine if cliff.side == side]
                lines = f" in {len(times)} lines, up to" if len(times) > 1 else ""
                parts += [f"{side} {verb}{lines} {format_number(max(times))} times"] if times else []
        yield f"Cliff from {along}s of {format_size(from_bytes)} to {format_size(to_bytes)}: {', '.join(parts)}."
    if len(places) > _MOST_NAMED:
        yield f"Cliffs between {len(places) - _MOST_NAMED} more pairs of sizes: --json has them."


def _times(cliff: Cliff) -> float:
    return max(cliff.factor, 1 / cliff.factor)


def _again_text(again: Sequence[CellAgain]) -> Iterator[str]:
    """Describe the outcome of measuring outlying cells again."""
    measured = [each for each in again if each.state is not AgainState.NOT_CHECKED]
    if measured:
        confirmed = sum(each.state is AgainState.CONFIRMED for each in measured)
        is_any_not = any(each.state is AgainState.NOT_CONFIRMED for each in measured)
        unconfirmed = "; what was not confirmed is in no mean" if is_any_not else ""
        parts = [
            f"{_place(each)} ({change(each.first_ratio)} among {change(each.neighbours_ratio)}, alone"
            f" {ABSENT if each.ratio is None else change(each.ratio)} in {each.rounds} rounds:"
            f" {each.state.value.replace('_', ' ')}{'; ' if each.why else ''}{one_line(each.why)})"
            for each in measured
        ]
        yield (
            f"Measured again by themselves: {confirmed} of {len(measured)} cells confirmed: {', '.join(parts)}. The new runs"
            f" count together with the first{unconfirmed}."
        )
    by_reason: dict[str, list[str]] = {}
    for each in again:
        if each.state is AgainState.NOT_CHECKED:
            by_reason.setdefault(each.why, []).append(_place(each))
    for why, places in by_reason.items():
        yield f"Not checked: {_named(places)}: {one_line(why)}."


def _odd_text(surface: ComparedSurface) -> Iterator[str]:
    """List the cells to check, and how to measure one again."""
    checked = {each.label for each in surface.again if each.state is not AgainState.NOT_CHECKED}
    odd = [
        (cell, f"{_place(cell)} ({change(cell.ratio)} among {change(cell.neighbours_ratio)})")
        for cell in surface.cells
        if cell.neighbours_ratio is not None and cell.ratio is not None and cell.label not in checked
    ]
    if odd:
        first, _ = odd[0]
        yield (
            f"Check cell{'s' if len(odd) > 1 else ''} {_named([text for _, text in odd])}: far from their neighbours. To"
            " measure one again in turns: assay ab with each side's command for that cell alone (iozone: -s"
            f" {first.file_bytes // KIB}k -r {first.record_bytes // KIB}k in the place of -a)."
        )


def _left_out(cells: Sequence[SurfaceCell]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for cell in cells:
        if cell.why:
            by_reason.setdefault(cell.why, []).append(_place(cell))
    for why, places in by_reason.items():
        yield f"Does not count, {len(places)} of {len(cells)} cells: {why} ({_named(places)})."


def _place(cell: SurfaceCell | CellAgain) -> str:
    return f"{short_size(cell.file_bytes)}/{short_size(cell.record_bytes)}"


def _named(places: Sequence[str]) -> str:
    return format_names(places, _MOST_NAMED)


def format_size(size_bytes: int) -> str:
    """Print a size as in sentences: `64 KiB`."""
    return format_bytes(size_bytes).replace(".00 ", " ").replace(".0 ", " ")


def short_size(size_bytes: int) -> str:
    """Print a size as on an axis: `64K`; four characters if possible."""
    for factor, letter in ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size_bytes >= factor:
            return (
                f"{size_bytes // factor}{letter}" if size_bytes % factor == 0 else f"{size_bytes / factor:.3g}{letter}"
            )
    return str(size_bytes) if size_bytes else ABSENT
