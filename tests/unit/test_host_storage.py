"""A directory is followed down to its devices on machines laid out in a folder."""

import errno
import os
from pathlib import Path

import pytest

from assay.errors import AssayError, InputError, RunError
from assay.host.manifest import target_facts
from assay.host.reading import SystemTree
from assay.host.storage import StoragePath, storage_path
from unit.host_trees import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def path_of(machine: FakeMachine, directory: str) -> StoragePath:
    machine.directory(directory)
    return storage_path(Path(directory), machine.tree)


def layers_of(path: StoragePath) -> list[tuple[str, str, str | None]]:
    return [(device.name, device.kind, device.carries) for device in path.devices]


def test_a_partition_on_nvme_is_counted_as_itself_and_leads_to_its_disk(machine: FakeMachine) -> None:
    machine.disk(
        "nvme0n1", "259:0", queue__scheduler="[none] mq-deadline", queue__read_ahead_kb="128", device__model="ACME 9"
    )
    machine.partition("nvme0n1", "nvme0n1p2", "259:2")
    machine.mount("259:2", "/", "ext4", "/dev/nvme0n1p2")

    path = path_of(machine, "/data/here")

    assert layers_of(path) == [("nvme0n1p2", "partition", None), ("nvme0n1", "disk", "nvme0n1p2")]
    assert path.diskstats == ("nvme0n1p2",)
    assert path.is_block_backed
    partition, disk = path.devices
    assert partition.value("size_bytes") == 512 * 2**20
    assert disk.value("size_bytes") == 2**30
    assert disk.value("scheduler") == "none"
    assert disk.value("read_ahead_bytes") == 128 * 1024
    assert disk.value("model") == "ACME 9"


def test_dm_crypt_on_md_is_counted_at_the_top_and_walked_to_each_disk(machine: FakeMachine) -> None:
    machine.disk("sda", "8:0")
    machine.disk("sdb", "8:16")
    machine.partition("sda", "sda1", "8:1")
    machine.virtual("md0", "9:0", slaves=("sda1", "sdb"), md__level="raid1", md__chunk_size="65536", md__degraded="1")
    machine.virtual("dm-0", "253:0", slaves=("md0",), dm__uuid="CRYPT-LUKS2-0123-vault", dm__name="vault")
    machine.mount("253:0", "/vault", "xfs", "/dev/mapper/vault")

    path = path_of(machine, "/vault")

    assert layers_of(path) == [
        ("dm-0", "crypt", None),
        ("md0", "md-raid1", "dm-0"),
        ("sda1", "partition", "md0"),
        ("sdb", "disk", "md0"),
        ("sda", "disk", "sda1"),
    ]
    assert path.diskstats == ("dm-0",)
    assert path.devices[1].value("md_chunk_bytes") == 65536
    assert path.devices[1].value("md_missing_members") == 1
    assert path.devices[0].value("dm_name") == "vault"


@pytest.mark.parametrize(
    ("uuid", "kind"),
    [
        ("CRYPT-LUKS2-0123-vault", "crypt"),
        ("CRYPT-INTEGRITY-0123-vault", "integrity"),
        ("CRYPT-SUBDEV-0123-vault_dif", "integrity"),
        ("CRYPT-VERITY-0123-vault", "verity"),
        ("LVM-0123", "lvm"),
        ("", "dm"),
    ],
)
def test_volumes_that_keep_checksums_are_told_from_those_that_map_blocks(
    machine: FakeMachine, uuid: str, kind: str
) -> None:
    machine.disk("sda", "8:0", queue__max_segments="126")
    machine.virtual("dm-0", "253:0", slaves=("sda",), dm__uuid=uuid, dm__name="vault")
    machine.mount("253:0", "/vault", "xfs", "/dev/mapper/vault")

    volume, disk = path_of(machine, "/vault").devices

    assert (volume.kind, volume.value("dm_name")) == (kind, "vault")
    assert disk.value("max_segments") == 126


def test_btrfs_on_two_devices_is_counted_on_both_though_its_super_block_has_none(machine: FakeMachine) -> None:
    machine.disk("sda", "8:0")
    machine.disk("sdb", "8:16")
    machine.disk("sdc", "8:32")
    for name in ("sda", "sdb"):
        machine.directory(f"/sys/fs/btrfs/1234-abcd/devices/{name}")
    machine.directory("/sys/fs/btrfs/1234-abcd/allocation/data/raid1")
    machine.directory("/sys/fs/btrfs/9999-ffff/devices/sdc")
    machine.mount("0:41", "/pool", "btrfs", "/dev/sdb")

    path = path_of(machine, "/pool")
    facts = {fact.key: fact.value for fact in target_facts({"data": Path("/pool")}, machine.tree)}

    assert path.diskstats == ("sda", "sdb")
    assert path.is_block_backed
    assert facts["target.data.fs.btrfs_data_profiles"] == ("raid1",)
    assert facts["target.data.fs.btrfs_metadata_profiles"] is None


