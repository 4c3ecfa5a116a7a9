"""Runs of fio jobs with known times against fio's text and JSON: each number is a closed form of what was done."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay import events
from assay.analysis.record import RunRecord, read
from assay.bundle.tables import HISTOGRAMS, INTERVALS, OF_STREAM, WORKERS
from assay.errors import InputError
from assay.plan.walk import job_ops
from assay.tools.fio import FRONT_END, plan_anywhere
from assay.tools.fio.terse_text import terse_text
from unit import classic_runs as classic
from unit.memory_run import MemoryRun, bucket_of, hello

MS = 1_000_000
START_MS = 5000
LATENCIES_NS = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
"""Of ten I/Os of an interval: below 2048 ns each value has a bucket of its own."""


def run_of(
    *words: str,
    intervals: int,
    step_ms: int = 100,
    by_time: bool = False,
    first_slowest_ns: int = 1000,
    failed: Sequence[events.ErrorCount] = (),
    in_flight: tuple[float, float] = (1.0, 1.0),
) -> RunRecord:
    """Make a run whose jobs did ten blocks of 4 KiB in each interval of `step_ms`, in each operation.

    Args:
        words: Of fio.
        intervals: How many.
        step_ms: The length of each.
        by_time: Whether its time ended each job.
        first_slowest_ns: The slowest block of the first interval, instead of 1000 ns.
        failed: What failed, and how often.
        in_flight: Mean I/Os in flight, and mean I/Os that came back from one wait.
    """
    made = plan_anywhere(FRONT_END.parse(words), words)
    rows, buckets, samples = [], [], []
    lines: list[events.Event] = []
    end_ms = START_MS + intervals * step_ms
    for index, phase in enumerate(made.phases):
        windows, facts = [], []
        for job in phase.jobs:
            facts.append(
                events.JobFacts(
                    job=job.name, backend="x", direct=False, mean_queue_depth=in_flight[0], mean_reap_batch=in_flight[1],
                    short_transfers=0, punted=None, arrivals=None,
                )
            )  # fmt: skip
            names = [op.name for op in job_ops(job)]
            for tick in range(1, intervals + 1):
                t_s = (START_MS + tick * step_ms) / 1000
                done = (*LATENCIES_NS[:-1], first_slowest_ns) if tick == 1 else LATENCIES_NS
                for name in names:
                    # Maxima run since the phase began.
                    told = (first_slowest_ns, sum(done), None, None)
                    rows.append((index, job.name, name, t_s, step_ms / 1000, 10, 10 * 4096, 0, *told))
                    buckets += [(index, job.name, name, "latency", t_s, bucket_of(value), 1) for value in done]
                for worker in range(job.workers):
                    # A tenth of the time in user mode, two tenths in the kernel.
                    cpu = (tick * step_ms * MS // 10, tick * step_ms * MS // 5)
                    samples.append((index, t_s, job.name, worker, 10, 40960, None, 0, 0, *cpu, 10, 0, 0))
            last_ms = end_ms - (7 if by_time else 0)
            windows += [_window(job.name, worker, last_ms, by_time=by_time) for worker in range(job.workers)]
        lines.append(
            events.PhaseFinished(
                t_ns=end_ms * MS, phase_index=index, start_ns=START_MS * MS, stopped_by=events.StoppedBy.BYTES,
                workers=tuple(windows), jobs=tuple(facts), errors=tuple(failed),
            )
        )  # fmt: skip
    tables = {
        INTERVALS: pl.DataFrame(rows, schema=OF_STREAM[INTERVALS], orient="row"),
        HISTOGRAMS: pl.DataFrame(buckets, schema=OF_STREAM[HISTOGRAMS], orient="row"),
        WORKERS: pl.DataFrame(samples, schema=OF_STREAM[WORKERS], orient="row"),
    }
    return read(MemoryRun(plan=made, lines=lines, tables=tables))


def _window(job: str, worker: int, end_ms: int, *, by_time: bool) -> events.WorkerWindow:
    stopped_by = events.StoppedBy.TIME if by_time else events.StoppedBy.BYTES
    return events.WorkerWindow(
        job=job, worker=worker, first_op_ns=START_MS * MS, last_op_ns=end_ms * MS, started=10, completed=10, failed=0,
        abandoned=0, stopped_by=stopped_by,
    )  # fmt: skip


def jobs(*words: str, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(classic.text(run_of(*words, "--output-format=json", **asked)))["jobs"]
    return found


def test_rates_latencies_and_cpu_are_those_of_the_whole_job() -> None:
    (job,) = jobs("--name=x", "--size=1m", intervals=10)

    # 100 I/Os of 4 KiB in a second, their latencies 100 to 1000 ns in equal parts.
    did = job["read"]
    assert (did["total_ios"], did["io_bytes"], did["runtime"]) == (100, 409_600, 1000)
    assert (did["iops"], did["bw_bytes"], did["bw"]) == (100.0, 409_600, 400)
    latency = did["clat_ns"]
    assert (latency["min"], latency["max"], latency["mean"], latency["N"]) == (100, 1000, 550.0, 100)
    # Population of ten equal steps of 100: sqrt((10^2 - 1) / 12) of them.
    assert latency["stddev"] == pytest.approx(100 * (99 / 12) ** 0.5)
    assert {key: latency["percentile"][key] for key in ("1.000000", "10.000000", "50.000000", "90.000000", "99.900000")} == {
        "1.000000": 100, "10.000000": 100, "50.000000": 500, "90.000000": 900, "99.900000": 1000,
    }  # fmt: skip
    assert (job["usr_cpu"], job["sys_cpu"]) == (10.0, 20.0)
    assert (did["iops_mean"], did["iops_stddev"], did["iops_samples"]) == (100.0, 0.0, 2)
    assert did["lat_ns"]["mean"] == 550.0
    assert job["write"]["total_ios"] == job["trim"]["total_ios"] == 0
    assert sum(job["latency_ns"].values()) == 90.0
    assert job["latency_us"]["2"] == 10.0


def test_a_group_is_the_sum_of_its_jobs_over_their_time() -> None:
    words = ("--name=x", "--size=1m", "--numjobs=2", "--rw=rw", "--rate_iops=50,50")

    one, other = jobs(*words, intervals=10)
    (both,) = jobs(*words, "--group_reporting", intervals=10)

    assert (one["jobname"], other["jobname"], one["groupid"], other["groupid"]) == ("x", "x", 0, 0)
    assert both["read"]["iops"] == one["read"]["iops"] + other["read"]["iops"] == 200.0
    assert both["write"]["io_bytes"] == 2 * one["write"]["io_bytes"]
    assert (both["usr_cpu"], both["sys_cpu"]) == (10.0, 20.0)
    assert both["read"]["clat_ns"]["percentile"] == one["read"]["clat_ns"]["percentile"]


def test_a_new_group_begins_with_a_stonewall_and_has_sums_of_its_own() -> None:
    text = classic.text(
        run_of("--name=a", "--size=1m", "--name=b", "--size=1m", "--stonewall", "--rw=write", intervals=10)
    )

    assert "b: (groupid=1, jobs=1): err= 0:" in text
    assert "Run status group 0 (all jobs):\n   READ: bw=400KiB/s (410kB/s), 400KiB/s-400KiB/s (410kB/s-410kB/s)" in text
    assert "Run status group 1 (all jobs):\n  WRITE: bw=400KiB/s (410kB/s)" in text
    assert text.count("io=400KiB (410kB), run=1000-1000msec") == 2


def test_a_job_that_its_time_ends_was_there_until_then() -> None:
    words = ("--name=x", "--size=1m", "--runtime=1", "--time_based")

    (job,) = jobs(*words, intervals=10, by_time=True)

    assert (job["read"]["runtime"], job["read"]["iops"]) == (1000, 100.0)


def test_a_ramp_is_in_no_number() -> None:
    words = ("--name=x", "--size=1m", "--ramp_time=1", "--runtime=1", "--time_based")

    (job,) = jobs(*words, intervals=20, by_time=True, first_slowest_ns=30 * MS)

    assert (job["read"]["total_ios"], job["read"]["runtime"], job["read"]["iops"]) == (100, 1000, 100.0)
    assert (job["read"]["clat_ns"]["N"], job["read"]["clat_ns"]["max"]) == (100, 1000)
    assert (job["usr_cpu"], job["sys_cpu"]) == (10.0, 20.0)


def test_without_a_ramp_the_slowest_of_all_is_the_maximum() -> None:
    (job,) = jobs("--name=x", "--size=1m", intervals=10, first_slowest_ns=30 * MS)

    assert job["read"]["clat_ns"]["max"] == 30 * MS


def test_a_job_that_an_error_ended_has_its_number() -> None:
    words = ("--name=x", "--size=1m", "--name=y", "--size=1m", "--stonewall", "--output-format=json,normal")
    made = plan_anywhere(FRONT_END.parse(words), words)
    ended = events.Error(
        t_ns=1, phase_index=None, class_=events.ErrorClass.ENVIRONMENT, text="no room", path="/x", errno=28
    )

    text = classic.text(read(MemoryRun(plan=made, lines=[hello(), ended])))

    assert re.findall('"error": (.*),', text) == ["28", "28"]
    assert text.count("err=28") == 2


def test_the_error_of_a_job_is_what_failed_most_often() -> None:
    failed = [events.ErrorCount(job="x", operation="read", errno=number, count=n) for number, n in ((5, 1), (28, 9))]

    (job,) = jobs("--name=x", "--size=1m", intervals=10, failed=failed)

    assert job["error"] == 28


def test_json_plus_has_each_latency_with_its_count() -> None:
    run = run_of("--name=x", "--size=1m", "--output-format=json+", intervals=10)

    (job,) = json.loads(classic.text(run))["jobs"]

    assert job["read"]["clat_ns"]["bins"] == {str(value): 10 for value in LATENCIES_NS}


def test_what_is_chance_or_left_out_is_said_beside() -> None:
    said = classic.stderr_notes(run_of("--name=x", "--size=1m", "--write_lat_log=x", intervals=10))

    assert "fio: ignored (does not change the load): write_lat_log: the run has what such a file would hold" in said
    # Of 100 I/Os ten lie beyond the 90th percentile.
    assert "fio: x: read: of 100 I/Os fewer than 10 lie beyond the 95th percentile" in said


def test_names_that_are_worked_on_count_as_blocks() -> None:
    (job,) = jobs("--name=x", "--ioengine=filestat", "--nrfiles=100", "--filesize=4k", "--rw=write", intervals=10)

    assert (job["write"]["total_ios"], job["write"]["io_bytes"], job["read"]["total_ios"]) == (100, 409_600, 0)


@pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")
def test_terse_lines_of_fios_own_json_are_fios_own_terse_lines(tmp_path: Path) -> None:
    words = "--directory . --size=256k --name=a --rw=randrw --ioengine=libaio --iodepth=4 --name=b --rw=write"
    more = "--ioengine=null --size=16m --description=text --name=c --stonewall --rw=read --percentile_list=50:99"
    ran = subprocess.run(
        ["fio", "--output-format=terse,json", *words.split(), *more.split()],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    ).stdout  # fmt: skip
    document, _ = json.JSONDecoder().raw_decode(ran[ran.index("{") :])

    theirs = [line.split(";") for line in ran.splitlines() if line.startswith("3;")]
    ours = [line.split(";") for line in terse_text(document).splitlines()]

    assert [len(line) for line in ours] == [len(line) for line in theirs]
    for one, other in zip(ours, theirs, strict=True):
        for field, expected in zip(one, other, strict=True):
            # fio works the share of the group out twice, in two ways.
            assert field == expected or float(field.strip("%")) == pytest.approx(float(expected.strip("%")), rel=1e-5)


def test_terse_is_the_json_in_one_line_a_job() -> None:
    words = (
        "--minimal",
        "--name=j",
        "--rw=read",
        "--size=400k",
        "--iodepth=40",
        "--ioengine=libaio",
        "--iodepth_batch=5",
    )

    fields = classic.text(run_of(*words, intervals=10)).splitlines()[0].split(";")

    # 100 blocks of 4 KiB in a second.
    assert fields[:9] == ["3", fields[1], "j", "0", "0", "400", "400", "100", "1000"]
    # fio's places: of depths 1, 2 to 3, 4 to 7 and so on; of calls 0, 1 to 4, 5 to 8 and so on.
    for in_flight, places in (((6.6, 4.4), ("4", "4")), ((1.2, 33.0), ("1", "64")), ((39.9, 64.0), ("32", "64"))):
        (job,) = jobs(*words[1:], intervals=10, in_flight=in_flight)
        shares = [job[f"iodepth_{what}"] for what in ("submit", "level", "complete")]
        assert [{name for name, share in one.items() if share} for one in shares] == [{"8"}, {places[0]}, {places[1]}]


def test_a_terse_output_of_another_version_is_refused() -> None:
    with pytest.raises(InputError, match="--terse-version is 5; only 3 is supported"):
        FRONT_END.parse(["--minimal", "--terse-version=5", "--name=j", "--size=4k"])
