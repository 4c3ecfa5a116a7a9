"""A recording of this machine's disks has what the kernel's counters say."""

import io
import json
from pathlib import Path

import pytest

from assay.captures.capture_files import read_captures
from assay.captures.disk_recording import DISKSTATS, read_counters, record, samples_between
from assay.captures.stated_facts import Asked

BEFORE = """   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   8       0 sda 1000 5 80000 2000 500 7 4000 1500 3 1800 3500 0 0 0 0 0 0
   8      16 sdb 10 0 80 4 0 0 0 0 0 4 4 0 0 0 0 0 0
"""
AFTER = """   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   8       0 sda 1400 5 86400 4000 600 9 4800 1700 0 3300 5900 0 0 0 0 0 0
   8      16 sdb 4 0 32 2 0 0 0 0 0 2 2 0 0 0 0 0 0
   8      32 sdc 20 0 160 10 0 0 0 0 0 8 10 0 0 0 0 0 0
"""


def test_rates_are_differences_of_counters() -> None:
    found = dict(samples_between(read_counters(BEFORE), read_counters(AFTER), 100.0, 2.0))

    sda = found["sda"]
    assert (sda.read_iops, sda.write_iops) == (200, 50)
    assert (sda.read_bytes_per_s, sda.write_bytes_per_s) == (6400 * 512 / 2, 800 * 512 / 2)
    rest = [sda.read_latency_s, sda.write_latency_s, sda.queue_depth, sda.utilisation]
    assert rest == pytest.approx([5e-3, 2e-3, 1.2, 0.75])
    # One was never used, one was exchanged for another, and one was used for the first time.
    assert "loop0" not in found
    assert "sdb" not in found
    assert found["sdc"].read_iops == 10


def test_a_recording_is_a_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter([BEFORE, BEFORE, AFTER])
    monkeypatch.setattr(Path, "read_text", lambda path: next(texts) if path == DISKSTATS else pytest.fail(str(path)))
    out, progress = io.BytesIO(), list[float]()
    record(out, 0.01, None, lambda: len(progress) == 2, progress=lambda _, iops: progress.append(iops), host="a,b")
    monkeypatch.undo()
    file = tmp_path / "recorded.csv"
    file.write_bytes(out.getvalue())

    (capture,) = read_captures([str(file)], Asked())

    counts = {
        device: round(sum((row["read_iops"] + row["write_iops"]) * row["seconds"] for row in rows))
        for device in ("sda", "sdc")
        if (rows := capture.table.filter(device=device).to_dicts())
    }
    assert json.dumps(counts) == '{"sda": 500, "sdc": 20}'
    assert capture.table["host"].unique().to_list() == ["a,b"]
    assert len(progress) == 2
