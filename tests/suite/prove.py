"""Run the proofs at their full counts and keep what they found on `docs/proof.md`: `make prove`.

A run does the steps of `proof/steps.py` that have no record for this commit, so that it can be stopped and started again;
`STEP...` runs these again. Exit code 0: all of them passed; 1: one failed or was not run; 2: bad input; 130: stopped.

The page is committed like any other file. A commit of the pages that steps write (`machine.WRITTEN_PAGES`) leaves the
records valid. The output of a step goes to `build/prove/STEP.log`; records are on the page alone.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from suite.proof.machine import PAGE, WorkTree, describe_machine, read_work_tree
from suite.proof.page import FAILED, NOT_RUN, PASSED, Record, describe_time, read_records, write_records
from suite.proof.steps import STEPS, Step
from testbed.killed import unwind_when_ended

ROOT = Path(__file__).parents[2]
OWN_VARIABLES = ("ASSAY_ELBENCHO", "ASSAY_IOR", "ASSAY_REPEATS_DIR", "ASSAY_TEST_HISTORY")
"""Variables of the user that a recorded step keeps: places. All other ones that begin with ASSAY_ would change a count."""


class Prover:
    """Runs steps on the work tree at `root`."""

    def __init__(self, steps: Sequence[Step], root: Path) -> None:
        """Take the steps of the table."""
        self._steps = {step.id: step for step in steps}
        self._root = root
        self._page = root / PAGE
        self._logs = root / "build" / "prove"

    def check(self, names: Sequence[str]) -> None:
        """Check the names of steps.

        Raises:
            RuntimeError: There is no such step.
        """
        if unknown := [name for name in names if name not in self._steps]:
            raise RuntimeError(f"no step is named {', '.join(unknown)}. The steps are: {' '.join(self._steps)}")

    def prove(self, names: Sequence[str], *, is_dirty_allowed: bool) -> int:
        """Run the named steps, or those that have no record yet; give an exit code.

        Raises:
            RuntimeError: The work tree has uncommitted changes, and that is not allowed.
        """
        asked = names or [*self._steps]
        tree = self._read_tree(is_dirty_allowed=is_dirty_allowed)
        for step in [self._steps[name] for name in asked if name in names or self._record_of(name, tree) is None]:
            tree = self._read_tree(is_dirty_allowed=is_dirty_allowed)
            if missing := _missing(step):
                _print(f"{step.id}: {NOT_RUN}: this machine lacks {' and '.join(missing)}")
            else:
                self._prove(step, tree)
        records = [self._record_of(name, tree) for name in asked]
        passed = sum(record is not None and record.outcome == PASSED for record in records)
        _print(f"{passed} of {len(asked)} steps passed; {PAGE} has their figures")
        return int(passed < len(asked))

    def run_in_sight(self, names: Sequence[str]) -> int:
        """Run steps with their output on the terminal, whatever the work tree is; keep no record."""
        codes = [_run(self._steps[name], self._root, dict(os.environ), None) for name in names]
        return int(any(codes))

    def list_steps(self) -> int:
        """Print each step with its state for this commit."""
        tree, records = read_work_tree(self._root), read_records(self._page)
        for step in self._steps.values():
            record = records.get(step.id)
            state = NOT_RUN if record is None else record.outcome
            if record is not None and not record.is_of(tree):
                changes = " with uncommitted changes" if record.is_dirty else ""
                state = f"{NOT_RUN}; {state} at {record.commit[:12]}{changes}"
            _print(f"{step.id:14} about {describe_time(60 * step.minutes):8} {state}\n{'':14} {step.proves}")
        return 0

    def write_page(self) -> int:
        """Write the page anew, from the records that it has."""
        write_records(self._page, [*self._steps.values()], read_records(self._page))
        return 0

    def _read_tree(self, *, is_dirty_allowed: bool) -> WorkTree:
        tree = read_work_tree(self._root)
        if tree.is_dirty and not is_dirty_allowed:
            raise RuntimeError(
                "the work tree has uncommitted changes. Commit them, or add --dirty: the page reports it"
            )
        return tree

    def _record_of(self, name: str, tree: WorkTree) -> Record | None:
        """Give the record of a step, where it is of this work tree."""
        record = read_records(self._page).get(name)
        return record if record is not None and record.is_of(tree) else None

    def _prove(self, step: Step, tree: WorkTree) -> None:
        """Run a step to its end, and put its record on the page."""
        log = self._logs / f"{step.id}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        begun_s = time.time()
        _print(f"{step.id}: begun at {_utc(begun_s)[:16]}Z, about {describe_time(60 * step.minutes)}")
        with log.open("wb") as output:
            # A test that skips itself fails the step (`skips.py`).
            code = _run(step, self._root, {**_without_counts(os.environ), "CI": "true"}, output)
        ended_s = time.time()
        reading = step.read(log.read_text(errors="replace"))
        record = Record(
            step=step.id,
            commit=tree.commit,
            is_dirty=tree.is_dirty or read_work_tree(self._root) != tree,
            machine=describe_machine(),
            begun_utc=_utc(begun_s),
            ended_utc=_utc(ended_s),
            seconds=round(ended_s - begun_s, 1),
            outcome=FAILED if code or reading.flaw else PASSED,
            figures="; ".join(part for part in reading if part),
        )
        write_records(self._page, [*self._steps.values()], read_records(self._page) | {step.id: record})
        where = "" if record.outcome == PASSED else f"; exit code {code}, output in {log.relative_to(self._root)}"
        _print(f"{step.id}: {record.outcome} after {describe_time(record.seconds)}: {record.figures}{where}")


def main(words: Sequence[str], steps: Sequence[Step] = STEPS, root: Path = ROOT) -> int:
    """Do what the command line asks for; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m suite.prove", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("steps", nargs="*", metavar="STEP", help="steps to run again; default: all without a record")
    parser.add_argument("--list", action="store_true", help="list the steps with their state, run nothing")
    parser.add_argument("--page", action="store_true", help="write the page anew from its records, run nothing")
    parser.add_argument("--dirty", action="store_true", help="prove uncommitted changes; the page reports them")
    parser.add_argument("--no-record", action="store_true", help="run the named steps on the terminal, keep no record")
    asked = parser.parse_args(words)
    try:
        return _do(asked, Prover(steps, root))
    except RuntimeError as error:
        sys.stderr.write(f"prove: {error}\n")
        return 2
    except KeyboardInterrupt:
        _print("stopped: the step that ran has no record, and is run again next time")
        return 130


