"""docs/reliability.md: the rows of the matrix with what became of each, between the words of people."""

from collections.abc import Sequence
from pathlib import Path

from e2e.faults.fault import Fault, Moment
from e2e.faults.outcome import Outcome

PAGE = Path(__file__).parents[3] / "docs" / "reliability.md"
BEGIN = "<!-- Made by `make faults`; do not edit up to the end of the rows. -->\n"
END = "<!-- The end of the rows. -->\n"
HEAD = "| fault | kept | message | exit code | left behind | ended |\n| --- | --- | --- | --- | --- | --- |\n"
_BAR = "\\|"


def rows(text: str) -> dict[str, Outcome]:
    """Read the rows of the page, by the ids of the faults."""
    found: dict[str, Outcome] = {}
    moment = ""
    for line in text.partition(BEGIN)[2].partition(END)[0].splitlines():
        if line.startswith("### "):
            moment = line.removeprefix("### ").lower()
        elif line.startswith("| ") and not line.startswith(("| fault ", "| --- ")):
            name, *cells = (cell.replace(_BAR, "|") for cell in line[2:-2].split(" | "))
            found[f"{moment}: {name}"] = Outcome(*cells)
    return found


def with_row(text: str, fault: Fault, made: Outcome, faults: Sequence[Fault]) -> str:
    """Put a row into the page; those of faults that there are no more go."""
    known = rows(text) | {fault.id: made}
    tables = [_table(moment, faults, known) for moment in Moment]
    return f"{text.partition(BEGIN)[0]}{BEGIN}\n{''.join(tables)}{END}{text.partition(END)[2]}"


def _table(moment: Moment, faults: Sequence[Fault], known: dict[str, Outcome]) -> str:
    lines = [
        " | ".join(cell.replace("|", _BAR) for cell in (fault.name, *known[fault.id]))
        for fault in faults
        if fault.moment is moment and fault.id in known
    ]
    return f"### {moment.value.capitalize()}\n\n{HEAD}" + "".join(f"| {line} |\n" for line in lines) + "\n"
