"""Does a campaign undo what it made alone, whatever its own journal names?"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.campaign import recorded_process, schedulers
from assay.campaign.campaign_file import parse
from assay.campaign.design import design
from assay.campaign.journal import (
    JOURNAL,
    SCHEMA,
    AnyLine,
    CampaignBegun,
    ImageMade,
    ImageNamed,
    Journal,
    MeasurementStarted,
    SchedulerFound,
    SlotMeasured,
    opened,
)
from assay.campaign.leftovers import take_away
from assay.campaign.recorded_process import ProcessIdentity, found, started
from assay.devices import device_identity
from assay.errors import InputError, RunError

FILE = """
name = "c.d"
[loop]
folder = "{folder}"
size = "512MiB"
[[file_system]]
kind = "ext4"
[[load]]
name = "read"
command = "measure {{dir}}"
"""
OWN = "assay-c.d-0123456789abcdef.img"


@pytest.fixture
def loops(tmp_path: Path) -> Path:
    folder = tmp_path / "loops"
    folder.mkdir()
    return folder


@contextlib.contextmanager
def journal_of(loops: Path, *lines: AnyLine) -> Iterator[Journal]:
    """A journal of this user's own."""
    campaign = parse(FILE.format(folder=loops), "c.toml")
    first = CampaignBegun(schema=SCHEMA, campaign=campaign, design=design(campaign), key="ab", device=None)
    with opened(loops.parent / "c") as journal:
        for line in (first, *lines):
            journal.append(line)
        yield journal


def made(path: Path, name: str | None = None) -> ImageMade:
    """Note a file as an image."""
    there = path.lstat()
    return ImageMade(name=name or path.name, device=there.st_dev, inode=there.st_ino)


def undone(loops: Path, *lines: AnyLine) -> list[str]:
    with journal_of(loops, *lines) as journal:
        return list(take_away(journal, ()))


# -- files ----------------------------------------------------------------------------------------------------------------


def test_an_own_image_is_removed_and_so_is_one_whose_inode_was_not_noted(loops: Path) -> None:
    image, empty = loops / OWN, loops / OWN.replace("0", "f")
    image.write_text("data")
    empty.touch()

    told = undone(loops, ImageNamed(name=image.name), made(image), ImageNamed(name=empty.name))

    assert told == [f"{image}: removed, which an earlier start left"]
    assert list(loops.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    ["../victim", "/etc/victim", "victim", "assay-c.d-0.img", "assay-cxd-0123456789abcdef.img", f"x/{OWN}", f"{OWN}\n"],
)
def test_a_file_of_another_name_is_refused_and_nothing_is_undone(name: str, loops: Path) -> None:
    for victim in (loops / "victim", loops.parent / "victim", loops / OWN):
        victim.touch()

    for line in (ImageNamed(name=name), made(loops / "victim", name)):
        with pytest.raises(InputError, match=r"is no file that the campaign 'c\.d' makes"):
            undone(loops, made(loops / OWN), line)
        (loops.parent / "c" / JOURNAL).unlink()
    assert sorted(path.name for path in loops.iterdir()) == [OWN, "victim"]
    assert (loops.parent / "victim").exists()


def another(image: Path) -> None:
    image.rename(image.with_name("kept"))
    image.write_text("another")


def link_to(image: Path) -> None:
    image.rename(image.with_name("kept"))
    image.symlink_to("kept")


def name_again(image: Path) -> None:
    image.with_name("kept").hardlink_to(image)


@pytest.mark.parametrize("change", [another, link_to, name_again])
def test_what_has_the_name_of_an_image_and_is_another_file_stays(change: Any, loops: Path) -> None:
    image = loops / OWN
    image.write_text("data")
    line = made(image)
    change(image)

    assert undone(loops, ImageNamed(name=OWN), line) == []
    assert sorted(path.name for path in loops.iterdir()) == [OWN, "kept"]


def test_a_loop_folder_that_others_can_exchange_is_refused(loops: Path) -> None:
    (loops / OWN).touch()
    line = made(loops / OWN)
    loops.chmod(0o777)

    with pytest.raises(InputError, match=r"name another in \[loop\]"):
        undone(loops, line)
    assert (loops / OWN).exists()


