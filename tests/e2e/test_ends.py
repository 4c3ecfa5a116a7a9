"""Whatever happens, a run seals its bundle or says that it did not: terminals, disks, limits and signals that fail it."""

import contextlib
import fcntl
import json
import os
import pty
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.bundle.files import write_durably
from assay.errors import RunError
from e2e.command import COMMAND, NOBODY, TIMEOUT_S, Assay
from e2e.processes import WAIT_S, Running, engines_of, events_of, load_file, nothing_in, running
from testbed.devices import MIB, read_only_mount, tmpfs
from testbed.host import command, need_root, need_tools, wait_until

KIB = 1 << 10
Words = Sequence[str | os.PathLike[str]]
MOMENTS = int(os.environ.get("ASSAY_MOMENTS", "4"))
"""Moments of a run at which a signal is tried; 0: all of them."""


def states(runs: Path) -> list[tuple[str, int | None]]:
    """State and exit code of every run; a folder that is no run is one too."""
    listed = json.loads(Assay(runs=runs)("ls", "--json", check=0).stdout)
    found = {run["run_id"]: (run["state"], run["exit_code"]) for run in listed}
    folders = [path.name for path in runs.iterdir() if path.is_dir()] if runs.is_dir() else []
    return [found.get(name, ("no run", None)) for name in sorted(folders)]


def sealed_or_said(runs: Path, said: str) -> bool:
    """Whether there is no run, or a sealed one, or it was said that it could not be sealed."""
    return all(state == "sealed" for state, _ in states(runs)) or "could not be sealed" in said


def ended(words: Words, runs: Path, **streams: Any) -> "subprocess.CompletedProcess[str]":
    """Run `assay WORDS` to its end with streams or limits that are unusual."""
    usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "ASSAY_RUNS": str(runs)}
    return subprocess.run(
        [COMMAND, *words], env=environment, text=True, timeout=TIMEOUT_S, check=False, **{**usual, **streams}
    )


# -- the terminal ------------------------------------------------------------------------------------------------------


