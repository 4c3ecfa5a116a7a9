"""Is a campaign's journal what was written, whatever ended the writer, and refused where somebody else wrote it?"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay.campaign.campaign_file import parse
from assay.campaign.design import design
from assay.campaign.journal import (
    JOURNAL,
    SCHEMA,
    AnyLine,
    CampaignBegun,
    SlotBegun,
    SlotFailed,
    SlotMeasured,
    opened,
    read_only,
)
from assay.errors import AssayError, BundleError, InputError

FILE = """
name = "c"
[[file_system]]
kind = "ext4"
[[load]]
name = "read"
command = "measure {dir}"
"""


def begun(key: str = "ab") -> CampaignBegun:
    campaign = parse(FILE, "c.toml")
    return CampaignBegun(schema=SCHEMA, campaign=campaign, design=design(campaign), key=key, device=None)


def test_what_was_written_is_read_again_and_what_is_open_is_told(tmp_path: Path) -> None:
    place = tmp_path / "c"
    with opened(place) as journal:
        for line in (
            begun(),
            SlotBegun(slot=1, mark="a"),
            SlotMeasured(slot=1, run_id="r", exit_code=0, seconds=2.0),
            SlotBegun(slot=2, mark="b"),
            SlotFailed(slot=2, why="no"),
            SlotBegun(slot=3, mark="c"),
        ):
            journal.append(line)

    with opened(place) as again:
        assert again.begun == begun()
        assert again.measured().keys() == {1}
        assert again.failed().keys() == {2}
        assert again.open_marks() == {"c": 3}
        again.append(SlotMeasured(slot=2, run_id="s", exit_code=0, seconds=1.0))
        assert again.failed() == {}
    assert place.stat().st_mode & 0o777 == 0o700
    assert (place / JOURNAL).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_is_not_whole_is_as_if_never_written(tmp_path: Path, cut: int) -> None:
    place = tmp_path / "c"
    with opened(place) as journal:
        journal.append(begun())
        journal.append(SlotBegun(slot=1, mark="a" * 20))
    data = (place / JOURNAL).read_bytes()
    (place / JOURNAL).write_bytes(data[:-cut])

    assert len(read_only(place).lines) == 1
    assert (place / JOURNAL).read_bytes() == data[:-cut]
    with opened(place) as journal:
        assert journal.open_marks() == {}
        journal.append(SlotBegun(slot=1, mark="b"))
    with opened(place) as journal:
        assert journal.open_marks() == {"b": 1}


def test_two_programs_are_never_at_one_campaign(tmp_path: Path) -> None:
    with opened(tmp_path / "c"), pytest.raises(InputError, match="another 'assay matrix'"), opened(tmp_path / "c"):
        pass


def test_folders_and_files_of_others_are_refused(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").touch()
    with pytest.raises(InputError, match="no folder of a campaign"), opened(full):
        pass
    assert [path.name for path in full.iterdir()] == ["mine"]

    linked = tmp_path / "linked"
    linked.symlink_to(full)
    with pytest.raises(InputError, match="is a link or no folder"), opened(linked):
        pass

    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    os.chmod(open_to_all, 0o777)  # noqa: PTH101, S103 - past the umask, for others to write to
    for place in (open_to_all, open_to_all / "c"):
        with pytest.raises(InputError, match="name another with --state"), opened(place):
            pass
    assert list(open_to_all.iterdir()) == []

    with pytest.raises(InputError, match="no campaign to go on with"), opened(tmp_path / "new", must_be_there=True):
        pass
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("how", ["link", "hard link", "FIFO", "folder"])
def test_a_journal_that_is_no_file_of_ones_own_is_refused(tmp_path: Path, how: str) -> None:
    place = tmp_path / "c"
    with opened(place) as journal:
        journal.append(begun())
    (place / JOURNAL).rename(tmp_path / "other")
    match how:
        case "link":
            (place / JOURNAL).symlink_to(tmp_path / "other")
        case "hard link":
            (place / JOURNAL).hardlink_to(tmp_path / "other")
        case "FIFO":
            os.mkfifo(place / JOURNAL)
        case _:
            (place / JOURNAL).mkdir()
    before = (tmp_path / "other").read_bytes()

    with pytest.raises(AssayError), opened(place) as journal:
        journal.append(SlotBegun(slot=1, mark="a"))
    assert (tmp_path / "other").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        '{"line":"slot_begun","slot":1,"mark":"a"}\n',
        "x\n",
        '{"line":"else"}\n',
        "[" * 9999 + "\n",
        '{"of":"\udc9f"}\n',
        '{"of":{"line":"slot_begun","slot":1,"mark":"a"},"mac":"é"}\n',
    ],
)
def test_a_journal_that_no_campaign_writes_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    place = tmp_path / "c"
    with opened(place):
        pass
    (place / JOURNAL).write_bytes(os.fsencode(text))

    with pytest.raises(BundleError, match=JOURNAL), opened(place):
        pass


@pytest.mark.parametrize(
    "line",
    [
        SlotBegun(slot=4, mark="a"),
        SlotFailed(slot=0, why=""),
        SlotMeasured(slot=1, run_id="../run", exit_code=0, seconds=1.0),
        SlotMeasured(slot=-1, run_id="run", exit_code=0, seconds=1.0),
        begun(),
        msgspec.structs.replace(begun(), design=msgspec.structs.replace(begun().design, cells=())),
        msgspec.structs.replace(begun(), campaign=msgspec.structs.replace(begun().campaign, loads=())),
        msgspec.structs.replace(begun(), campaign=msgspec.structs.replace(begun().campaign, name="../x")),
    ],
)
def test_a_line_that_speaks_of_what_is_not_there_is_refused_also_to_be_shown(tmp_path: Path, line: AnyLine) -> None:
    place = tmp_path / "c"
    is_first = isinstance(line, CampaignBegun) and line != begun()
    with opened(place) as journal:
        for each in (line,) if is_first else (begun(), line):
            journal.append(each)

    with pytest.raises(
        BundleError, match=f":{1 if is_first else 2}: this line refers to something that is not in the campaign"
    ):
        read_only(place)


# -- who wrote it ---------------------------------------------------------------------------------------------------------


def lines_in(place: Path) -> list[bytes]:
    return (place / JOURNAL).read_bytes().splitlines(keepends=True)


def resigned_by_a_stranger(place: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Write the same lines anew with another key."""
    lines = read_only(place).lines
    with monkeypatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(place.parent / "stranger"))
        with opened(place.parent / "theirs") as journal:
            for line in lines:
                journal.append(line)
    return lines_in(place.parent / "theirs")