# -- processes ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that the campaign did not start, with words of it on its command line."""
    words = [sys.executable, "-c", "import sys; sys.stdin.read()", "--no-report", "c.d.ab.1.abcdef"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def identity_of(process: int) -> ProcessIdentity:
    ticks = recorded_process._started_ticks(process)
    assert ticks is not None
    return ProcessIdentity(process, ticks, device_identity.boot_id())


def line_of(identity: ProcessIdentity, slot: int = 1) -> MeasurementStarted:
    return MeasurementStarted(slot=slot, **identity._asdict())


def test_a_recorded_process_is_ended_and_told(loops: Path, stranger: "subprocess.Popen[bytes]") -> None:
    told = undone(loops, line_of(identity_of(stranger.pid)))

    assert told == [f"process {stranger.pid}: ended, a measurement that an earlier start left"]
    assert stranger.wait() == -signal.SIGTERM
    assert undone(loops) == []


@pytest.mark.parametrize("what", ["started_ticks", "boot_id", "measured"])
def test_a_process_that_has_the_number_of_one_that_ended_is_left_alone(
    what: str, loops: Path, stranger: "subprocess.Popen[bytes]"
) -> None:
    identity = identity_of(stranger.pid)
    lines: list[AnyLine] = [line_of(identity)]
    match what:
        case "started_ticks":
            lines = [line_of(identity._replace(started_ticks=identity.started_ticks - 1))]
        case "boot_id":
            lines = [line_of(identity._replace(boot_id="another"))]
        case _:
            lines.append(SlotMeasured(slot=1, run_id="r", exit_code=0, seconds=1.0))

    assert undone(loops, *lines) == []
    assert stranger.poll() is None


def test_a_measurement_begins_when_its_process_was_recorded_and_not_before(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    words = [sys.executable, "-c", f"import os; open({str(begun)!r}, 'w').write(os.environ['A'])"]
    recorded: list[ProcessIdentity] = []

    def record(identity: ProcessIdentity) -> None:
        recorded.append(identity)
        with found(identity) as process:
            assert process is not None
        assert not begun.exists()

    with (
        (tmp_path / "out").open("w+b") as out,
        started(words, record, out=out, err=out, variables={"A": "b"}) as process,
    ):
        assert process.wait() == 0
        assert recorded == [ProcessIdentity(process.pid, recorded[0].started_ticks, device_identity.boot_id())]
    assert begun.read_text() == "b"
    with found(recorded[0]) as gone:
        assert gone is None


def test_a_measurement_that_could_not_be_recorded_never_begins(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def record(_: ProcessIdentity) -> None:
        raise RunError("no room")

    with (tmp_path / "out").open("w+b") as out, pytest.raises(RunError, match="no room"):  # noqa: SIM117
        with started(["/bin/touch", str(begun)], record, out=out, err=out, variables={}):
            raise AssertionError
    assert not begun.exists()


def test_a_held_process_ends_where_the_campaign_is_killed_before_it_recorded_it(tmp_path: Path) -> None:
    begun, locked = tmp_path / "begun", tmp_path / "locked"
    program = f"""
import os, sys
from assay.campaign.recorded_process import started
def record(identity):
    print(identity.process, flush=True)
    os.kill(os.getpid(), 9)
with open({str(locked)!r}, "wb") as out:
    with started(["/bin/touch", {str(begun)!r}], record, out=out, err=out, variables={{}}):
        pass
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert done.returncode == -signal.SIGKILL
    with contextlib.suppress(ProcessLookupError), contextlib.closing(_Descriptor(int(done.stdout))) as held:
        held.wait()
    assert not begun.exists()


class _Descriptor:
    """Of a process that is nobody's child here."""

    def __init__(self, process: int) -> None:
        self._descriptor = os.pidfd_open(process)

    def wait(self) -> None:
        import select  # noqa: PLC0415 - here alone

        assert select.select([self._descriptor], [], [], 60.0)[0]

    def close(self) -> None:
        os.close(self._descriptor)


# -- schedulers -----------------------------------------------------------------------------------------------------------


def test_a_scheduler_is_given_back_to_an_own_disk_alone(loops: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(schedulers, "set_scheduler", lambda disk, _: written.append(disk))
    lines = [
        SchedulerFound(disk=disk, scheduler="none", diskseq=None, boot_id=device_identity.boot_id())
        for disk in ("vda", "loop0", "../../../etc", "/etc")
    ]

    assert undone(loops, *lines) == []
    assert written == []


@pytest.mark.parametrize("disk", ["../../../etc/x", "/etc/x", "a/b", "..", ".", "", "loop0\n", "x" * 99])
def test_what_is_no_name_of_a_disk_has_no_scheduler(disk: str) -> None:
    with pytest.raises(RunError, match="is no name of a disk"):
        schedulers.set_scheduler(disk, "none")


@pytest.mark.parametrize(
    ("scheduler", "told"), [("root::0:0::/:/bin/sh", "does not offer"), ("bfq", "is no file of the ker")]
)
def test_only_what_is_offered_is_written_and_only_to_a_file_of_the_kernel(
    scheduler: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "scheduler"
    file.write_text("[none] bfq\n")
    monkeypatch.setattr(schedulers, "scheduler_file", lambda _: str(file))
    monkeypatch.setattr(schedulers, "schedulers_of", lambda _: ("none", "bfq"))

    with pytest.raises(RunError, match=told):
        schedulers.set_scheduler("loop0", scheduler)
    file.rename(tmp_path / "victim")
    file.symlink_to("victim")
    with pytest.raises(RunError, match=told if scheduler != "bfq" else "symbolic links"):
        schedulers.set_scheduler("loop0", scheduler)
    assert (tmp_path / "victim").read_text() == "[none] bfq\n"


def test_two_starts_of_a_campaign_exclude_each_other_by_the_file_itself(loops: Path) -> None:
    with journal_of(loops) as journal, (journal.folder / JOURNAL).open("rb") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
