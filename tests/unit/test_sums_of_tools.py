"""What fio and vdbench print of several clients is a sum over the time that they share, or no number."""

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.decode.readers import read as read_claims
from assay.plan import Plan
from assay.plan.walk import job_ops
from assay.tools import registry
from assay.tools.fio import plan_anywhere
from unit import classic_runs as classic
from unit.memory_set import Client, MemorySet
from unit.synthetic import SyntheticRun, steady_stream

PER_S, SECONDS, BLOCK = 100, 20, 4096
JSON = ("--output-format=json",)
FIO = ("--name=x", "--rw=read", "--size=1m", f"--runtime={SECONDS}", "--time_based")
VDBENCH = f"sd=sd1,lun=f1,size=1m\nwd=wd1,sd=sd1,rdpct=100\nrd=rd1,wd=wd1,elapsed={SECONDS},interval=1\n"


def plan_of(tool: str, folder: Path, *words: str) -> Plan:
    front_end: Any = registry.front_end(tool)
    if tool == "fio":
        whole = (*FIO, *words)
        return plan_anywhere(front_end.parse(whole), whole)
    whole, files = ("-f", "load", "--dir", str(folder)), {"load": VDBENCH}
    return front_end.to_plan(front_end.parse(whole, files), front_end.origin(whole, files), folder)  # type: ignore[no-any-return]


def run_of(its_plan: Plan, late_s: float) -> RunRecord:
    """Two clients that each read so many blocks a second for so long, the second of them begun later."""
    clients = []
    for name, late in (("a", 0.0), ("b", late_s)):
        run = SyntheticRun(its_plan)
        for index, phase in enumerate(its_plan.phases):
            (job,) = phase.jobs
            (operation,) = job_ops(job)
            stream = steady_stream(
                per_s=PER_S,
                seconds=SECONDS,
                latency_ns=1_000_000,
                bytes_each=BLOCK,
                job=job.name,
                operation=operation.name,
            )
            run.phase([stream], seconds=SECONDS, index=index)
        clients.append(Client(name, run.end(), late_ns=round(late * 1e9)))
    return read(MemorySet(its_plan, clients))


@pytest.mark.parametrize("late_s", [0.0, 2.0])
def test_a_late_client_does_not_thin_the_sum(tmp_path: Path, late_s: float) -> None:
    of_fio, of_vdbench = (
        run_of(plan_of(tool, tmp_path, *words), late_s) for tool, words in (("fio", JSON), ("vdbench", ()))
    )

    (job,) = json.loads(classic.text(of_fio))["jobs"]
    assert job["read"]["iops"] == pytest.approx(2 * PER_S, rel=0.005)
    assert job["read"]["bw_bytes"] == pytest.approx(2 * PER_S * BLOCK, rel=0.005)
    (row,) = document(of_fio).results[:1]
    assert job["read"]["iops"] == pytest.approx(row.iops, rel=0.005)
    assert float(means_of(of_vdbench)[0]) == pytest.approx(2 * PER_S, rel=0.005)


def test_where_clients_hardly_worked_together_no_rate_is_printed(tmp_path: Path) -> None:
    of_fio, of_terse, as_text, of_vdbench = (
        run_of(plan_of(tool, tmp_path, *words), SECONDS / 2)
        for tool, words in (("fio", JSON), ("fio", ("--minimal",)), ("fio", ()), ("vdbench", ()))
    )

    assert document(of_fio).results[0].iops is None
    (job,) = json.loads(classic.text(of_fio))["jobs"]
    assert [job["read"][key] for key in ("iops", "bw", "bw_bytes", "bw_mean", "iops_mean", "iops_max")] == [None] * 6
    # Read again, there is no rate either.
    _, (claim,) = read_claims(classic.text(of_fio), "fio.json")
    assert (claim.ops_per_s, claim.bytes_per_s, claim.ops) == (None, None, 2 * PER_S * SECONDS)
    (fields, *_) = (line.split(";") for line in classic.text(of_terse).splitlines())
    assert fields[6:8] == fields[41:43] == ["n/a", "n/a"]
    # What is no rate is of all that both did.
    assert job["read"]["total_ios"] == 2 * PER_S * SECONDS
    assert json.loads(classic.text(of_fio))["clients"] == ["a", "b"]
    assert "x: (groupid=0, jobs=2): err= 0: sum of 2 clients" in classic.text(as_text)
    assert "IOPS=n/a, BW=n/a/s" in classic.text(as_text)
    assert "no sum of their rates" in classic.stderr_notes(as_text)
    assert means_of(of_vdbench)[:2] == ["n/a", "n/a"]


def means_of(run: RunRecord) -> list[str]:
    """The rate and what follows it in vdbench's line of means."""
    (line,) = re.findall(r"avg_\d+-\d+ +(.*)", classic.text(run))
    return str(line).split()


@pytest.mark.skipif(shutil.which("fio_jsonplus_clat2csv") is None, reason="needs fio")
def test_what_reads_latencies_of_fio_takes_a_document_without_rates(tmp_path: Path) -> None:
    run = run_of(plan_of("fio", tmp_path, "--output-format=json+"), SECONDS / 2)
    (tmp_path / "x.json").write_text(classic.text(run))

    subprocess.run(["fio_jsonplus_clat2csv", "x.json", "x.csv"], check=True, capture_output=True, cwd=tmp_path)

    rows = list(csv.DictReader((tmp_path / "x_job0.csv").read_text().splitlines(), skipinitialspace=True))
    assert sum(int(row["read_clat_ns_count"] or 0) for row in rows) == 2 * PER_S * SECONDS
