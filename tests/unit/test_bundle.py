import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from assay.bundle import RunBundle
from assay.bundle import files as bundle_files
from assay.errors import BundleError, RunError
from assay.events import Hello, Interval
from assay.host.facts import Fact
from unit.bundle_streams import begun, encoded, interval, plan, stream
from unit.memory_run import hello

MORE_THAN_ONE_CHUNK = 300


def tables(bundle: RunBundle) -> list[pl.DataFrame]:
    return [bundle.intervals(), bundle.histograms(), bundle.workers(), bundle.host()]


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir()}


# -- the tables say what the stream says -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sealed", [False, True])
def test_sums_of_the_tables_are_the_totals_of_the_stream(tmp_path: Path, is_sealed: bool) -> None:
    bundle = begun(tmp_path, ticks=MORE_THAN_ONE_CHUNK)
    if is_sealed:
        bundle.seal(0)

    reads = bundle.intervals().filter(pl.col("operation") == "read")
    counted = bundle.histograms().filter(pl.col("operation") == "read")

    # Tick t holds t reads of 4 KiB in each of two buckets: n (n + 1) in all.
    ops = MORE_THAN_ONE_CHUNK * (MORE_THAN_ONE_CHUNK + 1)
    assert reads["ops"].sum() == ops
    assert reads["bytes"].sum() == ops * 4096
    assert counted["n"].sum() == ops
    assert sorted(counted["bucket"].unique()) == [9000, 9001]
    assert reads["t_s"].to_list()[-1] == pytest.approx(1 + MORE_THAN_ONE_CHUNK * 0.2)
    assert reads["dt_s"].sum() == pytest.approx(MORE_THAN_ONE_CHUNK * 0.2)


def test_the_tick_at_the_start_has_counters_and_no_operations(tmp_path: Path) -> None:
    bundle = begun(tmp_path, ticks=2)

    assert sorted(bundle.intervals()["t_s"].unique()) == [1.2, 1.4]
    assert sorted(bundle.host()["t_s"].unique()) == [1.0, 1.2, 1.4]
    assert sorted(bundle.workers()["t_s"].unique()) == [1.0, 1.2, 1.4]


def test_an_operation_that_completed_nothing_has_a_row_of_zeros(tmp_path: Path) -> None:
    bundle = begun(tmp_path, ticks=2)

    stalled = bundle.intervals().filter(pl.col("operation") == "stalled")

    assert stalled["ops"].to_list() == [0, 0]
    assert bundle.histograms().filter(pl.col("operation") == "stalled").is_empty()


def test_response_times_are_null_in_a_closed_loop(tmp_path: Path) -> None:
    rows = begun(tmp_path, ticks=1).intervals()

    by_operation = dict(zip(rows["operation"], rows["response_sum_ns"], strict=True))

    assert by_operation == {"read": None, "paced": 1, "stalled": None}


def test_a_counter_that_the_kernel_does_not_have_is_absent_and_not_zero(tmp_path: Path) -> None:
    bundle = begun(tmp_path, ticks=1)

    own = bundle.host().filter(pl.col("source") == "process")

    assert set(own["name"]) == {"process_cpu_ns", "observer_cpu_ns", "process_read_bytes"}
    assert bundle.workers()["block_delay_ns"].null_count() == 2


def test_the_tables_have_the_promised_columns_even_when_nothing_ran(tmp_path: Path) -> None:
    full, empty = begun(tmp_path, ticks=1), RunBundle.create(tmp_path, "empty", plan=plan(), argv=["assay"])
    full.seal(0)
    empty.seal(3)

    assert [table.schema for table in tables(empty)] == [table.schema for table in tables(full)]
    assert all(table.is_empty() for table in tables(empty))
    assert full.histograms().schema["bucket"] == pl.UInt32


# -- sealing -----------------------------------------------------------------------------------------------------------


