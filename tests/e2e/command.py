"""The installed `assay` command, as a user runs it."""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.terminal import printed
from testbed.prestarted import Prestarted

COMMAND = Path(sys.executable).parent / "assay"
TIMEOUT_S = 900.0
"""Patience, for a machine of any speed: no test means to say how long something takes."""
NOBODY = 65534

MEASURED = frozenset({0, 1})
"""Exit codes of a command that measured; 1: a number must not be used, or operations failed."""
FINDINGS_OF_A_BUSY_MACHINE = frozenset({"no-operations", "workers-apart", "uneven-workers"})
"""Findings that forbid a number and need no fault: some workers had no CPU while the others worked."""

MOST_LINES = 6
"""Lines on standard error of a small classic run, without what a busy machine adds."""


def lines_after(words: str, stderr: str) -> list[str]:
    """Give the lines of standard error from the first that has these words on, without warnings of this machine."""
    lines = stderr[stderr.index(words) :].splitlines()
    return [line for line in lines if not line.startswith(("warning", "invalid")) or "  load-changed  " in line]


prestarted: Prestarted | None = None
"""Starts what `Assay` runs, in sessions of end-to-end tests."""


@dataclass(frozen=True)
class Assay:
    """Runs the command; `runs` is where its run bundles go."""

    runs: Path
    user: int | None = None
    home: Path | None = None

    def __call__(
        self,
        *args: str | os.PathLike[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        check: int | Collection[int] | None = None,
        prefix: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run `assay ARGS`, with nobody at its standard input.

        Args:
            args: The words after `assay`.
            cwd: Folder to run in.
            env: Variables on top of the test's own.
            check: The exit code that is expected, or all that are; the failure shows what the command printed.
            prefix: Words in front, such as those of a throttle.
        """
        environment = {**os.environ, "ASSAY_RUNS": str(self.runs), **(env or {})}
        if self.home is not None:
            environment |= {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data")}
        folder = cwd or self.home
        if prestarted and self.user is None and not prefix and prestarted.can_start(environment):
            words = [os.fspath(word) for word in args]
            done = prestarted.run(str(COMMAND), words, str(folder or Path.cwd()), environment, TIMEOUT_S)
        else:
            done = subprocess.run(
                [*prefix, COMMAND, *args],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
            )
        expected = {check} if isinstance(check, int) else check
        if expected is not None and done.returncode not in expected:
            codes = " or ".join(map(str, sorted(expected)))
            pytest.fail(f"assay {' '.join(map(str, args))}: exit code {done.returncode}, not {codes}\n{_output(done)}")
        return done

    def measured(
        self,
        *args: str | os.PathLike[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run a command that measures, in a test that is not about trust.

        Exit code 0 is expected. Exit code 1 is accepted where each reason for it is one that a busy machine causes without a
        fault of Assay: no operation of the new runs failed, and only `FINDINGS_OF_A_BUSY_MACHINE` forbid their numbers.
        """
        before = self._kept()
        done = self(*args, cwd=cwd, env=env, check=MEASURED, prefix=prefix)
        if done.returncode == 0:
            return done
        reasons = {reason for run in self._kept() - before for reason in self._reasons_for_1(run)}
        if not reasons or reasons - FINDINGS_OF_A_BUSY_MACHINE:
            why = ", ".join(sorted(reasons)) or "no reason in the results"
            pytest.fail(f"assay {' '.join(map(str, args))}: exit code 1, because of: {why}\n{_output(done)}")
        return done

    def _kept(self) -> set[Path]:
        """Folders of the runs that are kept."""
        return {path for path in self.runs.glob("*") if path.is_dir()}

    def _reasons_for_1(self, run: Path) -> Iterator[str]:
        """Give what makes the exit code of a run 1: ids of findings, and operations that failed."""
        document = json.loads(self("show", run, "--json", check=0).stdout)
        for result in document["results"]:
            if result["errors"]:
                yield f"{result['errors']} failed operations of {result['label']}"
        of_results = (finding for result in document["results"] for finding in result["findings"])
        for finding in (*document["findings"], *of_results):
            if finding["severity"] == "invalid":
                yield finding["id"]


@dataclass(frozen=True)
class Measure:
    """Runs a load file and reads the result document."""

    assay: Assay
    folder: Path

    def __call__(self, toml_text: str, directory: Path, *args: str, prefix: Sequence[str] = ()) -> dict[str, Any]:
        """Run a load on a directory; exit code 1 (measured, not trusted) counts as measured."""
        load = self.folder / "load.toml"
        load.write_text(toml_text)
        done = self.assay("run", load, directory, *args, "--json", prefix=prefix)
        if done.returncode not in MEASURED:
            pytest.fail(f"assay run: exit code {done.returncode}\n{_output(done)}\nload:\n{toml_text}")
        document: dict[str, Any] = json.loads(done.stdout)
        return document


def need_command() -> None:
    """Skip where Assay is not installed beside this Python; in CI it must be."""
    if COMMAND.exists():
        return
    absent = f"{COMMAND} is not installed; './bootstrap' makes it, and .venv/bin/pytest runs these tests"
    if os.environ.get("CI") == "true":
        pytest.fail(absent)
    pytest.skip(absent)


def on_a_terminal(assay: Assay, words: list[str], place: Path, columns: int = 150) -> str:
    """Run a command on a terminal of its own and give what it was told to show."""
    return printed([COMMAND, *words], (columns, 24), env={"ASSAY_RUNS": str(assay.runs)}, cwd=place, has_all=True).raw


def _output(done: subprocess.CompletedProcess[str]) -> str:
    return f"stdout:\n{done.stdout}\nstderr:\n{done.stderr}"
