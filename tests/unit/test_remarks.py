"""Name, tags and note of a run: within limits, beside the sealed record, and as hostile as any other file of a bundle."""

import json
import os
import tarfile
import threading
from pathlib import Path

import pytest

from assay.bundle import RunBundle
from assay.bundle.catalog import list_runs
from assay.bundle.remarks import (
    LONGEST_NOTE,
    MOST_TAGS,
    NOTHING,
    REMARKS,
    Remarks,
    change_remarks,
    changed,
    read_remarks,
    remarks,
    remarks_of,
    write_remarks,
)
from assay.errors import BundleError, InputError, RunError
from assay.report.archive import write_archive
from assay.running.kept_run import keep_run
from assay.running.stopping import Stops
from unit.bundle_streams import begun, encoded, plan, stream


def test_remarks_of_the_begin_are_there_before_and_after_the_seal(tmp_path: Path) -> None:
    said = Remarks(name="baseline", tags=("nvme", "old"), note="first")
    bundle = RunBundle.create(tmp_path, "x", plan=plan(), argv=["assay"], remarks=said)
    bundle.events_path.write_bytes(encoded(stream(2)))
    assert bundle.remarks == said

    bundle.seal()

    assert RunBundle.open(bundle.path).remarks == said


def test_what_is_said_afterwards_leaves_a_sealed_run_what_its_manifest_says(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal()
    hashes = (bundle.path / "manifest.sha256").read_text()

    change_remarks(bundle.path, lambda before: changed(before, "x", ["t"], [], "note"))

    RunBundle.open(bundle.path).verify()
    assert (bundle.path / "manifest.sha256").read_text() == hashes
    assert read_remarks(bundle.path) == Remarks(name="x", tags=("t",), note="note")


def test_a_run_that_is_refused_leaves_nothing_and_gives_its_name_back(tmp_path: Path) -> None:
    before = RunBundle.create(tmp_path, "x", plan=plan(), argv=["assay"], remarks=Remarks(name="baseline"))

    def work(_: RunBundle, __: Stops) -> None:
        assert before.remarks.name is None
        raise RunError("no room")

    with pytest.raises(RunError, match="no room"):
        keep_run(
            plan(), work, runs=tmp_path, argv=["assay"], remarks=Remarks(name="baseline"), was_refused=lambda _: True
        )

    assert [run.run_id for run in list_runs(tmp_path)] == [before.run_id]
    assert before.remarks.name == "baseline"


def test_words_are_added_and_taken_back() -> None:
    before = Remarks(name="a", tags=("x", "y"), note="n")

    assert changed(before, None, ["z", "x"], ["y"], None) == Remarks(name="a", tags=("x", "z"), note="n")
    assert changed(before, "", [], ["x", "y"], "") == NOTHING
    with pytest.raises(InputError, match="--untag w: the run has no such tag; it has: x, y"):
        changed(before, None, [], ["w"], None)


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "9" * 64, "lasting", "last.1"])
def test_a_name_of_plain_characters_is_taken(name: str) -> None:
    assert remarks(name, [name], None) == Remarks(name=name, tags=(name,))


@pytest.mark.parametrize(
    "name",
    ["", "last", "last~1", "-a", ".", "..", ".a", "a b", "a/b", "a\n", "ä", "９", "a" * 65, "\x1b[2J"],  # noqa: RUF001
)
def test_a_name_of_others_is_bad_input(name: str) -> None:
    with pytest.raises(InputError, match="is no name"):
        remarks(name, None, None)


def test_tags_and_notes_have_limits() -> None:
    assert len(remarks(None, [f"t{number}" for number in range(MOST_TAGS)], "x" * LONGEST_NOTE).tags) == MOST_TAGS
    with pytest.raises(InputError, match="is no tag"):
        remarks(None, ["a b"], None)
    with pytest.raises(InputError, match=f"a run has at most {MOST_TAGS}"):
        remarks(None, [f"t{number}" for number in range(MOST_TAGS + 1)], None)
    with pytest.raises(InputError, match=f"{LONGEST_NOTE} are the most"):
        remarks(None, None, "x" * (LONGEST_NOTE + 1))


