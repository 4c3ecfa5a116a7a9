"""Expectations in words: each with its verdict and the number that decides, or why it is undecided."""

from collections.abc import Iterator, Sequence

import msgspec

from assay.outward import one_line
from assay.results import Document, Expectation, ExpectedResult, Result
from assay.units import format_number
from assay.verdicts import ExpectationVerdict

_MOST_NAMED = 3
"""Expectations of an answer that are printed one by one."""


def expected_in_short(document: Document) -> str:
    """Give all expectations in one line, without those that are met where there are many; empty: nothing was expected."""
    every = document.expectations
    if not every:
        return ""
    named = every if len(every) <= _MOST_NAMED else [one for one in every if one.verdict is not ExpectationVerdict.MET]
    parts = _in_words(named[:_MOST_NAMED])
    met = len(every) - len(named)
    parts += [f"{met} more met"] if met else []
    parts += [f"{len(named) - _MOST_NAMED} more not met or undecided"] if len(named) > _MOST_NAMED else []
    return one_line(f"Expected: {'; '.join(parts)}.")


def _in_words(found: Sequence[Expectation]) -> list[str]:
    """Write each; those that are undecided for one reason together."""
    same: dict[str, list[Expectation]] = {}
    for one in found:
        key = one.reason if one.verdict is ExpectationVerdict.UNDECIDED else one.text
        same.setdefault(key, []).append(one)
    return [
        expectation_words(msgspec.structs.replace(alike[0], text=", ".join(one.text for one in alike)))
        for alike in same.values()
    ]


def expectation_words(found: Expectation) -> str:
    """Write `p99<2ms: not met, 2.34 ms (2.31 to 2.38), random-read/read`."""
    text = f"{found.text}: {found.verdict.words}"
    telling = next((one for one in found.results if one.verdict is found.verdict), None)
    if telling is None or found.verdict is ExpectationVerdict.UNDECIDED:
        return f"{text} ({found.reason})"
    if len(found.results) > 1 and found.verdict is ExpectationVerdict.MET:
        return f"{text} by all {len(found.results)} results"
    of = f", {telling.label}" if len(found.results) > 1 else ""
    return f"{text}, {_value(telling)}{of}"


def expected_of_row(document: Document, result: Result) -> Iterator[str]:
    """Report for each expectation of a row what the row comes to."""
    label = result.label.split("#", maxsplit=1)[0]
    for expectation in document.expectations:
        for one in expectation.results:
            if one.label == label:
                yield f"{expectation.text}: {one.verdict.words}: {one.reason}"


def _value(one: ExpectedResult) -> str:
    value = f"{format_number(one.value)} {one.unit}"
    if one.interval is None:
        return value
    low, high = map(format_number, one.interval)
    return f"{value} ({low} to {high})"
