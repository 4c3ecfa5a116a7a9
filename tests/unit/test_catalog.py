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
from assay.bundle.catalog import CATALOG, DAMAGED, SEALED, UNFINISHED, list_runs, resolve, runs_directory
from assay.bundle.run_folder import later_run
from assay.cli.ls import ls
from assay.errors import BundleError
from assay.host.facts import Fact
from unit.bundle_streams import begun, plan
from unit.memory_run import judged


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


def test_an_exit_code_that_nothing_recorded_is_asked_for_once(tmp_path: Path) -> None:
    bundle, stopped = begun(tmp_path), begun(tmp_path)
    bundle.seal()
    stopped.seal(130)
    asked: list[Path] = []

    def judge(folder: Path) -> int:
        asked.append(folder)
        return 1

    unknown = {run.run_id: run.exit_code for run in list_runs(tmp_path)}
    known = [{run.run_id: run.exit_code for run in list_runs(tmp_path, judge)} for _ in range(2)]

    assert unknown == {bundle.run_id: None, stopped.run_id: 130}
    assert known == [{bundle.run_id: 1, stopped.run_id: 130}] * 2
    assert asked == [bundle.path]


def test_where_no_catalog_can_be_kept_exit_codes_are_still_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path).seal()

    def refuse(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refuse)

    assert [run.exit_code for run in list_runs(tmp_path, lambda _: 1)] == [1]


def test_a_line_says_what_was_asked_and_of_what(tmp_path: Path) -> None:
    by_uri, by_fact = begun(tmp_path, name="uri"), begun(tmp_path, name="fact")
    by_fact.record_facts([Fact(key="target.data.directory", value="/srv/my data", source="user")])

    runs = {run.name: run for run in list_runs(tmp_path)}

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


@pytest.mark.parametrize("damage", ["missing", "garbage", "other version", "cannot be kept"])
def test_the_index_is_only_a_shortcut(tmp_path: Path, damage: str) -> None:
    bundle = begun(tmp_path)
    before = list_runs(tmp_path)
    for file in tmp_path.glob(f"{CATALOG}*"):
        file.unlink()

    if damage == "garbage":
        (tmp_path / CATALOG).write_bytes(b"not a database" * 100)
    if damage == "other version":
        with closing(sqlite3.connect(tmp_path / CATALOG)) as database:
            database.executescript("CREATE TABLE runs (other); INSERT INTO runs VALUES (1); PRAGMA user_version = 99")
    if damage == "cannot be kept":
        (tmp_path / CATALOG).mkdir()

    assert list_runs(tmp_path) == before
    assert damage == "cannot be kept" or indexed(tmp_path) == {bundle.run_id}


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
    ],
)
def test_a_run_is_found_by_any_unique_part_of_its_name(tmp_path: Path, reference: str, meant: int) -> None:
    names = ["20260102T030405Z-quick-00c0ffee", "20260102T030405Z-slow-0badcafe", "baseline", "baseline-2"]
    paths = [named(tmp_path, name) for name in names]
    if reference == "base":
        shutil.rmtree(paths[3])

    assert resolve(reference, tmp_path) == paths[meant]


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
