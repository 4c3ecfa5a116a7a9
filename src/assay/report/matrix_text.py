"""Print the outcome of a campaign, and as CSV: cells, results, effects."""

import csv
import io
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from assay.compare.campaign_outcome import CampaignOutcome, CellNumber, FactorTerm, LevelEffect, OutcomeRow
from assay.errors import InputError
from assay.outward import csv_cell
from assay.units import ABSENT, MIB, format_ns, format_number
from assay.verdicts import ServedBy

_P99: Final = "p99"


def lines(outcome: CampaignOutcome, chosen: Sequence[OutcomeRow]) -> Iterator[str]:
    """Write it out.

    Args:
        outcome: Of the campaign.
        chosen: The numbers that are shown.
    """
    waiting = outcome.slots - outcome.measured - outcome.failed
    yield (
        f"{outcome.name}: {outcome.measured} of {outcome.slots} measured"
        + (f", {outcome.failed} could not be" if outcome.failed else "")
        + (f", {waiting} to come" if waiting else "")
        + f"; {len(outcome.cells)} cells x {len(outcome.loads)} loads x {outcome.rounds} rounds, seed {outcome.seed}"
    )
    if constant := [f"{factor.name} {factor.levels[0]}" for factor in outcome.factors if len(factor.levels) == 1]:
        yield f"the same in all cells: {', '.join(constant)}"
    yield ""
    yield from _cells(outcome)
    if not chosen:
        return
    yield ""
    yield from _overview(outcome, chosen)
    for row in chosen:
        yield ""
        yield from _effects(outcome, row)
    yield ""
    yield from _legend(outcome, chosen)


def _varied(outcome: CampaignOutcome) -> list[int]:
    several = [i for i, factor in enumerate(outcome.factors) if len(factor.levels) > 1]
    return several or [0]


def _name(outcome: CampaignOutcome, cell: int) -> str:
    return ", ".join(outcome.cells[cell].levels[i] for i in _varied(outcome))


def chosen_rows(rows: Sequence[OutcomeRow], patterns: Sequence[str]) -> list[OutcomeRow]:
    """Choose the numbers that are shown.

    Args:
        rows: All of them.
        patterns: Of labels or titles (fnmatch). With none, of each load the rate of storage, before memory, that has most
            runs that count; of several, the one whose windows took the longest.

    Raises:
        InputError: a pattern fits nothing.
    """
    for pattern in patterns:
        if not any(_fits(row, pattern) for row in rows):
            labels = ", ".join(dict.fromkeys(row.label for row in rows)) or "none"
            raise InputError(f"--result '{pattern}' fits no result; their labels are: {labels}")
    if patterns:
        return [row for row in rows if any(_fits(row, pattern) for pattern in patterns)]
    rates = [row for row in rows if row.metric != _P99]
    return [
        max(
            (row for row in rates if row.load == load),
            key=lambda row: (_is_of_storage(row), _counted(row), row.seconds),
        )
        for load in dict.fromkeys(row.load for row in rates)
    ]


def _fits(row: OutcomeRow, pattern: str) -> bool:
    return fnmatchcase(row.label, pattern) or fnmatchcase(row.title, pattern)


def _is_of_storage(row: OutcomeRow) -> bool:
    """Whether all of its numbers are of storage; a row without numbers is of nothing."""
    things = {thing.partition(",")[0] for number in row.cells for thing in number.measures}
    return bool(things) and things <= {kind.words for kind in ServedBy if kind.is_past_memory}


def _counted(row: OutcomeRow) -> int:
    return sum(len(number.values) for number in row.cells)


