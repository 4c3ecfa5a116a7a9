"""A storage that takes writes and refuses them at close(2), as NFS, FUSE and quotas do."""

import subprocess
from pathlib import Path

import pytest

from e2e.command import Measure
from testbed.host import need_tools

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
    need_tools("strace")
    if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    directory = tmp_path / "target"
    directory.mkdir()
    load = LOAD.format(kind=kind, job=job)
    clean = measure(load, directory)
    (file,) = (
        path for path in directory.glob("assay-data/data/**/*") if path.is_file() and path.stat().st_size == 1 << 20
    )
    refusing = (
        "strace",
        "-f",
        "-qq",
        "-o",
        str(tmp_path / "trace"),
        "-P",
        str(file),
        "-e",
        "inject=close:error=EDQUOT",
    )

    refused = measure(load, directory, prefix=refusing)

    assert "EDQUOT" in (tmp_path / "trace").read_text()
    assert not any("close of a file" in finding["text"] for row in clean["results"] for finding in row["findings"])
    for row in refused["results"]:
        (finding,) = (one for one in row["findings"] if "close of a file" in one["text"])
        assert (finding["id"], finding["severity"]) == ("errors", "warning")
        assert "Disk quota exceeded" in finding["text"]
        assert row["trust"]["level"] == "no"
