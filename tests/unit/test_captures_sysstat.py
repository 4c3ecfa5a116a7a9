import dataclasses
from pathlib import Path

import polars as pl
import pytest

from assay.captures.capture_files import read_captures
from assay.captures.linux_devices import is_vague, layer_of
from assay.captures.samples import NUMBERS, Layer
from assay.captures.stated_facts import Asked, DateOrder
from assay.errors import InputError
from unit.capture_texts import (
    IOSTAT,
    IOSTAT_BASIC,
    IOSTAT_JSON,
    IOSTAT_OLD,
    SADF,
    SADF_JSON,
    SADF_OLD,
    SAR_12_HOURS,
    SAR_GERMAN,
    VMSTAT,
    capture_of,
    row_of,
    seconds_of,
)

RECORDED = Path(__file__).parent.parent / "golden" / "captures"
WORK = {
    "iops": 400.0,
    "read_iops": 100.0,
    "write_iops": 300.0,
    "read_bytes_per_s": 800 * 1024.0,
    "write_bytes_per_s": 4800 * 1024.0,
    "read_latency_s": 0.002,
    "write_latency_s": 0.004,
    "latency_s": 0.0035,
    "queue_depth": 1.4,
    "utilisation": 0.375,
}
"""What several texts have of one interval; the latency is (100 * 2 + 300 * 4) / 400 ms."""


def recorded(name: str, asked: Asked | None = None) -> pl.DataFrame:
    return read_captures([str(RECORDED / name)], asked or Asked())[0].table


# -- iostat ------------------------------------------------------------------------------------------------------------


def test_iostat_has_the_second_report_and_not_that_since_the_start(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, IOSTAT)

    found = row_of(capture, "vda")
    assert {name: found[name] for name in WORK} == pytest.approx(WORK)
    assert (found["host"], found["layer"], found["seconds"]) == ("node7", "disk", 10.0)
    assert found["end_s"] == seconds_of("2026-11-28T20:00:10+00:00")
    assert capture.table["device"].to_list() == ["dm-0", "vda"]


def test_a_latency_without_a_request_is_none(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, IOSTAT), "dm-0")

    assert (found["iops"], found["latency_s"], found["read_latency_s"]) == (0.0, None, None)


def test_an_old_iostat_with_commas_and_sectors(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, IOSTAT_OLD), "sda")

    assert (found["read_iops"], found["write_iops"], found["latency_s"]) == (10.5, 20.0, pytest.approx(0.0082))
    assert (found["read_bytes_per_s"], found["write_bytes_per_s"]) == (168 * 512.0, 320 * 512.0)
    assert (found["queue_depth"], found["seconds"]) == (0.25, 5.0)
    assert found["end_s"] == seconds_of("2026-11-28T20:00:05+00:00")


def test_iostat_has_the_offset_of_its_times(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, IOSTAT_BASIC), "sda")

    assert found["end_s"] == seconds_of("2026-11-28T20:00:10+01:00")
    assert (found["iops"], found["bytes_per_s"], found["read_iops"]) == (50.0, 400 * 1024.0, None)


def test_a_device_that_a_report_leaves_out_was_idle(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, IOSTAT_BASIC)

    idle, busy = row_of(capture, "sdb", 0), row_of(capture, "sdb", 1)
    assert (idle["iops"], idle["bytes_per_s"], idle["latency_s"], idle["utilisation"]) == (0.0, 0.0, None, None)
    assert busy["iops"] == 20.0
    assert any("iostat -z" in note for note in capture.notes)


def test_a_report_with_a_line_that_cannot_be_read_has_no_idle_devices(tmp_path: Path) -> None:
    damaged = IOSTAT_BASIC.replace("sda              50.00", "sda              5x.00", 1)

    table = capture_of(tmp_path, damaged).table

    assert table["device"].to_list() == ["sda", "sdb"]