def test_a_loop_device_is_counted_itself_and_leads_to_the_path_of_its_file(machine: FakeMachine) -> None:
    machine.disk("vda", "254:0")
    machine.mount("254:0", "/", "ext4", "/dev/vda")
    machine.file("/images/disk.img", "")
    machine.virtual("loop3", "7:3", loop__backing_file="/images/disk.img", loop__dio="0")
    machine.mount("7:3", "/mnt", "xfs", "/dev/loop3")

    path = path_of(machine, "/mnt/here")
    facts = {fact.key: fact.value for fact in target_facts({"data": Path("/mnt/here")}, machine.tree)}

    assert path.diskstats == ("loop3",)
    assert path.loops[0].value("loop_direct_io") is False
    assert path.backing["loop3"].diskstats == ("vda",)
    assert facts["target.data.device.0.backing.fs.type"] == "ext4"
    assert facts["target.data.device.0.backing.device.0.name"] == "vda"
    assert not path.is_memory


def test_a_loop_device_whose_file_is_on_tmpfs_is_memory(machine: FakeMachine) -> None:
    machine.mount("0:30", "/memory", "tmpfs", "tmpfs")
    machine.file("/memory/disk.img", "")
    machine.virtual("loop0", "7:0", loop__backing_file="/memory/disk.img", loop__dio="0")
    machine.mount("7:0", "/mnt", "ext4", "/dev/loop0")

    assert path_of(machine, "/mnt").is_memory


def test_a_loop_device_whose_file_is_a_mount_of_its_own_leads_to_that_mount(machine: FakeMachine) -> None:
    machine.disk("vda", "254:0")
    machine.mount("254:0", "/", "ext4", "/dev/vda")
    machine.file("/images/disk.img", "")
    machine.mount("0:55", "/images/disk.img", "fuse", "nbdfuse")
    machine.virtual("loop3", "7:3", loop__backing_file="/images/disk.img", loop__dio="1")
    machine.mount("7:3", "/mnt", "xfs", "/dev/loop3")

    behind = path_of(machine, "/mnt").backing["loop3"]

    assert (behind.directory, behind.fs_type, behind.kind) == ("/images/disk.img", "fuse", "fuse")
    assert not behind.is_block_backed


def test_a_loop_device_whose_file_is_out_of_sight_says_so(machine: FakeMachine) -> None:
    machine.virtual("loop0", "7:0", loop__backing_file="/gone.img (deleted)", loop__dio="1")
    machine.mount("7:0", "/mnt", "ext4", "/dev/loop0")

    facts = {fact.key: fact for fact in target_facts({"data": Path("/mnt")}, machine.tree)}

    assert facts["target.data.device.diskstats"].value == ("loop0",)
    assert facts["target.data.device.0.backing.directory"].value is None
    assert "/gone.img (deleted)" in facts["target.data.device.0.backing.directory"].source


def test_an_overlay_is_counted_where_it_writes(machine: FakeMachine) -> None:
    machine.disk("vda", "254:0")
    machine.mount("254:0", "/", "ext4", "/dev/vda")
    machine.directory("/layers/upper, here")
    options = "rw,lowerdir=/l,upperdir=/layers/upper\\054\\040here,workdir=/w"
    machine.mount("0:50", "/merged", "overlay", "overlay", options)

    path = path_of(machine, "/merged")

    assert path.upper is not None
    assert path.upper.directory == "/layers/upper, here"
    assert path.diskstats == ("vda",)
    assert path.is_block_backed


def test_an_overlay_whose_upper_directory_is_on_the_host_has_no_counters(machine: FakeMachine) -> None:
    machine.disk("vda", "254:0")
    machine.mount("0:50", "/", "overlay", "overlay", "rw,lowerdir=/l,upperdir=/var/lib/x/diff,workdir=/w")

    path = path_of(machine, "/data")

    assert path.diskstats == ()
    assert not path.is_block_backed
    assert "/var/lib/x/diff" in path.why_uncounted


@pytest.mark.parametrize(
    ("fs_type", "kind"),
    [("nfs4", "network"), ("fuse.sshfs", "fuse"), ("tmpfs", "memory"), ("zfs", "other")],
)
def test_storage_without_visible_devices_says_so(machine: FakeMachine, fs_type: str, kind: str) -> None:
    machine.mount("0:60", "/mnt", fs_type, "somewhere:/export")

    path = path_of(machine, "/mnt")

    assert (path.kind, path.diskstats, path.is_block_backed, path.devices) == (kind, (), False, ())
    assert path.why_uncounted


def test_fuseblk_has_counters_but_they_say_nothing_of_a_process(machine: FakeMachine) -> None:
    machine.disk("sdb", "8:16")
    machine.mount("8:16", "/mnt", "fuseblk", "/dev/sdb")

    path = path_of(machine, "/mnt")

    assert path.diskstats == ("sdb",)
    assert not path.is_block_backed


def test_dax_has_no_counters_because_it_passes_them_by(machine: FakeMachine) -> None:
    machine.virtual("pmem0", "259:9")
    machine.mount("259:9", "/mnt", "ext4", "/dev/pmem0", "rw,dax=always")

    path = path_of(machine, "/mnt")

    assert path.diskstats == ()
    assert not path.is_block_backed
    assert "DAX" in path.why_uncounted


