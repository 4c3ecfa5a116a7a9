"""Devices of captures are added up once each, on one grid, and gaps stay gaps."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.captures.gathered import GatheredLoad, gather
from assay.captures.samples import DeviceSample, Layer, SampleRows
from assay.captures.selection import select
from assay.captures.stated_facts import Asked
from assay.captures.total import add_up
from assay.errors import InputError
from assay.sizing.policy import Policy
from assay.sizing.size_answer import load_of

DISK = Layer.DISK


def table(*rows: tuple[str, str, Layer, DeviceSample]) -> pl.DataFrame:
    made = SampleRows("x")
    for host, device, layer, sample in rows:
        made.add(host, device, layer, sample)
    return made.table()


def sample(
    end_s: float, seconds: float, reads: float, writes: float = 0.0, latency_s: float | None = None
) -> DeviceSample:
    return DeviceSample(
        end_s, seconds, read_iops=reads, write_iops=writes, read_latency_s=latency_s, write_latency_s=latency_s
    )


def test_hosts_are_added_step_by_step_and_not_by_their_peaks() -> None:
    total = add_up(
        table(
            *(("a", "sda", DISK, sample(60 * (at + 1), 60, iops)) for at, iops in enumerate([100, 900, 100])),
            *(("b", "sda", DISK, sample(60 * (at + 1), 60, iops)) for at, iops in enumerate([900, 100, 100])),
        )
    )

    assert total.columns["iops"].tolist() == [1000, 1000, 200]
    assert (total.step_s, total.hosts, total.devices) == (60, ("a", "b"), 2)


def test_samples_of_other_lengths_and_offsets_are_averaged_by_overlap() -> None:
    # Every 20 s, beginning 10 s later than the steps of 60 s: 600 IOPS from 10 to 70 s, then none.
    short = [("a", "sda", DISK, sample(10 + 20 * (at + 1), 20, 600 if at < 3 else 0)) for at in range(9)]
    long = [("b", "sdb", DISK, sample(10 + 60 * (at + 1), 60, 30)) for at in range(3)]
    aligned = add_up(table(*short, *long))
    late = [("b", "sdb", DISK, sample(40 + 60 * (at + 1), 60, 30)) for at in range(2)]
    shifted = add_up(table(*short, *late))

    assert aligned.columns["iops"].tolist() == pytest.approx([630, 30, 30])
    # Steps from 40 s on: half of the first is busy.
    assert (shifted.begin_s, shifted.columns["iops"].tolist()) == (40, pytest.approx([330, 30]))


def test_a_host_without_samples_is_a_gap_and_an_idle_device_is_none() -> None:
    total = add_up(
        table(
            *(("a", "sda", DISK, sample(10 * at, 10, 100)) for at in (1, 2, 5, 6)),
            *(("b", "sda", DISK, sample(10 * at, 10, 50)) for at in range(1, 7)),
            *(("b", "sdb", DISK, sample(10 * at, 10, 7)) for at in (1, 6)),
        )
    )

    assert np.array_equal(total.columns["iops"], [157, 150, np.nan, np.nan, 150, 157], equal_nan=True)
    assert total.notes == ("1 gap without samples of some host is left out: 0.333 min in all",)


def test_latencies_are_averaged_over_requests() -> None:
    total = add_up(
        table(
            ("a", "sda", DISK, sample(10, 10, 300, 0, 1e-3)),
            ("a", "sdb", DISK, sample(10, 10, 0, 100, 9e-3)),
            ("a", "sda", DISK, sample(20, 10, 0)),
            ("a", "sdb", DISK, sample(20, 10, 0)),
        )
    )

    assert total.columns["latency_s"][0] == pytest.approx(3e-3)
    assert total.columns["write_latency_s"][0] == pytest.approx(9e-3)
    assert np.isnan(total.columns["latency_s"][1])


def test_what_one_device_lacks_is_not_known_of_all() -> None:
    total = add_up(
        table(
            ("a", "sda", DISK, sample(10, 10, 300, 100)),
            ("a", "sdb", DISK, DeviceSample(10, 10, iops=50, bytes_per_s=1e6)),
        )
    )

    assert total.columns["iops"].tolist() == [450]
    assert "write_iops" not in total.columns
    assert "bytes_per_s" not in total.columns


def test_a_sample_that_two_files_have_counts_once() -> None:
    twice = table(*(("a", "sda", DISK, sample(10 * at, 10, 100)) for at in (1, 2, 2, 3)))

    assert add_up(twice).columns["iops"].tolist() == [100, 100, 100]


def test_captures_of_other_times_are_refused() -> None:
    with pytest.raises(InputError, match="end before those of b begin"):
        add_up(table(("a", "sda", DISK, sample(10, 10, 1)), ("b", "sda", DISK, sample(100, 10, 1))))


# -- which devices are counted ------------------------------------------------------------------------------------------


def counted(*devices: tuple[str, str, Layer], only: tuple[str, ...] = ()) -> list[str]:
    rows = [(host, device, layer, sample(10, 10, 1)) for host, device, layer in devices]
    return sorted(
        f"{host}/{device}" for host, device in select(table(*rows), only).table.select("host", "device").rows()
    )


MACHINE = (
    ("a", "sda", DISK),
    ("a", "sda1", Layer.PARTITION),
    ("a", "dm-0", Layer.MAPPED),
    ("a", "loop0", Layer.MEMORY),
    ("a", "all", Layer.SYSTEM),
)


def test_a_request_is_counted_at_one_layer() -> None:
    assert counted(*MACHINE) == ["a/sda"]
    assert counted(*MACHINE, ("b", "vmhba0", Layer.ADAPTER), ("b", "vm1", Layer.VIRTUAL_DISK)) == ["a/sda", "b/vmhba0"]
    assert counted(("c", "tank", Layer.POOL), ("c", "all", Layer.SYSTEM)) == ["c/tank"]
    # The disks of a pool have its mirrors and parity.
    assert counted(("c", "tank", Layer.POOL), ("c", "sda", DISK), ("c", "sdb", DISK)) == ["c/tank"]


def test_the_disks_of_an_md_raid_are_named_as_having_its_parity() -> None:
    rows = [("a", name, layer, sample(10, 10, 1)) for name, layer in (("sda", DISK), ("md0", Layer.MAPPED))]

    (note,) = select(table(*rows)).notes

    assert "--only 'md*'" in note


def test_the_user_chooses_otherwise() -> None:
    assert counted(*MACHINE, only=("dm-*",)) == ["a/dm-0"]
    assert counted(*MACHINE, ("b", "sda", DISK), only=("b/*", "sda1")) == ["a/sda1", "b/sda"]
    with pytest.raises(InputError, match="matches no device"):
        counted(*MACHINE, only=("nvme*",))


# -- reads and writes that only the host tells apart --------------------------------------------------------------------


def test_the_share_of_writes_is_the_host_s_where_its_disks_have_none(tmp_path: Path) -> None:
    # As sadf -d -- -d -b writes it: 300 requests a second, then 100, of which a third and all are writes.
    (tmp_path / "day.txt").write_text(
        "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util\n"
        "a;600;2026-11-24 08:10:00 UTC;sda;300.00;0;0;0;4;1;5;50\n"
        "a;600;2026-11-24 08:20:00 UTC;sda;100.00;0;0;0;4;1;5;50\n"
        "# hostname;interval;timestamp;tps;rtps;wtps;dtps;bread/s;bwrtn/s;bdscd/s\n"
        "a;600;2026-11-24 08:10:00 UTC;300.00;200.00;100.00;0;0;0;0\n"
        "a;600;2026-11-24 08:20:00 UTC;100.00;0.00;100.00;0;0;0;0\n"
    )

    found = load_of(
        gather([str(tmp_path / "day.txt")], Asked(), None, ()),
        Policy.STEADY,
        300.0,
        write_share=None,
        latency_s=20e-3,
        disks_now=None,
    )

    assert found.write_share == pytest.approx(200 / 400)
    assert found.iops == pytest.approx(290)


def test_without_a_share_of_writes_nothing_is_sized() -> None:
    total = add_up(
        table(("a", "sda", DISK, DeviceSample(10, 10, iops=50)), ("a", "sda", DISK, DeviceSample(20, 10, iops=50)))
    )

    with pytest.raises(InputError, match="--writes"):
        load_of(GatheredLoad(total, None, ()), Policy.STEADY, 300.0, write_share=None, latency_s=20e-3, disks_now=None)
