"""A storage that takes writes and refuses them at close(2), as NFS, FUSE and quotas do."""

import re
import shutil
from pathlib import Path

import pytest

from e2e.command import Assay, Measure
from testbed.host import need_strace

LOAD = """
name = "closed"
sample_interval = "100ms"
[[file_set]]
name = "data"
files = 1
size = "1MiB"
keep = true
reuse = "trust"
[[phase]]
name = "writes"
seconds = "0.3s"
[[phase.job]]
as = "{kind}"
workers = 2
{job}
"""
STAYS_OPEN = 'op = { op = "write", set = "data", access = "random", size = "4KiB" }'
OPENED_EACH_TIME = 'loop = [{ op = "open", set = "data", slot = 0 }, { op = "write", slot = 0, size = "4KiB" }]'


@pytest.mark.parametrize(
    ("kind", "job"), [("thread", STAYS_OPEN), ("process", STAYS_OPEN), ("thread", OPENED_EACH_TIME)]
)
def test_an_error_that_only_close_reports_makes_what_was_written_unusable(
    kind: str, job: str, measure: Measure, tmp_path: Path
) -> None:
    need_strace()
    directory = tmp_path / "target"
    directory.mkdir()
    load = LOAD.format(kind=kind, job=job)
    clean = measure(load, directory)

    refused = measure(load, directory, prefix=_refusing(directory, tmp_path))

    assert "EDQUOT" in (tmp_path / "trace").read_text()
    assert not any("close of a file" in finding["text"] for row in clean["results"] for finding in row["findings"])
    for row in refused["results"]:
        (finding,) = (one for one in row["findings"] if "close of a file" in one["text"])
        assert (finding["id"], finding["severity"]) == ("errors", "warning")
        assert "Disk quota exceeded" in finding["text"]
        assert row["trust"]["level"] == "no"


@pytest.mark.parametrize("layout", ['allocate = "write"', 'allocate = "fallocate"'])
def test_data_whose_close_fails_is_not_laid_out(layout: str, assay: Assay, measure: Measure, tmp_path: Path) -> None:
    need_strace()
    directory = tmp_path / "target"
    directory.mkdir()
    load = LOAD.format(kind="thread", job=STAYS_OPEN).replace("keep = true", f"keep = true\n{layout}")
    measure(load, directory)
    refusing = _refusing(directory, tmp_path)
    shutil.rmtree(directory / "assay-data")
    path = tmp_path / "load.toml"
    path.write_text(load)

    done = assay("run", path, directory, "--no-report", prefix=refusing, check=3)

    assert re.search(r"close \S+: the disk quota is used up", done.stderr), done.stderr


def test_a_close_that_takes_longer_than_the_operations_is_named(measure: Measure, tmp_path: Path) -> None:
    need_strace()
    directory = tmp_path / "target"
    directory.mkdir()
    load = LOAD.format(kind="thread", job=STAYS_OPEN).replace("workers = 2", "workers = 1")
    measure(load, directory)

    slow = measure(load, directory, prefix=_injecting("delay_enter=1500000", directory, tmp_path))

    (row,) = slow["results"]
    (finding,) = (one for one in row["findings"] if one["id"] == "slow-close")
    took_s, worked_s = (float(word) for word in re.findall(r"([\d.]+) s\b", finding["text"]))
    assert took_s >= 1.5
    assert 0 < worked_s < took_s
    assert finding["severity"] == "weak"


def _refusing(directory: Path, folder: Path) -> tuple[str, ...]:
    return _injecting("error=EDQUOT", directory, folder)


def _injecting(what: str, directory: Path, folder: Path) -> tuple[str, ...]:
    """Words before a command that change each close of the only file of data."""
    files = directory.glob("assay-data/data/**/*")
    (file,) = (path for path in files if path.is_file() and path.stat().st_size == 1 << 20)
    inject = ("-P", str(file), "-e", f"inject=close:{what}")
    return ("strace", "-f", "-qq", "-o", str(folder / "trace"), *inject)
