import contextlib
import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import msgspec
import pytest

from e2e import repeats
from e2e.processes import WAIT_S, is_alive
from suite import prove
from suite.mutation.survivors import Change
from suite.mutation.tally import KILLED, SURVIVED, TIMED_OUT, Tally
from suite.proof import figures, page
from suite.proof.figures import Reading
from suite.proof.machine import PAGE, read_work_tree
from suite.proof.page import FAILED, PASSED, Record, read_records, show
from suite.proof.steps import STEPS, Step
from testbed.host import wait_until

ROOT = Path(__file__).parents[2]

# -- the figures in the output of a step -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "output", "expected"),
    [
        (
            figures.read_pytest,
            "tests/e2e/test_a.py ....\n====== 124 passed, 2 skipped, 3 deselected in 131.02s (0:02:11) ======\n",
            Reading("124 passed, 2 skipped"),
        ),
        (figures.read_pytest, "1 failed, 3 passed, 1 warning in 4.20s\n", Reading("1 failed, 3 passed")),
        (figures.read_pytest, "== 4 skipped in 0.10s ==\n", Reading("4 skipped", "no test passed")),
        (figures.read_pytest, "Killed\n", Reading("no figures in the output", "pytest printed no closing line")),
        (
            figures.read_fuzzed_readers,
            (
                "tests/unit/test_fuzz.py load file: 10000 tried, 812 taken, 12 MiB\n.--set: 10000 tried, 30 taken, 4 MiB\n"
                ".forged hist.parquet: 1000 tried, 5 taken, 61 MiB\n.\n==== 80 passed in 92.11s (0:01:32) ====\n"
            ),
            Reading("3 readers, 21,000 cases (1,000 to 10,000 each), 847 of them accepted, at most 61 MiB; 80 passed"),
        ),
        (
            figures.read_fuzzed_engine,
            (
                "running 2 tests\nplans: 10000 tried\ntest plans ... ok\ntest events ... events: 10000 tried\nok\n\n"
                "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 41.20s\n"
            ),
            Reading("2 readers, 20,000 cases (10,000 each); 2 passed, 0 failed"),
        ),
        (
            figures.read_models,
            (
                "running 2 tests\ntest one ... 12 orders\nok\n1200 orders\ntest two ... ok\n\n"
                "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n"
                "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n"
            ),
            Reading("2 models in 1,212 orders; 3 passed, 0 failed"),
        ),
        (figures.read_models, "error\n", Reading("no model was run; 0 passed, 0 failed", "no model was run")),
        (
            figures.read_fuzzed_programs,
            (
                "100 cases: {'2': 80, '0': 20}\n5000 cases: {'2': 4000, '0': 1000}; slowest 8.1 s, largest 240 MiB\n.\n"
                "== 1 passed in 2500.00s (0:41:40) ==\n"
            ),
            Reading("5,000 cases, 0 faults, slowest 8.1 s, largest 240 MiB; 1 passed"),
        ),
        (
            figures.read_differences,
            (
                "unsure  equal: inconclusive, 1.001 (0.960 to 1.040), 8 rounds\nequal: not a line of it\n"
                "right   equal: equivalent, 1.000 (0.995 to 1.004), 8 rounds\n"
                "wrong   3 % lower: better, 1.040 (1.031 to 1.050), 8 rounds\n"
            ),
            Reading(
                "equal: equivalent, 1.000 (0.995 to 1.004), 8 rounds;"
                " 3 % lower: better, 1.040 (1.031 to 1.050), 8 rounds (wrong)"
            ),
        ),
        (
            figures.read_stragglers,
            (
                "wrong   slow device, 8 ms of 2 ms: no straggler among {'h1': 400}\n"
                "right   slow device, 8 ms of 2 ms: h2 has 30 % of the others: waiting for storage\n"
                "wrong   slow link, 10 of 40 Mbit/s: h2 has 25 % of the others: its cache\n"
                "right   sum 1: late h2 for 0.05 s\n"
                "wrong   sum 2: pause h2 at 1.06 s for 0.09 s; without the pause of h2\n"
            ),
            Reading(
                "slow device, 8 ms of 2 ms: 30 %; slow link, 10 of 40 Mbit/s: 25 % (wrong); 1 of 2 disturbed sums right"
            ),
        ),
        (
            figures.read_hostile,
            (
                "tmpfs, sticky: came through: 12; exits of runs: {0: 120, 3: 5}\n.xfs, open: came through: 3; exits of runs:"
                " {0: 1000}\n.\n== 2 passed, 31 deselected in 1200.00s (0:20:00) ==\n"
            ),
            Reading("2 attacks on 1,125 runs and cleanings; 2 passed"),
        ),
        (
            figures.read_cuts,
            (
                "ext4: 376 cuts, 200 of them torn, of 2000 requests with 176 flushes: {'sealed': 300}\n.\n"
                "== 1 passed in 60.00s ==\n"
            ),
            Reading("ext4: 376 cuts, 200 torn; 1 passed"),
        ),
        (
            figures.read_calls,
            (
                "100 of 2298 \n766 calls in a run; 2298 failures tried, 2290 met: {'EIO': 2290}\nexit codes {0: 1}; {}\n"
                "the longest took 3.0 s\n.\n== 1 passed in 2000.00s ==\n"
            ),
            Reading("2,298 failures of 766 calls, 2,290 met; 1 passed"),
        ),
        (
            figures.read_endurance,
            (
                "command and engine hold at most (70000000, 30000000) bytes at the beginning, (70500000, 30300000) later\n"
                "7200 intervals: events of 100 bytes, a bundle of 10 bytes\n.\n== 1 passed in 7230.00s (2:00:30) ==\n"
            ),
            Reading("7,200 intervals; memory +0.8 % after the beginning; 1 passed"),
        ),
        (
            figures.read_scale,
            "6000000 bytes with 20000 files, 17000000 with 20000000: 0.55 a file\n.\n== 1 passed in 900.00s ==\n",
            Reading("20,000,000 names: 16 MiB of memory, 0.55 bytes for each further file; 1 passed"),
        ),
    ],
)
def test_figures_are_read_from_the_output(read: object, output: str, expected: Reading) -> None:
    assert callable(read)
    assert read(output) == expected


