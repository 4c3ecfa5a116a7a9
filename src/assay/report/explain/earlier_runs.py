"""Find the earlier runs of the same Plan on this machine: they show how far runs of this load lie apart (METHOD 1.6)."""

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from assay.bundle import files
from assay.bundle.catalog import SEALED, RunSummary, list_runs
from assay.errors import AssayError
from assay.report.numbers import headline
from assay.report.verdict import is_usable
from assay.results import Document

LEAST = 5
"""Earlier runs that it takes (METHOD 1.6)."""
_MOST = 20
"""Earlier runs that are used: the newest."""
_MOST_LOOKED_AT = 200
"""Runs of loads of this name that are looked at: the newest."""
_MACHINE = "host.machine_id_hash"

RatesByLabel = Mapping[str, Sequence[float]]
"""Rates of earlier runs by the label of the result, in the unit that heads it."""


def earlier_rates(document: Document, answer: Callable[[Path], Document]) -> RatesByLabel:
    """Collect the rates of earlier runs; of several clients, or of repeats, there are none.

    Args:
        document: The results of the run.
        answer: Gives the results of an earlier run by its folder.
    """
    rates: dict[str, list[float]] = {}
    if document.clients or document.run.repeats != 1:
        return rates
    for folder in itertools.islice(_same_plan(Path(document.run.bundle)), _MOST):
        try:
            earlier = answer(folder)
        except (AssayError, OSError):  # what cannot be read is no run to compare with
            continue
        for result in () if earlier.clients else earlier.results:
            if is_usable(result) and (value := headline(result)[0]):
                rates.setdefault(result.label, []).append(value)
    return rates


def median_difference(rates: Sequence[float]) -> float | None:
    """Compute the median absolute log ratio of all pairs of runs, as a share: 0.05 where two of them differ by 5 %.

    None with fewer than `LEAST` rates.
    """
    if len(rates) < LEAST:
        return None
    return math.expm1(statistics.median(abs(math.log(a / b)) for a, b in itertools.combinations(rates, 2)))


def _same_plan(folder: Path) -> Iterator[Path]:
    """Give the sealed runs of this user beside a run that came before it, of the same Plan and machine, newest first."""
    own = files.read_head(folder)
    if not isinstance(own, files.Manifest) or (machine := _machine(own)) is None:
        return
    load = files.read_plan(folder).name

    def is_wanted(run: RunSummary) -> bool:
        is_earlier = run.started_utc < own.info.started_utc
        return run.load == load and run.state == SEALED and is_earlier and run.owner is None and not run.is_foreign

    for run in list_runs(folder.parent, is_wanted=is_wanted)[:_MOST_LOOKED_AT]:
        try:
            head = files.read_head(folder.parent / run.run_id)
        except (AssayError, OSError):
            continue
        if isinstance(head, files.Manifest) and head.plan_sha256 == own.plan_sha256 and _machine(head) == machine:
            yield folder.parent / run.run_id


def _machine(head: files.Manifest) -> object:
    return next((fact.value for fact in head.facts if fact.key == _MACHINE), None)
