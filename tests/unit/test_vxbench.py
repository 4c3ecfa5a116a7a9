"""vxbench-style command lines against the Plans and the messages that they must become, and runs against their text."""

import dataclasses
import os
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import events, plan
from assay.analysis.record import RunRecord, read
from assay.bundle.tables import INTERVALS, OF_STREAM, WORKERS
from assay.errors import InputError
from assay.plan.walk import job_ops
from assay.tools.vxbench import FRONT_END
from assay.tools.vxbench.plan import to_plan
from assay.tools.vxbench.settings import Sharing
from assay.tools.vxbench.users import users
from goldens import Goldens
from unit import classic_runs as classic
from unit.memory_run import MemoryRun

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "vxbench"
LINES = sorted(GOLDEN.glob("*.args"))
ERRORS = sorted((GOLDEN / "errors").glob("*.args"))


def parse(line: str) -> plan.Plan:
    arguments = shlex.split(line)
    settings = FRONT_END.parse(arguments)
    directories = [Path(os.path.normpath(Path("/mnt/a directory") / Path(file).parent)) for file in settings.files]
    return to_plan(settings, FRONT_END.origin(arguments), directories)


@pytest.mark.parametrize("path", LINES, ids=lambda path: path.stem)
def test_a_command_line_becomes_the_plan_beside_it(path: Path, goldens: Goldens) -> None:
    made = parse(path.read_text())

    goldens.check_plan(path.with_suffix(".json"), made)


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_a_faulty_command_line_is_refused_with_what_would_be_right(path: Path, goldens: Goldens) -> None:
    with pytest.raises(InputError) as caught:
        parse(path.read_text())

    goldens.check(path.with_suffix(".txt"), f"{caught.value}\n")


@pytest.mark.parametrize("path", LINES, ids=lambda path: path.stem)
def test_the_settings_can_be_read_again_from_the_plan(path: Path) -> None:
    made = parse(path.read_text())

    assert FRONT_END.settings_of(made) == FRONT_END.parse(shlex.split(path.read_text()))


def test_all_workloads_of_the_definition_are_known() -> None:
    wanted = "read write rand_read rand_write rand_mixed aread awrite arand_read arand_write arand_mixed"

    for name in f"{wanted} mmap_read mmap_write".split():
        made = parse(f"-w {name} one")
        names = {op.name for op in job_ops(made.phases[0].jobs[0])}
        assert names == ({f"{name}-reads", f"{name}-writes"} if name.endswith("mixed") else {name})


def test_defaults_are_those_of_the_definition() -> None:
    settings = FRONT_END.parse(["-w", "read", "one"])

    assert (settings.iosize, settings.iocount, settings.nrep, settings.nthreads, settings.rdpct) == (
        8192,
        1024,
        1,
        1,
        50,
    )
    assert settings.range_bytes == 8192 * 1024
    assert settings.sharing is Sharing.THREADS


@given(
    iosize=st.integers(min_value=1, max_value=1 << 20),
    iocount=st.integers(min_value=1, max_value=1 << 20),
    stride=st.integers(min_value=0, max_value=100),
)
def test_every_strided_io_has_its_place_in_the_file(iosize: int, iocount: int, stride: int) -> None:
    made = parse(f"-w read -i iosize={iosize},iocount={iocount},stride={stride} one")

    size = made.file_sets[0].size
    assert isinstance(size, plan.Fixed)
    last_end = (iocount - 1) * max(1, stride) * iosize + iosize
    assert last_end <= size.value == iosize * iocount * max(1, stride)


def test_sizes_take_binary_letters() -> None:
    sizes = {
        word: FRONT_END.parse(["-w", "read", "-i", f"maxfilesize={word}", "f"]).maxfilesize
        for word in ("8192", "8k", "2M", "1g", "1t")
    }

    assert sizes == {"8192": 8192, "8k": 8192, "2M": 2 << 20, "1g": 1 << 30, "1t": 1 << 40}


# -- the text ----------------------------------------------------------------------------------------------------------


MS = 1_000_000


@dataclasses.dataclass(frozen=True)
class Done:
    """What one worker of one phase did."""

    worker: int
    end_ms: int
    ios: int
    user_ms: int = 0
    system_ms: int = 0
    on_cpu_ms: int | None = None
    stopped_by: events.StoppedBy = events.StoppedBy.PASSES


