import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from assay.bundle import RunBundle
from assay.bundle.catalog import DAMAGED, SEALED, UNFINISHED, list_runs, resolve, runs_directory, take_name
from assay.bundle.kept_list import CATALOG, HeadRate, RunOutcome
from assay.bundle.remarks import Remarks, remarks_of, write_remarks
from assay.bundle.run_folder import later_run
from assay.cli.ls import ls
from assay.errors import BundleError
from assay.host.facts import Fact
from unit.bundle_streams import begun, plan
from unit.memory_run import judged


class Judge:
    """Says always the same, and notes what it was asked of."""

    def __init__(self, exit_code: int = 1, version: str = "1") -> None:
        self.version = version
        self.exit_code = exit_code
        self.asked: list[Path] = []

    def __call__(self, folder: Path) -> RunOutcome:
        """Judge a run."""
        self.asked.append(folder.resolve())
        head = HeadRate(label="p/read", title="Read", value=5.0, unit="MiB/s", measures="storage", trust="yes")
        return RunOutcome(exit_code=self.exit_code, head=head, trust={"yes": 7, "weak": 2, "no": 0})


def states(runs: Path) -> dict[str, str]:
    return {run.run_id: run.state for run in list_runs(runs)}


def indexed(runs: Path) -> set[str]:
    """Read the index itself, past the code under test."""
    with closing(sqlite3.connect(runs / CATALOG)) as database:
        return {run_id for (run_id,) in database.execute("SELECT run_id FROM runs")}


# -- the list ----------------------------------------------------------------------------------------------------------


def test_the_list_follows_a_run_from_its_begin_to_its_seal(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    assert states(tmp_path) == {bundle.run_id: UNFINISHED}

    bundle.seal(1)

    (run,) = list_runs(tmp_path)
    assert (run.state, run.exit_code, run.seconds) == (SEALED, 1, bundle.info.seconds)


def test_what_a_sealed_run_came_to_is_asked_for_once(tmp_path: Path) -> None:
    bundle, stopped, dead = begun(tmp_path), begun(tmp_path), begun(tmp_path)
    bundle.seal()
    stopped.seal(130)
    judge = Judge()

    unknown = {run.run_id: (run.exit_code, run.head) for run in list_runs(tmp_path)}
    first, second = (list_runs(tmp_path, judge) for _ in range(2))

    assert unknown == {bundle.run_id: (None, None), stopped.run_id: (130, None), dead.run_id: (None, None)}
    assert first == second
    by_id = {run.run_id: run for run in first}
    assert (by_id[bundle.run_id].exit_code, by_id[bundle.run_id].trust) == (1, {"yes": 7, "weak": 2, "no": 0})
    assert by_id[dead.run_id].head is None
    assert sorted(judge.asked) == sorted([bundle.path, stopped.path])


def test_what_another_version_came_to_is_not_believed(tmp_path: Path) -> None:
    begun(tmp_path).seal()

    (old,) = list_runs(tmp_path, Judge(exit_code=0, version="1"))
    (new,) = list_runs(tmp_path, Judge(exit_code=1, version="2"))

    assert (old.exit_code, new.exit_code) == (0, 1)


def test_what_another_manifest_came_to_is_not_believed(tmp_path: Path) -> None:
    one, other = begun(tmp_path), begun(tmp_path, ticks=5)
    one.seal()
    list_runs(tmp_path, Judge(exit_code=0))
    other.seal()
    manifest = one.path / "manifest.json"
    written = manifest.stat()
    # As long, as old and of the same inode: nothing but the hash tells.
    text = manifest.read_text().replace("assay quick", "assay QUICK")
    manifest.write_text(text)
    (one.path / "manifest.sha256").write_text(f"{hashlib.sha256(text.encode()).hexdigest()}  manifest.json\n")
    os.utime(manifest, ns=(written.st_atime_ns, written.st_mtime_ns))
    judge = Judge(exit_code=1)

    found = {run.run_id: run for run in list_runs(tmp_path, judge)}

    assert found[one.run_id].exit_code == 1
    assert found[one.run_id].command.startswith("assay QUICK")
    assert sorted(judge.asked) == sorted([one.path, other.path])


def test_only_wanted_runs_are_judged(tmp_path: Path) -> None:
    wanted, other = begun(tmp_path, name="a"), begun(tmp_path, name="b")
    for bundle in (wanted, other):
        bundle.seal()
    judge = Judge()

    found = list_runs(tmp_path, judge, is_wanted=lambda run: run.load == "a")

    assert [run.run_id for run in found] == [wanted.run_id]
    assert judge.asked == [wanted.path]


def test_a_run_that_cannot_be_judged_is_listed_as_damaged_until_it_is_mended(tmp_path: Path) -> None:
    begun(tmp_path).seal()

    def refuse(_: Path) -> RunOutcome:
        raise BundleError("torn")

    judge = Judge()
    refuse.version = judge.version  # type: ignore[attr-defined]

    (torn,) = list_runs(tmp_path, refuse)  # type: ignore[arg-type]
    (mended,) = list_runs(tmp_path, judge)

    assert (torn.state, torn.exit_code, torn.head) == (DAMAGED, None, None)
    assert (mended.state, mended.exit_code) == (SEALED, 1)


def test_where_no_catalog_can_be_kept_exit_codes_are_still_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path).seal()

    def refuse(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refuse)

    assert [run.exit_code for run in list_runs(tmp_path, Judge())] == [1]