def mutants_output(killed: int, timed_out: int, excused: int, survived: int, seed: int | None) -> str:
    tally = Tally(
        {Change("src/a.py", "x = 1", "x = 2"): "the value is never used"}, killed + timed_out + excused + survived
    )
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        for number in range(killed + timed_out):
            tally.add(KILLED if number < killed else TIMED_OUT, Change("src/b.py", "y < 1", "y <= 1"), "7")
        for _ in range(excused):
            tally.add(SURVIVED, Change("src/a.py", "x = 1", "x = 2"), "1")
        for number in range(survived):
            tally.add(SURVIVED, Change("engine/src/c.rs", "z > 1", "replace > with >="), str(10 + number))
        code = tally.close(12000, seed)
    return f"{shown.getvalue()}exit code {code}\n"


def test_a_mutant_that_survives_with_a_reason_is_in_no_share() -> None:
    # 18 of the 20 that have no reason are killed: 90 %.
    output = mutants_output(killed=17, timed_out=1, excused=5, survived=2, seed=4)

    assert output.endswith("exit code 0\n")
    assert figures.read_mutants(output) == Reading(
        "25 of 12,000 mutants, seed 4: 17 killed, 1 timed out, 5 survived with a reason, 2 without: 90.0 % killed;"
        " c.rs:10 c.rs:11"
    )


def test_a_share_of_killed_mutants_below_90_percent_is_a_flaw() -> None:
    output = mutants_output(killed=17, timed_out=0, excused=5, survived=2, seed=None)

    assert output.endswith("exit code 1\n")
    reading = figures.read_mutants(output)
    assert reading.figures.startswith("24 of 12,000 mutants: 17 killed, ")
    assert reading.flaw == "less than 90 % killed"


def test_the_summary_of_repeats_is_read_as_it_is_written() -> None:
    rows = [
        repeats.Row("ext4", phase, 10, 0, 1.2, 4, p, 0.03)
        for phase, p in (("read", 0.3), ("write", 0.01), ("stat", None))
    ]

    reading = figures.read_repeats("ext4: run 1 of 10\n" + repeats._summary(rows))

    assert reading == Reading(
        "30 trusted numbers; 1 of 2 rows have no difference between halves of their runs; 40 % of the runs' own intervals"
        " hold the median"
    )


