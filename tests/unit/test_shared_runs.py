"""Several users keep runs in one folder: what another put there makes no run of this user's anything that it is not."""

import datetime as dt
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from assay.bundle import RunBundle
from assay.bundle.catalog import list_runs, take_name
from assay.bundle.files import read_head, write_durably
from assay.bundle.kept_list import CATALOG, HeadRate, RunOutcome
from assay.bundle.remarks import REMARKS, Remarks, change_remarks, remarks_of, write_remarks
from assay.bundle.run_folder import remove_run, removed_on_error
from assay.bundle.run_place import open_in_run, remove_in_run
from assay.cli.answers import answer_of as answer_shown
from assay.cluster.relayed import RelayedStreams, arriving, empty
from assay.errors import BundleError, InputError, RunError
from assay.report import run_list
from assay.report.kept_answers import keep_answer, kept_answer
from assay.running.engine import EngineProcess, find_engine
from unit.bundle_streams import begun
from unit.test_kept_answers import answer_of

OTHER = 12345
NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
LIE = 1_410_000_000.0

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


class Judge:
    """Says of each run what it is made to say."""

    version = "1"

    def __init__(self, value: float) -> None:
        self.value = value
        self.asked: list[str] = []

    def __call__(self, folder: Path) -> RunOutcome:
        """Judge a run."""
        self.asked.append(folder.resolve().name)
        head = HeadRate(label="p/read", title="Read", value=self.value, unit="ops/s", measures="storage", trust="yes")
        return RunOutcome(exit_code=0, head=head, trust={"yes": 1, "weak": 0, "no": 0})


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs, and a cache folder of this user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "runs"
    made.mkdir()
    return made


def sealed(runs: Path) -> RunBundle:
    bundle = begun(runs)
    bundle.seal(0)
    return bundle


def share(runs: Path) -> None:
    """Let everybody write to a folder of runs, and let all that lies there but the runs be another user's."""
    runs.chmod(0o777)
    for path in runs.iterdir():
        if path.is_file() and os.geteuid() == 0:
            os.chown(path, OTHER, OTHER)


def rates(runs: Path, judge: Judge) -> dict[str, float]:
    return {run.run_id: run.head.value for run in list_runs(runs, judge) if run.head}


def give_away(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, OTHER, OTHER, follow_symlinks=False)


def test_a_catalog_that_another_user_put_beside_the_runs_is_not_believed(runs: Path) -> None:
    bundle = sealed(runs)
    assert rates(runs, Judge(LIE)) == {bundle.run_id: LIE}
    share(runs)
    judge = Judge(5.0)

    first, second = rates(runs, judge), rates(runs, judge)

    assert first == second == {bundle.run_id: 5.0}
    assert judge.asked == [bundle.run_id], "kept in this user's own cache folder, so it is judged once"


def test_an_answer_that_another_user_put_beside_the_runs_is_not_shown(runs: Path) -> None:
    bundle = sealed(runs)
    keep_answer(bundle.path, runs, answer_of(bundle))
    assert kept_answer(bundle.path, runs) is not None
    share(runs)

    assert kept_answer(bundle.path, runs) is None
    # Nor is any kept while others can put another folder in the place of the run that it is worked out of.
    keep_answer(bundle.path, runs, answer_of(bundle))
    assert kept_answer(bundle.path, runs) is None
    # With the sticky bit they cannot.
    runs.chmod(0o1777)
    keep_answer(bundle.path, runs, answer_of(bundle))
    assert kept_answer(bundle.path, runs) is not None


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("what", ["link", pytest.param("file", marks=needs_root), "for others to write", "pipe"])
def test_nothing_beside_the_runs_is_opened_that_is_not_this_users_own(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, what: str
) -> None:
    bundle = sealed(runs)
    theirs = runs / f"{CATALOG}{ending}"
    match what:
        case "link":
            theirs.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(theirs)
        case _:
            theirs.write_bytes(b"theirs")
            theirs.chmod(0o666)
            if what == "file":
                theirs.chmod(0o644)
                os.chown(theirs, OTHER, OTHER)
    opened: list[Path] = []
    connect = sqlite3.connect

    def note(path: Path, **words: object) -> sqlite3.Connection:
        opened.append(path)
        return connect(path, **words)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", note)

    assert rates(runs, Judge(5.0)) == {bundle.run_id: 5.0}
    assert opened
    assert all(runs not in path.parents for path in opened)
    assert os.path.lexists(theirs)
    assert not (tmp_path / "elsewhere").exists()


@needs_root
@pytest.mark.parametrize("place", ["runs", "folder above"])
def test_runs_in_a_folder_of_another_user_have_their_catalog_in_the_cache(runs: Path, place: str) -> None:
    bundle = sealed(runs)
    os.chown(runs if place == "runs" else runs.parent, OTHER, OTHER)
    cache = runs.parent.parent / f"{runs.parent.name}-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        judge = Judge(5.0)

        assert [rates(runs, judge), rates(runs, judge)] == [{bundle.run_id: 5.0}] * 2

    assert judge.asked == [bundle.run_id]
    assert not (runs / CATALOG).exists()
    assert len(list((cache / "assay" / "catalogs").glob("*.sqlite"))) == 1
    shutil.rmtree(cache)