def test_a_line_says_what_was_asked_and_of_what(tmp_path: Path) -> None:
    by_uri, by_fact = begun(tmp_path, name="uri"), begun(tmp_path, name="fact")
    by_fact.record_facts([Fact(key="target.data.directory", value="/srv/my data", source="user")])

    runs = {run.load: run for run in list_runs(tmp_path)}

    assert (runs["uri"].target, runs["fact"].target) == ("file:///srv/data", "/srv/my data")
    assert runs["uri"].command == "assay quick '/srv/my data'"
    assert runs["uri"].started_utc == by_uri.info.started_utc


def test_a_run_from_the_future_is_found_before_the_next_begins(tmp_path: Path) -> None:
    (tmp_path / "30000101T000000Z-notes").mkdir()
    now = begun(tmp_path)

    assert later_run(tmp_path) is None
    assert later_run(tmp_path / "absent") is None

    ahead = now.path.rename(tmp_path / "29991231T235959Z-quick-0123abcd")
    assert later_run(tmp_path) == ahead.name


def test_runs_of_the_same_second_are_listed_newest_first(tmp_path: Path) -> None:
    made = [begun(tmp_path, name=name).run_id for name in ("c", "a", "b")]

    assert [run.run_id for run in list_runs(tmp_path)] == made[::-1]
    assert resolve("last", tmp_path) == tmp_path / made[-1]


def test_folders_added_and_removed_by_hand_are_noticed(tmp_path: Path) -> None:
    kept, removed, elsewhere = begun(tmp_path), begun(tmp_path), begun(tmp_path / "other")
    list_runs(tmp_path)

    shutil.rmtree(removed.path)
    elsewhere.seal(0)
    shutil.move(elsewhere.path, tmp_path / "baseline")

    assert states(tmp_path) == {kept.run_id: UNFINISHED, "baseline": SEALED}
    assert indexed(tmp_path) == {kept.run_id, "baseline"}


def test_a_folder_without_a_run_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()

    assert list_runs(tmp_path) == ()


def test_a_run_that_cannot_be_read_is_listed_as_damaged_and_is_never_the_last(tmp_path: Path) -> None:
    good, bad = begun(tmp_path), begun(tmp_path)
    (bad.path / "run.json").write_text("{")

    assert states(tmp_path) == {good.run_id: UNFINISHED, bad.run_id: DAMAGED}
    assert resolve("last", tmp_path) == good.path


def test_looking_into_a_folder_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "absent") == ()
    assert not (tmp_path / "absent").exists()


# -- the index ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["missing", "garbage", "damaged schema", "other version", "cannot be kept"])
def test_the_index_is_only_a_shortcut(tmp_path: Path, damage: str) -> None:
    bundle = begun(tmp_path)
    before = list_runs(tmp_path)
    kept = (tmp_path / CATALOG).read_bytes()
    for file in tmp_path.glob(f"{CATALOG}*"):
        file.unlink()

    if damage == "damaged schema":  # SQLite's message quotes it, and is then no UTF-8
        (tmp_path / CATALOG).write_bytes(
            kept.replace(b"CREATE TABLE runs (run_id TEXT", b"CREATE TABLE runs (run_id \xf4(\xf4(")
        )
    if damage == "garbage":
        (tmp_path / CATALOG).write_bytes(kept[:100] + b"not a database" * 100)
    if damage == "other version":
        (tmp_path / CATALOG).write_bytes(kept)
        with closing(sqlite3.connect(tmp_path / CATALOG)) as database:
            database.executescript("DROP TABLE runs; CREATE TABLE runs (other); PRAGMA user_version = 99")
    if damage == "cannot be kept":
        (tmp_path / CATALOG).mkdir()

    assert list_runs(tmp_path) == before
    assert damage == "cannot be kept" or indexed(tmp_path) == {bundle.run_id}