def lab_output(**counts: int) -> str:
    return "".join(
        f"{outcome.replace('_', ' '):12}cause {number % 3} (depth 1)\n{'':12}unknown (low), storage, trust yes\n"
        for outcome, count in counts.items()
        for number in range(count)
    )


def test_the_lab_passes_with_one_trial_of_twenty_unsure_and_not_with_two() -> None:
    assert figures.read_lab(lab_output(right=19, unsure=1)) == Reading(
        "3 causes, 20 trials: 19 right, 1 unsure, 0 wrong"
    )
    assert figures.read_lab(lab_output(right=18, unsure=2)).flaw == "less than 95 % right"


def test_trials_that_the_lab_could_not_carry_out_are_counted_as_not_right() -> None:
    reading = figures.read_lab(lab_output(right=8, not_planted=1, skipped=1) + "left behind: loop\n")

    assert reading.figures == "3 causes, 10 trials: 8 right, 0 unsure, 0 wrong, 1 not planted, 1 skipped"
    assert reading.flaw == "less than 95 % right; 1 left behind"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_a_step_without_output_has_a_flaw(step: Step) -> None:
    assert step.read("").flaw


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_files_that_a_step_names_are_there(step: Step) -> None:
    assert all((ROOT / word).exists() for word in step.command if word.startswith("tests/"))
    if step.folder == "tests":
        module = ROOT / "tests" / step.command[-1].replace(".", "/")
        assert module.with_suffix(".py").exists() or (module / "__main__.py").exists()


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_committed_page_has_the_steps_of_the_table() -> None:
    records = read_records(ROOT / PAGE)

    assert (ROOT / PAGE).read_text(encoding="utf-8") == show(STEPS, records), (
        "make it anew: python -m suite.prove --page"
    )


def record(step: str, **changes: object) -> Record:
    first = Record(
        step=step,
        commit="a" * 40,
        machine="Linux 6.1.0 on x86_64, 2 CPUs, 7.8 GiB of memory",
        begun_utc="2026-11-26T10:00:00Z",
        ended_utc="2026-11-26T10:02:00Z",
        seconds=120.0,
        outcome=PASSED,
        figures="3 passed",
    )
    return msgspec.structs.replace(first, **changes)


def test_the_page_keeps_every_record_as_it_is(tmp_path: Path) -> None:
    steps = [fake_step("one"), fake_step("two"), fake_step("three")]
    records = {
        "one": record("one", figures="a | b --> <!-- \\ é"),
        "two": record("two", commit="b" * 40, outcome=FAILED, is_dirty=True, machine="Linux 7, 64 CPUs"),
    }

    page.write_records(tmp_path / "proof.md", steps, records)

    assert read_records(tmp_path / "proof.md") == records
    assert [path.name for path in tmp_path.iterdir()] == ["proof.md"]


def test_a_row_names_the_commit_and_the_machine_where_they_are_not_those_of_the_page() -> None:
    steps = [fake_step("old"), fake_step("new"), fake_step("never")]
    later = record("new", ended_utc="2026-11-27T10:00:00Z")
    earlier = record("old", commit="b" * 40, is_dirty=True, machine="Linux 7, 64 CPUs")

    shown = show(steps, {"old": earlier, "new": later}).splitlines()

    assert "- Commit: `" + "a" * 40 + "`" in shown
    assert "- Machine: Linux 6.1.0 on x86_64, 2 CPUs, 7.8 GiB of memory" in shown
    assert "- Date: 2026-11-27" in shown
    assert "- Steps of this commit: 1 of 3 passed, 0 failed" in shown
    rows = {line.split(" ")[1]: line for line in shown if line.startswith("| ")}
    assert rows["old"].endswith(f"| `{'b' * 12}` with uncommitted changes; Linux 7, 64 CPUs |")
    assert rows["new"].endswith("| passed | 3 passed | 2 min | 2026-11-27 10:00 |  |")
    assert "| not run |" in rows["never"]


