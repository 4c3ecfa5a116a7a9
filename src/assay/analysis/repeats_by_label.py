"""Which results are repeats of one, and how well is a number of several repeats known? Needs no arrays."""

import re
from collections.abc import Iterable

from assay.results import RepeatedNumber, Result

_REPEAT = re.compile(r"#[0-9]+")
"""In a label: names have their `#` escaped (labels.py)."""


def by_label(measured: Iterable[Result]) -> dict[str, list[Result]]:
    """Put results together that are repeats of one, by its label without the number of the repeat."""
    found: dict[str, list[Result]] = {}
    for result in measured:
        found.setdefault(_REPEAT.sub("", result.label), []).append(result)
    return found


def half_share(number: RepeatedNumber) -> float | None:
    """Half of the interval by the typical value; None: there is no interval."""
    if number.interval is None or not number.value:
        return None
    return (number.interval[1] - number.interval[0]) / 2 / number.value