def run_of(line: str, *phases: list[Done], is_cut: bool = False) -> RunRecord:
    """Make a run whose phases began at second 5; each lists what its workers did, in I/Os of the asked size."""
    made = parse(line)
    size = FRONT_END.parse(shlex.split(line)).iosize
    intervals, samples = [], []
    lines: list[events.Event] = []
    for index, (phase, done) in enumerate(zip(made.phases, phases, strict=False)):
        job = phase.jobs[0]
        names = [op.name for op in job_ops(job)]
        t_s = 5 + max(one.end_ms for one in done) / 1000
        for name in names:
            ops = sum(one.ios for one in done) // len(names)
            intervals.append((index, job.name, name, t_s, t_s - 5, ops, ops * size, 0, 1, ops * MS, None, None))
        for one in done:
            cpu = (one.user_ms * MS, one.system_ms * MS)
            on_cpu = None if one.on_cpu_ms is None else one.on_cpu_ms * MS
            times = (on_cpu, 0, 0, *cpu)
            samples.append((index, t_s, job.name, one.worker, one.ios, one.ios * size, *times, one.ios, 0, 0))
        windows = tuple(_window(job.name, one) for one in done)
        finished = events.PhaseFinished(
            t_ns=int(t_s * 1e9), phase_index=index, start_ns=5000 * MS, stopped_by=events.StoppedBy.PASSES,
            workers=windows, jobs=(), errors=(),
        )  # fmt: skip
        lines.append(events.Started(t_ns=0, phase_index=index, start_ns=5000 * MS) if is_cut else finished)
    tables = {
        INTERVALS: pl.DataFrame(intervals, schema=OF_STREAM[INTERVALS], orient="row"),
        WORKERS: pl.DataFrame(samples, schema=OF_STREAM[WORKERS], orient="row"),
    }
    return read(MemoryRun(plan=made, lines=lines, tables=tables))


def _window(job: str, one: Done) -> events.WorkerWindow:
    return events.WorkerWindow(
        job=job, worker=one.worker, first_op_ns=5001 * MS, last_op_ns=(5000 + one.end_ms) * MS, started=one.ios,
        completed=one.ios, failed=0, abandoned=0, stopped_by=one.stopped_by,
    )  # fmt: skip


TWO_FILES = "-w read -i iosize=64k,iocount=1000,nthreads=2 one two"
FOUR_WORKERS = [Done(0, 2000, 1000, 30, 470), Done(1, 4000, 1000, 20, 480), Done(2, 2500, 1000), Done(3, 1250, 1000)]


def test_each_worker_and_all_of_them_have_a_line() -> None:
    # 1000 x 64 KiB are 64,000 KB. Of two files with two threads each, workers 0 and 2 have the first.
    assert classic.text(run_of(TWO_FILES, FOUR_WORKERS)) == (
        "user 1:      2.000 sec     32000.00 KB/s  cpu:    0.47 sys    0.03 user\n"
        "user 2:      2.500 sec     25600.00 KB/s  cpu:    0.00 sys    0.00 user\n"
        "user 3:      4.000 sec     16000.00 KB/s  cpu:    0.48 sys    0.02 user\n"
        "user 4:      1.250 sec     51200.00 KB/s  cpu:    0.00 sys    0.00 user\n"
        "total:       4.000 sec     64000.00 KB/s  cpu:    0.95 sys    0.05 user\n"
    )


def test_of_several_clients_the_total_is_what_all_moved_by_the_time_of_the_longest() -> None:
    line = "-w read -i iosize=64k,iocount=1000 one"
    outputs = [FRONT_END.output(run_of(line, [Done(0, ms, 1000, 0, 500)])) for ms in (2000, 4000)]

    total, mean, slowest, fastest = outputs[0].of_clients(outputs).values()

    assert total == "total:       4.000 sec     32000.00 KB/s  cpu:    1.00 sys    0.00 user\n"
    assert mean.splitlines()[0] == "user 1:      3.000 sec     24000.00 KB/s  cpu:    0.50 sys    0.00 user"
    assert (slowest, fastest) == (outputs[1].text(), outputs[0].text())


def test_the_summary_is_the_total_alone_and_megabytes_are_of_1024_kilobytes() -> None:
    text = classic.text(run_of(TWO_FILES.replace("-w", "-s -M -w"), FOUR_WORKERS))

    assert text == "total:       4.000 sec        62.50 MB/s  cpu:    0.95 sys    0.05 user\n"