# -- running the steps -------------------------------------------------------------------------------------------------


def fake_step(name: str, code: str = "pass", **changes: object) -> Step:
    words = f"import pathlib\npathlib.Path('build', 'ran').open('a').write('{name} ')\n{textwrap.dedent(code)}"
    step = Step(
        id=name,
        proves=f"It proves {name}.",
        command=(sys.executable, "-c", words),
        minutes=1,
        read=read_fake,
        needs_root=False,
    )
    for field, value in changes.items():
        object.__setattr__(step, field, value)
    return step


def read_fake(output: str) -> Reading:
    return Reading(output.strip() or "nothing printed", "its figures are bad" if "bad" in output else "")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with a commit, whose folder `build` is ignored."""
    (tmp_path / "build").mkdir()
    (tmp_path / ".gitignore").write_text("/build/\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(clone: Path, *words: str) -> None:
    identity = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")
    subprocess.run(["git", *identity, *words], cwd=clone, check=True, capture_output=True)


def commit(clone: Path) -> None:
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "A change")


def ran(clone: Path) -> list[str]:
    """Steps that ran since the last call."""
    file = clone / "build" / "ran"
    names = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return names


def test_steps_with_a_record_of_this_commit_are_not_run_again(clone: Path) -> None:
    steps = [fake_step("one"), fake_step("two")]

    assert prove.main(["one"], steps, clone) == 0
    assert ran(clone) == ["one"]
    assert prove.main([], steps, clone) == 0
    assert ran(clone) == ["two"]
    assert prove.main([], steps, clone) == 0
    assert ran(clone) == []
    assert prove.main(["one"], steps, clone) == 0
    assert ran(clone) == ["one"]


def test_a_fresh_clone_goes_on_from_the_committed_page_until_something_else_is_committed(
    clone: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    steps = [fake_step("one"), fake_step("two")]
    prove.main(["one"], steps, clone)
    commit(clone)  # the page alone
    fresh = tmp_path_factory.mktemp("fresh") / "clone"
    git(clone, "clone", "--quiet", str(clone), str(fresh))
    (fresh / "build").mkdir()

    assert prove.main([], steps, fresh) == 0
    assert ran(fresh) == ["two"]
    commit(fresh)
    (fresh / "code").write_text("another")
    commit(fresh)
    assert prove.main(["two"], steps, fresh) == 0
    assert ran(fresh) == ["two"]
    records = read_records(fresh / PAGE)
    assert records["one"].commit != records["two"].commit == read_work_tree(fresh).commit
    assert f"`{records['one'].commit[:12]}`" in (fresh / PAGE).read_text()


def test_a_failed_step_gives_exit_code_1_and_its_figures_and_the_later_ones_run(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [fake_step("first", "print('2 failed, 1 passed'); raise SystemExit(1)"), fake_step("second")]

    assert prove.main([], steps, clone) == 1

    assert ran(clone) == ["first", "second"]
    assert "| first | It proves first. | **failed** | 2 failed, 1 passed |" in (clone / PAGE).read_text()
    shown = capsys.readouterr().out
    assert "first: failed after 0 s: 2 failed, 1 passed; exit code 1, output in build/prove/first.log" in shown
    assert (clone / "build" / "prove" / "first.log").read_text() == "2 failed, 1 passed\n"
    # It has a record: started again, nothing runs, and the failure is still one.
    assert prove.main([], steps, clone) == 1
    assert ran(clone) == []


def test_a_step_whose_figures_have_a_flaw_fails_although_its_exit_code_is_0(clone: Path) -> None:
    assert prove.main([], [fake_step("one", "print('a bad count')")], clone) == 1

    assert "| **failed** | a bad count; its figures are bad |" in (clone / PAGE).read_text()


def test_uncommitted_changes_are_refused_or_reported_on_the_page(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "new").write_text("")

    assert prove.main([], [fake_step("one")], clone) == 2
    assert "uncommitted changes" in capsys.readouterr().err
    assert ran(clone) == []
    assert not (clone / PAGE).exists()
    assert prove.main(["--dirty"], [fake_step("one")], clone) == 0
    assert "` with uncommitted changes\n" in (clone / PAGE).read_text()
    # It is no proof of the commit.
    commit(clone)
    assert prove.main([], [fake_step("one")], clone) == 0
    assert ran(clone) == ["one", "one"]


def test_a_step_during_which_the_work_tree_changes_proves_no_commit(clone: Path) -> None:
    step = fake_step("one", "pathlib.Path('new').touch()")

    assert prove.main([], [step], clone) == 1

    assert read_records(clone / PAGE)["one"].is_dirty


def test_a_step_whose_needs_are_missing_is_not_run(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = fake_step("one", programs=("no-such-program",))

    assert prove.main([], [step], clone) == 1

    assert "one: not run: this machine lacks no-such-program" in capsys.readouterr().out
    assert ran(clone) == []


def test_variables_of_the_user_change_no_count(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_FUZZ", "3")
    monkeypatch.setenv("ASSAY_FAULTS", "few")
    step = fake_step(
        "one", "import os; print(os.environ.get('ASSAY_FUZZ'), os.environ['ASSAY_FAULTS'])", env={"ASSAY_FAULTS": "all"}
    )

    prove.main([], [step], clone)

    assert read_records(clone / PAGE)["one"].figures == "None all"


def test_a_step_that_no_table_has_is_refused_by_name(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove.main(["three"], [fake_step("one"), fake_step("two")], clone) == 2

    assert "no step is named three. The steps are: one two" in capsys.readouterr().err


def test_the_list_has_the_state_of_each_step(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [fake_step("one"), fake_step("two")]
    prove.main(["one"], steps, clone)
    capsys.readouterr()

    assert prove.main(["--list"], steps, clone) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[::2]] == ["passed", "run"]


def test_without_a_record_a_step_runs_whatever_the_work_tree_is(clone: Path) -> None:
    (clone / "new").write_text("")

    assert prove.main(["--no-record", "one"], [fake_step("one")], clone) == 0
    assert prove.main(["--no-record", "one"], [fake_step("one", "raise SystemExit(3)")], clone) == 1
    assert ran(clone) == ["one", "one"]
    assert not (clone / PAGE).exists()


STOPPED = """
import sys
from pathlib import Path
from suite import prove
from testbed.killed import unwind_when_ended
from unit.test_prove import fake_step

