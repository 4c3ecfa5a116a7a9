"""Captures of Windows' counters, and of esxtop, which writes as Windows does."""

import csv
import datetime as dt
import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from assay.captures.readers import esxtop
from assay.captures.samples import SampleRows
from assay.captures.stated_facts import Asked
from assay.errors import InputError
from unit.capture_texts import ESXTOP, PERFMON, PERFMON_GERMAN, capture_of, row_of, seconds_of
from unit.test_captures_sysstat import WORK

BERLIN = "(PDH-CSV 4.0) (Mitteleuropäische Sommerzeit)(-120)"


def table(head: str, counters: list[str], *rows: tuple[str, ...]) -> str:
    """Write a table as relog does."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([(head, *counters), *rows])
    return text.getvalue()


def test_perfmon_has_disks_partitions_and_the_system(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, PERFMON)

    disk, partition, system = (row_of(capture, name) for name in ("0 C:", r"C:\data", "_Total"))
    assert {name: disk[name] for name in WORK} == pytest.approx(WORK)
    assert (disk["host"], disk["layer"], disk["seconds"]) == ("WINBOX", "disk", 10.0)
    # One hour before UTC by the head: UTC is the local time and the bias.
    assert disk["end_s"] == seconds_of("2026-09-22T20:42:42.824+00:00")
    assert (partition["layer"], partition["read_iops"]) == ("partition", 7.0)
    assert (system["layer"], system["read_iops"]) == ("system", 100.0)
    assert len(capture.table) == 3


def test_the_zone_of_the_user_is_before_that_of_the_head(tmp_path: Path) -> None:
    disk = row_of(capture_of(tmp_path, PERFMON, Asked(timezone="America/New_York")), "0 C:")

    assert disk["end_s"] == seconds_of("2026-09-22T21:42:42.824-04:00")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "cp850", "latin-1"])
def test_german_counters_in_every_encoding_of_windows(encoding: str, tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, PERFMON_GERMAN.replace("\n", "\r\n").encode(encoding)), "1 D:")

    assert (found["read_iops"], found["write_iops"], found["iops"]) == (12.5, 37.5, 50.0)
    assert (found["read_bytes_per_s"], found["write_bytes_per_s"]) == (102400.0, 307200.0)
    assert (found["read_latency_s"], found["write_latency_s"]) == (0.008, 0.002)
    assert found["end_s"] == seconds_of("2026-11-28T20:00:15+01:00")


@pytest.mark.parametrize(
    ("object_name", "reads", "writes", "latency"),
    [
        ("Disque physique", "Lectures disque/s", "Écritures disque/s", "Moyenne disque s/lecture"),
        ("Disco físico", "Lecturas de disco/s", "Escrituras en disco/s", "Promedio de segundos de disco/lectura"),
        ("Disco fisico", "Letture disco/sec", "Scritture disco/sec", "Media letture disco/sec"),
        ("Disco Físico", "Leituras de Disco/s", "Gravações de Disco/s", "Média de disco s/leitura"),
        ("PhysicalDisk", "Disk Reads/sec", "Disk Writes/sec", "Avg. Disk sec/Read"),
    ],
)
def test_counters_of_other_languages(object_name: str, reads: str, writes: str, latency: str, tmp_path: Path) -> None:
    counters = [rf"\\W\{object_name}(0 C:)\{name}" for name in (reads, writes, latency)]
    text = table(
        "(PDH-CSV 4.0) (X)(0)",
        counters,
        ("01/02/2026 10:00:00.000", " ", " ", " "),
        ("01/02/2026 10:00:05.000", "3,0", "4,0", "0,005"),
    )

    found = row_of(capture_of(tmp_path, text), "0 C:")

    assert (found["read_iops"], found["write_iops"], found["read_latency_s"]) == (3.0, 4.0, 0.005)
    assert found["end_s"] == seconds_of("2026-01-02T10:00:05+00:00")


def test_unknown_counters_are_refused_with_their_names(tmp_path: Path) -> None:
    text = PERFMON.replace("PhysicalDisk", "Fysieke schijf").replace("LogicalDisk", "Logische schijf")

    with pytest.raises(InputError, match=r"Fysieke schijf\\Disk Reads/sec.*") as refused:
        capture_of(tmp_path, text)

    assert "--columns" in str(refused.value)


def test_the_first_row_is_left_out_even_if_it_has_values(tmp_path: Path) -> None:
    counters = [r"\\W\PhysicalDisk(0 C:)\Disk Reads/sec"]
    text = table(
        "(PDH-CSV 4.0) (UTC)(0)", counters, ("01/02/2026 10:00:00.000", "99"), ("01/02/2026 10:00:05.000", "3")
    )

    assert capture_of(tmp_path, text).table["read_iops"].to_list() == [3.0]


def test_values_below_zero_and_rows_that_are_cut_off_are_left_out(tmp_path: Path) -> None:
    counters = [r"\\W\PhysicalDisk(0 C:)\Disk Reads/sec", r"\\W\PhysicalDisk(0 C:)\Disk Writes/sec"]
    text = table(
        "(PDH-CSV 4.0) (UTC)(0)",
        counters,
        ("01/02/2026 10:00:00.000", " ", " "),
        ("01/02/2026 10:00:05.000", "3", "-1"),
        ("01/02/2026 10:00:10.000", "4"),
    )

    capture = capture_of(tmp_path, text + '"01/02/2026 10:00:15.000","5","1\n')

    assert capture.table.select("read_iops", "write_iops").rows() == [(3.0, None)]


@pytest.mark.parametrize(
    ("date", "times", "ends"),
    [
        ("10/25/2026", ("02:50:00", "02:00:00", "02:10:00"), ("00:50:00", "01:00:00", "01:10:00")),
        ("03/29/2026", ("01:50:00", "03:00:00", "03:10:00"), ("00:50:00", "01:00:00", "01:10:00")),
    ],
)
def test_the_clock_changes_while_the_head_has_one_bias(
    date: str, times: tuple[str, ...], ends: tuple[str, ...], tmp_path: Path
) -> None:
    bias = -120 if date.startswith("10") else -60
    counters = [r"\\W\PhysicalDisk(0 C:)\Disk Reads/sec"]
    first = f"{date} {times[0][:3]}30:00.000"
    second = f"{date} {times[0][:3]}40:00.000"
    rows = [(first, " "), (second, "1"), *((f"{date} {time}.000", "1") for time in times)]
    text = table(f"(PDH-CSV 4.0) (W. Europe)({bias})", counters, *rows)
    month, day, year = date.split("/")
    expected = [seconds_of(f"{year}-{month}-{day}T{end}+00:00") for end in ends]

    for asked in (Asked(), Asked(timezone="Europe/Berlin")):
        assert capture_of(tmp_path, text, asked).table["end_s"].to_list()[-3:] == expected


def test_a_gap_of_an_hour_by_day_is_a_gap(tmp_path: Path) -> None:
    counters = [r"\\W\PhysicalDisk(0 C:)\Disk Reads/sec"]
    times = ("10:00:00", "10:00:10", "11:00:20")
    text = table("(PDH-CSV 4.0) (W. Europe)(-60)", counters, *((f"11/28/2026 {time}.000", "1") for time in times))

    assert capture_of(tmp_path, text).table["seconds"].to_list() == [10.0, 3610.0]


# -- esxtop ------------------------------------------------------------------------------------------------------------


def test_esxtop_has_adapters_devices_and_virtual_disks(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, ESXTOP)

    adapter, device = row_of(capture, "vmhba0"), row_of(capture, "naa.600508b1")
    disk = row_of(capture, "SQL02 (df09cdf2):scsi0:1")
    assert (adapter["layer"], adapter["iops"], adapter["latency_s"]) == ("adapter", 50.0, 0.0008)
    assert (adapter["read_bytes_per_s"], adapter["write_bytes_per_s"]) == (1.5 * 2**20, 0.5 * 2**20)
    assert (device["layer"], device["iops"], device["read_latency_s"]) == ("disk", 35.0, 0.00075)
    assert (disk["layer"], disk["read_iops"], disk["read_latency_s"]) == ("virtual disk", 12.0, 0.00125)
    assert (adapter["end_s"], adapter["seconds"]) == (seconds_of("2018-05-15T02:13:06+00:00"), 5.0)
    assert len(capture.table) == 3


def large_esxtop(columns: int, rows: int) -> Iterator[str]:
    """Write what a host with very many worlds does: of 51,000 columns 1,000 are of 100 devices."""
    host = r"\\esx01.example.com"
    kinds = ("Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec", "Average Driver MilliSec/Read")
    disks = [rf"{host}\Physical Disk SCSI Device(naa.{number:04})\{kind}" for number in range(100) for kind in kinds]
    others = [rf"{host}\Vcpu(1:vm{number}:{number})\% Used" for number in range(columns - len(disks) - 1)]
    yield ",".join(f'"{name}"' for name in ("(PDH-CSV 4.0) (UTC)(0)", *others, *disks))
    begin = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)
    values = ",".join(['"12.34"'] * (len(others) + len(disks)))
    for number in range(rows):
        time = begin + dt.timedelta(seconds=10 * number)
        yield f'"{time:%m/%d/%Y %H:%M:%S}",{values}'


def test_a_wide_file_of_esxtop_is_read_in_a_stream() -> None:
    rows = SampleRows("wide")

    esxtop.read(large_esxtop(51_000, 4), Asked(), rows)

    found = rows.table()
    assert len(found) == 3 * 100
    assert found.select(pl.col("read_iops").unique()).to_series().to_list() == [12.34]
    assert set(itertools.islice(found["seconds"], 5)) == {10.0}