def _laid_out(table: Sequence[Sequence[str]], *, words: int) -> Iterator[str]:
    """Lay out a table: N columns of words, then numbers, aligned right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        cells = [f"{cell:<{widths[i]}}" if i < words else f"{cell:>{widths[i]}}" for i, cell in enumerate(row)]
        yield "  ".join(cells).rstrip()


def _cells(outcome: CampaignOutcome) -> Iterator[str]:
    headings = ("cell", *(outcome.factors[i].name for i in _varied(outcome)), "as the kernel has it")
    table = [headings]
    named = {factor.name for factor in outcome.factors}
    for number, cell in enumerate(outcome.cells, start=1):
        scheduler = f"; {cell.scheduler}" if cell.scheduler and "scheduler" not in named else ""
        there = f"{','.join(cell.mount_options)}{scheduler}" if cell.mount_options else ABSENT
        table.append((str(number), *(cell.levels[i] for i in _varied(outcome)), there))
    yield from _laid_out(table, words=len(headings))
    for number, cell in enumerate(outcome.cells, start=1):
        for words in cell.not_taken:
            yield f"cell {number}, asked for and otherwise: {words}"
        for words in cell.failed:
            yield f"cell {number} could not be measured: {words}"


def _overview(outcome: CampaignOutcome, rows: Sequence[OutcomeRow]) -> Iterator[str]:
    table = [("cell", *(f"{row.load}, {_unit(row)}" for row in rows))]
    table += [
        (_name(outcome, cell), *(_cell_text(row, row.cells[cell]) for row in rows))
        for cell in range(len(outcome.cells))
    ]
    yield from _laid_out(table, words=1)


def _unit(row: OutcomeRow) -> str:
    return {"B/s": "MiB/s", "ns": row.metric}.get(row.unit, row.unit)


def _value(row: OutcomeRow, value: float) -> str:
    match row.unit:
        case "ns":
            return format_ns(value)
        case "B/s":
            return format_number(value / MIB)
        case _:
            return format_number(value)


def _cell_text(row: OutcomeRow, number: CellNumber) -> str:
    if number.median is None:
        return f"{ABSENT} *" if number.left_out else ABSENT
    ends = f" ({_value(row, number.interval[0])} to {_value(row, number.interval[1])})" if number.interval else ""
    return f"{_value(row, number.median)}{ends}{' *' if number.left_out else ''}"


def _effects(outcome: CampaignOutcome, row: OutcomeRow) -> Iterator[str]:
    things = sorted({thing for number in row.cells for thing in number.measures})
    spread = "" if row.spread is None else f"; runs of a cell differ by {100 * row.spread:.1f} %"
    yield f"{row.load}: {row.title}, {row.metric}, of {' and '.join(things) or ABSENT}{spread}"
    if row.why_not:
        yield f"  no effects: {row.why_not}"
    if row.without:
        yield f"  without {', '.join(row.without)}: not all of its cells have a number"
    for term in row.terms:
        yield f"  {' x '.join(term.factors)}{_term_words(term)}"
        yield from _levels(term, [each for each in row.effects if each.factors == term.factors])
    if row.uneven is not None:
        yield (
            f"  runs of {_name(outcome, row.uneven)} differ more than those of the others: intervals of effects are too "
            "narrow where it has a part"
        )


def _term_words(term: FactorTerm) -> str:
    share = "" if term.share is None else f": {100 * term.share:.0f} % of the variance between cells"
    if term.p is None:
        return share
    return f"{share}, p {'< 0.001' if term.p < 0.001 else f'= {term.p:.3f}'}"


def _levels(term: FactorTerm, effects: Sequence[LevelEffect]) -> Iterator[str]:
    """The levels of a factor; of two factors those pairs that surely do something together."""
    is_pair = len(term.factors) > 1
    shown = [each for each in effects if not is_pair or each.interval is None or _is_sure(each)]
    if is_pair and not shown:
        yield f"    none of {len(effects)} pairs surely does anything beyond its two levels"
        return
    table = [(f"    {', '.join(each.levels)}", f"{each.ratio:.3f}", _between(each)) for each in shown]
    yield from _laid_out(table, words=1)
    if len(shown) < len(effects):
        yield f"    and {len(effects) - len(shown)} pairs that do not surely do anything"


def _between(effect: LevelEffect) -> str:
    return f"({effect.interval[0]:.3f} to {effect.interval[1]:.3f})" if effect.interval else ""


def _is_sure(effect: LevelEffect) -> bool:
    return effect.interval is not None and (effect.interval[0] > 1 or effect.interval[1] < 1)


def _legend(outcome: CampaignOutcome, rows: Sequence[OutcomeRow]) -> Iterator[str]:
    yield "A cell has the median of its runs; in brackets the 95 % interval of their geometric mean, from three runs on."
    count = sum(effect.interval is not None for row in rows for effect in row.effects)
    if any(row.effects for row in rows):
        yield "An effect is the ratio to the mean of all cells; that of two levels the ratio to what both alone would give."
    if count:
        yield f"Each interval is for itself: of {count}, about {max(round(count / 20), 1)} would leave 1 out by chance."
    if outcome.rounds == 1:
        yield "One round: no intervals, because they need several runs of each cell. Set 'repeats = 3'."
    if any(number.left_out for row in rows for number in row.cells):
        yield "*: runs that are not trusted are left out; --json lists them, 'assay show RUN' prints the reason."
    if len(outcome.rows) > len(rows):
        yield f"{len(rows)} of {len(outcome.rows)} numbers; --result PATTERN chooses others, --all has all."


def csv_text(outcome: CampaignOutcome) -> str:
    """Write numbers of cells, and effects, as CSV: a line each, with a column for each factor."""
    names = [factor.name for factor in outcome.factors]
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(["kind", "load", "label", "metric", "unit", *names, "runs", "value", "low", "high", "spread"])
    for row in outcome.rows:
        start = [csv_cell(row.load), csv_cell(row.label), row.metric]
        for number in row.cells:
            low, high = number.interval or ("", "")
            levels = [csv_cell(level) for level in outcome.cells[number.cell].levels]
            write(
                ["cell", *start, row.unit, *levels, len(number.values), _or_empty(number.median), low, high,
                 _or_empty(number.spread)]
            )  # fmt: skip
        for effect in row.effects:
            low, high = effect.interval or ("", "")
            of = dict(zip(effect.factors, effect.levels, strict=True))
            kind = "effect" if len(of) == 1 else "interaction"
            write(
                [
                    kind,
                    *start,
                    "ratio",
                    *(csv_cell(of.get(name, "")) for name in names),
                    "",
                    effect.ratio,
                    low,
                    high,
                    "",
                ]
            )
    return out.getvalue()


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value