unwind_when_ended()
sys.exit(prove.main([], [fake_step("one"), fake_step("two", sys.argv[2])], Path(sys.argv[1])))
"""
MAKES_A_FILE = """
import time
from testbed.killed import unwind_when_ended
unwind_when_ended()
made = pathlib.Path("build", "made")
made.write_text("a file")
try:
    time.sleep(600)
finally:
    made.unlink()
"""
LEAVES_A_PROGRAM = """
import subprocess, time
program = subprocess.Popen(["sleep", "600"])
pathlib.Path("build", "made").write_text(str(program.pid))
time.sleep(600)
"""


def stop_second_step(clone: Path, code: str, number: signal.Signals) -> str:
    """Run two steps, send a signal in the second, and give what is printed and what the step has made."""
    places = os.pathsep.join([str(ROOT / "tests"), str(ROOT), *sys.path[1:]])
    made = clone / "build" / "made"
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, clone, code],
        env={**os.environ, "PYTHONPATH": places},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        while not (made.exists() and made.read_text()) and process.poll() is None:
            time.sleep(0.05)
        text = made.read_text()
        process.send_signal(number)
        shown, _ = process.communicate()
    assert process.returncode == 130, shown
    assert "two: stopping, and undoing what it has made" in shown
    assert [*read_records(clone / PAGE)] == ["one"]
    return text


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_step_undoes_what_it_made_and_has_no_record(clone: Path, number: signal.Signals) -> None:
    stop_second_step(clone, MAKES_A_FILE, number)

    assert not (clone / "build" / "made").exists()


def test_a_program_that_a_stopped_step_leaves_is_ended(clone: Path) -> None:
    pid = int(stop_second_step(clone, LEAVES_A_PROGRAM, signal.SIGTERM))

    wait_until(lambda: not is_alive(pid), f"process {pid} ends", WAIT_S)
