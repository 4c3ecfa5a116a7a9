"""By which name is a result told apart from the others of its run? The same in the terminal and on the page."""

from collections.abc import Sequence

from assay.results import Result


def title_of(result: Result, measured: Sequence[Result]) -> str:
    """Name a result by its phase's title, with what else is needed to tell it apart: job, operation, repeat."""
    siblings = [other for other in measured if (other.phase, other.repeat) == (result.phase, result.repeat)]
    parts = [result.title]
    if len({other.job for other in siblings}) > 1:
        parts.append(result.job)
    if len({other.operation for other in siblings if other.job == result.job}) > 1:
        parts.append(result.operation)
    repeats = {other.repeat for other in measured if other.phase == result.phase}
    return ": ".join(parts) + (f" (repeat {result.repeat + 1})" if len(repeats) > 1 else "")


def slug_of(text: str) -> str:
    """Make a file name's part of words."""
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in text.lower())
    return "-".join(plain.split()[:8]) or "result"