@needs_root
def test_a_copy_of_another_user_says_nothing_of_the_run_that_it_is_a_copy_of(runs: Path) -> None:
    bundle = sealed(runs)
    share(runs)
    copy = runs / "copy"
    shutil.copytree(bundle.path, copy)
    give_away(copy)

    class Judges(Judge):
        def __call__(self, folder: Path) -> RunOutcome:
            # Of the copy, while it was read, its owner made something else.
            self.value = LIE if folder.resolve().name == "copy" else 5.0
            return super().__call__(folder)

    for _ in range(2):
        assert rates(runs, Judges(0)) == {bundle.run_id: 5.0, "copy": LIE}
    assert list_runs(runs)[0].run_id


def test_what_is_put_in_the_place_of_a_run_while_it_is_judged_is_not_judged(runs: Path) -> None:
    bundle = sealed(runs)
    other = begun(runs, ticks=5)
    other.seal(0)
    share(runs)
    theirs = other.path.rename(runs.parent / "theirs")
    seen = []

    class Swapped(Judge):
        def __call__(self, folder: Path) -> RunOutcome:
            bundle.path.rename(runs.parent / "away")
            theirs.rename(bundle.path)
            seen.append(read_head(folder).info.run_id)
            bundle.path.rename(theirs)
            (runs.parent / "away").rename(bundle.path)
            return super().__call__(folder)

    assert rates(runs, Swapped(5.0)) == {bundle.run_id: 5.0}
    assert seen == [bundle.run_id]


@pytest.mark.parametrize("path", ["resolved.json", "events", "events/0.json", ""])
def test_what_others_can_change_while_it_is_judged_is_not_kept(runs: Path, path: str) -> None:
    bundle = sealed(runs)
    at = bundle.path / path
    at.chmod(at.stat().st_mode | 0o002)
    judge = Judge(5.0)

    assert [rates(runs, judge), rates(runs, judge)] == [{bundle.run_id: 5.0}] * 2
    assert judge.asked == [bundle.run_id] * 2


def test_an_answer_is_kept_under_the_owner_of_the_run(runs: Path) -> None:
    bundle = sealed(runs)
    answer = answer_of(bundle)
    keep_answer(bundle.path, runs, answer)

    with closing(sqlite3.connect(runs / CATALOG)) as database:
        assert database.execute("SELECT owner FROM answers").fetchall() == [(os.geteuid(),)]
        database.execute("UPDATE answers SET owner = ?", (OTHER,))
        database.commit()

    assert kept_answer(bundle.path, runs) is None
    assert msgspec.structs.asdict(answer)


def test_remarks_are_written_through_no_link_that_was_put_in_the_place_of_a_run(runs: Path, tmp_path: Path) -> None:
    bundle = sealed(runs)
    target = tmp_path / "etc"
    target.mkdir()
    away = bundle.path.rename(tmp_path / "away")
    bundle.path.symlink_to(target)

    with pytest.raises(InputError, match="is a link, which is not followed"):
        change_remarks(bundle.path, lambda said: msgspec.structs.replace(said, note="mine"))

    assert list(target.iterdir()) == []
    bundle.path.unlink()
    away.rename(bundle.path)

    # And another race: the folder is exchanged after it was opened.
    def exchange(said: Remarks) -> Remarks:
        bundle.path.rename(away)
        bundle.path.symlink_to(target)
        return msgspec.structs.replace(said, note="mine")

    change_remarks(bundle.path, exchange)

    assert list(target.iterdir()) == []
    assert remarks_of(away).note == "mine"


def test_a_name_is_taken_from_no_run_behind_a_link(runs: Path, tmp_path: Path) -> None:
    mine, theirs = sealed(runs), sealed(tmp_path / "theirs")
    write_remarks(theirs.path, Remarks(name="baseline"))
    (runs / "linked").symlink_to(theirs.path)
    before = (theirs.path / REMARKS).read_bytes()

    assert take_name("baseline", mine.path) == []
    assert (theirs.path / REMARKS).read_bytes() == before