def test_sealing_changes_neither_tables_nor_events(tmp_path: Path) -> None:
    bundle = begun(tmp_path, ticks=MORE_THAN_ONE_CHUNK)
    before, events = tables(bundle), bundle.events()

    bundle.seal(1)

    for reader in (bundle, RunBundle.open(bundle.path)):
        for was, is_now in zip(before, tables(reader), strict=True):
            assert_frame_equal(was, is_now)
        assert reader.events() == events
    assert events == [event for event in stream(MORE_THAN_ONE_CHUNK) if not isinstance(event, Interval)]


def test_a_sealed_run_says_how_it_ended_and_what_measured_it(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal(1)

    reader = RunBundle.open(bundle.path)
    manifest = json.loads((bundle.path / "manifest.json").read_bytes())

    assert reader.is_sealed
    assert (reader.info.exit_code, reader.info.run_id) == (1, bundle.path.name)
    assert reader.info.command == "assay quick '/srv/my data'"
    assert reader.info.ended_utc is not None
    assert reader.info.seconds is not None
    assert reader.plan == plan()
    assert manifest["schema"] == "assay.bundle/3"
    assert manifest["clients"]["0"]["hello"]["engine"]["version"] == "0.1.0"


def test_a_manifest_holds_the_hash_that_other_tools_find(tmp_path: Path) -> None:
    bundle = RunBundle.create(tmp_path, "x", plan=plan(), argv=["assay"], source_text="[load]\n")
    bundle.seal(0)

    entries = json.loads((bundle.path / "manifest.json").read_bytes())["files"]
    listed = "".join(f"{entry['sha256']}  {name}\n" for name, entry in entries.items())
    checked = subprocess.run(["sha256sum", "--check", "-"], cwd=bundle.path, input=listed.encode(), check=False)

    assert checked.returncode == 0
    kept = {path.relative_to(bundle.path).as_posix() for path in bundle.path.rglob("*") if path.is_file()}
    assert set(entries) == kept - {"manifest.json", "manifest.sha256"}
    of_manifest = subprocess.run(["sha256sum", "--check", "manifest.sha256"], cwd=bundle.path, check=False)
    assert of_manifest.returncode == 0
    assert {"plan.toml", "hist.parquet", "resolved.json", "events/0.json"} < set(entries)
    assert not {"events/0.ndjson", "run.json"} & set(entries)


def test_a_sealed_run_is_never_rewritten(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    other = RunBundle.open(bundle.path)
    bundle.seal(0)
    before = contents(bundle.path)

    for holder in (bundle, other):
        with pytest.raises(BundleError, match="never rewritten"):
            holder.seal(0)
        with pytest.raises(BundleError, match="never rewritten"):
            holder.record_facts([Fact(key="a", value=1, source="user")])
    assert contents(bundle.path) == before


def test_a_seal_that_fails_loses_nothing(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    before = tables(bundle)
    (bundle.path / "host.parquet").mkdir()

    with pytest.raises(RunError, match=r"host\.parquet: could not be written"):
        bundle.seal(0)

    reader = RunBundle.open(bundle.path)
    assert not reader.is_sealed
    for was, is_now in zip(before, tables(reader), strict=True):
        assert_frame_equal(was, is_now)


def test_a_reader_that_came_before_the_seal_still_reads_after_it(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    early = RunBundle.open(bundle.path)
    bundle.seal(0)

    assert_frame_equal(early.intervals(), bundle.intervals())
    assert early.is_sealed


# -- clients -----------------------------------------------------------------------------------------------------------


def test_a_run_is_gone_only_where_its_storage_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = begun(tmp_path)
    assert not bundle.is_gone

    def unanswered(path: Path, **_: object) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    with monkeypatch.context() as broken:
        broken.setattr(Path, "stat", unanswered)
        assert not bundle.is_gone

    shutil.rmtree(bundle.path)
    assert bundle.is_gone


def test_every_row_says_which_client_it_is_from(tmp_path: Path) -> None:
    bundle = begun(tmp_path)

    under_way = [table["client"].unique().to_list() for table in tables(bundle)]
    bundle.seal()

    assert under_way == [table["client"].unique().to_list() for table in tables(bundle)] == [["0"]] * 4
    assert bundle.clients == ("0",)


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_run_of_two_clients_keeps_each_ones_stream_and_is_not_judged_as_one(tmp_path: Path, is_sealed: bool) -> None:
    bundle = begun(tmp_path)
    shutil.copy(bundle.events_path, bundle.events_path.with_name("node7.ndjson"))
    if is_sealed:
        bundle.seal()

    reader = RunBundle.open(bundle.path)

    assert reader.clients == ("0", "node7")
    assert reader.events("node7") == reader.events("0") != []
    rows = reader.intervals()
    assert rows["client"].unique(maintain_order=True).to_list() == ["0", "node7"]
    assert rows.filter(client="node7").drop("client").equals(rows.filter(client="0").drop("client"))
    with pytest.raises(BundleError, match="streams of 2 clients"):
        reader.events()


# -- verify ------------------------------------------------------------------------------------------------------------


def test_a_run_as_it_was_sealed_verifies(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal(0)

    RunBundle.open(bundle.path).verify()


@pytest.mark.parametrize("name", ["intervals.parquet", "resolved.json", "events/0.json"])
def test_one_changed_byte_is_found(tmp_path: Path, name: str) -> None:
    bundle = begun(tmp_path)
    bundle.seal(0)
    data = bytearray((bundle.path / name).read_bytes())
    data[len(data) // 2] ^= 1
    (bundle.path / name).write_bytes(data)

    with pytest.raises(BundleError, match=f"{name} has other content"):
        bundle.verify()


def test_missing_and_shortened_files_are_named(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal(0)
    (bundle.path / "hist.parquet").unlink()
    os.truncate(bundle.path / "host.parquet", 10)

    with pytest.raises(BundleError, match=r"hist\.parquet cannot be read .*host\.parquet has 10 bytes, not \d+"):
        bundle.verify()


# -- runs that died ----------------------------------------------------------------------------------------------------


def test_a_stream_cut_at_any_byte_keeps_every_whole_line(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    whole = encoded([hello(), interval(0), interval(1)])
    last = encoded([interval(2)])
    for kept in range(0, len(last) - 1, 7):
        bundle.events_path.write_bytes(whole + last[:kept])

        reader = RunBundle.open(bundle.path)

        assert reader.intervals()["t_s"].unique().to_list() == [1.2]
        assert reader.stream_cut_bytes == kept


def test_a_seal_keeps_in_mind_that_the_stream_was_cut(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    data = bundle.events_path.read_bytes()
    bundle.events_path.write_bytes(data[:-5])

    bundle.seal(3)

    last_line = data.splitlines(keepends=True)[-1]
    assert RunBundle.open(bundle.path).stream_cut_bytes == len(last_line) - 5


def test_zeros_that_a_power_cut_leaves_at_the_end_are_no_obstacle(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.events_path.write_bytes(encoded([hello(), interval(0), interval(1)]) + bytes(5000) + b"\n" + bytes(9))

    assert bundle.intervals()["t_s"].unique().to_list() == [1.2]
    assert bundle.stream_cut_bytes == 5010


def test_a_last_line_that_is_not_utf_8_is_one_that_was_cut(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    garbage = b'{"event":"\xa6"}\n'
    bundle.events_path.write_bytes(encoded([hello(), interval(0), interval(1)]) + garbage)

    assert bundle.intervals()["t_s"].unique().to_list() == [1.2]
    assert bundle.stream_cut_bytes == len(garbage)


@pytest.mark.parametrize(
    "broken", [b'{"event":"interval","t_ns":1\n', b'{"event":"rest"}\n', b'{"event":"\xa6"}\n', b"[" * 5000 + b"\n"]
)
def test_a_broken_line_before_whole_ones_is_refused_with_its_number(tmp_path: Path, broken: bytes) -> None:
    bundle = begun(tmp_path)
    bundle.events_path.write_bytes(encoded([hello()]) + broken + encoded([interval(0)]))

    with pytest.raises(BundleError, match=r"events/0\.ndjson:2: "):
        bundle.intervals()


def test_a_stream_of_another_version_is_refused(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.events_path.write_bytes(encoded([hello(schema="assay.events/2")]))

    with pytest.raises(BundleError, match=r"assay\.events/2; this Assay reads assay\.events/1"):
        bundle.events()


def test_a_killed_assay_leaves_a_run_that_opens(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", _KILLED, tmp_path], env=environment, check=False)
    (folder,) = tmp_path.iterdir()

    reader = RunBundle.open(folder)

    assert killed.returncode == -signal.SIGKILL
    assert not reader.is_sealed
    assert (reader.info.ended_utc, reader.info.seconds, reader.info.exit_code) == (None, None, None)
    assert reader.facts == (Fact(key="host.cpus", value=2, source="/proc/cpuinfo"),)
    assert isinstance(reader.events()[0], Hello)


_KILLED = """
import os, pathlib, signal, sys
from assay.host.facts import Fact
from unit.bundle_streams import begun
begun(pathlib.Path(sys.argv[1])).record_facts([Fact(key="host.cpus", value=2, source="/proc/cpuinfo")])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_opening_and_reading_a_dead_run_writes_nothing(tmp_path: Path) -> None:
    path = begun(tmp_path).path
    before = contents(path)

    reader = RunBundle.open(path)
    tables(reader)
    reader.verify()

    assert contents(path) == before


def test_a_run_under_way_shows_what_came_since_it_was_opened(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.events_path.write_bytes(encoded([hello(), interval(0)]))
    assert bundle.intervals().is_empty()

    with bundle.events_path.open("ab") as file:
        file.write(encoded([interval(1)]))

    assert bundle.intervals().height == 3


# -- names, facts, faults ----------------------------------------------------------------------------------------------


def test_a_folder_is_named_by_time_slug_and_chance(tmp_path: Path) -> None:
    bundle = RunBundle.create(tmp_path / "new", "Größe / 4 KiB!", plan=plan(), argv=["assay"])

    assert re.fullmatch(r"\d{8}T\d{6}Z-gr-e-4-kib-[0-9a-f]{8}", bundle.run_id)
    assert bundle.run_id.startswith(re.sub(r"[-:]|\..*", "", bundle.info.started_utc))


def test_a_later_fact_replaces_an_earlier_one_of_its_key(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    free = Fact(key="target.data.fs.free_bytes", value=None, source="n/a: no permission")
    bundle.record_facts([free, Fact(key="target.data.device.diskstats", value=("sda", "sdb"), source="/sys/block")])

    bundle.record_facts([Fact(key=free.key, value=10, source="statvfs")])
    bundle.seal(0)

    assert RunBundle.open(bundle.path).facts == (
        Fact(key=free.key, value=10, source="statvfs"),
        Fact(key="target.data.device.diskstats", value=("sda", "sdb"), source="/sys/block"),
    )


def test_what_is_no_run_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="there is no such run folder"):
        RunBundle.open(tmp_path / "absent")
    with pytest.raises(BundleError, match="holds neither"):
        RunBundle.open(tmp_path)


@pytest.mark.parametrize("other", ["assay.bundle/2", "assay.bundle/4"])
def test_a_manifest_of_another_version_is_refused_as_such(tmp_path: Path, other: str) -> None:
    bundle = begun(tmp_path)
    bundle.seal(0)
    manifest = bundle.path / bundle_files.MANIFEST
    manifest.write_text(manifest.read_text().replace("assay.bundle/3", other))

    with pytest.raises(BundleError, match=f"made by another version of Assay: its schema is '{other}'"):
        RunBundle.open(bundle.path)


def test_runs_that_cannot_be_kept_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(RunError, match="Nothing was measured"):
        RunBundle.create(tmp_path / "file", "quick", plan=plan(), argv=["assay"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"started_utc": "yesterday"},
        {"started_utc": "2026-01-02T03:04:05"},
        {"ended_utc": "2026-01-02T03:04:05+01:00"},
        {"seconds": 1e300},
    ],
)
def test_times_that_no_run_can_have_are_damage(wrong: dict[str, object], tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    record = bundle.path / "run.json"
    written = json.loads(record.read_text())
    written["info"] |= wrong
    record.write_text(json.dumps(written))

    with pytest.raises(BundleError, match=r"run\.json"):
        RunBundle.open(bundle.path)
