"""Describe the rounds of a run: whether results became steady, in which rounds, and by how much."""

from collections.abc import Iterator

from rich.text import Text

from assay.outward import one_line
from assay.report.over_repeats import repeats_of, unit_of
from assay.report.wrapping import wrap
from assay.results import Document, RoundsOutcome, TrackedRounds
from assay.units import format_ns, format_number, format_percent

_INDENT = 9


def rounds_lines(document: Document, width: int) -> list[Text]:
    """Print the rounds below the table; nothing where there are none."""
    if document.rounds is None:
        return []
    first, *others = (wrap(one_line(text), width - _INDENT) for text in sentences(document, document.rounds))
    lines = [Text.assemble((f"{'rounds':<{_INDENT}}", "bold"), first[0]), *(_indented(part) for part in first[1:])]
    return [Text(), *lines, *(_indented(part) for text in others for part in text)]


def _indented(text: str) -> Text:
    return Text(" " * _INDENT + text)


def sentences(document: Document, rounds: RoundsOutcome) -> Iterator[str]:
    """Say whether the rounds were steady, then for each result that is looked at how steady it was."""
    if rounds.window is None:
        yield f"{rounds.done} of at most {rounds.most} rounds came to their end: too few to show whether results are steady."
    else:
        first, last = (place + 1 for place in rounds.window)
        steady = "Steady" if rounds.is_steady else "Not steady"
        end = "" if rounds.is_steady or rounds.done == rounds.most else " when the run ended"
        yield (
            f"{steady} after {rounds.done} of at most {rounds.most} rounds{end}; results are means over rounds {first}"
            f" to {last} (the measurement window)."
        )
    for one in rounds.tracked:
        if one.mean is not None:
            yield (
                f"{one.title}: mean {value_words(document, rounds, one, one.mean)},"
                f" range {format_percent(one.range_share)} % of it (steady: at most {_allowed(rounds.range_share)} %),"
                f" slope {format_percent(one.slope_share)} % (at most {_allowed(rounds.slope_share)} %)."
            )


def value_words(document: Document, rounds: RoundsOutcome, one: TrackedRounds, value: float) -> str:
    """Print a result of a round with its unit."""
    if rounds.by == "latency":
        return format_ns(value)
    measured = next(same for same in repeats_of(document) if same[0].title == one.title)
    unit = unit_of(measured)
    return f"{format_number(value / unit.per_unit)} {unit.label}"


def _allowed(share: float) -> str:
    return f"{100 * share:.3g}"
