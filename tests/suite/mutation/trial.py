"""Test one mutant: change a source file of the copy, run the tests that see the change, and put the file back.

Tests that run the changed statement are first. If they pass, the others of their test files that run the source file follow:
what is computed once for many tests (a cache, a fixture of a session) is recorded for the first of them only.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from suite.mutation.coverage_map import CoverageMap
from suite.mutation.mutants import Mutant
from suite.mutation.tally import KILLED, SURVIVED, TIMED_OUT

START_S = 60.0
"""Patience with the start of pytest and its collection."""
FIXTURES_S = 30.0
"""Patience with what is made for the first test that asks for it."""
TIMES_AS_LONG = 10.0
"""How many times the usual duration of its tests, and of the longest, a mutant may take; then a loop does not end."""
FIRST_FILES = 2
"""Files of tests that are run before all others."""
_NO_TESTS_RAN = 5


def test_mutant(mutant: Mutant, clone: Path, tests: CoverageMap, environment: Mapping[str, str]) -> str:
    """Give the outcome of a mutant."""
    path = clone / mutant.file
    seen = tests.tests_of(mutant.file, mutant.line)
    if not seen:
        return SURVIVED
    with _changed(path, mutant.apply(path.read_text(encoding="utf-8"))):
        for chosen in (*_in_stages(seen), tests.widen(mutant.file, seen)):
            if chosen and (outcome := _run(chosen, clone, tests, environment)) != SURVIVED:
                return outcome
    return SURVIVED


def _in_stages(tests: Sequence[str]) -> tuple[list[str], list[str]]:
    """Put the files with most of the tests first: they kill most mutants, and to collect all files takes longer."""
    files = Counter(test.partition("::")[0] for test in tests)
    first = {file for file, _ in files.most_common(FIRST_FILES)}
    return [test for test in tests if test.partition("::")[0] in first], [
        test for test in tests if test.partition("::")[0] not in first
    ]


def _run(chosen: Sequence[str], clone: Path, tests: CoverageMap, environment: Mapping[str, str]) -> str:
    """Run tests until one fails."""
    names = clone.with_name(f"{clone.name}-chosen-tests.txt")
    names.write_text("\n".join(chosen))
    usual_s = [tests.seconds[test] for test in chosen]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "suite.mutation.pytest_lines"),
            *("-p", "no:cacheprovider", f"--only-tests={names}", "--hypothesis-seed=0"),
            f"--longest-test={FIXTURES_S + TIMES_AS_LONG * max(usual_s)}",
            *sorted({test.partition("::")[0] for test in chosen}),
        ],
        cwd=clone,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(START_S + TIMES_AS_LONG * sum(usual_s))
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    finally:
        # Programs that tests have started are ended with them.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code == -signal.SIGALRM:
        return TIMED_OUT
    # A change can give a parametrised test another name: it does not run, and kills nothing.
    return SURVIVED if code in {0, _NO_TESTS_RAN} else KILLED


@contextmanager
def _changed(path: Path, source: str) -> Iterator[None]:
    """Let a file have other contents, and no bytecode of the ones before."""
    before = path.read_bytes()
    try:
        path.write_text(source, encoding="utf-8")
        _forget_bytecode(path)
        yield
    finally:
        path.write_bytes(before)
        _forget_bytecode(path)


def _forget_bytecode(path: Path) -> None:
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()