@contextmanager
def on_a_terminal(words: Words, runs: Path, *, hears_hup: bool) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Run `assay WORDS` on a terminal of its own; yields it and the other side of the terminal."""
    ours, its = pty.openpty()

    def own_the_terminal() -> None:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_DFL if hears_hup else signal.SIG_IGN)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [COMMAND, *words],
        env={**os.environ, "ASSAY_RUNS": str(runs), "TERM": "xterm"},
        stdin=its,
        stdout=its,
        stderr=its,
        preexec_fn=own_the_terminal,  # noqa: PLW1509 - the tests have one thread
    )
    os.close(its)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(WAIT_S)


def is_measuring(runs: Path, terminal: int) -> bool:
    """Whether a run has its first interval; reads what the terminal shows, so that nobody waits for it."""
    while select.select([terminal], [], [], 0)[0]:
        os.read(terminal, 1 << 16)
    return any(event["event"] == "interval" for event in events_of(runs))


@contextmanager
def nobody_reads(*, terminal: bool) -> Iterator[int]:
    """A pipe, or a terminal, that takes nothing any more; its reader is there."""
    reader, writer = pty.openpty() if terminal else os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"full" * KIB)
    os.set_blocking(writer, True)
    try:
        yield writer
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_stop_is_heard_where_nobody_reads_what_is_said(terminal: bool, directory: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    load = load_file(tmp_path)
    with nobody_reads(terminal=terminal) as full:
        process = subprocess.Popen(
            [COMMAND, "run", load, directory, "--no-report"],
            env={**os.environ, "ASSAY_RUNS": str(runs), "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=full,
        )
        try:
            # Not for data: a display that cannot begin keeps the engine from its own begin.
            wait_until(lambda: any(runs.glob("*/run.json")), "a run", WAIT_S)
            process.send_signal(signal.SIGTERM)
            code = process.wait(WAIT_S)
        finally:
            process.kill()

    assert (code, states(runs)) == (130, [("sealed", 130)])
    assert nothing_in(directory)


@pytest.mark.parametrize("hears_hup", [True, False])
def test_a_run_whose_terminal_goes_away_is_sealed(hears_hup: bool, directory: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    words: Words = ("run", load_file(tmp_path, seconds="1h" if hears_hup else "2s"), directory, "--no-report")

    with on_a_terminal(words, runs, hears_hup=hears_hup) as (process, terminal):
        wait_until(lambda: is_measuring(runs, terminal), "an interval", WAIT_S)
        os.close(terminal)
        code = process.wait(WAIT_S)

    if hears_hup:
        assert (code, states(runs)) == (130, [("sealed", 130)])
    else:
        assert code in {0, 1}
        assert states(runs) == [("sealed", code)]
    assert nothing_in(directory)


@pytest.mark.parametrize("way", ["full", "without a reader", "closed", "all closed"])
def test_words_that_nobody_takes_end_no_run(way: str, assay: Assay, directory: Path, tmp_path: Path) -> None:
    words: Words = ["run", load_file(tmp_path, seconds="0.3s"), directory, "--no-report", "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full:
        closing = {"closed": (2,), "all closed": (0, 1, 2)}.get(way, ())

        def close() -> None:
            for descriptor in closing:
                os.close(descriptor)

        stderr = {"full": full, "without a reader": writer}.get(way, subprocess.PIPE)
        done = ended(words, assay.runs, stderr=stderr, preexec_fn=close)
    os.close(writer)

    assert done.returncode in {0, 1}
    assert states(assay.runs) == [("sealed", done.returncode)]
    if way != "all closed":
        assert json.loads(done.stdout)["results"][0]["ops"] > 0
    assert nothing_in(directory)


# -- limits ------------------------------------------------------------------------------------------------------------


def limited(what: int, value: int, *, user: int | None = None) -> dict[str, Any]:
    """Streams and limits of a process that may have only so much."""

    def limit() -> None:
        resource.setrlimit(what, (value, value))

    return {"preexec_fn": limit, "user": user, "group": user, "extra_groups": None if user is None else []}


@pytest.mark.parametrize("most_bytes", [0, 1 * KIB, 8 * KIB, 64 * KIB, 1 * MIB])
def test_a_limit_of_file_sizes_is_said_and_the_run_is_sealed_where_it_can_be(
    most_bytes: int, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    words: Words = ["run", load_file(tmp_path, seconds="0.3s"), directory, "--no-report"]

    done = ended(words, assay.runs, **limited(resource.RLIMIT_FSIZE, most_bytes))

    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    refusals = ("ulimit -f", "No usable temporary directory", "no more events")
    assert any(text in done.stderr for text in refusals), done.stderr
    assert sealed_or_said(assay.runs, done.stderr)
    assert nothing_in(directory)
    if most_bytes >= 64 * KIB:
        assert states(assay.runs) == [("sealed", 3)]


def test_events_beyond_the_limit_of_file_sizes_stop_the_run(assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path, seconds="10min")
    load.write_text('sample_interval = "10ms"\n' + load.read_text().replace("4MiB", "64KiB"))

    done = ended(["run", load, directory, "--no-report"], assay.runs, **limited(resource.RLIMIT_FSIZE, 256 * KIB))

    assert done.returncode == 3
    assert "no more events could be written" in done.stderr
    assert states(assay.runs) == [("sealed", 3)]
    assert nothing_in(directory)


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 8, 12])
def test_a_limit_of_processes_is_said(most: int, unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    directory = unprivileged.home / "measured"
    directory.mkdir()
    directory.chmod(0o777)
    load = load_file(unprivileged.home, seconds="0.3s")
    load.write_text(load.read_text().replace("[[phase.job]]", "[[phase.job]]\nworkers = 4"))
    load.chmod(0o644)

    done = ended(
        ["run", load, directory, "--no-report"], unprivileged.runs, **limited(resource.RLIMIT_NPROC, most, user=NOBODY)
    )

    # OpenBLAS, without its threads, sends the process an INT.
    assert done.returncode in ({130} if "OpenBLAS" in done.stderr else {0, 1, 3}), done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode != 3 or "(ulimit -u)" in done.stderr
    assert sealed_or_said(unprivileged.runs, done.stderr)
    assert nothing_in(directory)


@pytest.mark.parametrize("most", [8, 12, 16, 20, 24])
def test_a_limit_of_open_files_is_said(most: int, assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path, seconds="0.3s")
    load.write_text(load.read_text().replace("[[phase.job]]", "[[phase.job]]\nworkers = 20"))

    done = ended(["run", load, directory, "--no-report"], assay.runs, **limited(resource.RLIMIT_NOFILE, most))

    assert done.returncode in {0, 1, 3}, done.stderr
    assert "panicked" not in done.stderr
    assert done.returncode != 3 or "oo many open files" in done.stderr
    assert sealed_or_said(assay.runs, done.stderr)
    assert nothing_in(directory)


@pytest.mark.parametrize("most_mib", [128, 512, 800, 4096])
def test_a_limit_of_memory_is_said_before_anything_is_done(
    most_mib: int, assay: Assay, directory: Path, tmp_path: Path
) -> None:
    words: Words = ["run", load_file(tmp_path, seconds="0.3s"), directory, "--no-report"]

    done = ended(words, assay.runs, **limited(resource.RLIMIT_AS, most_mib * MIB))

    if most_mib < 1024:
        assert (done.returncode, states(assay.runs)) == (3, [])
        assert done.stderr.endswith("raise the limit (ulimit -v)\n")
    elif done.returncode == 3:  # a machine of many CPUs needs more
        assert "(ulimit -v)" in done.stderr
    else:
        assert states(assay.runs) == [("sealed", done.returncode)]
    assert nothing_in(directory)


def test_a_limit_that_leaves_no_room_to_draw_leaves_the_answer(assay: Assay, directory: Path, tmp_path: Path) -> None:
    words: Words = ["run", load_file(tmp_path, seconds="0.3s"), directory]
    limit = limited(resource.RLIMIT_AS, 16 << 30)

    done = ended(words, assay.runs, **limit)
    reported = ended(["report", "-o", tmp_path / "report.html"], assay.runs, **limit)

    assert done.returncode in {0, 1}, done.stderr
    assert "No report: address space is limited to 16 GiB" in done.stderr
    assert (reported.returncode, "(ulimit -v unlimited)" in reported.stderr) == (3, True), reported.stderr
    assert not (tmp_path / "report.html").exists()
    charts = ended(["export", "last", "--charts", tmp_path / "charts"], assay.runs, **limit)
    assert (charts.returncode, "(ulimit -v unlimited)" in charts.stderr) == (3, True), charts.stderr
    assert not (tmp_path / "charts").exists()


# -- the folder of the runs --------------------------------------------------------------------------------------------


def test_a_full_folder_at_the_start_leaves_nothing_there(assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path)
    with tmpfs(1 * MIB) as runs:
        (runs / "ballast").write_bytes(bytes(1 * MIB - 8 * KIB))
        done = assay("run", load, directory, "--runs", runs, check=3)

        assert [path.name for path in runs.iterdir()] == ["ballast"]

    assert f"{runs}: a run folder cannot be made here: No space left on device" in done.stderr
    assert "Nothing was measured" in done.stderr
    assert nothing_in(directory)


def test_a_folder_that_cannot_be_written_any_more_keeps_what_is_there_and_is_said(
    directory: Path, assay: Assay, tmp_path: Path
) -> None:
    need_root()
    need_tools("chattr")
    with running("run", load_file(tmp_path, seconds="2s"), directory, "--no-report", folder=tmp_path) as run:
        run.engine_of_a_run(assay.runs)
        (folder,) = (path for path in assay.runs.iterdir() if path.is_dir())
        try:
            command("chattr", "+i", folder)
        except RuntimeError as error:
            pytest.skip(f"needs a file system with chattr: {error}")
        try:
            code, said = run.exit_code(), run.said()
        finally:
            command("chattr", "-i", folder)

    assert (code, states(assay.runs)) == (3, [("unfinished", None)])
    assert "could not be sealed" in said
    assert "Operation not permitted" in said
    assert f"The run is kept: {folder}" in said
    assert "Traceback" not in said
    assert nothing_in(directory)


@pytest.mark.testbed
def test_a_file_on_a_read_only_file_system_is_refused_with_the_reason() -> None:
    with read_only_mount() as mount_point, pytest.raises(RunError, match="Read-only file system"):
        write_durably(mount_point / "absent", b"")


# -- signals, at every moment ------------------------------------------------------------------------------------------

COUNTED = """
import os, signal, sys
at, number = sys.argv[1], int(sys.argv[2])
sys.argv = ["assay", *sys.argv[3:]]
from assay.start import main
from assay.running.stopping import end_on_signals
end_on_signals()
names = {}
def count(frame, event, argument):
    if event == "call" and "/assay/" in frame.f_code.co_filename:
        name = f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"
        if name == at and name not in names:
            os.write(2, b"SENT\\n")
            os.kill(os.getpid(), number)
        names.setdefault(name)