def other_campaign(place: Path) -> list[bytes]:
    """Write another campaign of the same user, of as many lines."""
    with opened(place.parent / "another") as journal:
        journal.append(begun())
        for number in (1, 2, 3):
            journal.append(SlotBegun(slot=number, mark=f"other{number}"))
    return lines_in(place.parent / "another")


FORGED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int]] = {
    "a changed value": (lambda own: [*own[:2], own[2].replace(b'"b"', b'"x"'), own[3]], 3),
    "a line left out": (lambda own: [own[0], *own[2:]], 2),
    "two lines in each other's place": (lambda own: [own[0], own[2], own[1], own[3]], 2),
    "a line twice": (lambda own: [own[0], own[1], own[1], *own[2:]], 3),
    "a line without a proof": (
        lambda own: [*own, b'{"of":{"line":"slot_begun","slot":3,"mark":"z"},"mac":"%s"}\n' % (b"0" * 64)],
        5,
    ),
    "a line with the proof of the one before": (
        lambda own: [*own, own[3].replace(b'"c"', b'"z"')],
        5,
    ),
    "the first line left out": (lambda own: own[1:], 1),
}


@pytest.mark.parametrize("how", [*FORGED, "a stranger's", "a line of another campaign", "one that was before"])
def test_a_journal_that_the_user_did_not_write_is_shown_and_never_opened(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "c"
    with opened(place) as journal:
        journal.append(begun())
        for number, mark in ((1, "a"), (2, "b"), (3, "c")):
            journal.append(SlotBegun(slot=number, mark=mark))
    own = lines_in(place)
    match how:
        case "a stranger's":
            forged, line = resigned_by_a_stranger(place, monkeypatch), 1
        case "a line of another campaign":
            forged, line = [*own[:2], other_campaign(place)[2], own[3]], 3
        case "one that was before":
            with opened(place) as journal:
                journal.forget()
                journal.append(begun("cd"))
            forged, line = [*lines_in(place), *own[1:]], 2
        case _:
            change, line = FORGED[how]
            forged = change(own)
    (place / JOURNAL).write_bytes(b"".join(forged))

    with (
        pytest.raises(AssayError, match=rf"{JOURNAL}:{line}: .*not written with your key|does not begin"),
        opened(place),
    ):
        pass
    assert lines_in(place) == forged
    if line > 1 or how == "a stranger's":
        assert not read_only(place).is_own


def test_a_campaign_without_a_home_for_a_key_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (tmp_path / "file").touch()
    for home in (open_to_all, tmp_path / "file"):
        monkeypatch.setenv("XDG_DATA_HOME", str(home))
        with pytest.raises(AssayError, match="a campaign needs your key there"), opened(tmp_path / "c"):
            pass
        assert not (tmp_path / "c").exists()
    assert list(open_to_all.iterdir()) == []
