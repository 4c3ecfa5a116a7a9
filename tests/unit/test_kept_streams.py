"""What clients keep on a machine is told, and removed when it is old and nobody writes to it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.cluster.kept_runs import KeptRun
from assay.cluster.kept_streams import LEAST_AGE_S, list_kept, remove_older, summarize_kept
from assay.errors import InputError
from assay.running.stream_lock import lock_for_writer
from unit.bundle_streams import plan

DAY_S = 86_400.0


def kept(root: Path, run_id: str, client: str, age_s: float, size_bytes: int = 1024) -> KeptRun:
    made = KeptRun.make(root, run_id, client, plan())
    made.stream.write_bytes(b"x" * size_bytes)
    written_s = time.time() - age_s
    os.utime(made.stream, (written_s, written_s))
    return made


def test_what_is_older_is_removed_and_nothing_else(tmp_path: Path) -> None:
    root = tmp_path / "clients"
    old, young = kept(root, "run-1", "a", 40 * DAY_S), kept(root, "run-1", "b", 20 * DAY_S)
    other = root / "run-1" / "c" / "notes.txt"
    other.parent.mkdir()
    other.write_text("not ours")
    os.utime(other, (0, 0))

    told = dict(remove_older(root, 30 * DAY_S))

    assert not any(told.values())
    assert [line.split(": ")[-1] for line in told] == ["removed", "left, because it is younger"]
    assert not old.folder.exists()
    assert young.stream.exists()
    assert other.read_text() == "not ours"


def test_what_an_engine_still_writes_stays_however_old_it_is(tmp_path: Path) -> None:
    hung = kept(tmp_path, "run-1", "a", 40 * DAY_S)
    with hung.stream.open("ab") as output:
        lock_for_writer(output.fileno())
        writer = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=output)

    ((line, is_failure),) = remove_older(tmp_path, DAY_S)
    writer.communicate(b"\n")

    assert line.endswith("left, because its engine is still at work")
    assert not is_failure
    assert hung.stream.exists()
    assert [line.endswith("removed") for line, _ in remove_older(tmp_path, DAY_S)] == [True]


def test_what_cannot_be_removed_is_a_failure(tmp_path: Path) -> None:
    kept(tmp_path, "run-1", "a", 40 * DAY_S).log.mkdir()

    ((line, is_failure),) = remove_older(tmp_path, DAY_S)

    assert "not removed" in line
    assert is_failure


def test_what_may_be_about_to_be_fetched_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="may be about to be fetched"):
        list(remove_older(tmp_path, LEAST_AGE_S / 2))


def test_all_that_is_kept_is_told_in_a_line(tmp_path: Path) -> None:
    assert summarize_kept(tmp_path / "nothing") == ""
    for run_id, client in (("run-1", "a"), ("run-1", "b"), ("run-2", "a")):
        kept(tmp_path, run_id, client, DAY_S, 1 << 20)
    (tmp_path / "link").symlink_to(tmp_path / "run-1")

    assert [(one.run_id, one.client) for one in list_kept(tmp_path)] == [
        ("run-1", "a"),
        ("run-1", "b"),
        ("run-2", "a"),
    ]
    assert "clients keep 3.00 MiB of 2 runs (run-1, run-2)" in summarize_kept(tmp_path)
