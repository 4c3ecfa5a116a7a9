"""The steps of `make prove`: what each proves, its command at full count, what it needs, and how to read its output.

To add a step, add it to `STEPS` with a reader from `figures.py`, and write the page anew: `python -m suite.prove --page`.
Quick steps are first.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from suite.proof import figures
from suite.proof.figures import Reading

FILE_SYSTEMS = ("mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One proof, at its full count."""

    id: str
    proves: str
    """One sentence, for the page."""
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables on top of the environment."""
    folder: str = "."
    """Working directory, in the clone."""
    minutes: float
    """Rough duration on 2 CPUs."""
    read: Callable[[str], Reading] = figures.read_pytest
    needs_root: bool = True
    programs: tuple[str, ...] = ()
    """Programs that must be on PATH; `.ci/run` installs them."""


def run_pytest(*words: str) -> tuple[str, ...]:
    """Give the command of tests in this Python; single tests may take longer than the limit for hangs."""
    return (sys.executable, "-m", "pytest", "-o", "faulthandler_timeout=0", *words)


def run_side_by_side(*words: str) -> tuple[str, ...]:
    """Give the command of tests that `make test` runs in parallel too, four at a time. `-rP` prints what they say."""
    return run_pytest("-n", "4", "--dist", "loadgroup", *words)


def run_module(name: str) -> tuple[str, ...]:
    """Give the command of a program of the tests; its folder is `tests`."""
    return (sys.executable, "-m", name)


MUTANT_PARTS = 4
"""Parts of the sample of mutants: each is a step, because all of them take hours."""


def _mutants(part: int) -> Step:
    return Step(
        id=f"mutants-{part}",
        proves="Unit tests fail for 90 % of small changes to the code that computes and compares results (300, sampled;"
        f" part {part} of {MUTANT_PARTS}).",
        command=run_module("suite.mutation"),
        env={"ASSAY_MUTANTS": "300", "ASSAY_MUTANTS_PART": f"{part}/{MUTANT_PARTS}"},
        folder="tests",
        minutes=45,
        read=figures.read_mutants,
        needs_root=False,
    )


STEPS: tuple[Step, ...] = (
    Step(
        id="exit-codes",
        proves="Each command ends with the documented exit code for bad input, a refusal of the machine and a signal.",
        command=run_side_by_side("tests/e2e/test_exit_codes.py"),
        minutes=2,
    ),
    Step(
        id="signals",
        proves="A signal at any of 200 calls of Assay's functions leaves sealed runs, and no data.",
        command=run_pytest("tests/e2e/test_ends.py", "-k", "any_moment"),
        env={"ASSAY_MOMENTS": "200"},
        minutes=8,
    ),
    Step(
        id="quick",
        proves="`assay quick` answers on Btrfs, an overlay and FUSE, for another user, and repeated.",
        command=run_pytest("tests/e2e/test_quick.py", "tests/e2e/test_repeats.py", "-k", "quick"),
        env={"ASSAY_QUICK": "all"},
        minutes=4,
        programs=FILE_SYSTEMS,
    ),
    Step(
        id="budgets",
        proves="An operation takes no more instructions than its budget, counted by valgrind.",
        command=run_pytest(
            "tests/e2e/test_cost.py", "tests/e2e/test_bonnie_cost.py", "tests/e2e/test_postmark_cost.py"
        ),
        env={"ASSAY_BUDGETS": "all"},
        minutes=5,
        needs_root=False,
        programs=("valgrind", "bonnie++", "postmark"),
    ),
    Step(
        id="fuzz-engine",
        proves="The readers in Rust accept or refuse every changed Plan, control line and event.",
        command=("cargo", "test", "--locked", "--release", "--test", "fuzz", "--", "--nocapture"),
        env={"ASSAY_FUZZ": "10000"},
        minutes=3,
        read=figures.read_fuzzed_engine,
        needs_root=False,
        programs=("cargo",),
    ),
    Step(
        id="models",
        proves="Models of what workers share without a lock hold in every order of their steps, the two largest with at most"
        " 2 and 3 interruptions.",
        command=("cargo", "test", "--locked", "--release", "-p", "engine-models", "--", "--nocapture"),
        minutes=3,
        read=figures.read_models,
        needs_root=False,
        programs=("cargo",),
    ),
    Step(
        id="fuzz-readers",
        proves="The readers in Python accept or refuse every changed input; the files of a bundle share 10,000 cases.",
        command=run_pytest("-s", "tests/unit/test_fuzz.py"),
        env={"ASSAY_FUZZ": "10000"},
        minutes=10,
        read=figures.read_fuzzed_readers,
        needs_root=False,
    ),
    Step(
        id="differences",
        proves="`assay ab` does not miss planted differences of 10 % and 3 %, and finds none between equal sides.",
        command=run_module("e2e.planted_differences"),
        folder="tests",
        minutes=10,
        read=figures.read_differences,
        programs=("mkfs.ext4", "nbdkit", "nbdfuse"),
    ),
    Step(
        id="faults",
        proves="Each row of the fault matrix in docs/reliability.md is what a run does when the fault is provoked.",
        command=run_side_by_side("tests/e2e/test_faults.py"),
        env={"ASSAY_FAULTS": "all"},
        minutes=10,
        programs=FILE_SYSTEMS,
    ),
    Step(
        id="attempts",
        proves="Each way to have a block device overwritten that must not be is refused, and nothing on it is changed.",
        command=run_side_by_side("tests/e2e/test_block_attacks.py"),
        env={"ASSAY_ATTEMPTS": "all"},
        minutes=3,
        programs=FILE_SYSTEMS,
    ),
    Step(
        id="lost-clients",
        proves="A client that fails or lies is named and the others are kept, for each failure, policy and lie.",
        command=run_side_by_side(
            "tests/e2e/test_many_clients_faults.py",
            "tests/e2e/test_local_clients.py",
            "tests/unit/test_lying_clients.py",
        ),
        env={"ASSAY_LOST": "all"},
        minutes=5,
    ),
    Step(
        id="clients",
        proves="Each classic tool prints the clients' own records on every path, with three clients here and two by ssh.",
        command=run_pytest("tests/e2e/test_classic_clients.py"),
        env={"ASSAY_CLIENTS": "all"},
        minutes=8,
    ),
    Step(
        id="stragglers",
        proves="A client slowed down in five ways is named with cause and size; sums with late starts, pauses and losses "
        "are those of the clients' own records within 0.1 %, and collecting loses none.",
        command=run_module("e2e.stragglers"),
        folder="tests",
        minutes=8,
        read=figures.read_stragglers,
        programs=("mkfs.ext4", "nbdkit", "nbdfuse", "sshd", "sshfs", "tc"),
    ),
    Step(
        id="calls",
        proves="A run whose n-th system call fails is sealed or reports that it is not, with each error of each call.",
        command=run_pytest("-s", "tests/e2e/test_nth_system_call.py"),
        env={"ASSAY_NTH_CALLS": "0", "ASSAY_NTH_AT_A_TIME": str(len(os.sched_getaffinity(0)))},
        minutes=40,
        read=figures.read_calls,
    ),
    Step(
        id="cuts",
        proves="After a power cut, at each flush and 200 times in between, a run is sealed and right, or unfinished.",
        command=run_pytest("-s", "tests/e2e/test_power_cut.py"),
        env={"ASSAY_FLUSH_CUTS": "0", "ASSAY_TORN_CUTS": "200"},
        minutes=30,
        read=figures.read_cuts,
        programs=FILE_SYSTEMS,
    ),
    Step(
        id="scale",
        proves="The engine needs less than 200 MiB of memory for ten million files, which this lays out.",
        command=run_pytest("-s", "tests/e2e/test_scale.py"),
        env={"ASSAY_FILES": "20000000"},
        minutes=30,
        read=figures.read_scale,
        programs=("losetup", "mkfs.ext4"),
    ),
    Step(
        id="repeats",
        proves="Ten quick runs in a row on each file system: halves of them differ no more often than by chance.",
        command=run_module("e2e.repeats"),
        folder="tests",
        minutes=40,
        read=figures.read_repeats,
        programs=FILE_SYSTEMS,
    ),
    Step(
        id="lab",
        proves="Assay names each planted cause with all its parameters, and reports nothing false with confidence.",
        command=run_module("e2e.planted"),
        env={"ASSAY_LAB": "1"},
        folder="tests",
        minutes=35,
        read=figures.read_lab,
        programs=(*FILE_SYSTEMS, "nbdkit"),
    ),
    Step(
        id="fuzz-programs",
        proves="The installed command answers or refuses 5,000 command lines with changed words, files and variables.",
        command=run_pytest("-s", "tests/e2e/test_fuzzed_programs.py"),
        env={"ASSAY_FUZZ_PROGRAMS": "5000"},
        minutes=60,
        read=figures.read_fuzzed_programs,
    ),
    Step(
        id="endurance",
        proves="A run of two hours holds no more memory than in its first five minutes.",
        command=run_pytest("-s", "tests/e2e/test_endurance.py"),
        env={"ASSAY_ENDURE_S": "7200"},
        minutes=125,
        read=figures.read_endurance,
        needs_root=False,
    ),
    Step(
        id="hostile",
        proves="Who attacks a measured directory, or the folder or device of a campaign, ten minutes each in 16 ways, "
        "changes nothing outside.",
        command=run_side_by_side(
            "-rP", "tests/e2e/test_second_users.py", "tests/e2e/test_campaign_attacks.py", "-k", "nothing_done_outside"
        ),
        env={"ASSAY_HOSTILE_S": "600"},
        minutes=45,
        read=figures.read_hostile,
        programs=FILE_SYSTEMS,
    ),
    *(_mutants(part) for part in range(1, MUTANT_PARTS + 1)),
    Step(
        id="mutants-engine",
        proves="The engine's tests fail for 90 % of small changes to its histogram and meter.",
        command=run_module("suite.mutation.engine"),
        folder="tests",
        minutes=60,
        read=figures.read_mutants,
        needs_root=False,
        programs=("cargo", "cargo-mutants"),
    ),
)
