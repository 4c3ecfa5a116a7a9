"""Storage paths and direct I/O on real file systems, mounted from files for the length of a test."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.doctor.at_start import at_start
from assay.doctor.check import Check, State
from assay.doctor.directory_checks import directory_checks
from assay.doctor.machine_checks import scarce_memory
from assay.errors import RunError
from assay.host.direct_io import probe
from assay.host.manifest import collect
from assay.host.storage import storage_path
from assay.targets import Need, check_room, room

pytestmark = pytest.mark.testbed

Mounter = Callable[..., Path]
GIB = 2**30


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Mounter]:
    """A function that makes a file system of a type in files, mounts it and returns its mount point."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts file systems")
    undo = contextlib.ExitStack()

    def mount(fs_type: str, *, devices: int = 1, options: str = "rw", mkfs: tuple[str, ...] = ()) -> Path:
        program = shutil.which(f"mkfs.{fs_type}")
        if program is None or fs_type not in Path("/proc/filesystems").read_text().split():
            pytest.skip(f"needs {fs_type}: mkfs and kernel")
        loops = []
        for number in range(devices):
            image = tmp_path / f"{fs_type}{number}.img"
            with image.open("wb") as file:
                file.truncate(400 * 2**20)
            loops.append(run("losetup", "--find", "--show", str(image)))
            undo.callback(run, "losetup", "--detach", loops[-1])
        run(program, *mkfs, *loops)
        point = tmp_path / f"mounted {fs_type}"
        point.mkdir()
        run("mount", "-t", fs_type, "-o", options, loops[0], str(point))
        undo.callback(run, "umount", str(point))
        return point

    with undo:
        yield mount


def checks_of(directory: Path) -> dict[str, Check]:
    return {check.subject: check for check in directory_checks(storage_path(directory), ram_bytes=GIB)}


@pytest.mark.parametrize("fs_type", ["ext4", "xfs", "btrfs"])
def test_a_mounted_loop_device_is_found_with_its_size_and_its_file(mounted: Mounter, fs_type: str) -> None:
    directory = mounted(fs_type) / "deep" / "down"
    directory.mkdir(parents=True)

    path = storage_path(directory)

    source = run("findmnt", "--noheadings", "--output", "SOURCE", "--target", str(directory))
    assert path.diskstats == (Path(source).name,)
    assert path.fs_type == fs_type
    assert path.mount_point == str(directory.parents[1])
    assert path.is_block_backed
    assert path.devices[0].kind == "loop"
    assert path.devices[0].value("size_bytes") == int(run("blockdev", "--getsize64", source))
    assert path.backing[Path(source).name].directory == str(directory.parents[2])
    assert path.total_bytes == int(run("df", "--block-size=1", "--output=size", str(directory)).split()[-1])


def test_the_counters_of_the_path_move_by_what_is_written(mounted: Mounter) -> None:
    # Lazy initialisation would write beside it.
    directory = mounted("ext4", mkfs=("-E", "lazy_itable_init=0,lazy_journal_init=0"))
    (name,) = storage_path(directory).diskstats

    def written_bytes() -> int:
        line = next(
            line.split() for line in Path("/proc/diskstats").read_text().splitlines() if line.split()[2] == name
        )
        return int(line[9]) * 512

    before = written_bytes()
    with (directory / "data").open("wb") as file:
        file.write(os.urandom(8 * 2**20))
        file.flush()
        os.fsync(file.fileno())

    # Metadata and journal come on top, but not half as much again.
    assert 8 * 2**20 <= written_bytes() - before < 12 * 2**20


@pytest.mark.parametrize(
    ("fs_type", "options", "named"),
    [
        ("ext4", "rw", ()),
        ("ext4", "barrier=0,data=writeback", ("nobarrier", "data=writeback")),
        ("btrfs", "nobarrier", ("nobarrier",)),
    ],
)
def test_options_that_promise_less_are_named_before_a_run(
    mounted: Mounter, fs_type: str, options: str, named: tuple[str, ...]
) -> None:
    point = mounted(fs_type, options=options)

    words = [text for text in at_start(point) if "is mounted with" in text]

    assert [text.split(": ")[0] for text in words] == [f"{point} ({fs_type}) is mounted with {name}" for name in named]


def test_an_overlay_that_never_syncs_is_named_with_what_lies_below_it(mounted: Mounter) -> None:
    below, point = mounted("ext4", options="data=writeback"), Path()
    for name in ("lower", "upper", "work", "overlay"):
        point = below / name
        point.mkdir()
    layers = f"lowerdir={below / 'lower'},upperdir={below / 'upper'},workdir={below / 'work'},volatile"
    run("mount", "-t", "overlay", "-o", layers, "overlay", str(point))
    try:
        words = at_start(point)
    finally:
        run("umount", str(point))

    named = [text.split(" is mounted with ")[1].split(":")[0] for text in words]
    assert named in (["volatile", "data=writeback"], ["fsync=volatile", "data=writeback"])  # by the kernel's version


def test_a_file_system_is_nearly_full_above_nine_tenths(mounted: Mounter) -> None:
    point = mounted("ext4", mkfs=("-m", "0"))
    facts = os.statvfs(point)

    def fill(share: float) -> None:
        used = share * facts.f_blocks * facts.f_frsize - (facts.f_blocks - facts.f_bfree) * facts.f_frsize
        with (point / "data").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, int(used))

    fill(0.85)
    assert not any("full" in text for text in at_start(point))
    fill(0.95)
    assert any("95% full" in text for text in at_start(point))


