"""Sizing: the arithmetic by hand, and what holds for every machine."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError, RunError
from assay.loads import quick
from assay.loads.sizing import Sizing, choose_size
from assay.targets import Room
from assay.units import MIB

GIB = 1 << 30

LAPTOP: dict[str, Any] = {
    "ram_bytes": 16 * GIB,
    "cpus": 8,
    "free_bytes": 80 * GIB,
    "free_inodes": 10_000_000,
    "reserve_bytes": 256 * MIB,
    "probe_write_bytes_per_s": 400.0 * MIB,
    "probe_seconds": 2.0,
    "total_seconds": 60.0,
    "asked": None,
}
ROOM = ("free_bytes", "free_inodes", "reserve_bytes")


def choose(**changes: object) -> Sizing:
    machine = LAPTOP | changes
    room = Room(directory=Path("/data"), **{name: machine.pop(name) for name in ROOM})
    return choose_size(room=room, **machine)


def test_a_laptop_gets_what_it_can_lay_out_in_a_fifth_of_the_time() -> None:
    sizing = choose()

    # 60 s / 5 - 2 s of probe = 10 s; 10 s * 400 MiB/s = 4000 MiB, of which 7 * 512 MiB is the next rounder size.
    assert sizing.size_bytes == 3584 * MIB
    assert sizing.size_bytes / LAPTOP["probe_write_bytes_per_s"] == pytest.approx(8.96)
    assert sizing.reason == "3.50 GiB: what 400 MiB/s can lay out in 10 s; 2x RAM would be 32.0 GiB; 80.0 GiB free"


def test_the_phases_of_a_minute_fill_a_minute() -> None:
    sizing = choose()

    # 5 p + 6 * 0.4 p = 60 s, p = 8.1 s.
    assert (sizing.phase_seconds, sizing.metadata_seconds) == (8.1, 3.2)
    assert 5 * sizing.phase_seconds + 6 * sizing.metadata_seconds == pytest.approx(59.7)


@pytest.mark.parametrize(("seconds", "interval_s"), [(60.0, 0.08), (20.0, 0.025), (8.0, 0.02)])
def test_the_shortest_phase_has_the_intervals_that_a_verdict_needs(seconds: float, interval_s: float) -> None:
    sizing = choose(total_seconds=seconds)

    # 3.2 s / 40, 1 s / 40; 0.4 s / 40 would be shorter than an interval may be.
    assert sizing.interval_s == interval_s


@pytest.mark.parametrize(("cpus", "workers"), [(1, 1), (2, 2), (3, 3), (64, 4)])
def test_no_more_workers_are_asked_for_than_there_are_cpus(cpus: int, workers: int) -> None:
    sizing = choose(cpus=cpus)
    made = quick.plan(Path("/data"), sizing)

    assert sizing.workers == workers
    assert max(job.workers for phase in made.phases for job in phase.jobs) == workers
    assert len(made.phases) == (11 if workers > 1 else 8)


def test_little_memory_and_fast_storage_get_twice_the_memory() -> None:
    sizing = choose(ram_bytes=1 * GIB, probe_write_bytes_per_s=2000.0 * MIB)

    assert sizing.size_bytes == 2 * GIB
    assert "2x RAM would be" not in sizing.reason


def test_a_full_file_system_gets_a_quarter_of_what_may_be_used() -> None:
    sizing = choose(free_bytes=1280 * MIB)

    assert sizing.size_bytes == 256 * MIB
    assert "a quarter of the space that may be used" in sizing.reason


def test_slow_storage_gets_the_least_that_says_something() -> None:
    sizing = choose(probe_write_bytes_per_s=2.0 * MIB)

    assert sizing.size_bytes == 64 * MIB
    assert "what 2.00 MiB/s can lay out in 10 s would be 20.0 MiB" in sizing.reason


def test_no_room_for_the_least_is_refused_with_the_numbers() -> None:
    with pytest.raises(
        RunError, match=r"64\.0 MiB are needed, but only 44\.0 MiB are free in /data above the reserve of 256 MiB"
    ):
        choose(free_bytes=300 * MIB)


def test_an_asked_size_is_taken_as_it_is() -> None:
    sizing = choose(asked=20 * GIB)

    assert sizing.size_bytes == 20 * GIB
    assert sizing.reason.startswith("20.0 GiB: as asked;")


def test_an_asked_size_needs_no_probe() -> None:
    assert choose(asked=GIB, probe_write_bytes_per_s=0.0).size_bytes == GIB
    with pytest.raises(InputError, match="name one with --size"):
        choose(probe_write_bytes_per_s=0.0)


def test_too_little_space_for_a_probe_is_said_as_too_little_space() -> None:
    with pytest.raises(RunError, match="are needed, but only"):
        choose(free_bytes=300 * MIB, reserve_bytes=256 * MIB, probe_write_bytes_per_s=0.0)


def test_an_asked_size_that_is_no_whole_mebibyte_is_rounded_down_and_says_so() -> None:
    sizing = choose(asked=100_000_000)

    assert sizing.size_bytes == 95 * MIB
    assert "as asked (100000000 bytes), rounded down to whole MiB" in sizing.reason


def test_an_asked_size_that_does_not_fit_is_refused_with_both_numbers_and_the_largest_that_would() -> None:
    with pytest.raises(RunError, match=r"100 GiB are needed, but only 79.8 GiB are free.*--size 81664MiB or less"):
        choose(asked=100 * GIB)


def test_an_asked_size_below_one_operation_is_refused() -> None:
    with pytest.raises(InputError, match="--size 1MiB or more"):
        choose(asked=4096)


def test_too_little_time_is_refused_with_the_least_that_would_do() -> None:
    with pytest.raises(InputError, match="--time 8s or more"):
        choose(total_seconds=7.0)
    assert choose(total_seconds=8.0).phase_seconds >= 1


def test_metadata_sets_are_bounded_by_time_by_inodes_and_by_space() -> None:
    assert choose().files == 192_000  # 60 000 files/s * 3.2 s
    assert choose(free_inodes=None).files == 192_000
    assert choose(free_inodes=80_000).files == 20_000  # a quarter
    # 1 GiB may be used, 256 MiB are data; half of the other 768 MiB, over 2 sets of 8 KiB files: 24 576.
    assert choose(free_bytes=1280 * MIB).files == 24_000


def test_too_few_inodes_are_refused() -> None:
    with pytest.raises(RunError, match="400 files and directories are needed, but only 100 more can be made"):
        choose(free_inodes=100)


def test_a_data_set_that_leaves_no_room_for_files_is_refused() -> None:
    with pytest.raises(RunError, match=r"79.8 GiB are free in .* use a smaller --size"):
        choose(asked=80 * GIB - 256 * MIB)


@given(
    ram_bytes=st.integers(MIB, 1 << 43),
    free_bytes=st.integers(0, 1 << 50),
    free_inodes=st.none() | st.integers(0, 1 << 32),
    probe_write_bytes_per_s=st.floats(1e3, 1e11),
    probe_seconds=st.floats(0, 60),
    total_seconds=st.floats(8, 3600),
)
def test_on_every_machine_the_size_is_either_refused_or_fits(**machine: Any) -> None:
    try:
        sizing = choose(**machine)
    except RunError:
        return

    usable_bytes = machine["free_bytes"] - 256 * MIB
    assert sizing.size_bytes >= 64 * MIB
    assert sizing.size_bytes % MIB == 0
    assert sizing.size_bytes + 2 * sizing.files * 8192 <= usable_bytes
    assert sizing.size_bytes <= max(64 * MIB, 2 * machine["ram_bytes"], usable_bytes // 4)
    assert 5 * sizing.phase_seconds + 6 * sizing.metadata_seconds <= machine["total_seconds"] + 1e-9
    assert sizing.size_bytes / machine["probe_write_bytes_per_s"] <= max(
        0.2 * machine["total_seconds"], 64 * MIB / machine["probe_write_bytes_per_s"]
    ) * (1 + 1e-9)


def test_repeats_share_the_time_and_lay_out_what_one_run_of_a_part_of_it_would() -> None:
    once, five = choose(total_seconds=60.0), choose(total_seconds=300.0, repeats=5)

    assert (five.size_bytes, five.phase_seconds, five.metadata_seconds) == (
        once.size_bytes,
        once.phase_seconds,
        once.metadata_seconds,
    )
    with pytest.raises(InputError, match="for 11 phases in 2 repeats; use --time 15s or more"):
        choose(total_seconds=8.0, repeats=2)