def _do(asked: argparse.Namespace, prover: Prover) -> int:
    prover.check(asked.steps)
    if asked.list:
        return prover.list_steps()
    if asked.page:
        return prover.write_page()
    if asked.no_record:
        return prover.run_in_sight(asked.steps)
    return prover.prove(asked.steps, is_dirty_allowed=asked.dirty)


def _run(step: Step, root: Path, environment: Mapping[str, str], output: IO[bytes] | None) -> int:
    """Run a step to its end; when this program is to end, tell the step, and wait until it has undone what it made."""
    # Programs of the tests need `bench`.
    places = os.pathsep.join(filter(None, [str(root), environment.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        step.command,
        cwd=root / step.folder,
        env={**environment, "PYTHONPATH": places, "PYTHONUNBUFFERED": "1", **step.env},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        # What a terminal sends to all of its programs would end a server of the tests before the tests have let go of it.
        start_new_session=True,
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        _print(f"{step.id}: stopping, and undoing what it has made")
        process.terminate()
        process.wait()
        # cargo leaves the program that it has started.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        raise


def _missing(step: Step) -> list[str]:
    """Name what this machine lacks for a step."""
    root = ["root"] if step.needs_root and os.geteuid() != 0 else []
    return root + [program for program in step.programs if shutil.which(program) is None]


def _without_counts(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if not name.startswith("ASSAY_") or name in OWN_VARIABLES
    }


def _utc(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    is_under_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    unwind_when_ended()
    # A closed terminal ends it in order, too; under nohup it goes on.
    signal.signal(signal.SIGHUP, signal.SIG_IGN if is_under_nohup else signal.getsignal(signal.SIGTERM))
    sys.exit(main(sys.argv[1:]))
