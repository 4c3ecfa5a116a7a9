"""Does a campaign measure every cell once, as it says, whatever ends it, and touch nothing that is not its own?"""

import contextlib
import functools
import json
import os
import re
import signal
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.campaign.journal import JOURNAL, CampaignBegun, opened, read_only
from e2e.command import COMMAND, Assay
from e2e.processes import WAIT_S
from testbed.devices import MIB, filesystem, loop_device
from testbed.host import command, need_filesystem, need_root, need_tools, wait_until
from testbed.leaks import loops_of_machine, mounts_of_machine

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("mount namespaces")]

CAMPAIGN = """\
name = "try"
repeats = 2
scheduler = ["none", "mq-deadline"]

[loop]
folder = "{folder}"
size = "512MiB"

[[file_system]]
kind = "ext4"
mount = "noatime,data=journal"

[[file_system]]
kind = "xfs"
mkfs = "-m reflink=0"
mount = "noatime"

[[file_system]]
kind = "btrfs"
mount = "compress=zstd"

[[load]]
name = "post"
command = "postmark {{input}}"
input = '''
set location {{dir}}
set number 50
set transactions 100
run
quit
'''
"""
SLOTS = 12
SHORT = CAMPAIGN.replace('scheduler = ["none", "mq-deadline"]', 'scheduler = ["none"]')
SHORT_SLOTS = 6
ONE = """\
name = "one"
repeats = 1
{loop}
[[file_system]]
kind = "ext4"
{options}
[[load]]
name = "write"
command = "measure {{dir}} --write --bs 64k --size 1m --time 0.2s"
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for a campaign, of which nothing may be left on the machine."""
    need_root()
    need_tools("mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "wipefs", "losetup")
    for kind in ("ext4", "xfs", "btrfs"):
        need_filesystem(kind)
    folder = tmp_path / "loops"
    folder.mkdir()
    yield tmp_path
    assert list(folder.iterdir()) == []
    assert [mount for mount in mounts_of_machine() if mount.is_relative_to(tmp_path)] == []
    assert [file for file in loops_of_machine().values() if file.is_relative_to(tmp_path)] == []


def written(place: Path, text: str = CAMPAIGN) -> Path:
    file = place / "c.toml"
    file.write_text(text.format(folder=place / "loops"))
    return file


def one(place: Path, options: str = "", *, has_loop: bool = True) -> Path:
    """A campaign of one measurement."""
    loop = f'[loop]\nfolder = "{place / "loops"}"\nsize = "512MiB"\n' if has_loop else ""
    file = place / "one.toml"
    file.write_text(ONE.format(loop=loop, options=options))
    return file


def lines_of(place: Path, name: str = "c") -> list[dict[str, Any]]:
    text = (place / f"{name}.campaign" / "journal.jsonl").read_text()
    return [json.loads(line)["of"] for line in text.splitlines() if line.endswith("}")]


def measured(place: Path) -> list[dict[str, Any]]:
    return [line for line in lines_of(place) if line["line"] == "slot_measured"]


def has_measured(place: Path, count: int) -> bool:
    return len(measured(place)) >= count


def check_whole(place: Path, assay: Assay, slot_count: int = SLOTS) -> dict[str, Any]:
    """Every slot was measured once, each by a run of its own on what it says that it was."""
    shown = assay("matrix", place / "c.toml", "--show", "--json")
    assert shown.returncode in {0, 1}, shown.stderr
    found: dict[str, Any] = json.loads(shown.stdout)
    assert [line for line in lines_of(place) if line["line"] == "slot_failed"] == []
    lines = measured(place)
    assert sorted(line["slot"] for line in lines) == list(range(1, slot_count + 1))
    assert len({line["run_id"] for line in lines}) == slot_count
    assert (found["measured"], found["failed"], found["slots"]) == (slot_count, 0, slot_count)
    row = next(row for row in found["rows"] if row["label"] == "transactions/*" and row["metric"] == "iops")
    assert [len(cell["runs"]) + len(cell["left_out"]) for cell in row["cells"]] == [2] * (slot_count // 2)
    # What the run itself found under its directory, and not what the campaign asked for.
    slots = {slot["number"]: slot for slot in lines_of(place)[0]["design"]["slots"]}
    for line in lines:
        levels = found["cells"][slots[line["slot"]]["cell"]]["levels"]
        facts = {fact["key"]: fact["value"] for fact in json.loads(manifest(assay, line["run_id"]))["facts"]}
        assert facts["target.location.fs.type"] == levels[0]
        assert facts["target.location.device.0.scheduler"] == levels[1]
    return found


def manifest(assay: Assay, run: str) -> str:
    return (assay.runs / run / "manifest.json").read_text()


def test_every_cell_is_made_measured_and_read_back(place: Path, assay: Assay) -> None:
    done = assay("matrix", written(place))

    assert done.returncode in {0, 1}, done.stderr
    found = check_whole(place, assay)
    assert [factor["name"] for factor in found["factors"]] == ["file_system", "scheduler"]
    by_kind = {cell["levels"][0]: cell for cell in found["cells"]}
    # ext4 turns these off by itself with data=journal (fs/ext4/super.c).
    assert {"data=journal", "nodelalloc", "nodioread_nolock"} <= set(by_kind["ext4"]["mount_options"])
    assert by_kind["xfs"]["super_block"]["meta-data.reflink"] == "0"
    assert any(option.startswith("compress=zstd") for option in by_kind["btrfs"]["mount_options"])
    assert {tuple(cell["not_taken"]) for cell in found["cells"]} == {()}
    assert {cell["direct_io"] for cell in found["cells"]} == {True}
    runs = json.loads(assay("ls", "--tag", "try", "--json", check=0).stdout)
    assert Counter(tag for run in runs for tag in run["tags"] if tag.startswith("scheduler")) == {
        "scheduler-none": 6,
        "scheduler-mq-deadline": 6,
    }
    assert "file_system x scheduler" in assay("matrix", place / "c.toml", "--show", "--all").stdout
    csv = assay("matrix", place / "c.toml", "--show", "--csv").stdout.splitlines()
    assert sum(line.startswith("cell,post,transactions/*,iops,") for line in csv) == 6
    # A campaign that is whole measures nothing more.
    assay("matrix", place / "c.toml")
    assert len(measured(place)) == SLOTS
    check_a_run_kept_by_a_killed_program_is_counted(place, assay)


def check_a_run_kept_by_a_killed_program_is_counted(place: Path, assay: Assay) -> None:
    """Take the journal's last line away, as if the program had been killed before it was whole, and start again."""
    journal = place / "c.campaign" / "journal.jsonl"
    kept = journal.read_bytes().splitlines(keepends=True)
    last = json.loads(kept[-1])["of"]
    assert last["line"] == "slot_measured"
    journal.write_bytes(b"".join(kept)[:-9])

    done = assay("matrix", place / "c.toml")

    assert f"{last['run_id']}: kept by an earlier start" in done.stderr
    assert measured(place)[-1]["run_id"] == last["run_id"]
    check_whole(place, assay)


def test_a_campaign_that_is_killed_goes_on_with_no_cell_lost_or_measured_twice(place: Path, assay: Assay) -> None:
    file = written(place, SHORT)
    for so_far, number in ((1, signal.SIGKILL), (2, signal.SIGTERM), (3, signal.SIGKILL)):
        with begun(assay, file) as process:
            wait_until(functools.partial(has_measured, place, so_far), f"{so_far} measurements", WAIT_S)
            process.send_signal(number)
            process.wait(WAIT_S)
        if number == signal.SIGTERM:
            assert process.returncode == 130
            assert [mount for mount in mounts_of_machine() if mount.is_relative_to(place)] == []
        assert len(measured(place)) < SHORT_SLOTS
    refused = assay("matrix", place / "c.toml", "--resume", "--state", place / "nowhere", check=2)
    assert "there is no campaign" in refused.stderr

    done = assay("matrix", file, "--resume")

    assert done.returncode in {0, 1}, done.stderr
    check_whole(place, assay, SHORT_SLOTS)


def test_a_file_that_was_changed_is_another_campaign_once_something_is_measured(place: Path, assay: Assay) -> None:
    file = one(place)
    # Of the tool's own options one is called as one of Assay's.
    words = "fio --name=a --directory={dir} --rw=write --bs=64k --size=1m --time_based --runtime=1"
    file.write_text(re.sub(r"(?m)^command = .*$", f'command = "{words}"', file.read_text()))
    assert assay("matrix", file).returncode in {0, 1}
    file.write_text(file.read_text().replace("repeats = 1", "repeats = 2"))

    assert "changed since" in assay("matrix", file, check=2).stderr


def test_a_folder_without_its_runs_is_refused_before_more_are_measured(place: Path, assay: Assay) -> None:
    file = one(place)
    assert assay("matrix", file).returncode in {0, 1}

    for words in ((), ("--show",)):
        refused = assay("matrix", file, *words, "--runs", place / "other", check=2)
        assert f"{place / 'other'} has none of the 1 runs of this campaign" in refused.stderr


def test_words_that_a_load_refuses_end_the_campaign_and_a_mended_file_begins_it(place: Path, assay: Assay) -> None:
    file = one(place)
    right = file.read_text()
    file.write_text(right.replace("--bs 64k", "--bs 64q"))

    assert "64q" in assay("matrix", file, check=2).stderr
    file.write_text(right)

    assert assay("matrix", file).returncode in {0, 1}


def test_what_the_kernel_refuses_is_told_and_the_others_are_measured(place: Path, assay: Assay) -> None:
    # XFS knows no barriers to leave out any more, and refuses the option (fs/xfs/xfs_super.c).
    file = one(place, 'mount = { plain = "noatime", none = "noatime,barrier=0" }\n[[file_system]]\nkind = "xfs"\n'
                      'mount = { plain = "noatime", none = "noatime,nobarrier" }')  # fmt: skip

    done = assay("matrix", file, "--json", check=1)

    found = json.loads(done.stdout)
    assert (found["measured"], found["failed"]) == (3, 1)
    cells = {(cell["levels"][0], cell["levels"][-1]): cell for cell in found["cells"]}
    assert "exit code 32" in cells["xfs", "none"]["failed"][0]
    assert "nobarrier" in cells["ext4", "none"]["mount_options"]
    assert cells["ext4", "none"]["not_taken"] == []
    assert "could not be measured" in assay("matrix", file, "--show", check=1).stdout


# -- devices ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def device(place: Path) -> Iterator[Path]:
    """A device of the tests' own, to be given up."""
    with loop_device(512 * MIB, backing=place) as path:
        yield path


def first_bytes(device: Path) -> bytes:
    with device.open("rb") as file:
        return file.read(4 * MIB)


def test_a_device_is_given_up_and_left_blank(place: Path, device: Path, assay: Assay) -> None:
    before = scheduler_of(device)

    done = assay("matrix", one(place, has_loop=False), "--destroy-data", device, "--json")

    assert done.returncode in {0, 1}, done.stderr
    assert json.loads(done.stdout)["measured"] == 1
    assert command("wipefs", "--no-act", device) == ""
    assert scheduler_of(device) == before


def scheduler_of(device: Path) -> str:
    return Path(f"/sys/block/{device.name}/queue/scheduler").read_text()


def test_a_signature_is_overwritten_only_if_it_is_named(place: Path, device: Path, assay: Assay) -> None:
    file = one(place, has_loop=False)
    command("mkfs.ext4", "-q", "-F", device)
    before = first_bytes(device)

    refused = assay("matrix", file, "--destroy-data", device, check=2)
    assert "carries ext4" in refused.stderr
    assert f"--destroy-data {device} --over ext4" in refused.stderr
    assert "carries ext4" in assay("matrix", file, "--destroy-data", device, "--over", "xfs", check=2).stderr
    assert first_bytes(device) == before

    assert assay("matrix", file, "--destroy-data", device, "--over", "ext4").returncode in {0, 1}


def test_a_mounted_device_is_refused_whatever_is_said(place: Path, device: Path, assay: Assay) -> None:
    with filesystem(device, "ext4") as mount_point:
        (mount_point / "loved").write_text("data")

        refused = assay("matrix", one(place, has_loop=False), "--destroy-data", device, "--over", "ext4", check=2)

        assert f"is mounted on {mount_point}" in refused.stderr
        assert (mount_point / "loved").read_text() == "data"


def boot_record(*, start_sector: int, sectors: int) -> bytes:
    """A DOS partition table with one partition (Linux, 0x83): four entries of 16 bytes at 446, and 0x55AA."""
    entry = struct.pack("<B3sB3sII", 0, b"\xfe\xff\xff", 0x83, b"\xfe\xff\xff", start_sector, sectors)
    return bytes(446) + entry + bytes(48) + b"\x55\xaa"


def test_the_disk_of_a_mounted_partition_is_refused(place: Path, assay: Assay) -> None:
    need_tools("partx")
    with loop_device(512 * MIB, backing=place) as device:
        with device.open("wb") as disk:
            disk.write(boot_record(start_sector=2048, sectors=256 * MIB // 512))
        command("partx", "--update", device)
        part = Path(f"{device}p1")
        wait_until(part.exists, f"{part}")
        try:
            with filesystem(part, "ext4") as mount_point:
                refused = assay(
                    "matrix",
                    one(place, has_loop=False),
                    "--destroy-data",
                    device,
                    "--over",
                    "dos",
                    "--over",
                    "ext4",
                    check=2,
                )
                assert f"{part.name} is mounted on {mount_point}" in refused.stderr
            unnamed = assay("matrix", one(place, has_loop=False), "--destroy-data", device, "--over", "dos", check=2)
            assert "carries ext4" in unnamed.stderr
        finally:
            command("partx", "--delete", device)


def test_a_device_that_others_use_is_refused(place: Path, device: Path, assay: Assay) -> None:
    file = one(place, has_loop=False)
    with device.open("rb"):
        refused = assay("matrix", file, "--destroy-data", device, check=2)
        assert f"is open in process {os.getpid()}" in refused.stderr
    over = command("losetup", "--find", "--show", device).strip()
    try:
        assert f"is behind {Path(over).name}" in assay("matrix", file, "--destroy-data", device, check=2).stderr
    finally:
        command("losetup", "--detach", over)
        wait_until(lambda: over not in loops_of_machine(), f"{over} detached")


def test_what_is_no_device_is_refused_in_a_line(place: Path, assay: Assay) -> None:
    file = one(place, has_loop=False)
    for words, told in (
        ((), "give [loop] in the file, or --destroy-data"),
        (("--destroy-data", place), "is no block device"),
        (("--destroy-data", place / "no"), "No such file"),
        (("--destroy-data", "/dev/null"), "is no block device"),
        (("--over", "ext4"), "--over needs --destroy-data, which names the device"),
        (("--json", "--csv"), "choose one"),
        (("--show",), "there is no campaign"),
        (("--state", place / "x/.."), "name the folder itself"),
    ):
        assert told in assay("matrix", file, *words, check=2).stderr
    assert "does not exist" in assay("matrix", place / "no.toml", check=2).stderr
    assert "is no name of a file" in assay("matrix", "/", check=2).stderr


def test_who_is_not_root_is_told_so(unprivileged: Assay) -> None:
    assert unprivileged.home is not None
    file = unprivileged.home / "c.toml"
    file.write_text(CAMPAIGN.format(folder=unprivileged.home))

    assert "run it as root" in unprivileged("matrix", file, check=3).stderr


def test_a_loop_file_that_does_not_fit_is_refused(place: Path, assay: Assay) -> None:
    file = one(place)
    file.write_text(file.read_text().replace("512MiB", "4PiB"))

    assert "are needed, but only" in assay("matrix", file, check=3).stderr
    assert list((place / "loops").iterdir()) == []


@contextlib.contextmanager
def begun(assay: Assay, file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A campaign under way."""
    environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
    before = len(measured(file.parent)) if (file.parent / "c.campaign" / "journal.jsonl").exists() else 0
    with subprocess.Popen(
        [COMMAND, "matrix", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        journal = file.parent / "c.campaign" / "journal.jsonl"
        wait_until(lambda: journal.exists() and journal.stat().st_size > 0, "the journal", WAIT_S)
        assert len(measured(file.parent)) >= before
        yield process
        if process.poll() is None:
            process.kill()


# -- what others use, in ways that only the kernel sees ----------------------------------------------------------------


def test_a_device_that_is_mounted_in_another_namespace_is_refused(place: Path, device: Path, assay: Assay) -> None:
    need_tools("unshare")
    command("mkfs.ext4", "-q", "-F", device)
    folder = place / "elsewhere"
    folder.mkdir()
    words = f"mount -o ro {device} {folder} && echo mounted && cat"
    with subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"mounted\n"
            # No mount of this namespace says so, and no process has it open.
            assert str(device) not in Path("/proc/self/mountinfo").read_text()
            before = first_bytes(device)

            refused = assay("matrix", one(place, has_loop=False), "--destroy-data", device, "--over", "ext4", check=2)

            told = f"{device.name} is mounted on {folder} in a mount namespace of its own of process {process.pid}. "
            assert told in refused.stderr
            assert first_bytes(device) == before
        finally:
            process.communicate()


def test_a_device_that_is_a_part_of_a_mapping_is_refused(place: Path, device: Path, assay: Assay) -> None:
    """LVM and multipath are mappings of this kind."""
    need_tools("dmsetup")
    name = f"assay-test-{os.getpid()}"
    made = subprocess.run(
        ["dmsetup", "create", name, "--table", f"0 2048 linear {device} 0"], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no mapping can be made: {made.stderr.strip()}")
    try:
        refused = assay("matrix", one(place, has_loop=False), "--destroy-data", device, check=2)
        assert f"{device.name} is held by dm-" in refused.stderr
    finally:
        command("dmsetup", "remove", "--retry", name)


# -- a campaign that nobody goes on with -------------------------------------------------------------------------------

LONG = """\
name = "long"
repeats = 1
scheduler = ["{scheduler}"]
{loop}
[[file_system]]
kind = "ext4"

[[load]]
name = "read"
command = "measure {{dir}} --read --bs 4k --size 1m --time {seconds}s"
"""


def another_scheduler(device: Path) -> str:
    offered = scheduler_of(device).split()
    other = next((name for name in offered if not name.startswith("[")), None)
    if other is None:
        pytest.skip(f"{device} has one scheduler alone: {offered}")
    return other


def current(schedulers: str) -> str:
    return schedulers.partition("[")[2].partition("]")[0]


def long_campaign(place: Path, scheduler: str, *, seconds: float = 600, loop: bool = False) -> Path:
    table = f'[loop]\nfolder = "{place / "loops"}"\nsize = "512MiB"\n' if loop else ""
    file = place / "long.toml"
    file.write_text(LONG.format(scheduler=scheduler, loop=table, seconds=f"{seconds:g}"))
    return file


def killed_while_it_measures(assay: Assay, place: Path, *words: str | Path) -> None:
    """Begin a campaign, and kill it while it measures, without a chance to undo anything."""
    environment = {**os.environ, "ASSAY_RUNS": str(assay.runs)}
    with subprocess.Popen(
        [COMMAND, "matrix", place / "long.toml", *words],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
    ) as process:  # fmt: skip
        try:
            wait_until(lambda: bool(list(assay.runs.glob("*/events/*"))), "the first measurement's run", WAIT_S)
        finally:
            process.kill()


def running_with(mark: str) -> list[int]:
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if mark.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(process.name))
    return found


def test_what_a_killed_campaign_changed_of_a_device_is_put_back(place: Path, device: Path, assay: Assay) -> None:
    before = scheduler_of(device)
    other = another_scheduler(device)
    file = long_campaign(place, other)
    killed_while_it_measures(assay, place, "--destroy-data", device)
    (mark,) = [line["mark"] for line in lines_of(place, "long") if line["line"] == "slot_begun"]
    assert f"[{other}]" in scheduler_of(device)

    # Neither the device nor the file has to be named again, or to be there.
    file.write_text("no campaign any more\n")
    undone = assay("matrix", file, "--undo", check=0)

    assert scheduler_of(device) == before
    assert mounts_below(place) == []
    assert running_with(mark) == []
    assert "unmounted, which an earlier start left" in undone.stdout
    assert f"{device.name}/queue/scheduler: {current(before)} again, as it was before the campaign" in undone.stdout
    assert f"'wipefs --all {device}' takes it off" in undone.stdout
    again = assay("matrix", file, "--undo", check=0).stdout.splitlines()
    assert [line for line in again if "wipefs" not in line] == []
    # Whoever wants to go on all the same does.
    long_campaign(place, other, seconds=600)
    assert assay("matrix", file, "--show", check=0).returncode == 0


def mounts_below(place: Path) -> list[Path]:
    return [mount for mount in mounts_of_machine() if mount.is_relative_to(place)]


def test_what_a_killed_campaign_made_of_loop_files_is_taken_away(place: Path, assay: Assay) -> None:
    file = long_campaign(place, "none", loop=True)
    killed_while_it_measures(assay, place)
    assert list((place / "loops").iterdir()) != []

    undone = assay("matrix", file, "--undo", check=0)

    assert "detached, which an earlier start left" in undone.stdout
    assert "removed, which an earlier start left" in undone.stdout
    assert list((place / "loops").iterdir()) == []
    assert mounts_below(place) == []
    assert assay("matrix", file, "--undo", check=0).stdout == "nothing to undo\n"
    # What was measured until then is a run, and none of the campaign.
    (run,) = json.loads(assay("ls", "--json", check=0).stdout)
    assert (run["state"], run["exit_code"]) == ("sealed", 130)
    assert [tag.split(".")[0] for tag in run["tags"]] == ["long"]
    assert json.loads(assay("ls", "--tag", "long", "--json", check=0).stdout) == []


def test_the_scheduler_of_a_device_that_is_another_now_is_left_alone(place: Path, device: Path, assay: Assay) -> None:
    other = another_scheduler(device)
    file = long_campaign(place, other)
    killed_while_it_measures(assay, place, "--destroy-data", device)
    folder = place / "long.campaign"
    kept = (folder / JOURNAL).read_bytes()
    lines = read_only(folder).lines
    assert isinstance(lines[0], CampaignBegun)
    assert lines[0].device is not None
    # The user's own journal, and of a medium that is gone: another is in its place.
    another = msgspec.structs.replace(lines[0].device, serial="loop of another file")
    with opened(folder) as journal:
        journal.forget()
        for line in (msgspec.structs.replace(lines[0], device=another), *lines[1:]):
            journal.append(line)

    refused = assay("matrix", file, "--undo", check=2)

    assert "is not there; attach it, so that it can be put back" in refused.stderr
    assert f"[{other}]" in scheduler_of(device)
    (folder / JOURNAL).write_bytes(kept)
    assay("matrix", file, "--undo", check=0)


def test_what_has_not_begun_has_nothing_to_undo(place: Path, assay: Assay) -> None:
    file = one(place)

    assert "there is no campaign that can be read" in assay("matrix", file, "--undo", check=2).stderr
    assert not (place / "one.campaign").exists()
    for words in (("--resume",), ("--destroy-data", "/dev/null"), ("--show",)):
        assert "--undo takes FILE and --state only" in assay("matrix", file, "--undo", *words, check=2).stderr
