"""Find the results of rounds that are used: those of the window; none where it was not steady. Needs no arrays."""

from collections.abc import Callable

import msgspec

from assay.analysis.set_views import narrowed
from assay.plan import SteadyOf
from assay.results import Document, Reason, Result, Trust
from assay.verdicts import TrustLevel

NOT_STEADY = "rounds-not-steady"
"""Id of the finding, and of the reason."""


def unsteady_trust(rounds_done: int) -> Trust:
    """Give the trust of what was not steady over the rounds."""
    return Trust(level=TrustLevel.NO, reasons=(Reason(id=NOT_STEADY, text=f"not steady in {rounds_done} rounds"),))


def result_value(result: Result, by: str) -> float | None:
    """Give what is looked at of a result of a round, with the closing flush in the time where there is one.

    Args:
        result: Of a phase.
        by: `ops` or `bytes` (a second), or `latency` (the mean, in nanoseconds).
    """
    if by == SteadyOf.LATENCY.value:
        return result.latency_ns.mean
    rated = result if result.committed is None else result.committed
    return rated.iops if by == SteadyOf.OPS.value else rated.throughput_bytes_per_s


def in_window(document: Document) -> Callable[[Result], bool]:
    """Give the test whether a result is no result of a round outside the window."""
    rounds = document.rounds
    if rounds is None or rounds.window is None:
        return lambda _: True
    repeated, (first, last) = _repeated(document), rounds.window
    return lambda result: result.phase not in repeated or first <= result.repeat <= last


def of_window(document: Document) -> Document:
    """Leave out results of rounds outside the window, and mark those as unusable that were not steady."""
    if document.rounds is None:
        return document
    kept = tuple(filter(in_window(document), document.results))
    if not document.rounds.is_steady:
        trust, repeated = unsteady_trust(document.rounds.done), _repeated(document)
        kept = tuple(
            msgspec.structs.replace(one, trust=trust, trusted=False) if one.phase in repeated else one for one in kept
        )
    return narrowed(document, kept)


def _repeated(document: Document) -> frozenset[str]:
    return frozenset(result.phase for result in document.results if result.repeat)
