"""`assay fio` against fio itself and against closed forms: bytes done, blocks drawn, files, what its JSON says."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay.decode.readers import fio as reader
from e2e.command import Assay

TOTALS = (
    "--rw=write --bs=12k --size=1m",
    "--rw=randwrite --bs=12k --size=1m",
    "--rw=randrw --bs=12k --size=1m --norandommap",
    "--rw=rw --bs=12k --size=1m",
    "--rw=write --size=1m --nrfiles=3",
    "--rw=randrw --size=1m --nrfiles=3 --rwmixread=70",
    "--rw=write --size=1m --io_size=500000",
    "--rw=randwrite --size=1m --io_size=3m --bs=12k",
    "--rw=randread --size=1m --offset=256k --filesize=1m",
    "--rw=write --size=1m --loops=3 --bs=12k",
    "--rw=read:-8k --size=1m",
    "--rw=write:4k --size=1m",
    "--rw=write --size=1m --numjobs=2 --offset_increment=256k",
    "--rw=write --size=1m --number_ios=10",
    "--rw=randread --size=2m --filesize=1m --nrfiles=4 --file_service_type=random",
    "--rw=read --size=2m --nrfiles=4 --file_service_type=sequential",
    "--rw=write --size=1m --fsync=16 --end_fsync=1",
    "--rw=write --size=1m --ioengine=mmap",
    "--rw=write --ioengine=filecreate --nrfiles=20 --filesize=4k --size=80k",
    "--rw=write --ioengine=filestat --nrfiles=20 --filesize=4k --size=80k",
    "--rw=write --ioengine=filedelete --nrfiles=20 --filesize=4k --size=80k",
)
"""Jobs of one block size: each has its number of bytes, whoever does it."""


def run(assay: Assay, words: str, folder: Path) -> list[dict[str, Any]]:
    done = assay("fio", "--name=x", *words.split(), "--output-format=json", "--no-report", cwd=folder)
    assert done.returncode in {0, 1}, done.stderr
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def totals(jobs: list[dict[str, Any]]) -> list[tuple[int, int]]:
    ways = ("read", "write")
    return [(sum(job[way]["io_bytes"] for way in ways), sum(job[way]["total_ios"] for way in ways)) for job in jobs]


@pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")
@pytest.mark.parametrize("words", TOTALS)
def test_a_job_does_as_many_bytes_as_with_fio(words: str, assay: Assay, tmp_path: Path) -> None:
    (theirs := tmp_path / "fio").mkdir()
    command = ["fio", "--name=x", *words.split(), "--output-format=json"]
    done = subprocess.run(command, cwd=theirs, capture_output=True, text=True, check=True)

    jobs = run(assay, words, tmp_path)

    assert totals(jobs) == totals(json.loads(done.stdout[done.stdout.index("{") :])["jobs"])


def test_blocks_are_drawn_by_the_shares_of_bssplit(assay: Assay, tmp_path: Path) -> None:
    count, small, large = 20_000, 4096, 16_384

    words = f"--rw=randread --norandommap --size=4m --bssplit=4k/70:16k/30 --number_ios={count} --io_size=1g"
    ((moved, ops),) = totals(run(assay, words, tmp_path))

    # Of n blocks of two sizes the bytes say how many are large: binomial, four deviations of sqrt(n p q) = 65.
    larger = (moved - ops * small) / (large - small)
    assert ops == count
    assert larger == int(larger)
    assert abs(larger - 0.3 * count) < 4 * 65


def test_the_json_is_read_as_fios_own(assay: Assay, tmp_path: Path) -> None:
    words = "--rw=randread --size=4m --direct=1 --numjobs=2 --group_reporting --runtime=1 --time_based"
    done = assay("fio", "--name=x", *words.split(), "--output-format=json", "--no-report", cwd=tmp_path)

    claims = reader.read(done.stdout)
    (job,) = json.loads(done.stdout)["jobs"]

    assert claims is not None
    (claim,) = claims
    assert (claim.test, claim.outstanding, claim.is_direct, claim.set_bytes) == ("x: read", 2, True, 8 << 20)
    assert claim.ops_per_s == job["read"]["iops"]
    assert job["read"]["io_bytes"] == 4096 * job["read"]["total_ios"]
    percentiles = [job["read"]["clat_ns"]["percentile"][key] for key in ("1.000000", "50.000000", "99.000000")]
    assert percentiles == sorted(percentiles)
    assert job["read"]["clat_ns"]["min"] <= percentiles[0] <= percentiles[-1] <= job["read"]["clat_ns"]["max"]


def test_files_lie_in_assays_folder_and_stay_only_if_asked_for(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")

    run(assay, "--rw=write --size=64k --filename=x", tmp_path)
    left = {path.name for path in tmp_path.iterdir()} - {"runs"}
    run(assay, "--rw=write --size=64k --filename=x --unlink=0", tmp_path)
    run(assay, "--rw=write --size=128k --filename=x --unlink=0", tmp_path)

    assert left == {"x"}
    assert sorted(path.stat().st_size for path in tmp_path.glob("assay-data/fio-*/f*")) == [64 << 10, 128 << 10]
    assert (tmp_path / "x").read_text() == "mine"


def test_what_is_verified_is_read_again(assay: Assay, tmp_path: Path) -> None:
    ((moved, _),) = totals(run(assay, "--rw=randwrite --size=1m --verify=crc32c", tmp_path))

    shown = json.loads(assay("show", "last", "--json").stdout)

    assert moved == 1 << 20
    assert not [finding for finding in shown["findings"] if "corrupt" in finding["id"] or "verif" in finding["id"]]


def test_parse_only_and_showcmd_run_nothing(assay: Assay, tmp_path: Path) -> None:
    job = tmp_path / "a.fio"
    job.write_text("[global]\nsize=1m\n[a]\nrw=write\n")

    assert assay("fio", job, "--parse-only", cwd=tmp_path, check=0).stdout == ""
    assert assay("fio", job, "--showcmd", cwd=tmp_path, check=0).stdout == "fio --name=a --size=1m --rw=write\n"
    assert list(tmp_path.iterdir()) == [job]
