"""The table of invariants for people: where it comes from, then each row with its values, condition and source."""

from collections.abc import Iterator

from rich.text import Text

from assay.invariants.invariant_table import Invariant, InvariantKind, InvariantTable, own_path, packaged_path
from assay.report.explain.paragraphs import paragraph
from assay.results import Result
from assay.units import format_number


def invariants_story(table: InvariantTable, width: int) -> list[Text]:
    """List the rows of a table."""
    own = f"{table.own_file}: {len(table.own_ids)} rows" if table.own_file else f"{own_path() or 'no home'}: not there"
    lines = [*paragraph("table", [str(packaged_path())], width), *paragraph("your own", [own], width), Text()]
    for row in table.rows:
        mark = "  (your own)" if row.id in table.own_ids else ""
        lines.append(Text(f"{row.id}{mark}", style="bold"))
        value = f"{table.name(row)}, {row.kind.replace('_', ' ')}: {value_words(row)}"
        lines += paragraph("", [value, row.condition, f"source: {row.source}"], width)
    return lines


def placed_words(result: Result) -> Iterator[str]:
    """Place a number among those of its class, with the arithmetic; nothing where it has no place."""
    if result.placement is not None:
        yield result.placement.text
        yield from result.placement.arithmetic


def value_words(row: Invariant) -> str:
    """Give the values of a row with their unit: `75 to 200 IOPS`, `not above 600 MB/s`."""
    between = f"{format_number(row.low)} to {format_number(row.high)} {row.unit}"
    usual = between if row.low < row.high else f"{format_number(row.low)} {row.unit}"
    if not row.is_limit:
        return usual
    if row.kind is InvariantKind.HALF_TURN:
        return f"not below {format_number(row.low)} {row.unit}"
    return f"{usual}, not above" if row.low < row.high else f"not above {usual}"