def test_a_device_that_the_kernel_does_not_count_has_no_counters(machine: FakeMachine) -> None:
    machine.disk("sda", "8:0", queue__iostats="0")
    machine.partition("sda", "sda1", "8:1")
    machine.mount("8:1", "/mnt", "ext4", "/dev/sda1")

    path = path_of(machine, "/mnt")

    assert path.diskstats == ()
    assert not path.is_block_backed
    assert "queue/iostats is 0" in path.why_uncounted


def test_the_log_device_of_xfs_is_counted_too(machine: FakeMachine) -> None:
    machine.disk("sda", "8:0")
    machine.disk("sdb", "8:16")
    machine.mount("8:0", "/mnt", "xfs", "/dev/sda", "rw,logdev=/dev/sdb,noquota")

    assert path_of(machine, "/mnt").diskstats == ("sda", "sdb")


def test_of_stacked_mounts_the_upper_one_counts_and_a_name_prefix_is_no_parent(machine: FakeMachine) -> None:
    machine.disk("sda", "8:0")
    machine.disk("sdb", "8:16")
    machine.mount("8:0", "/mnt", "ext4", "/dev/sda")
    machine.mount("8:16", "/mnt", "xfs", "/dev/sdb")
    machine.mount("0:60", "/mnt/a", "tmpfs", "tmpfs")

    assert path_of(machine, "/mnt/ab").fs_type == "xfs"
    assert path_of(machine, "/mnt/a/b").fs_type == "tmpfs"


@pytest.mark.parametrize(("task", "mode"), [("<none>", "none"), ("1234", "journal")])
def test_the_journal_mode_of_ext4_is_what_the_kernel_does(machine: FakeMachine, task: str, mode: str) -> None:
    machine.disk("sda", "8:0")
    machine.mount("8:0", "/mnt", "ext4", "/dev/sda")
    machine.file("/proc/fs/ext4/sda/options", "rw\ndata=journal\nbarrier")
    machine.file("/sys/fs/ext4/sda/journal_task", task)

    facts = {fact.key: fact.value for fact in target_facts({"data": Path("/mnt")}, machine.tree)}

    assert facts["target.data.fs.journal_mode"] == mode


def test_serial_numbers_are_kept_as_hashes_that_tell_disks_apart(machine: FakeMachine) -> None:
    machine.disk("sda", "8:0", device__serial="S3CR3T-1")
    machine.disk("sdb", "8:16", device__serial="S3CR3T-2")
    for number, point in (("8:0", "/a"), ("8:16", "/b")):
        machine.mount(number, point, "ext4", f"/dev/{point}")

    facts = target_facts({"a": Path("/a"), "b": Path("/b")}, machine.tree)

    hashes = [fact.value for fact in facts if fact.key.endswith("serial_hash")]
    assert len(set(hashes)) == 2
    assert "S3CR3T" not in repr(facts)


def test_every_absent_fact_says_why(machine: FakeMachine) -> None:
    machine.disk("sda", "8:0")
    machine.mount("8:0", "/mnt", "ext4", "/dev/sda")

    absent = [fact for fact in target_facts({"data": Path("/mnt")}, machine.tree) if fact.value is None]

    assert "target.data.device.0.model" in {fact.key for fact in absent}
    assert all(fact.source.startswith("n/a: ") for fact in absent)


def test_a_missing_directory_is_the_users_error(machine: FakeMachine) -> None:
    with pytest.raises(InputError, match="/nowhere is not a directory"):
        storage_path(Path("/nowhere"), machine.tree)


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EACCES, InputError), (errno.EIO, RunError), (errno.ESTALE, RunError)]
)
def test_storage_that_does_not_answer_is_no_error_of_the_user(
    number: int, kind: type[AssayError], machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.directory("/mnt")

    def space(_tree: SystemTree, path: str) -> os.statvfs_result:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(SystemTree, "space", space)

    with pytest.raises(kind, match=os.strerror(number)):
        storage_path(Path("/mnt"), machine.tree)


def test_a_directory_of_storage_that_does_not_answer_is_not_said_to_be_none(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.directory("/mnt")

    def unanswered(path: Path, **_: object) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(Path, "stat", unanswered)

    with pytest.raises(RunError, match="Input/output error"):
        storage_path(Path("/mnt"), machine.tree)


def test_secrets_of_a_mount_are_in_no_fact(machine: FakeMachine) -> None:
    machine.mount("0:50", "/share", "cifs", "//me:hunter2@server/share", "rw,username=me,pass=hunter2,vers=3.0")

    path = path_of(machine, "/share")

    assert path.mount_source == "(not kept)@server/share"
    assert path.super_options == ("rw", "username=me", "pass=(not kept)", "vers=3.0")
    assert "hunter2" not in repr(target_facts({"data": Path("/share")}, machine.tree))


@pytest.mark.parametrize("source", ["/dev/sda1", "server:/export/home@noon", "me@server:/home", "pool/home@noon"])
def test_a_source_without_a_secret_is_kept_whole(machine: FakeMachine, source: str) -> None:
    machine.mount("0:50", "/share", "other", source)

    assert path_of(machine, "/share").mount_source == source
