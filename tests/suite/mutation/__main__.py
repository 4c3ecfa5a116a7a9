"""Count how many mutants of `analysis/` and `compare/` the unit tests kill: a step of `make prove`.

    python -m suite.mutation

`ASSAY_MUTANTS` is the size of the sample (0: all mutants), `ASSAY_MUTANTS_SEED` its seed. A run that was stopped goes on
where it was. Exit code 0: 90 % are killed of those that are not in `survivors.toml`; 1: fewer.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from suite.mutation.coverage_map import CoverageMap
from suite.mutation.mutants import Mutant, list_mutants, sample
from suite.mutation.survivors import read_reasons
from suite.mutation.tally import SURVIVED, Tally
from suite.mutation.trial import test_mutant
from suite.mutation.workplace import Workplace
from testbed.killed import unwind_when_ended

ROOT = Path(__file__).parents[3]
SOURCES = ("src/assay/analysis", "src/assay/compare")


def main(root: Path = ROOT) -> int:
    """Test the sample; give the exit code."""
    count, seed = int(os.environ.get("ASSAY_MUTANTS", "300")), int(os.environ.get("ASSAY_MUTANTS_SEED", "1"))
    reasons = read_reasons()
    place = Workplace(root)
    files = [path for folder in SOURCES for path in sorted((place.clone / folder).rglob("*.py"))]
    mutants = list_mutants(place.clone, [str(path.relative_to(place.clone)) for path in files])
    chosen = sample(mutants, count, seed)
    tests = CoverageMap(place.clone, place.folder, SOURCES)
    environment = place.environment(os.environ)
    tests.record(environment)
    results = _Results(place.folder / "results.ndjson")
    tally = Tally(reasons, len(chosen))
    for mutant in chosen:
        change = mutant.describe(place.clone)
        # A survivor takes longest: all of its tests run. One that has a reason is not tested again.
        outcome = SURVIVED if change in reasons else results.of(mutant)
        if outcome is None:
            outcome = test_mutant(mutant, place.clone, tests, environment)
            results.keep(mutant, outcome)
        tally.add(outcome, change, str(mutant.line))
    return tally.close(len(mutants), seed)


class _Results:
    """The outcomes of the mutants that were tested, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._outcomes = {tuple(key): outcome for key, outcome in _whole(lines)}

    def of(self, mutant: Mutant) -> str | None:
        """Give the outcome of a mutant, where it is known."""
        return self._outcomes.get(_key(mutant))

    def keep(self, mutant: Mutant, outcome: str) -> None:
        """Keep an outcome."""
        with self._path.open("a") as output:
            output.write(json.dumps([_key(mutant), outcome]) + "\n")


def _whole(lines: list[str]) -> Iterator[tuple[list[object], str]]:
    """Read the lines; a stopped run may have left a part of one."""
    for line in lines:
        if line.endswith('"]'):
            yield json.loads(line)


def _key(mutant: Mutant) -> tuple[object, ...]:
    return mutant.file, mutant.operator, mutant.occurrence


if __name__ == "__main__":
    unwind_when_ended()
    sys.exit(main())
