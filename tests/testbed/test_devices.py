"""Do the known devices do what they claim? fio and the kernel's counters are the outside truth."""

import errno
import mmap
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from testbed.cpu_quota import cpu_limit, times_stopped
from testbed.devices import (
    MIB,
    filesystem,
    fuse_passthrough,
    loop_device,
    overlay,
    read_only_mount,
    small_ext4,
    tmpfs,
)
from testbed.fio import fio_reads
from testbed.history import free_inodes, grow_directory
from testbed.host import command
from testbed.leaks import left_over, loops_of_machine, made, mounts_of_machine
from testbed.link import link, served_over
from testbed.nbd import nbd_delay_device
from testbed.neighbours import cpu_hog, disk_reader
from testbed.throttle import blkio_limit, v2_line
from testbed.truth import direct_reads_ns, truth_disk

pytestmark = [pytest.mark.testbed, pytest.mark.quiet]

# Without a CPU at the right time a program cannot use up its limit: it goes first, and once more where that was not enough.
FIRST = ("nice", "-n", "-20")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory: the backing of devices whose own speed must not count."""
    with tmpfs(512 * MIB) as folder:
        yield folder


@pytest.mark.held
def test_a_limit_of_50_mib_a_second_is_what_fio_reads(memory: Path) -> None:
    with loop_device(256 * MIB, backing=memory) as device, blkio_limit(device, read_bps=50 * MIB) as limit:
        for _ in range(3):
            reads = fio_reads(device, pattern="read", block_size="128k", runtime_s=4, prefix=(*FIRST, *limit.prefix))
            if reads.bytes_per_s >= 0.98 * 50 * MIB:
                break

    assert reads.bytes_per_s == pytest.approx(50 * MIB, rel=0.02)


@pytest.mark.held
def test_a_limit_of_1000_reads_a_second_is_what_fio_counts(memory: Path) -> None:
    with loop_device(64 * MIB, backing=memory) as device, blkio_limit(device, read_iops=1000) as limit:
        for _ in range(3):
            reads = fio_reads(device, pattern="randread", block_size="4k", runtime_s=4, prefix=(*FIRST, *limit.prefix))
            if reads.iops >= 980:
                break

    assert reads.iops == pytest.approx(1000, rel=0.02)


def test_a_process_outside_the_group_is_not_limited(memory: Path) -> None:
    with loop_device(64 * MIB, backing=memory) as device, blkio_limit(device, read_iops=10) as limit:
        outside, inside = (
            fio_reads(device, pattern="randread", block_size="4k", runtime_s=1, prefix=prefix)
            for prefix in ((), limit.prefix)
        )

    assert outside.iops > 2 * inside.iops


@pytest.mark.held
def test_a_delay_of_5_ms_is_the_latency_that_fio_sees() -> None:
    with nbd_delay_device(0, 64 * MIB) as free, nbd_delay_device(5, 64 * MIB) as slow:
        for _ in range(3):
            way_ms, latency_ms = (
                fio_reads(device, pattern="randread", block_size="4k", runtime_s=3).mean_latency_ms
                for device in (free, slow)
            )
            if latency_ms <= 5.0 + max(1.5, 3 * way_ms):
                break

    # The chain takes its time without any delay as well.
    assert 5.0 <= latency_ms <= 5.0 + max(1.5, 3 * way_ms)


@pytest.mark.parametrize(("kind", "size_bytes"), [("ext4", 64 * MIB), ("btrfs", 128 * MIB), ("xfs", 320 * MIB)])
def test_a_file_written_directly_reaches_the_device(
    kind: Literal["ext4", "xfs", "btrfs"], size_bytes: int, memory: Path
) -> None:
    with loop_device(size_bytes, backing=memory) as device, filesystem(device, kind) as folder:
        before = _bytes_written(device)
        _write_direct(folder / "file", 4 * MIB)
        written = _bytes_written(device) - before

    # The data itself, and not much besides: the journal and, on btrfs, trees and checksums.
    assert 4 * MIB <= written <= 6 * MIB


def test_a_small_ext4_runs_out_of_space(memory: Path) -> None:
    with small_ext4(8 * MIB, backing=memory) as folder, pytest.raises(OSError, match="No space left") as caught:
        (folder / "large").write_bytes(bytes(16 * MIB))

    assert caught.value.errno == errno.ENOSPC


def test_a_read_only_mount_refuses_to_write() -> None:
    with read_only_mount() as folder, pytest.raises(OSError, match="Read-only") as caught:
        (folder / "new").touch()

    assert caught.value.errno == errno.EROFS


def test_an_overlay_copies_up_what_is_written() -> None:
    with overlay() as folder:
        (folder / "lower").write_bytes(b"changed\n")

        assert (folder / "lower").read_bytes() == b"changed\n"
        assert os.statvfs(folder).f_flag & os.ST_RDONLY == 0


def test_a_fuse_mount_shows_the_folder_behind_it(tmp_path: Path) -> None:
    with fuse_passthrough(tmp_path) as folder:
        (folder / "through").write_bytes(b"fuse\n")

        assert (tmp_path / "through").read_bytes() == b"fuse\n"


def test_devices_are_undone_when_the_test_raises(memory: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        loop_device(16 * MIB, backing=memory) as device,
        filesystem(device) as folder,
        blkio_limit(device, read_iops=10) as limit,
    ):
        raise KeyboardInterrupt

    assert str(device) not in loops_of_machine() or loops_of_machine()[str(device)] != made.loops[str(device)]
    assert folder not in mounts_of_machine()
    assert not limit.folder.exists()


def test_the_leak_check_sees_a_mount_that_is_left() -> None:
    with tmpfs(MIB) as folder:
        assert f"mount {folder}" in left_over("no such session")

    assert f"mount {folder}" not in left_over("no such session")


def test_a_group_gets_the_share_of_a_cpu_that_it_may_have() -> None:
    with cpu_limit(0.2) as group:
        used_s, wall_s = (float(word) for word in command(*group.prefix, sys.executable, "-c", _BUSY_FOR_2_S).split())
        stopped = times_stopped(group)

    # A period can give what is left of one before it; a machine that is busy otherwise gives less.
    assert used_s <= 0.2 * wall_s + 0.1
    assert stopped >= 1


_BUSY_FOR_2_S = """
import time
begun, used = time.monotonic(), time.process_time()
while time.monotonic() - begun < 2: pass
print(time.process_time() - used, time.monotonic() - begun)
"""


def test_a_hog_stays_on_its_cpu_and_keeps_it_busy() -> None:
    cpu = min(os.sched_getaffinity(0))
    before = _idle_ticks(cpu)
    with cpu_hog(cpu):
        time.sleep(2)
        idle = _idle_ticks(cpu) - before

    # It starts a moment later than the clock.
    assert idle / os.sysconf("SC_CLK_TCK") < 0.5


def _idle_ticks(cpu: int) -> int:
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} "))
    return int(line.split()[4])


def test_a_neighbour_reads_from_its_device(memory: Path) -> None:
    with loop_device(256 * MIB, backing=memory) as device, filesystem(device) as folder:
        before = _bytes_read(device)
        with disk_reader(folder, size_bytes=16 * MIB):
            assert _bytes_read(device) - before >= 16 * MIB
            assert len(list(folder.glob("assay-neighbour-*"))) == 1
        assert not list(folder.glob("assay-neighbour-*"))


def test_a_hard_disk_with_a_lying_cache_takes_no_time_to_write_and_flush() -> None:
    with truth_disk(64 * MIB, hdd=True, cache=True) as disk:
        _write_and_flush(disk.device, 20)
        reads_s = [ns / 1e9 for ns in direct_reads_ns(disk.device, 20)]
        served = disk.log()

    reads = statistics.median(request.seconds for request in served if request.kind == "R")
    # A seek and half a turn, of which a write or flush takes none.
    assert reads > 4e-3
    assert statistics.median(reads_s) >= reads
    assert statistics.median(request.seconds for request in served if request.kind in "WF") < reads / 4


@pytest.mark.held
def test_a_device_serves_its_credits_and_then_slower() -> None:
    with truth_disk(64 * MIB) as plain:
        asked_before = len(plain.log())  # what the kernel reads when the device appears
    with truth_disk(64 * MIB, most_per_s=1000, burst=asked_before + 100, later_per_s=50) as disk:
        direct_reads_ns(disk.device, 200)
        ends_s = [request.end_ns / 1e9 for request in disk.log() if request.kind == "R"][-200:]

    later_s = ends_s[-1] - ends_s[-50]
    assert later_s >= 0.97 * 49 / 50
    assert ends_s[49] - ends_s[0] < later_s / 2


@pytest.mark.held
def test_a_device_that_pauses_does_so_at_equal_distances() -> None:
    with truth_disk(64 * MIB, most_per_s=200, pause_every_s=1, pause_s=0.3) as disk:
        direct_reads_ns(disk.device, 600)
        paused = [request.begin_ns / 1e9 for request in disk.log() if request.seconds > 0.2]

    assert len(paused) >= 2
    assert all(at_s % 1 < 0.1 for at_s in paused)


def test_a_link_moves_no_more_than_its_rate(tmp_path: Path) -> None:
    rate_bits_per_s, content = 200_000_000, os.urandom(8 * MIB)
    with link(rate_bits_per_s) as path, served_over(path, tmp_path) as folder:
        came, went = path.moved_bytes()
        begun_s = time.monotonic()
        (folder / "file").write_bytes(content)
        took_s = time.monotonic() - begun_s
        came_after, went_after = path.moved_bytes()

    assert (tmp_path / "file").read_bytes() == content
    assert 8 * MIB < went_after - went < 1.2 * 8 * MIB
    assert came_after - came < 0.2 * 8 * MIB
    # A bucket of 16 kB may be full at first.
    assert took_s >= 0.97 * 8 * 8 * MIB / rate_bits_per_s


def test_a_namespace_is_gone_with_its_link(tmp_path: Path) -> None:
    with link(100_000_000) as path, served_over(path, tmp_path) as folder:
        assert folder in mounts_of_machine()
        assert Path(f"/sys/class/net/{path.interface}").exists()

    assert folder not in mounts_of_machine()
    assert not Path(f"/sys/class/net/{path.interface}").exists()
    assert path.namespace not in command("ip", "netns", "list")


def test_the_leak_check_sees_a_namespace_that_is_left() -> None:
    with link(100_000_000) as path:
        assert {f"namespace {path.namespace}", f"interface {path.interface}"} <= set(left_over("no such session"))

    assert not [line for line in left_over("no such session") if path.namespace in line or path.interface in line]


def test_inodes_that_were_freed_are_passed_by(memory: Path) -> None:
    with (
        loop_device(256 * MIB, backing=memory) as device,
        filesystem(device, mkfs_options=("-O", "^has_journal", "-N", "60000")) as folder,
    ):
        (folder / "first").touch()
        first = (folder / "first").stat().st_ino
        free_inodes(folder, 1000)
        (folder / "next").touch()
        assert (folder / "next").stat().st_ino > first + 900


def test_a_directory_of_ext4_stays_as_large_as_it_was(memory: Path) -> None:
    with loop_device(256 * MIB, backing=memory) as device, filesystem(device) as folder:
        grow_directory(folder / "grown", 10_000)

        assert not list((folder / "grown").iterdir())
        assert (folder / "grown").stat().st_size > 150_000


def _write_and_flush(device: Path, count: int) -> None:
    descriptor = os.open(device, os.O_RDWR | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 4096) as page:
            for number in range(count):
                os.pwritev(descriptor, [page], number * MIB)
                os.fsync(descriptor)
    finally:
        os.close(descriptor)


def test_limits_of_the_second_cgroup_generation_are_one_line() -> None:
    line = v2_line("7:3", {"read_bps": 52428800, "write_iops": 100})

    assert line == "7:3 rbps=52428800 wiops=100"


def _write_direct(file: Path, size_bytes: int) -> None:

    # A mapping is aligned to a page, as O_DIRECT asks.
    with mmap.mmap(-1, size_bytes) as data:
        data.write(os.urandom(size_bytes))
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o644)
        try:
            assert os.write(descriptor, data) == size_bytes
        finally:
            os.close(descriptor)


def _bytes_read(device: Path) -> int:
    return 512 * int(Path(f"/sys/block/{device.name}/stat").read_text().split()[2])


def _bytes_written(device: Path) -> int:
    # Field 7 of /sys/block/*/stat is sectors written, always of 512 bytes.
    return int(Path(f"/sys/block/{device.name}/stat").read_text().split()[6]) * 512
