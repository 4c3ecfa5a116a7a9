"""Check a comparison against bounds of a pipeline: `throughput >= -5 %`, `p99 <= +10 %`, `read*: iops >= -3 %`.

A gate is of every row of its metric (`rate`: throughput or iops, as the row has), or of those whose label fits a pattern. It
is violated where the whole interval lies beyond the bound, and held where the whole interval lies within. In between it is
undecided: more runs are needed. A gate on every row is violated only by a row that is significant among all rows together.
One run does not predict the next, so a gate needs at least three runs per side.
"""

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.verdicts import ComparisonVerdict

if TYPE_CHECKING:
    # A gate is read, and refused, before the libraries are imported that compare.
    from assay.compare.comparison import Comparison, Row

_RATES = ("throughput", "iops")
_METRICS = (*_RATES, "rate", "p99", "seconds")
_GATE = re.compile(
    r"(?:(?P<label>.*[^\s]):)?\s*(?P<metric>[a-z0-9]+)\s*(?P<sign>>=|<=)\s*(?P<bound>[+-]?\d{1,6}(?:\.\d{1,6})?)\s*%?"
)


class GateState(enum.StrEnum):
    """What became of a gate."""

    HELD = "held"
    UNDECIDED = "undecided"
    VIOLATED = "violated"


@dataclass(frozen=True)
class Gate:
    """A bound of ratios."""

    text: str
    label: str
    """Pattern of labels (fnmatch)."""
    metric: str
    is_floor: bool
    bound: float
    """Ratio of B by A."""

    def fits(self, row: "Row") -> bool:
        """Whether a row is one that it is about."""
        metrics = _RATES if self.metric == "rate" else (self.metric,)
        return row.metric in metrics and fnmatchcase(row.label, self.label)


@dataclass(frozen=True)
class Gated:
    """A gate and a row that it is about."""

    gate: Gate
    arm: str
    row: "Row"
    state: GateState
    why: str


def parse_gate(text: str) -> Gate:
    """Read a gate.

    Raises:
        InputError: it is none; the message explains what one looks like.
    """
    found = _GATE.fullmatch(text.strip())
    if found is None or found["metric"] not in _METRICS:
        raise InputError(
            f"--gate '{text}': such as 'throughput >= -5 %' is wanted: [LABEL:] {', '.join(_METRICS)}, then >= or <=, then"
            " a change in per cent"
        )
    bound = 1 + float(found["bound"]) / 100
    if bound <= 0:
        raise InputError(f"--gate '{text}': nothing changes by -100 % and more")
    return Gate(text.strip(), found["label"] or "*", found["metric"], found["sign"] == ">=", bound)


def check_gates(gates: Sequence[Gate], comparison: "Comparison") -> tuple[Gated, ...]:
    """Hold every gate to the rows that it is about.

    Raises:
        InputError: there are no such rows: a gate that cannot fail is none.
    """
    return tuple(gated for gate in gates for gated in _check(gate, comparison))


def _check(gate: Gate, comparison: "Comparison") -> Iterator[Gated]:
    rows = [(against.name, row) for against in comparison.against for row in against.rows if gate.fits(row)]
    if not rows:
        known = sorted({f"{row.label}: {row.metric}" for against in comparison.against for row in against.rows})
        raise InputError(f"--gate '{gate.text}': no result has that; there are {', '.join(known) or 'none'}")
    for arm, row in rows:
        state, why = _state(gate, row)
        yield Gated(gate, arm, row, state, why)


def _state(gate: Gate, row: "Row") -> tuple[GateState, str]:
    if row.verdict is ComparisonVerdict.NOT_COMPARABLE or row.interval is None:
        return GateState.UNDECIDED, row.reason
    low, high = row.interval
    is_held, is_violated = (
        (low >= gate.bound, high < gate.bound) if gate.is_floor else (high <= gate.bound, low > gate.bound)
    )
    if is_held:
        return GateState.HELD, ""
    from assay.analysis.thresholds import FALSE_MARKS  # noqa: PLC0415 - a gate is read, and refused, before anything is loaded

    if is_violated and gate.label == "*" and row.p_together is not None and row.p_together > FALSE_MARKS:
        return GateState.UNDECIDED, f"not significant among all rows (p {row.p_together:.2g}); more runs are needed"
    if is_violated:
        return GateState.VIOLATED, ""
    return GateState.UNDECIDED, "the bound is inside the interval; more runs are needed"