def test_memory_is_scarce_below_a_tenth() -> None:
    assert scarce_memory(10 * GIB, 2 * GIB) is None
    assert scarce_memory(None, None) is None
    found = scarce_memory(20 * GIB, GIB)
    assert found is not None
    assert found.text.startswith("1.0 GiB of 20.0 GiB of memory available: ")


def test_a_btrfs_subvolume_on_two_devices_is_counted_on_both(mounted: Mounter) -> None:
    point = mounted("btrfs", devices=2, mkfs=("-q", "-d", "raid1", "-m", "raid1"))
    run("btrfs", "subvolume", "create", str(point / "sub"))

    path = storage_path(point / "sub")
    facts = {fact.key: fact.value for fact in collect({"data": point / "sub"})}

    loops = {Path(line.split()[-1]).name for line in run("btrfs", "filesystem", "show", str(point)).splitlines()[2:]}
    assert len(loops) == 2
    assert set(path.diskstats) == loops
    assert facts["target.data.fs.btrfs_data_profiles"] == ("raid1",)


def test_subvolumes_of_a_btrfs_share_its_room(mounted: Mounter) -> None:
    point = mounted("btrfs", mkfs=("-q",))
    places = [point / "one", point / "other"]
    for place in places:
        run("btrfs", "subvolume", "create", str(place))
    most = room(point, reserve_bytes=0).free_bytes * 4 // 5

    assert places[0].stat().st_dev != places[1].stat().st_dev
    check_room([Need(places[0], most)], reserve_bytes=0, cure="use less")
    with pytest.raises(RunError, match="are needed"):
        check_room([Need(place, most) for place in places], reserve_bytes=0, cure="use less")


def test_the_journal_mode_is_read_from_the_kernel(mounted: Mounter) -> None:
    with_journal = collect({"data": mounted("ext4", options="rw,data=journal")})

    assert {fact.key: fact.value for fact in with_journal}["target.data.fs.journal_mode"] == "journal"


def test_a_bind_mount_tells_what_of_the_file_system_it_shows(mounted: Mounter) -> None:
    point = mounted("ext4")
    for name in ("inside", "bound"):
        (point / name).mkdir()
    run("mount", "--bind", str(point / "inside"), str(point / "bound"))
    try:
        path = storage_path(point / "bound")
    finally:
        run("umount", str(point / "bound"))

    assert path.mount_root == "/inside"
    assert path.diskstats == storage_path(point).diskstats


def test_an_overlay_on_a_mounted_file_system_is_counted_on_its_device(mounted: Mounter) -> None:
    point = mounted("ext4")
    for name in ("lower", "upper, 1", "work", "merged"):
        (point / name).mkdir()
    layers = f"lowerdir={point / 'lower'},upperdir={str(point / 'upper, 1').replace(',', chr(92) + ',')}"
    run("mount", "-t", "overlay", "-o", f"{layers},workdir={point / 'work'}", "overlay", str(point / "merged"))
    try:
        path = storage_path(point / "merged")
    finally:
        run("umount", str(point / "merged"))

    assert path.kind == "overlay"
    assert path.upper is not None
    assert path.upper.directory == str(point / "upper, 1")
    assert path.diskstats == storage_path(point).diskstats


@pytest.mark.parametrize("fs_type", ["ext4", "xfs"])
def test_direct_io_passes_the_cache_by_and_the_probe_leaves_nothing(mounted: Mounter, fs_type: str) -> None:
    point = mounted(fs_type)
    before = set(point.iterdir())

    result = probe(point)

    assert (result.works, result.cached_share) == (True, 0.0)
    assert set(point.iterdir()) == before


def test_direct_io_that_ext4_turns_into_cached_io_is_seen(mounted: Mounter) -> None:
    point = mounted("ext4", options="rw,data=journal")

    check = checks_of(point)["direct I/O"]

    assert check.state is State.LIMITED
    assert "has no effect" in check.text


def test_a_loop_device_that_caches_its_file_is_limited_until_it_does_direct_io(mounted: Mounter) -> None:
    point = mounted("ext4", mkfs=("-q", "-b", "4096"))
    (loop,) = storage_path(point).loops
    run("losetup", "--direct-io=off", f"/dev/{loop.name}")

    assert checks_of(point)["loop device"].state is State.LIMITED

    run("losetup", "--direct-io=on", f"/dev/{loop.name}")
    assert "loop device" not in checks_of(point)


def test_a_read_only_mount_cannot_be_measured(mounted: Mounter) -> None:
    point = mounted("ext4")
    run("mount", "-o", "remount,ro", str(point))

    checks = checks_of(point)

    assert checks["writing"].state is State.CANNOT
    assert "direct I/O" not in checks


def test_tmpfs_is_told_from_storage(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts a tmpfs")
    run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path))
    try:
        checks = checks_of(tmp_path)
    finally:
        run("umount", str(tmp_path))

    assert "lives in memory" in checks["storage"].text
    assert checks["space"].state is State.CANNOT
    assert checks["direct I/O"].state is State.LIMITED
