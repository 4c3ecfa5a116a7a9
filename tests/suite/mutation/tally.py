"""Print the outcome of each mutant, and how many were killed in all; `suite/proof/figures.py` reads both."""

import sys
from collections import Counter
from collections.abc import Mapping

from suite.mutation.survivors import Change
from suite.proof.figures import LEAST_KILLED

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
EXCUSED = "excused"
"""It survived, and the list of survivors has the reason."""


class Tally:
    """The outcomes of mutants."""

    def __init__(self, reasons: Mapping[Change, str], number: int) -> None:
        """Take the survivors that have a reason, and how many mutants are tested."""
        self._reasons = reasons
        self._number = number
        self._counts: Counter[str] = Counter()

    def add(self, outcome: str, change: Change, line: str) -> None:
        """Count and print a mutant; `line` is the number of its line."""
        if outcome == SURVIVED and change in self._reasons:
            outcome = EXCUSED
        self._counts[outcome] += 1
        place = f"{self._counts.total()}/{self._number} {change.file}:{line}"
        _print(f"{outcome:9} {place}: {change.code}  =>  {change.change}")

    def close(self, of: int, seed: int | None = None) -> int:
        """Print the counts; give the exit code. `of`: all mutants, of which those that were tested are a sample."""
        counts = self._counts
        chosen = "" if seed is None else f", seed {seed}"
        _print(
            f"{counts.total()} of {of} mutants{chosen}: {counts[KILLED]} killed, {counts[TIMED_OUT]} timed out,"
            f" {counts[EXCUSED]} survived with a reason, {counts[SURVIVED]} without"
        )
        killed = counts[KILLED] + counts[TIMED_OUT]
        return int(killed < LEAST_KILLED * (killed + counts[SURVIVED]) or not killed)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
