"""Is a campaign's journal what was written, whatever ended the writer, and refused where somebody else wrote it?"""

import os
from pathlib import Path

import pytest

from assay.campaign.campaign_file import parse
from assay.campaign.design import design
from assay.campaign.journal import (
    JOURNAL,
    SCHEMA,
    CampaignBegun,
    SlotBegun,
    SlotFailed,
    SlotMeasured,
    opened,
    read_only,
)
from assay.errors import BundleError, InputError

FILE = """
name = "c"
[[file_system]]
kind = "ext4"
[[load]]
name = "read"
command = "measure {dir}"
"""


def begun() -> CampaignBegun:
    campaign = parse(FILE, "c.toml")
    return CampaignBegun(schema=SCHEMA, campaign=campaign, design=design(campaign), key="ab", device=None)


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

    assert len(read_only(place)) == 1
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
    with pytest.raises(InputError, match="you alone"), opened(linked):
        pass

    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    os.chmod(open_to_all, 0o777)  # noqa: PTH101, S103 - past the umask, for others to write to
    with pytest.raises(InputError, match="you alone"), opened(open_to_all):
        pass

    with pytest.raises(InputError, match="no campaign to go on with"), opened(tmp_path / "new", must_be_there=True):
        pass
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "text", ['{"line":"slot_begun","slot":1,"mark":"a"}\n', "x\n", '{"line":"else"}\n', "[" * 9999 + "\n"]
)
def test_a_journal_that_no_campaign_writes_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    place = tmp_path / "c"
    with opened(place):
        pass
    (place / JOURNAL).write_text(text)

    with pytest.raises(BundleError, match=JOURNAL), opened(place):
        pass
