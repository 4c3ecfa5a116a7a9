"""Count how many mutants of `analysis/` and `compare/` the unit tests kill: a step of `make prove`.

    python -m suite.mutation

`ASSAY_MUTANTS` is the size of the sample (0: all mutants), `ASSAY_MUTANTS_SEED` its seed; `ASSAY_MUTANTS_PART=2/4` tests the
second of four parts of it. As many are tested at a time as there are CPUs. A run that was stopped goes on where it was. Exit
code 0: 90 % are killed of those that are not in `survivors.toml`; 1: fewer.
"""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from suite.mutation.coverage_map import CoverageMap
from suite.mutation.mutants import Mutant, list_mutants, sample
from suite.mutation.survivors import Change, read_reasons
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
    # The first stays as it is: statements and their tests are looked up in it while mutants are tested in the others.
    first, *places = (Workplace(root, number) for number in range(1 + len(os.sched_getaffinity(0))))
    files = [path for folder in SOURCES for path in sorted((first.clone / folder).rglob("*.py"))]
    mutants = list_mutants(first.clone, [str(path.relative_to(first.clone)) for path in files])
    chosen = _part(sample(mutants, count, seed), os.environ.get("ASSAY_MUTANTS_PART", "1/1"))
    tests = CoverageMap(first.clone, first.folder, SOURCES)
    tests.record(first.environment(os.environ))
    results = _Results(first.folder / "results.ndjson")
    tally = Tally(reasons, len(chosen))
    idle: SimpleQueue[Workplace] = SimpleQueue()
    for place in places:
        idle.put(place)

    def outcome_of(mutant: Mutant, change: Change) -> str:
        # A survivor takes longest: all of its tests run. One that has a reason is not tested again.
        if change in reasons:
            return SURVIVED
        if (outcome := results.of(mutant)) is None:
            place = idle.get()
            try:
                outcome = test_mutant(mutant, place.clone, tests, place.environment(os.environ))
            finally:
                idle.put(place)
            results.keep(mutant, outcome)
        return outcome

    changes = [mutant.describe(first.clone) for mutant in chosen]
    with ThreadPoolExecutor(len(places)) as pool:
        for mutant, change, outcome in zip(chosen, changes, pool.map(outcome_of, chosen, changes), strict=True):
            tally.add(outcome, change, str(mutant.line))
    return tally.close(len(mutants), seed)


def _part(chosen: list[Mutant], part: str) -> list[Mutant]:
    number, of = map(int, part.split("/"))
    return chosen[number - 1 :: of]


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
