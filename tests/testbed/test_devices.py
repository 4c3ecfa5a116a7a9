"""Do the known devices do what they claim? fio and the kernel's counters are the outside truth."""

import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

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
from testbed.leaks import left_over, loops_of_machine, made, mounts_of_machine
from testbed.nbd import nbd_delay_device
from testbed.throttle import blkio_limit, v2_line

pytestmark = pytest.mark.testbed

# Without a CPU at the right time a program cannot use up its limit: it goes first, and once more where that was not enough.
FIRST = ("nice", "-n", "-20")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory: the backing of devices whose own speed must not count."""
    with tmpfs(512 * MIB) as folder:
        yield folder


def test_a_limit_of_50_mib_a_second_is_what_fio_reads(memory: Path) -> None:
    with loop_device(256 * MIB, backing=memory) as device, blkio_limit(device, read_bps=50 * MIB) as limit:
        for _ in range(3):
            reads = fio_reads(device, pattern="read", block_size="128k", runtime_s=4, prefix=(*FIRST, *limit.prefix))
            if reads.bytes_per_s >= 0.98 * 50 * MIB:
                break

    assert reads.bytes_per_s == pytest.approx(50 * MIB, rel=0.02)


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
    assert not limit.cgroup.exists()


def test_the_leak_check_sees_a_mount_that_is_left() -> None:
    with tmpfs(MIB) as folder:
        assert f"mount {folder}" in left_over("no such session")

    assert f"mount {folder}" not in left_over("no such session")


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


def _bytes_written(device: Path) -> int:
    # Field 7 of /sys/block/*/stat is sectors written, always of 512 bytes.
    return int(Path(f"/sys/block/{device.name}/stat").read_text().split()[6]) * 512