def test_cpu_time_is_exact_where_the_kernel_counts_in_hundredths() -> None:
    done = [Done(0, 1000, 1000, 10, 30, on_cpu_ms=44), Done(1, 1000, 1000, 0, 0, on_cpu_ms=8)]

    run = run_of("-w read -i iosize=64k,iocount=1000 one two", done)
    first, second = users(run, FRONT_END.settings_of(run.plan))

    assert (first.user_cpu_ns, first.system_cpu_ns) == (11 * MS, 33 * MS)
    assert (second.user_cpu_ns, second.system_cpu_ns) == (2 * MS, 6 * MS)  # as all together: a quarter


def test_a_sleep_at_the_end_is_part_of_a_workers_time() -> None:
    line = "-w read,sleep -i iosize=64k,iocount=1000,sleeptime=2 one"

    whole = classic.text(run_of(line, [Done(0, 2000, 1000)]))
    stopped = classic.text(run_of(line, [Done(0, 2000, 500, stopped_by=events.StoppedBy.CONTROL)]))

    assert whole.startswith("user 1:      4.000 sec     16000.00 KB/s")
    assert stopped.startswith("user 1:      2.000 sec     16000.00 KB/s")


def test_workloads_in_phases_of_their_own_add_up_with_the_sleeps_between_them() -> None:
    line = "-w read,sleep,mmap_read -i iosize=64k,iocount=1000,sleeptime=0.5 one two"
    phases = [[Done(0, 1000, 1000), Done(1, 2000, 1000)], [Done(0, 2000, 1000), Done(1, 1000, 1000)]]

    lines = classic.text(run_of(line, *phases)).splitlines()

    # Each worker 1 + 0.5 + 2 s for 128,000 KB; together 2 + 0.5 + 2 s for 256,000 KB.
    assert [line[:36] for line in lines] == [
        "user 1:      3.500 sec     36571.43 ",
        "user 2:      3.500 sec     36571.43 ",
        "total:       4.500 sec     56888.89 ",
    ]


def test_a_run_that_was_cut_prints_what_was_measured_and_what_is_missing() -> None:
    run = run_of("-w read -i iosize=64k,iocount=1000 one", [Done(0, 2000, 500)], is_cut=True)

    assert classic.text(run) == (
        "user 1:      2.000 sec     16000.00 KB/s  cpu:    0.00 sys    0.00 user\n"
        "total:       2.000 sec     16000.00 KB/s  cpu:    0.00 sys    0.00 user\n"
        "incomplete: 500 of 1000 I/Os were done\n"
    )


def test_a_run_that_never_started_prints_zeroes_and_says_so() -> None:
    assert classic.text(run_of("-s -w read -i iocount=10 one")) == (
        "total:       0.000 sec         0.00 KB/s  cpu:    0.00 sys    0.00 user\nincomplete: 0 of 10 I/Os were done\n"
    )


def test_verbose_says_what_a_repetition_of_the_run_has_to_know() -> None:
    line = "-v -p -w write -i iosize=64k,iocount=1000,stride=2,nthreads=2,startoffset=1m,seed=9 sub/one"

    text = classic.text(run_of(line, [Done(0, 1000, 1000), Done(1, 1000, 1000)]))

    folder = parse(line).file_sets[0].path
    assert text.startswith(
        f"command: vxbench {line}\n"
        "workloads: write; once, seed 9\n"
        "I/O: 1000 x 65536 bytes in bytes 1048576 to 132120575 of each file, 131072 bytes from one to the next\n"
        f"users 1-2, processes: sub/one, data in /mnt/a directory/sub/assay-data/{folder}\n"
        "user 1:"
    )
    assert text.endswith("write: 2000 x, 131072000 bytes, 1.000 ms each, errors 0\n")


def test_the_picture_shows_each_worker_once_and_nothing_for_one_worker() -> None:
    (figure,) = classic.figures(run_of(TWO_FILES, FOUR_WORKERS))

    rows = [row for rows in figure.chart.to_dict()["datasets"].values() for row in rows if "value" in row]
    assert [(row["group"], row["name"], row["value"]) for row in rows] == [
        ("one", "user 1", 32000.0), ("one", "user 2", 25600.0), ("two", "user 3", 16000.0), ("two", "user 4", 51200.0),
    ]  # fmt: skip
    assert not classic.figures(run_of("-w read -i iosize=64k,iocount=1000 one", [Done(0, 2000, 1000)]))


def test_the_text_is_printed_where_nothing_that_draws_is_installed() -> None:
    program = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "from unit.test_vxbench import *\n"
        "print(classic.text(run_of(TWO_FILES, FOUR_WORKERS)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "user 4:" in done.stdout, done.stderr