def test_a_cut_off_report_has_no_idle_devices(tmp_path: Path) -> None:
    cut = IOSTAT_BASIC[: IOSTAT_BASIC.rindex("sdb")]

    assert capture_of(tmp_path, cut).table["device"].to_list() == ["sda", "sda"]


def test_a_last_line_without_an_end_is_left_out(tmp_path: Path) -> None:
    text = SAR_12_HOURS[: SAR_12_HOURS.rindex("0.75\nAverage") + 3]

    capture = capture_of(tmp_path, text)

    assert capture.table["iops"].to_list() == [10.0, 20.0, 30.0]
    assert any("has no end" in note for note in capture.notes)


def test_reports_without_times_are_apart_by_what_the_user_gives() -> None:
    table = recorded("iostat-plain.txt", Asked(begin_s=1000.0, interval_s=2.0)).filter(pl.col("device") == "vda")

    assert table["end_s"].to_list() == [1002.0, 1004.0, 1006.0]
    assert table["seconds"].to_list() == [2.0, 2.0, 2.0]


def test_two_runs_without_times_do_not_lie_on_each_other(tmp_path: Path) -> None:
    text = (RECORDED / "iostat-plain.txt").read_text()

    table = capture_of(tmp_path, text + text).table.filter(pl.col("device") == "vda")

    assert table["end_s"].to_list() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_two_runs_with_times_have_no_interval_between(tmp_path: Path) -> None:
    later = IOSTAT.replace("20:00:", "21:00:")

    table = capture_of(tmp_path, IOSTAT + later).table.filter(pl.col("device") == "vda")

    assert table["seconds"].to_list() == [10.0, 10.0]
    assert table["end_s"].to_list() == [seconds_of(f"2026-11-28T{hour}:00:10+00:00") for hour in (20, 21)]


# -- what the programs themselves wrote --------------------------------------------------------------------------------


def test_recorded_iostat_of_german_has_the_numbers_of_its_lines() -> None:
    found = recorded("iostat-de.txt").filter(pl.col("device") == "vda").row(-1, named=True)

    # vda 124,88 4917,41 ... r_await 0,20 ... 52,74 9040,80 ... w_await 0,21
    assert (found["read_iops"], found["write_iops"]) == (124.88, 52.74)
    assert found["read_bytes_per_s"] == pytest.approx(4917.41 * 1024)
    assert found["end_s"] == seconds_of("2026-11-28T21:06:22+00:00")


def test_recorded_iostat_in_megabytes_agrees_with_its_json() -> None:
    text, document = (recorded(name).filter(pl.col("device") == "vda") for name in ("iostat-z-m.txt", "iostat.json"))

    assert document["read_iops"].to_list() == text["read_iops"].to_list()[:3]
    assert document["write_latency_s"].to_list() == text["write_latency_s"].to_list()[:3]
    # MB have two decimals.
    for ours, theirs in zip(document["bytes_per_s"], text["bytes_per_s"], strict=False):
        assert ours == pytest.approx(theirs, abs=0.02 * 1024 * 1024)


def test_a_group_of_devices_is_no_device() -> None:
    assert set(recorded("iostat-us-g.txt")["device"]) == {"vda"}


def test_recorded_short_iostat_has_all_bytes() -> None:
    found = recorded("iostat-s.txt").filter(pl.col("device") == "vda").row(0, named=True)

    assert (found["iops"], found["bytes_per_s"], found["latency_s"]) == (96.5, 9832 * 1024.0, 0.00025)


def test_one_recording_of_sar_is_the_same_in_four_formats() -> None:
    names = ("sadf-d-b.txt", "sadf.json", "sar-us.txt", "sar-de.txt")
    first, *others = (recorded(name) for name in names)

    assert len(first) == 48
    for other in others:
        assert other.equals(first)
    # Durchschn.: 53,45 reads and 55,62 writes a second.
    system = first.filter(pl.col("layer") == Layer.SYSTEM)
    assert system["read_iops"].mean() == pytest.approx(53.45, abs=0.1)
    assert system["write_iops"].mean() == pytest.approx(55.62, abs=0.1)