# -- while a run is made -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["the run's folder", "the folder of its streams"])
def test_a_run_whose_folder_is_exchanged_for_a_link_writes_and_removes_nothing_there(
    runs: Path, tmp_path: Path, which: str
) -> None:
    bundle = begun(runs)
    etc = tmp_path / "etc"
    (etc / "events").mkdir(parents=True)
    theirs = dict.fromkeys(("run.json", "manifest.json", "engine.log", "events/0.ndjson", "events/0.json"), b"theirs")
    for name, data in theirs.items():
        (etc / name).write_bytes(data)
    if which == "the run's folder":
        bundle.path.rename(tmp_path / "away")
        bundle.path.symlink_to(etc)
    else:
        (bundle.path / "events").rename(tmp_path / "away")
        (bundle.path / "events").symlink_to(etc / "events")

    with pytest.raises((RunError, BundleError)):
        bundle.seal()
    for name in theirs:
        path = bundle.path / name
        if which == "the run's folder" or "events" in name:
            with pytest.raises(RunError, match="could not be written"):
                write_durably(path, b"mine")
            with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
                remove_in_run(path)
            with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
                open_in_run(path, os.O_WRONLY | os.O_CREAT)
    # What clients of a run said, and their whole streams.
    with RelayedStreams(bundle.stream_path) as streams, pytest.raises(RunError, match="cannot be written"):
        streams.begin("new")
    with pytest.raises(RunError, match="cannot be written"):
        empty(bundle.stream_path("0"))
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"), arriving(bundle.stream_path("0")) as partial:
        partial.write_bytes(b"mine")

    found = {path.relative_to(etc).as_posix(): path.read_bytes() for path in etc.rglob("*") if path.is_file()}
    assert found == theirs


@pytest.mark.parametrize("other", ["another run", "a link to it"])
def test_a_run_that_cannot_be_made_takes_no_other_with_it(runs: Path, tmp_path: Path, other: str) -> None:
    """Who can write to the folder of runs puts somebody's run in the place of one that is just being made."""
    theirs, mine = begun(runs).path, begun(runs).path
    before = sorted(path.name for path in theirs.rglob("*"))

    def fail() -> None:
        mine.rename(tmp_path / "away")
        if other == "another run":
            theirs.rename(mine)
        else:
            mine.symlink_to(theirs)
        raise RunError("no space left")

    with pytest.raises(RunError, match="no space left"), removed_on_error(mine):
        fail()

    remove_run(mine)
    assert sorted(path.name for path in mine.rglob("*")) == before
    assert list((tmp_path / "away").iterdir()) == []


def test_a_run_is_removed_until_it_is_sealed(runs: Path) -> None:
    bundle, sealed = begun(runs), begun(runs)
    bundle.events_path.touch()
    sealed.events_path.touch()
    sealed.seal()

    for path in (bundle.path, sealed.path):
        remove_run(path)

    assert not bundle.path.exists()
    sealed.verify()


def test_a_stream_that_arrives_is_put_where_it_began_to(runs: Path, tmp_path: Path) -> None:
    bundle = begun(runs)
    etc = tmp_path / "etc"
    (etc / "events").mkdir(parents=True)

    with arriving(bundle.stream_path("a")) as partial:
        bundle.path.rename(tmp_path / "away")
        bundle.path.symlink_to(etc)
        partial.write_bytes(b"mine")

    assert (tmp_path / "away" / "events" / "a.ndjson").read_bytes() == b"mine"
    assert list((etc / "events").iterdir()) == []


def test_a_link_in_the_place_of_a_stream_is_not_written_through(runs: Path, tmp_path: Path) -> None:
    bundle = begun(runs)
    bundle.events_path.unlink()
    bundle.events_path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(RunError, match="cannot be written"):
        EngineProcess(bundle.plan, bundle.events_path, bundle.path / "engine.log")

    assert not (tmp_path / "elsewhere").exists()


def test_the_folder_of_streams_is_its_makers_alone_whatever_the_umask(runs: Path) -> None:
    before = os.umask(0)
    try:
        bundle = begun(runs)
    finally:
        os.umask(before)

    assert (bundle.path / "events").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("runs_of", ["link", "link/new", "link/a/b"])
def test_no_run_is_begun_behind_a_link_of_others(runs: Path, tmp_path: Path, runs_of: str) -> None:
    runs.chmod(0o777)
    (tmp_path / "etc").mkdir()
    (runs / "link").symlink_to(tmp_path / "etc")

    with pytest.raises(InputError, match="'link' is a link that others can have put there"):
        begun(runs / runs_of)

    assert list((tmp_path / "etc").iterdir()) == []


@needs_root
def test_a_run_of_another_user_is_shown_as_that_users(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, theirs = sealed(runs), sealed(runs)
    give_away(theirs.path)

    found = {run.run_id: run for run in list_runs(runs)}
    lines = {words[0]: words for line in run_list.lines(list(found.values()), None, NOW) if (words := line.split())}

    assert (found[mine.run_id].owner, found[theirs.run_id].owner) == (None, str(OTHER))
    assert lines[theirs.run_id][-3:] == ["of", "user", str(OTHER)]
    assert "user" not in lines[mine.run_id]
    answer_shown(mine.run_id, runs)
    assert capsys.readouterr().err == ""
    answer_shown(theirs.run_id, runs)
    assert f"{theirs.run_id}: belongs to user {OTHER}, not to you" in capsys.readouterr().err


@needs_root
def test_an_engine_that_another_user_can_have_changed_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "assay-engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("ASSAY_ENGINE", str(program))
    assert find_engine() == program
    os.chown(program, OTHER, OTHER)

    with pytest.raises(RunError, match=r"is not started: .* belongs to user 12345"):
        find_engine()
