"""Captures of counters, rates of pools and mounts, and pmrep."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.captures.capture_files import read_captures
from assay.captures.counters import Count, CounterRates
from assay.captures.samples import Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.errors import InputError
from unit.capture_texts import (
    MOUNTSTATS,
    NFSIOSTAT,
    PMREP,
    PROMETHEUS,
    ZPOOL,
    ZPOOL_WAIT,
    capture_of,
    row_of,
    seconds_of,
)
from unit.test_captures_sysstat import WORK

KEY = ("h", "sda", Layer.DISK)


def rates_of(*points: tuple[float, dict[Count, float]]) -> SampleRows:
    rows = SampleRows("made")
    found = CounterRates(rows)
    for time_s, counts in points:
        found.take(*KEY, time_s, counts)
    found.close()
    return rows


def test_rates_are_differences() -> None:
    first = dict.fromkeys(Count, 1.0)
    grown = {
        Count.READS: 1001.0,
        Count.WRITES: 3001.0,
        Count.READ_BYTES: 8_192_001.0,
        Count.WRITTEN_BYTES: 49_152_001.0,
        Count.READ_TIME: 3.0,
        Count.WRITE_TIME: 13.0,
        Count.BUSY_TIME: 4.75,
        Count.WEIGHTED_TIME: 15.0,
    }

    found = rates_of((0.0, first), (10.0, grown)).table().row(0, named=True)

    assert {name: found[name] for name in WORK} == pytest.approx(WORK)


def test_an_interval_with_a_reset_is_left_out() -> None:
    counts = [
        {Count.READS: one, Count.WRITES: two} for one, two in ((10.0, 10.0), (20.0, 20.0), (5.0, 30.0), (15.0, 40.0))
    ]

    rows = rates_of(*((10.0 * number, one) for number, one in enumerate(counts)))

    assert rows.table().select("end_s", "read_iops", "write_iops").rows() == [(10.0, 1.0, 1.0), (30.0, 1.0, 1.0)]
    assert any("reset" in note for note in rows.notes)


def test_a_gap_is_a_mean_over_its_length() -> None:
    times = (0.0, 10.0, 20.0, 50.0)

    rows = rates_of(*((time_s, {Count.READS: time_s * 2}) for time_s in times))

    assert rows.table().select("end_s", "seconds", "read_iops").rows()[-1] == (50.0, 30.0, 2.0)
    assert any("missing" in note for note in rows.notes)


def test_a_step_shorter_than_the_scrapes_is_noted() -> None:
    steps = [{Count.READS: float(number // 3)} for number in range(40)]

    rows = rates_of(*((5.0 * number, one) for number, one in enumerate(steps)))

    assert any("overstated" in note for note in rows.notes)
    assert not any(
        "overstated" in note for note in rates_of(*((5.0 * n, {Count.READS: float(n)}) for n in range(40))).notes
    )


# -- Prometheus --------------------------------------------------------------------------------------------------------


def test_prometheus_has_rates_without_the_reset(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, PROMETHEUS)

    first, last = row_of(capture, "sda", 0), row_of(capture, "sda", 1)
    assert (first["host"], first["end_s"], first["seconds"]) == ("h:9100", 1_700_000_015.0, 15.0)
    assert (first["read_iops"], first["write_iops"], first["iops"]) == (10.0, 20.0, 30.0)
    assert first["read_bytes_per_s"] == 81_920.0
    assert first["read_latency_s"] == pytest.approx(0.004)  # 0.6 s of 150 requests
    assert first["utilisation"] == pytest.approx(0.2)
    assert (last["end_s"], last["read_iops"], last["write_iops"]) == (1_700_000_045.0, 10.0, 0.0)
    assert len(capture.table) == 2
    assert any("reset" in note for note in capture.notes)


def answers() -> list[Any]:
    """Give an answer for each series of the text."""
    document = json.loads(PROMETHEUS)
    series = document["data"]["result"]
    return [{**document, "data": {**document["data"], "result": [one]}} for one in series]


@pytest.mark.parametrize("form", ["list", "lines", "together", "indented"])
def test_answers_one_after_another_are_joined(form: str, tmp_path: Path) -> None:
    texts = [json.dumps(one, indent=2 if form == "indented" else None) for one in answers()]
    joined = {"list": f"[{','.join(texts)}]", "lines": "\n".join(texts), "together": "".join(texts)}

    assert capture_of(tmp_path, joined.get(form, "\n".join(texts))).table.equals(capture_of(tmp_path, PROMETHEUS).table)


def test_a_file_for_each_counter_and_time_is_one_capture(tmp_path: Path) -> None:
    files: list[Path] = []
    for number, one in enumerate(answers()):
        values = one["data"]["result"][0]["values"]
        for part in (values[:2], values[1:]):  # the ranges of two queries have a time in common
            one["data"]["result"][0]["values"] = part
            files.append(tmp_path / f"{number}-{len(files)}.json")
            files[-1].write_text(json.dumps(one))
    (tmp_path / "nfs").write_text(NFSIOSTAT)

    joined, other = read_captures([str(file) for file in (*files, tmp_path / "nfs")], Asked())

    assert joined.table.equals(capture_of(tmp_path, PROMETHEUS).table)
    assert other.format_name == "nfsiostat"


def test_two_values_at_a_time_are_noted(tmp_path: Path) -> None:
    document = json.loads(PROMETHEUS)
    document["data"]["result"] += json.loads(PROMETHEUS.replace('"1150"', '"1151"'))["data"]["result"]

    capture = capture_of(tmp_path, json.dumps(document))

    assert capture.table.equals(capture_of(tmp_path, PROMETHEUS).table)
    assert any("two values" in note for note in capture.notes)


def test_a_query_of_rates_is_refused(tmp_path: Path) -> None:
    text = PROMETHEUS.replace('"__name__":"node_disk_reads_completed_total",', "")

    with pytest.raises(InputError, match=r"without rate\(\)"):
        capture_of(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new"), [('"success"', '"error","error":"bad query"'), ('"matrix"', '"vector"')], ids=["failed", "instant"]
)
def test_an_answer_without_a_series_is_refused(old: str, new: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"bad query|query_range"):
        capture_of(tmp_path, PROMETHEUS.replace(old, new))


def test_two_devices_and_hosts_stay_apart(tmp_path: Path) -> None:
    document = json.loads(PROMETHEUS)
    series = document["data"]["result"]
    others = [{**one, "metric": {**one["metric"], "instance": "i:9100"}} for one in series]
    document["data"]["result"] = [*series, *others]

    assert sorted(capture_of(tmp_path, json.dumps(document)).table["host"]) == ["h:9100"] * 2 + ["i:9100"] * 2


# -- pmrep, zpool, NFS -------------------------------------------------------------------------------------------------


def test_pmrep_has_kibibytes_and_milliseconds(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, PMREP), "vda")

    assert (found["read_iops"], found["write_iops"]) == (9902.299, 412.887)
    assert found["read_bytes_per_s"] == pytest.approx(40021.083 * 1024)
    assert found["utilisation"] == pytest.approx(0.639825)
    assert (found["end_s"], found["seconds"]) == (seconds_of("2026-11-21T19:23:50+00:00"), 1.0)


def test_pmrep_divides_time_by_requests(tmp_path: Path) -> None:
    text = (
        'Time;"disk.dev.read-a-b";"disk.dev.read_rawactive-a-b";"disk.all.total";"disk.partitions.write-sda1"\n'
        "2026-11-21 19:00:00;;;;\n2026-11-21 19:00:10;100,0;250,0;130,0;7,0\n"
    )

    capture = capture_of(tmp_path, text)

    assert row_of(capture, "a-b")["read_latency_s"] == pytest.approx(0.0025)
    assert (row_of(capture, "all")["layer"], row_of(capture, "all")["iops"]) == ("system", 130.0)
    assert row_of(capture, "sda1")["layer"] == "partition"


def test_zpool_has_pools_and_their_disks(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, ZPOOL, Asked(timezone="Europe/Berlin"))

    pool, disk = row_of(capture, "tank"), row_of(capture, "tank/sda")
    assert (pool["layer"], pool["read_iops"], pool["write_iops"]) == ("pool", 100.0, 1536.0)
    assert (pool["read_bytes_per_s"], pool["write_bytes_per_s"]) == (1.5 * 2**20, 12 * 2**20)
    assert (disk["layer"], disk["read_bytes_per_s"]) == ("disk", 384 * 1024.0)
    assert (pool["end_s"], pool["seconds"]) == (seconds_of("2026-11-28T20:00:10+00:00"), 10.0)
    assert len(capture.table) == 2


def test_zpool_without_times_has_an_interval_a_line(tmp_path: Path) -> None:
    table = capture_of(tmp_path, ZPOOL_WAIT, Asked(begin_s=100.0, interval_s=5.0)).table

    assert table.select("end_s", "seconds", "read_iops", "latency_s").rows() == [
        (105.0, 5.0, 100.0, 0.002),
        (110.0, 5.0, 0.0, 0.0005),
    ]


def test_zpool_with_exact_numbers_and_epochs(tmp_path: Path) -> None:
    head = "".join(ZPOOL_WAIT.splitlines(keepends=True)[:3])
    report = "tank  1 2 {} 0 4096 0 2500000 - - - - - - - - -\n"
    text = "1795899970\n" + head + report.format(9) + "1795899980\n" + report.format(40)

    found = row_of(capture_of(tmp_path, text), "tank")

    assert (found["read_iops"], found["read_bytes_per_s"], found["read_latency_s"]) == (40.0, 4096.0, 0.0025)
    assert (found["end_s"], found["seconds"]) == (1795899980.0, 10.0)


def test_nfsiostat_has_the_time_of_whole_requests(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, NFSIOSTAT), "/srv/data")

    assert (found["layer"], found["read_iops"], found["write_iops"]) == ("mount", 100.0, 300.0)
    assert (found["read_bytes_per_s"], found["write_bytes_per_s"]) == (800 * 1024.0, 4800 * 1024.0)
    assert (found["read_latency_s"], found["write_latency_s"]) == pytest.approx((0.0025, 0.0045))


def test_two_snapshots_of_mountstats_are_an_interval(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, MOUNTSTATS, Asked(begin_s=500.0)), "/srv/data")

    assert (found["end_s"], found["seconds"], found["read_iops"], found["write_iops"]) == (510.0, 10.0, 100.0, 2.0)
    assert (found["read_bytes_per_s"], found["write_bytes_per_s"]) == (81_920.0, 40_960.0)
    assert (found["read_latency_s"], found["write_latency_s"]) == pytest.approx((0.003, 0.005))


def test_one_snapshot_of_mountstats_is_the_mean_since_the_mount(tmp_path: Path) -> None:
    capture = capture_of(
        tmp_path, "1795899980\n" + MOUNTSTATS[: MOUNTSTATS.index("device", 10 + len(MOUNTSTATS) // 2 - 60)]
    )

    found = row_of(capture, "/srv/data")
    assert (found["end_s"], found["seconds"], found["read_iops"]) == (1795899980.0, 1000.0, 0.05)
    assert any("since the file system was mounted" in note for note in capture.notes)


def test_a_new_mount_has_no_interval(tmp_path: Path) -> None:
    later = MOUNTSTATS.replace("age:\t1010", "age:\t10")

    with pytest.raises(InputError, match="anew"):
        capture_of(tmp_path, later)