def test_recorded_pretty_sar_and_epochs_of_sadf_are_of_the_same_devices() -> None:
    pretty, epochs = recorded("sar-pretty.txt"), recorded("sadf-U.txt")

    devices = recorded("sar-us.txt").filter(pl.col("layer") != Layer.SYSTEM)
    assert pretty.equals(devices)
    assert epochs.equals(devices)


def test_recorded_vmstat_has_bytes_alone() -> None:
    table = recorded("vmstat-t.txt")

    assert table["read_bytes_per_s"].to_list()[0] == 2832 * 1024.0
    assert table["write_bytes_per_s"].to_list()[0] == 6288 * 1024.0
    assert table["iops"].null_count() == len(table) == 4
    assert table["end_s"].to_list()[0] == seconds_of("2026-11-28T21:06:18+00:00")


# -- sadf and sar ------------------------------------------------------------------------------------------------------


def test_sadf_has_devices_and_the_system(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, SADF)

    disk, system = row_of(capture, "vda"), row_of(capture, "all")
    assert (disk["iops"], disk["latency_s"], disk["queue_depth"], disk["read_iops"]) == (120.0, 0.003, 0.36, None)
    assert (disk["end_s"], disk["seconds"]) == (seconds_of("2026-11-21T18:58:29+00:00"), 10.0)
    assert (system["layer"], system["read_iops"], system["write_iops"]) == ("system", 100.0, 20.0)
    assert (system["read_bytes_per_s"], system["write_bytes_per_s"]) == (800 * 512.0, 160 * 512.0)
    assert row_of(capture, "dev8-1")["layer"] == Layer.PARTITION


def test_an_old_sadf_has_sectors_and_seconds_since_1970(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, SADF_OLD), "sda")

    assert (found["iops"], found["read_bytes_per_s"], found["write_bytes_per_s"]) == (12.5, 100 * 512.0, 300 * 512.0)
    assert (found["end_s"], found["seconds"]) == (1795287509.0, 600.0)


def test_json_of_sadf_is_what_its_table_is(tmp_path: Path) -> None:
    table, document = capture_of(tmp_path, SADF), capture_of(tmp_path, SADF_JSON)

    assert row_of(document, "vda") == row_of(table, "vda")
    assert row_of(document, "all") == row_of(table, "all")


