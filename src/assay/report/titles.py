"""Name results uniquely within a run: the same in the terminal and on the page."""

from collections import defaultdict
from collections.abc import Sequence

from assay.results import Result


def titles_of(measured: Sequence[Result]) -> list[str]:
    """Name results by their phases' titles, each with what makes it unique: job, operation, repeat."""
    jobs, operations, repeats = (defaultdict[tuple[object, ...], set[object]](set) for _ in range(3))
    for result in measured:
        jobs[result.phase, result.repeat].add(result.job)
        operations[result.phase, result.repeat, result.job].add(result.operation)
        repeats[result.phase,].add(result.repeat)
    titles = []
    for result in measured:
        parts = [result.title]
        if len(jobs[result.phase, result.repeat]) > 1:
            parts.append(result.job)
        if len(operations[result.phase, result.repeat, result.job]) > 1:
            parts.append(result.operation)
        is_repeated = len(repeats[result.phase,]) > 1
        titles.append(": ".join(parts) + (f" (repeat {result.repeat + 1})" if is_repeated else ""))
    return titles


def slug_of(text: str) -> str:
    """Make a file name's part of words."""
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in text.lower())
    return "-".join(plain.split()[:8]) or "result"