sys.setprofile(count)
try:
    main()
finally:
    sys.setprofile(None)
    if not at:
        for name in names:
            print("CALL", name, file=sys.stderr)
"""
"""Runs the command, and sends it a signal at the first call of one of Assay's functions; without a name: tells all."""


BEGINNING = (":RunBundle.create", ":make_run_folder", ":keep_scripts", ":RunBundle._begin", ":sign")
"""What makes the folder of a run, and what is written into it first."""
ENDING = "/stopping.py:ending"
"""Called when the exit code is settled."""


def test_a_signal_at_any_moment_leaves_sealed_runs_and_no_data(assay: Assay, directory: Path, tmp_path: Path) -> None:
    words: Words = ["run", load_file(tmp_path, seconds="0.2s"), directory, "--no-report"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def at(moment: str, number: signal.Signals) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", COUNTED, moment, str(number.value), *words],
            env={**os.environ, "ASSAY_RUNS": str(assay.runs), "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    whole = at("", signal.SIGINT)
    moments = [line.removeprefix("CALL ") for line in whole.stderr.splitlines() if line.startswith("CALL ")]
    # What makes the folder, what is written into it before it is a run, and the last of all, are always tried.
    begin = [moment for moment in moments if moment.endswith((*BEGINNING, ENDING))]
    rng = random.Random(5)  # noqa: S311 - a choice of moments
    tried = moments if MOMENTS == 0 else sorted({*begin, *rng.sample(moments, min(MOMENTS, len(moments)))})

    assert whole.returncode in {0, 1}
    assert len(begin) == len((*BEGINNING, ENDING))
    sent = 0
    for moment in tried:
        number = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        done = at(moment, number)
        where = f"{number.name} at {moment}\n{done.stderr}"
        # Another number, or a slower machine, calls other functions: such a moment does not come.
        assert "SENT" in done.stderr or moment not in begin, where
        sent += "SENT" in done.stderr
        # One that comes when the exit code is settled changes nothing any more (`stopping.ending`).
        is_settled = moment.endswith(ENDING) and done.returncode == whole.returncode
        assert done.returncode == 130 or is_settled or "SENT" not in done.stderr, where
        assert "Traceback" not in done.stderr, where
        folders = [path for path in assay.runs.glob("*") if path.is_dir()]
        assert all((folder / "manifest.json").exists() for folder in folders), where
        assert nothing_in(directory), where
        assert nothing_in(scratch), where
        shutil.rmtree(assay.runs, ignore_errors=True)
    assert sent > len(tried) / 2


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """Stop a process."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


# -- killed, hung ------------------------------------------------------------------------------------------------------


def test_a_killed_worker_process_is_named_and_the_run_is_sealed(assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path)
    load.write_text(load.read_text().replace("[[phase.job]]", '[[phase.job]]\nworkers = 2\nas = "process"'))

    with running("run", load, directory, "--no-report", folder=tmp_path) as run:
        run.wait_until_measured()
        worker = engines_of(run.engine())[0]
        os.kill(worker, signal.SIGKILL)

        assert run.exit_code() == 3
        assert (
            f"process {worker} was ended by signal 9 (SIGKILL; the kernel sends it when memory runs out)" in run.said()
        )

    assert states(assay.runs) == [("sealed", 3)]
    assert nothing_in(directory)


# -- pauses ------------------------------------------------------------------------------------------------------------

PAUSED_S = 3.0


def findings(runs: Path) -> dict[str, str]:
    """Identifiers and texts of what was found of the only result."""
    (result,) = json.loads(Assay(runs=runs)("show", "last", "--json", check=0).stdout)["results"]
    assert result["trusted"] == all(finding["severity"] == "note" for finding in result["findings"])
    return {finding["id"]: finding["text"] for finding in result["findings"]}


@contextmanager
def frozen(engine: int) -> Iterator[None]:
    """Freeze the control group of an engine."""
    need_root()
    name = f"assay-test-frozen-{os.getpid()}"
    group = Path("/sys/fs/cgroup/freezer") / name
    if not group.parent.is_dir():
        group = Path("/sys/fs/cgroup") / name
    group.mkdir()
    try:
        switch, on, off = group / "freezer.state", "FROZEN", "THAWED"
        if not switch.exists():
            switch, on, off = group / "cgroup.freeze", "1", "0"
        if not switch.exists():
            pytest.skip("needs control groups that can be frozen")
        (group / "cgroup.procs").write_text(str(engine))
        switch.write_text(on)
        try:
            yield
        finally:
            switch.write_text(off)
            (group.parent / "cgroup.procs").write_text(str(engine))
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip(), f"{group} empty")
        group.rmdir()


@pytest.mark.quiet
@pytest.mark.held
@pytest.mark.parametrize("pause", [stopped, frozen])
def test_a_client_that_stood_still_is_not_trusted(
    pause: Callable[[int], Any], assay: Assay, directory: Path, tmp_path: Path
) -> None:
    with running("run", load_file(tmp_path, seconds="8s"), directory, "--no-report", folder=tmp_path) as run:
        run.wait_until_measured()
        with pause(run.engine()):
            time.sleep(PAUSED_S)

        code = run.exit_code()
        assert "the client was paused for" in run.said()

    assert "client-paused" in findings(assay.runs)
    assert "stalled" not in findings(assay.runs)
    pauses = [event for event in sealed_events(assay.runs) if event["event"] == "paused"]
    # A number may be of what came after the pause, where that was steady; no number is of the pause.
    assert code == 1 or not is_in_window(pauses[-1], assay.runs)
    # It sleeps a quarter of a second at most between two looks.
    assert sum(event["paused_ns"] for event in pauses) >= (PAUSED_S - 0.25) * 1e9


def is_in_window(pause: dict[str, Any], runs: Path) -> bool:
    """Whether a pause reaches into the window of the only result."""
    (result,) = json.loads(Assay(runs=runs)("show", "last", "--json", check=0).stdout)["results"]
    (started,) = [event for event in sealed_events(runs) if event["event"] == "started"]
    begin_s, end_s = ((pause[at] - started["start_ns"]) / 1e9 for at in ("begun_ns", "t_ns"))
    return bool(end_s > result["window_s"][0] and begin_s < result["window_s"][1])


def sealed_events(runs: Path) -> list[dict[str, Any]]:
    """What the engine of the only run has told, intervals left out."""
    (path,) = runs.glob("*/events/0.json")
    events: list[dict[str, Any]] = json.loads(path.read_bytes())
    return events


def is_measured(run: Running) -> bool:
    """Whether the only phase of a run has ended."""
    return any(event["event"] == "phase_finished" for event in events_of(run.said_path.parent / "runs"))


@pytest.mark.quiet
def test_a_client_that_is_merely_busy_is_not_called_paused(directory: Path, tmp_path: Path) -> None:
    load = load_file(tmp_path, seconds="4s")
    words = ("run", load, directory, "--no-report")
    # Nicer than what spins, so that it waits for a CPU most of the time.
    with running(*words, folder=tmp_path, started_by='exec nice -n 10 "$@"') as run:
        run.wait_until_measured()
        spinners = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * (os.cpu_count() or 1))
        ]
        try:
            # What comes after the phase may have the CPUs.
            wait_until(lambda: is_measured(run) or not engines_of(run.process.pid), "the phase ends", WAIT_S)
        finally:
            for spinner in spinners:
                spinner.kill()
                spinner.wait()
        assert run.exit_code() in {0, 1}, run.said()

    assert "client-paused" not in findings(tmp_path / "runs")