def test_a_document_that_is_cut_off_has_the_samples_before(tmp_path: Path) -> None:
    whole = (RECORDED / "sadf.json").read_text()

    cut = capture_of(tmp_path, whole[: len(whole) // 2])

    expected = recorded("sadf.json")
    assert 0 < len(cut.table) < len(expected)
    keys = ["device", "layer", "end_s"]
    assert cut.table.join(expected, on=[*keys, *NUMBERS[1:]], how="semi", nulls_equal=True).height == len(cut.table)
    assert any("cut off" in note for note in cut.notes)


def test_json_of_iostat_is_what_its_text_is(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, IOSTAT_JSON), "vda")

    assert {name: found[name] for name in WORK} == pytest.approx(WORK)


def test_sar_goes_over_midnight_and_not_over_a_restart(tmp_path: Path) -> None:
    table = capture_of(tmp_path, SAR_12_HOURS).table

    ends = ["2026-11-28T23:55:01", "2026-11-29T00:00:01", "2026-11-29T00:05:01", "2026-11-29T00:15:01"]
    assert table["end_s"].to_list() == [seconds_of(f"{end}+00:00") for end in ends]
    assert table["seconds"].to_list() == [300.0] * 4
    assert table["iops"].to_list() == [10.0, 20.0, 30.0, 5.0]


def test_german_sar_has_two_sections_of_one_day(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, SAR_GERMAN)

    system, disk = row_of(capture, "all"), row_of(capture, "sda")
    assert system["end_s"] == disk["end_s"] == seconds_of("2026-11-28T00:10:01+00:00")
    assert (system["read_iops"], system["write_iops"], system["iops"]) == (2.5, 10.0, 12.5)
    assert (disk["read_bytes_per_s"], disk["latency_s"]) == (40 * 1024.0, 0.004)
    assert len(capture.table) == 3


SAR_LIVE = """\
Linux 6.1.0 (a) \t{date} \t_x86_64_\t(2 CPU)

{0}          tps      rtps      wtps      dtps   bread/s   bwrtn/s   bdscd/s
{1}         9.00      4.00      5.00      0.00     80.00    320.00      0.00

{0}          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
{1}          sda      9.00     40.00    160.00      0.00     16.00      0.05      4.00      2.50

{0}    kbswpfree kbswpused  %swpused  kbswpcad   %swpcad   a b c d
{1}            1         2      3.00         4      5.00   6 7 8 9

{1}          tps      rtps      wtps      dtps   bread/s   bwrtn/s   bdscd/s
{2}         9.00      4.00      5.00      0.00     80.00    320.00      0.00

{1}          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
{2}          sda      9.00     40.00    160.00      0.00     16.00      0.05      4.00      2.50

"""


@pytest.mark.parametrize(
    ("date", "times", "begin"),
    [
        ("11/28/26", ("23:59:40", "23:59:50", "00:00:00"), "2026-11-28T22:59:40"),
        ("10/25/26", ("02:59:40", "02:59:50", "02:00:00"), "2026-10-25T00:59:40"),
    ],
)
def test_sections_in_turn_have_the_same_times(date: str, times: tuple[str, ...], begin: str, tmp_path: Path) -> None:
    text = SAR_LIVE.format(*times, date=date)

    capture = capture_of(tmp_path, text, Asked(timezone="Europe/Berlin"))

    first_s = seconds_of(f"{begin}+00:00")
    for device in ("all", "sda"):
        table = capture.table.filter(pl.col("device") == device)
        assert table["end_s"].to_list() == [first_s + 10, first_s + 20]
        assert table["seconds"].to_list() == [10.0, 10.0]
    assert len(capture.table) == 4
    assert not any("go back" in note for note in capture.notes)


def test_a_damaged_row_is_left_out_alone(tmp_path: Path) -> None:
    capture = capture_of(
        tmp_path, SAR_12_HOURS.replace("11:55:01 PM       vda     10.00", "11:55:01 PM       vda     1x.00")
    )

    assert capture.table["iops"].to_list() == [20.0, 30.0, 5.0]


@pytest.mark.parametrize("average", ["Moyenne :", "Média:", "平均時間:", "Среднее:"])
def test_averages_of_any_language_are_no_samples(average: str, tmp_path: Path) -> None:
    text = SAR_GERMAN.replace("Durchschn.:", average)

    assert len(capture_of(tmp_path, text).table) == 3


def test_sar_of_japan_has_its_date(tmp_path: Path) -> None:
    text = SAR_GERMAN.replace("28.11.2026", "2026年11月28日").replace(":10:01 ", "時10分01秒 ", 1)

    assert len(capture_of(tmp_path, text).table) == 3


@pytest.mark.parametrize(
    ("zone", "times", "seconds"),
    [
        # 25 October 2026: at 3:00 it is 2:00 again. 29 March 2026: at 2:00 it is 3:00.
        ("Europe/Berlin", ("10/25/26", "02:50:01", "02:00:01"), 600.0),
        ("Europe/Berlin", ("03/29/26", "01:50:01", "03:00:01"), 600.0),
        ("UTC", ("03/29/26", "01:50:01", "03:00:01"), 4200.0),
    ],
)
def test_an_hour_that_the_clock_skips_or_repeats(
    zone: str, times: tuple[str, str, str], seconds: float, tmp_path: Path
) -> None:
    date, first, second = times
    text = (
        f"Linux 6.1.0 (a) \t{date} \t_x86_64_\t(2 CPU)\n\n"
        f"{first}          DEV       tps\n{second}          sda      1.00\n"
    )

    found = row_of(capture_of(tmp_path, text, Asked(timezone=zone)), "sda")

    assert found["seconds"] == seconds


@pytest.mark.parametrize(
    ("date", "order", "day"),
    [
        ("03/04/26", None, "2026-03-04"),
        ("03/04/2026", None, "2026-04-03"),
        ("03.04.2026", None, "2026-04-03"),
        ("03/04/26", DateOrder.DAY_FIRST, "2026-04-03"),
        ("03/04/2026", DateOrder.MONTH_FIRST, "2026-03-04"),
        ("2026-03-04", DateOrder.DAY_FIRST, "2026-03-04"),
        ("28/11/2026", None, "2026-11-28"),
    ],
)
def test_a_date_in_the_order_of_its_locale(date: str, order: DateOrder | None, day: str, tmp_path: Path) -> None:
    text = f"Linux 6.1.0 (a) \t{date} \t_x86_64_\t(2 CPU)\n\n00:00:00 DEV tps\n00:10:00 sda 1.00\n"

    found = row_of(capture_of(tmp_path, text, Asked(date_order=order)), "sda")

    assert found["end_s"] == seconds_of(f"{day}T00:10:00+00:00")


def test_a_date_against_the_order_that_was_assumed_is_refused(tmp_path: Path) -> None:
    text = IOSTAT.replace("11/28/26 20:00:00", "03/04/26 20:00:00").replace("11/28/26 20:00:10", "13/04/26 20:00:10")

    with pytest.raises(InputError, match="another order"):
        capture_of(tmp_path, text)


def test_times_that_go_back_without_a_zone_are_noted(tmp_path: Path) -> None:
    text = (RECORDED / "iostat-de.txt").read_text().replace("28.11.2026 21:06:22", "28.11.2026 20:06:22")

    capture = capture_of(tmp_path, text)

    assert any("--timezone" in note and "go back" in note for note in capture.notes)


def test_vmstat_has_kibibytes_and_the_zone_of_its_head(tmp_path: Path) -> None:
    found = row_of(capture_of(tmp_path, VMSTAT, Asked(timezone="Europe/Berlin")), "all")

    assert (found["read_bytes_per_s"], found["write_bytes_per_s"]) == (100 * 1024.0, 200 * 1024.0)
    assert (found["end_s"], found["seconds"]) == (seconds_of("2026-11-21T19:00:10+00:00"), 10.0)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        *(("sda", Layer.DISK), ("nvme0n1", Layer.DISK), ("vdb", Layer.DISK), ("dasda", Layer.DISK)),
        *(("sda1", Layer.PARTITION), ("nvme0n1p2", Layer.PARTITION), ("mmcblk0p1", Layer.PARTITION)),
        *(("md0p1", Layer.PARTITION), ("dev8-17", Layer.PARTITION), ("dev8-16", Layer.DISK)),
        *(("dm-0", Layer.MAPPED), ("vg-root", Layer.MAPPED), ("ubuntu--vg-ubuntu--lv", Layer.MAPPED)),
        *(("md127", Layer.MAPPED), ("mpatha", Layer.MAPPED), ("dev9-0", Layer.MAPPED)),
        *(("loop3", Layer.MEMORY), ("zram0", Layer.MEMORY), ("sr0", Layer.MEMORY), ("dev7-1", Layer.MEMORY)),
    ],
)
def test_the_layer_of_a_device(name: str, layer: Layer) -> None:
    assert layer_of(name) is layer


def test_a_number_that_one_machine_gives_to_disks_is_noted(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, SADF.replace("dev8-1;", "dev253-0;"))

    assert row_of(capture, "dev253-0")["layer"] == Layer.DISK
    assert any("dev253-0" in note for note in capture.notes)
    assert is_vague("dev253-0")
    assert not is_vague("dev8-0")


def test_the_host_that_the_user_gives_is_that_of_all_rows(tmp_path: Path) -> None:
    asked = dataclasses.replace(Asked(), host="db")

    assert set(capture_of(tmp_path, SADF, asked).table["host"]) == {"db"}
