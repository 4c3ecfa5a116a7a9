"""What a user wants written is written there and nowhere else, whatever others have put in the way."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.shims import remove_shims, write_shims
from assay.errors import InputError, RunError
from assay.live.line_sink import line_sink
from assay.outputs import output, way_to
from assay.report.archive import write_archive
from assay.report.output import write_whole
from assay.tools.output_files import OutputFile, check_writable, write_into
from assay.tools.postmark.conversation import append
from assay.tools.vdbench import FRONT_END as VDBENCH
from assay.tools.vdbench.settings import files_of

OTHER = 12345


def checked(path: Path) -> None:
    check_writable(path)
    path.write_bytes(b"new")


def sunk(path: Path) -> None:
    sink = line_sink.__wrapped__(str(path))
    sink.put(b"new")
    os.close(sink._descriptor)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a tool's file": lambda path: OutputFile(path, b"new").write(),
    "a tool's file that grows": lambda path: OutputFile(path, b"new", appends=True).write(),
    "the look before a run": checked,
    "a report": lambda path: write_whole(path, b"new"),
    "a folder of files": lambda path: write_into([OutputFile(path, b"new")], path.parent),
    "PostMark's words": lambda path: append(str(path), "new"),
    "--live-json": sunk,
}
REPLACING = {"a report", "a folder of files"}
"""They put another file in the place of what is there, and so write through nothing."""


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that others can write, beside a file that they cannot."""
    made = tmp_path / "shared"
    made.mkdir()
    made.chmod(0o777)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "passwd").write_bytes(b"root")
    return made


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_is_made_and_written_to_again(writer: str, shared: Path) -> None:
    for _ in range(2):
        WRITERS[writer](shared / "out")

    assert (shared / "out").read_bytes() in {b"new", b"newnew"}
    assert [path.name for path in shared.iterdir()] == ["out"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("attack", ["link", "dangling link", "hard link", "pipe", "another user's"])
def test_what_is_there_is_written_to_only_if_it_is_a_file_of_ones_own(writer: str, attack: str, shared: Path) -> None:
    victim = shared.parent / "etc" / "passwd"
    planted = shared / "out"
    match attack:
        case "link":
            planted.symlink_to(victim)
        case "dangling link":
            planted.symlink_to(victim.with_name("shadow"))
        case "hard link":
            planted.hardlink_to(victim)
        case "pipe" if writer == "--live-json":
            return  # that is what it is for
        case "pipe":
            os.mkfifo(planted)
        case _:
            if os.geteuid() != 0:
                pytest.skip("only root can give a file away")
            planted.write_bytes(b"theirs")
            os.chown(planted, OTHER, OTHER)
    if writer in REPLACING:
        WRITERS[writer](planted)
        assert planted.read_bytes() == b"new"
    else:
        with pytest.raises(InputError, match=r"is a link|other names, too|no regular file|belongs to user"):
            WRITERS[writer](planted)

    assert victim.read_bytes() == b"root"
    assert [path.name for path in victim.parent.iterdir()] == ["passwd"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("whose", ["in a folder of everybody", "in a folder of another user", "behind .."])
def test_a_folder_behind_a_link_of_others_is_not_entered(writer: str, whose: str, shared: Path) -> None:
    (shared / "link").symlink_to(shared.parent / "etc")
    if whose == "in a folder of another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        shared.chmod(0o755)
        os.chown(shared, OTHER, OTHER)
    (shared / "dir").mkdir()
    way = shared / "dir" / ".." / "link" if whose == "behind .." else shared / "link"

    with pytest.raises(InputError, match="'link' is a link that others can have put there"):
        WRITERS[writer](way / "out")

    assert [path.name for path in (shared.parent / "etc").iterdir()] == ["passwd"]


def test_a_link_of_ones_own_on_the_way_is_followed(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "link").symlink_to("big")
    sticky = tmp_path / "tmp"
    sticky.mkdir()
    sticky.chmod(0o1777)
    (sticky / "mine").symlink_to(tmp_path / "link")

    OutputFile(sticky / "mine" / "out", b"new").write()

    assert (tmp_path / "big" / "out").read_bytes() == b"new"
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(InputError, match="in a circle"), way_to(tmp_path / "circle"):
        pass


def test_a_folder_that_is_exchanged_while_it_is_written_to_leads_nowhere_else(shared: Path) -> None:
    place = shared / "place"
    place.mkdir()

    with way_to(place) as folder:
        place.rename(shared / "away")
        place.symlink_to(shared.parent / "etc")
        (folder / "out").write_bytes(b"new")

    assert [path.name for path in (shared / "away").iterdir()] == ["out"]
    assert [path.name for path in (shared.parent / "etc").iterdir()] == ["passwd"]


@pytest.mark.parametrize("planted", ["folder", "file"])
def test_vdbench_writes_nothing_behind_a_planted_link(shared: Path, tmp_path: Path, planted: str) -> None:
    load = tmp_path / "load"
    load.write_text("sd=sd1,lun=/srv/file,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,elapsed=2\n")
    victim = tmp_path / "etc" / "passwd"
    if planted == "folder":
        (shared / "out").symlink_to(victim.parent)
    else:
        (shared / "out").mkdir()
        (shared / "out" / "summary.html").symlink_to(victim)
    words = ("-f", str(load), "-o", str(shared / "out"))
    settings = VDBENCH.parse(words, files_of(words))

    with pytest.raises(InputError, match=r"is a link"):
        VDBENCH.check_outputs(settings)

    assert victim.read_bytes() == b"root"
    assert [path.name for path in victim.parent.iterdir()] == ["passwd"]


def test_scripts_that_stand_for_tools_are_written_and_removed_behind_no_link_of_others(shared: Path) -> None:
    bin_folder = shared.parent / "etc" / "bin"
    kept = list(write_shims(bin_folder, Path("/usr/bin/assay")))
    (shared / "link").symlink_to(shared.parent / "etc")

    for folder in (shared / "link" / "bin", shared / "link" / "new"):
        with pytest.raises(InputError, match="others can have put there"):
            list(write_shims(folder, Path("/usr/bin/assay")))
    with pytest.raises(InputError, match="others can have put there"):
        remove_shims(shared / "link" / "bin")

    assert sorted(path.name for path in (shared.parent / "etc").iterdir()) == ["bin", "passwd"]
    assert all(path.exists() for path in kept)


def test_an_archive_is_made_behind_no_link_of_others(shared: Path) -> None:
    (shared / "link").symlink_to(shared.parent / "etc")

    with pytest.raises(InputError, match="others can have put there"):
        write_archive(shared, (), shared / "link" / "run.tar.gz")
    (shared / "run.tar.gz").symlink_to(shared.parent / "etc" / "new")
    with pytest.raises(RunError, match="File exists"):
        write_archive(shared, (), shared / "run.tar.gz")

    assert [path.name for path in (shared.parent / "etc").iterdir()] == ["passwd"]


def test_nothing_is_left_of_the_look_before_a_run(shared: Path) -> None:
    check_writable(shared / "out")
    assert list(shared.iterdir()) == []

    (shared / "out").write_bytes(b"kept")
    check_writable(shared / "out")
    assert (shared / "out").read_bytes() == b"kept"
    with output(shared / "out") as file:
        file.write(b"new")
    assert (shared / "out").read_bytes() == b"new"