@pytest.mark.parametrize("kind", ["database", "text"])
def test_a_file_of_another_program_with_the_catalogs_name_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    bundle = begun(tmp_path)
    theirs = tmp_path / CATALOG
    if kind == "text":
        theirs.write_bytes(b"my runs\n")
    else:
        with closing(sqlite3.connect(theirs)) as database:
            database.executescript("CREATE TABLE runs (other); INSERT INTO runs VALUES (1)")
    before = theirs.read_bytes()

    for _ in range(2):
        assert states(tmp_path) == {bundle.run_id: UNFINISHED}

    assert theirs.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([bundle.run_id, CATALOG])


def test_a_second_look_reads_no_sealed_run_again(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal(0)
    before = list_runs(tmp_path)
    manifest = bundle.path / "manifest.json"
    written = manifest.stat()
    with manifest.open("r+b") as file:
        file.write(b"not read")
    os.utime(manifest, ns=(written.st_atime_ns, written.st_mtime_ns))

    assert list_runs(tmp_path) == before


def test_a_sealed_run_that_was_meddled_with_is_read_again(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal(0)
    list_runs(tmp_path)
    (bundle.path / "manifest.json").write_text("{}")

    assert states(tmp_path) == {bundle.run_id: DAMAGED}


def test_what_a_catalog_of_a_stranger_holds_besides_is_not_carried_out(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    before = list_runs(tmp_path)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS run_id, i AS stamp FROM n"
    with closing(sqlite3.connect(tmp_path / CATALOG)) as database:
        database.executescript(f"DROP TABLE runs; CREATE VIEW runs AS {endless}")

    assert list_runs(tmp_path) == before
    assert indexed(tmp_path) == {bundle.run_id}


def test_a_catalog_with_words_for_numbers_is_made_anew(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal(0)
    before = list_runs(tmp_path)
    with closing(sqlite3.connect(tmp_path / CATALOG)) as database:
        database.executescript("UPDATE runs SET seconds = 'long'")

    assert list_runs(tmp_path) == before


_WRITER = """
import pathlib, sys
from assay.bundle.catalog import list_runs
from unit.bundle_streams import begun
runs = pathlib.Path(sys.argv[1])
for number in range(12):
    bundle = begun(runs, name=f"{sys.argv[2]}-{number}", ticks=1)
    assert any(run.run_id == bundle.run_id for run in list_runs(runs))
    bundle.seal(0)
    assert all(run.state == "sealed" for run in list_runs(runs) if run.run_id == bundle.run_id)
"""


@pytest.mark.long
def test_two_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    commands = ([sys.executable, "-c", _WRITER, tmp_path, name] for name in ("left", "right"))
    writers = [subprocess.Popen(command, env=environment) for command in commands]

    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]

    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert len(folders) == 24
    assert indexed(tmp_path) == folders
    assert states(tmp_path) == dict.fromkeys(folders, SEALED)


# -- which run is meant ------------------------------------------------------------------------------------------------


def named(runs: Path, name: str) -> Path:
    bundle = RunBundle.create(runs, "x", plan=plan(), argv=["assay"])
    return bundle.path.rename(runs / name)


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("20260102T030405Z-quick-00c0ffee", 0),
        ("20260102T030405Z-q", 0),
        ("00c0ffee", 0),
        ("00c0", 0),
        ("ffee", 0),
        ("20260102T030405Z-slow", 1),
        ("baseline", 2),
        ("base", 2),
        ("T030405Z-slow", 1),
        ("quick", 0),
        ("0ffe", 0),
    ],
)
def test_a_run_is_found_by_any_unique_part_of_its_name(tmp_path: Path, reference: str, meant: int) -> None:
    names = ["20260102T030405Z-quick-00c0ffee", "20260102T030405Z-slow-0badcafe", "baseline", "baseline-2"]
    paths = [named(tmp_path, name) for name in names]
    if reference == "base":
        shutil.rmtree(paths[3])

    assert resolve(reference, tmp_path) == paths[meant]


def test_a_name_is_found_before_a_part_of_an_id_and_after_a_whole_one(tmp_path: Path) -> None:
    ids = ["20260102T030405Z-quick-00c0ffee", "20260102T030405Z-slow-0badcafe", "baseline"]
    paths = [named(tmp_path, id_) for id_ in ids]

    write_remarks(paths[1], Remarks(name="quick"))
    write_remarks(paths[0], Remarks(name="baseline"))

    assert resolve("quick", tmp_path) == paths[1]
    assert resolve("baseline", tmp_path) == paths[2]


def test_the_runs_before_the_last_are_counted_back_over_those_that_can_be_read(tmp_path: Path) -> None:
    made = [begun(tmp_path) for _ in range(4)]
    (made[2].path / "run.json").write_text("{")

    assert [resolve(word, tmp_path) for word in ("last", "last~0", "last~1", "last~2")] == [
        made[3].path,
        made[3].path,
        made[1].path,
        made[0].path,
    ]
    with pytest.raises(BundleError, match=r"the 3 runs of .* go back to 'last~2'"):
        resolve("last~3", tmp_path)
    for unknown in ("last~", "last~x", "last~-1", "LAST"):
        with pytest.raises(BundleError, match="no such run"):
            resolve(unknown, tmp_path)


def test_a_name_that_a_stranger_gave_a_run_too_stands_for_neither(tmp_path: Path) -> None:
    mine, theirs = begun(tmp_path), begun(tmp_path)
    for bundle in (mine, theirs):
        write_remarks(bundle.path, Remarks(name="baseline"))

    with pytest.raises(BundleError, match="2 runs fit"):
        resolve("baseline", tmp_path)


def test_a_name_moves_to_the_run_that_takes_it(tmp_path: Path) -> None:
    before, after = begun(tmp_path), begun(tmp_path)
    write_remarks(before.path, Remarks(name="baseline", tags=("kept",), note="kept, too"))
    write_remarks(after.path, Remarks(name="baseline"))

    assert take_name("baseline", after.path) == [before.run_id]

    assert remarks_of(before.path) == Remarks(tags=("kept",), note="kept, too")
    assert resolve("baseline", tmp_path) == after.path


def test_no_more_than_five_candidates_are_named(tmp_path: Path) -> None:
    for number in range(8):
        named(tmp_path, f"20260102T030405Z-quick-0000000{number}")

    with pytest.raises(BundleError, match=r"8 runs fit: (\S+, ){4}\S+ and 3 more"):
        resolve("quick", tmp_path)


def test_a_path_needs_no_runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = named(tmp_path, "mine")
    monkeypatch.chdir(tmp_path)

    assert resolve("mine", tmp_path / "elsewhere") == path
    assert resolve(str(path), tmp_path / "elsewhere") == path


def test_a_part_that_fits_two_runs_names_them_both(tmp_path: Path) -> None:
    names = ["20260102T030405Z-quick-00c0ffee", "20260102T030405Z-quick-0badcafe"]
    for name in names:
        named(tmp_path, name)

    with pytest.raises(BundleError, match=f"2 runs fit: {names[1]}, {names[0]}"):
        resolve("20260102", tmp_path)


def test_an_unknown_run_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="There are none yet"):
        resolve("x", tmp_path)
    with pytest.raises(BundleError, match="there is no run in"):
        resolve("last", tmp_path)

    named(tmp_path, "baseline")

    for unknown in ("x", ""):
        with pytest.raises(BundleError, match="There are: baseline"):
            resolve(unknown, tmp_path)


# -- where runs are kept -----------------------------------------------------------------------------------------------


def test_runs_are_kept_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("ASSAY_RUNS", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert runs_directory(None) == Path("/home/me/.local/share/assay/runs")

    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert runs_directory(None) == Path("/home/me/.local/share/assay/runs")

    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert runs_directory(None) == Path("/data/assay/runs")

    monkeypatch.setenv("ASSAY_RUNS", "~/runs")
    assert runs_directory(None) == Path("/home/me/runs")
    assert runs_directory(tmp_path) == tmp_path


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_ls_prints_a_table_or_json(tmp_path: Path, options: list[str]) -> None:
    bundle = begun(tmp_path)
    bundle.seal()
    app = typer.Typer()
    app.command()(ls)

    done = CliRunner().invoke(app, ["--runs", str(tmp_path), *options])

    assert done.exit_code == 0
    if options:
        (run,) = json.loads(done.stdout)
        assert (run["run_id"], run["exit_code"], run["state"]) == (bundle.run_id, judged(bundle).run.exit_code, SEALED)
    else:
        assert bundle.run_id in done.stdout
