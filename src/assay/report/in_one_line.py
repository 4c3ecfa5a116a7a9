"""Summarise a run for one line of a list: exit code, one rate, and trust.

The rate is that of the result that is trusted most; among these one of storage before one of memory or anything else, then
the most bytes a second, and where nothing moves data the most operations a second. It is a number to know a run by, not to
compare runs with.
"""

from assay.analysis.set_views import sums_of
from assay.bundle.kept_list import HeadRate, RunOutcome
from assay.report.numbers import headline, headline_rates
from assay.report.over_repeats import shown_results
from assay.results import Document, Result
from assay.verdicts import TrustLevel

_LEVELS = tuple(TrustLevel)
"""The best first."""


def outcome_of(document: Document) -> RunOutcome:
    """Give a result document in short."""
    return RunOutcome(
        exit_code=document.run.exit_code,
        head=_head(shown_results(document)),
        trust={
            level.value: sum(result.trust.level is level for result in sums_of(document).results) for level in _LEVELS
        },
    )


def _head(measured: tuple[Result, ...]) -> HeadRate | None:
    rated = [result for result in measured if headline(result)[0] is not None]
    if not rated:
        return None
    head = max(rated, key=_rank)
    value, unit = headline(head)
    assert value is not None  # noqa: S101 - it is one of those
    return HeadRate(
        label=head.label,
        title=head.title,
        value=value,
        unit=unit.label,
        measures=head.measures.value,
        trust=head.trust.level.value,
    )


def _rank(result: Result) -> tuple[int, bool, float, float]:
    ops_per_s, bytes_per_s = headline_rates(result)
    is_of_storage = result.measures.is_past_memory
    return -_LEVELS.index(result.trust.level), is_of_storage, bytes_per_s or 0.0, ops_per_s or 0.0