def test_a_tag_that_is_given_twice_is_one() -> None:
    assert remarks(None, ["a", "b", "a"], None).tags == ("a", "b")


HOSTILE = {
    "other schema": b'{"schema": "assay.remarks/9"}',
    "no JSON": b"\x00\xff",
    "a name that a terminal obeys": b'{"schema": "assay.remarks/1", "name": "\\u001b[2J"}',
    "the newest run": b'{"schema": "assay.remarks/1", "name": "last"}',
    "a long note": json.dumps({"schema": "assay.remarks/1", "note": "x" * 1001}).encode(),
    "many tags": json.dumps({"schema": "assay.remarks/1", "tags": [f"t{i}" for i in range(33)]}).encode(),
    "one tag often": b'{"schema": "assay.remarks/1", "tags": ["a", "a"]}',
    "another type": b'{"schema": "assay.remarks/1", "tags": {"a": 1}}',
    "nested": b'{"schema": "assay.remarks/1", "note": ' + b"[" * 5000,
    "large": b'{"schema": "assay.remarks/1"}' + b" " * (1 << 20),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_a_stranger_wrote_beyond_the_limits_says_nothing(tmp_path: Path, kind: str) -> None:
    bundle = begun(tmp_path)
    bundle.seal()
    (bundle.path / REMARKS).write_bytes(HOSTILE[kind])

    with pytest.raises(BundleError, match=REMARKS):
        read_remarks(bundle.path)
    assert remarks_of(bundle.path) == RunBundle.open(bundle.path).remarks == NOTHING


@pytest.mark.parametrize("kind", ["link", "FIFO", "folder"])
def test_no_other_file_is_reached_by_way_of_remarks(tmp_path: Path, kind: str) -> None:
    bundle = begun(tmp_path)
    bundle.seal()
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"schema": "assay.remarks/1", "name": "stolen"}')
    place = bundle.path / REMARKS
    if kind == "link":
        place.symlink_to(elsewhere)
    elif kind == "FIFO":
        os.mkfifo(place)
    else:
        place.mkdir()

    assert remarks_of(bundle.path) == NOTHING
    with pytest.raises(BundleError):
        change_remarks(bundle.path, lambda before: changed(before, "x", [], [], None))
    assert "stolen" in elsewhere.read_text()


def test_a_link_in_the_place_of_new_remarks_is_replaced_and_not_followed(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("theirs")
    (bundle.path / REMARKS).symlink_to(elsewhere)

    write_remarks(bundle.path, Remarks(name="x"))

    assert elsewhere.read_text() == "theirs"
    assert read_remarks(bundle.path).name == "x"


def test_remarks_that_cannot_be_written_leave_the_old_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = begun(tmp_path)
    write_remarks(bundle.path, Remarks(name="x"))
    before = sorted(bundle.path.iterdir())

    def refuse(_: Path, __: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)

    with pytest.raises(RunError, match=r"No space left on device\. The remarks did not change"):
        write_remarks(bundle.path, Remarks(name="y"))

    assert read_remarks(bundle.path).name == "x"
    assert sorted(bundle.path.iterdir()) == before


def test_of_two_who_tag_at_once_none_is_lost(tmp_path: Path) -> None:
    bundle = begun(tmp_path)

    def tag(number: int) -> None:
        change_remarks(bundle.path, lambda before: changed(before, None, [f"t{number}"], [], None))

    threads = [threading.Thread(target=tag, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(read_remarks(bundle.path).tags) == {f"t{number}" for number in range(8)}


def test_remarks_travel_with_an_archive_unless_they_are_a_strangers_trick(tmp_path: Path) -> None:
    said, tricked = begun(tmp_path), begun(tmp_path)
    for bundle in (said, tricked):
        bundle.seal()
    write_remarks(said.path, Remarks(name="x"))
    (tricked.path / REMARKS).symlink_to("/etc/passwd")

    for bundle, is_in in ((said, True), (tricked, False)):
        opened = RunBundle.open(bundle.path)
        archive = write_archive(bundle.path, opened.file_names(), tmp_path / f"{bundle.run_id}.tar.gz")
        with tarfile.open(archive) as packed:
            assert (f"{bundle.run_id}/{REMARKS}" in packed.getnames()) is is_in
