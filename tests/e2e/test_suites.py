"""Does each suite run, small, and is what it counts what it says?

The truths are from outside: sizes of files, rates times times, tables of operations, what the kernel was asked for.
"""

import json
import math
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.bundle import RunBundle
from assay.loads import native, suites
from assay.outward import markup
from e2e.command import Assay
from testbed.control_group import ControlGroup
from testbed.devices import filesystem, loop_device
from testbed.first import going_first
from testbed.host import need_filesystem
from testbed.throttle import blkio_limits
from testbed.truth import truth_disk
from unit.test_scaling import TABLES

MIB = 1 << 20
Results = dict[tuple[str, str, str], dict[str, Any]]

BROKEN = {"counts-disagree", "short-transfers", "errors"}
"""What no suite may have to say."""
NEED_THEIR_OWN = {"quick", "clones", "fill-80", "pts-iops", "pts-latency", "pts-throughput", "pts-wsat"}
"""`quick` is run by test_examples.py; those of PTS need a block device (test_rounds.py), the others a file system."""


def run(assay: Assay, suite: str, directory: Path, *words: str, prefix: Sequence[str] = ()) -> dict[str, Any]:
    done = assay("run", suite, directory, "--json", "--no-report", *words, prefix=prefix)
    assert done.returncode in {0, 1}, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    counted = _counted(Path(document["run"]["bundle"]))
    for result in document["results"]:
        assert result["errors"] == 0, result
        assert counted[result["phase"], result["job"], result["operation"]] >= max(1, result["ops"]), result
        assert not {finding["id"] for finding in result["findings"]} & BROKEN, result
    return document


def _counted(bundle: Path) -> Counter[tuple[str, str, str]]:
    """Give what each operation and each whole job ("*") did in its phase: a window may end before a slow disk answers."""
    opened = RunBundle.open(bundle)
    counted: Counter[tuple[str, str, str]] = Counter()
    for phase, job, operation, ops in opened.intervals().select("phase_index", "job", "operation", "ops").iter_rows():
        for of in (operation, "*"):
            counted[opened.plan.phases[phase].name, job, of] += ops
    return counted


def by_name(document: dict[str, Any]) -> Results:
    return {(one["phase"], one["job"], one["operation"]): one for one in document["results"]}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


@pytest.fixture
def btrfs(tmp_path: Path) -> Iterator[Path]:
    need_filesystem("btrfs")
    with loop_device(1024 * MIB, backing=tmp_path) as device, filesystem(device, "btrfs") as at:
        yield at


@pytest.mark.parametrize("suite", sorted({*suites.names()} - NEED_THEIR_OWN - {"eleven-metrics"}))
def test_a_suite_runs_small_and_leaves_nothing(suite: str, assay: Assay, directory: Path) -> None:
    document = run(assay, suite, directory, "--scale", "0.001", "--set", "phase_seconds=300ms")

    assert {one["phase"] for one in document["results"]} == {
        phase.name for phase in native.parse(suites.text(suite), suite, directory=directory, settings={}).phases
    }
    assert list(directory.iterdir()) == []
    shown = assay("show", document["run"]["id"], check=0).stdout
    said = native.describe(suites.text(suite), suite)
    assert f"answers  {said.answers}" in shown
    assert f"void if  {said.void_if}" in shown


def test_the_eleven_metrics_run_in_a_small_scale_and_keep_their_sets(assay: Assay, directory: Path) -> None:
    seconds = ("--set=read_seconds=400ms", "--set=write_seconds=400ms")
    document = run(assay, "eleven-metrics", directory, "--scale", "0.01", *seconds)

    found = by_name(document)
    assert [one["phase"] for one in document["results"]] == [str(number) for number in range(1, 12)]
    assert [one["workers"] for one in document["results"]] == [1, 1, 20, 10, 20, 128, 1, 20, 128, 20, 8]
    # Twenty files of 10 MiB, each byte read once: what was not over after 0.4 s.
    for phase in ("1", "2", "3"):
        read = found[phase, phase, "read"]
        assert read["bytes"] <= 200 * MIB
        assert read["seconds"] >= 0.36 or read["bytes"] == 200 * MIB or phase == "3"
        assert read["cache"]["resident_before"] < 0.01
    assert found["5", "5", "read"]["cache"]["resident_before"] < 0.01
    kept = directory / "assay-data"
    assert sum(1 for file in (kept / "pool").rglob("f*") if file.is_file()) == 4000
    assert [file.stat().st_size for file in sorted((kept / "streams").glob("f*"))] == [10 * MIB] * 20
    assert not (kept / "created").exists()

    again = run(
        assay, "eleven-metrics", directory, "--scale=0.01", "--set=read_seconds=200ms", "--set=write_seconds=200ms"
    )
    prepared = [
        event
        for file in sorted((Path(again["run"]["bundle"]) / "events").glob("*.json"))
        for event in json.loads(file.read_text())
        if event["event"] == "prepared"
    ]
    assert {event["set"]: event["reused"] for event in prepared} == {"streams": True, "pool": True, "created": False}

    assay("clean", directory, check=0)
    assert list(directory.iterdir()) == []


def test_the_report_says_what_each_metric_stands_for(assay: Assay, directory: Path, tmp_path: Path) -> None:
    small = ("--scale", "0.01", "--set=read_seconds=200ms", "--set=write_seconds=200ms", "--set=file_size=1MiB")
    document = run(assay, "eleven-metrics", directory, *small, "--set=files=200", "--set=created=20000")

    assay("report", document["run"]["id"], "--output", tmp_path / "report.html", check=0)

    page = (tmp_path / "report.html").read_text()
    made = native.parse(suites.text("eleven-metrics"), "eleven", directory=directory, settings={})
    assert "Question: how fast does this storage serve one client in eleven fixed loads" in page
    assert all(f"Represents: {markup(phase.stands_for)}" in page for phase in made.phases)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace, to count what the kernel was asked for")
def test_metric_10_asks_the_kernel_for_the_attributes_of_open_files(
    assay: Assay, directory: Path, tmp_path: Path
) -> None:
    text = suites.text("eleven-metrics")
    start, end = text.index('[[phase]]\nname = "1"\n'), text.index('[[phase]]\nname = "10"\n')
    load = tmp_path / "ten.toml"
    load.write_text(text[:start] + text[end : text.index('[[phase]]\nname = "11"\n')])
    trace = tmp_path / "trace"
    words = (
        "run",
        load,
        directory,
        "--scale=0.01",
        "--set=write_seconds=300ms",
        "--set=files=300",
        "--json",
        "--no-report",
    )

    done = assay(
        *words, prefix=("strace", "-f", "-qq", "-e", "trace=openat,openat2,fstat,newfstatat", "-o", str(trace))
    )

    assert done.returncode in {0, 1}, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    lines = trace.read_text().splitlines()
    asked = [line for line in lines if "fstat(" in line or ("newfstatat(" in line and '""' in line)]
    opened = [line for line in lines if "openat" in line and "/f0000" in line and "O_CREAT" not in line]
    # Every file that the result counts was opened and looked at; those at the edges of the window come on top.
    assert len(asked) >= result["ops"]
    assert len(opened) >= result["ops"]


def test_of_an_interleaved_medium_a_sixth_is_read_back(assay: Assay, directory: Path) -> None:
    found = by_name(
        run(assay, "backup-streams", directory, "--set=size=48MiB", "--set=slice=8MiB", "--set=phase_seconds=10min")
    )

    assert found["one-stream", "one-stream", "write"]["bytes"] == 48 * MIB
    assert found["interleaved", "clients", "read"]["bytes"] == 6 * 8 * MIB
    assert found["interleaved", "medium", "write"]["bytes"] == 48 * MIB
    assert found["restore-all", "restore-all", "read"]["bytes"] == 48 * MIB
    assert found["restore-one", "restore-one", "read"]["bytes"] == 8 * MIB
    assert found["restore-one", "restore-one", "read"]["ops"] == 8 * MIB // (256 << 10)


@pytest.mark.quiet
@pytest.mark.held
def test_frames_are_asked_for_at_their_rate_and_late_ones_are_counted(assay: Assay, directory: Path) -> None:
    words = ("--set=size=8MiB", "--set=frame=64KiB", "--set=rate=80", "--set=streams=4", "--set=phase_seconds=2s")

    document = run(assay, "media-streaming", directory, *words)

    found = by_name(document)
    assert len(found) == 4
    # All that the workers did: a row of the document is of the time in which all workers of its job ran.
    intervals = RunBundle.open(Path(document["run"]["bundle"])).intervals()
    for phase_index, phase in enumerate(("play", "record", "both")):
        for (_, job, operation), one in ((key, one) for key, one in found.items() if key[0] == phase):
            schedule = one["schedule"]
            # 80 a second for 2 s; one at the end falls on either side.
            assert abs(schedule["arrivals"] - 160) <= 1
            assert schedule["rate_per_s"] == 80
            done = intervals.filter(phase_index=phase_index, job=job, operation=operation).to_dict(as_series=False)
            # Each stream has one frame at a time: what was due was served, is waiting, or is under way.
            served = sum(done["ops"])
            assert sum(done["bytes"]) == served * (64 << 10)
            assert served + schedule["backlog"] <= schedule["arrivals"] <= served + schedule["backlog"] + 4
            # Each of 4 streams has a frame every 50 ms, and one is late that was issued when the next was due. So the frames
            # waited for 50 ms for each late one, at least; and none did that where none was late.
            waited_ns = sum(done["response_sum_ns"]) - sum(done["latency_sum_ns"])
            assert waited_ns >= 50e6 * (schedule["late"] - 4)
            if schedule["late"] == 0:
                assert max(done["response_max_ns"]) < max(done["latency_max_ns"]) + 50e6


@pytest.mark.quiet
def test_frames_are_late_where_nothing_can_keep_up(assay: Assay, directory: Path) -> None:
    # A tebibyte a second.
    words = ("--set=size=32MiB", "--set=frame=1MiB", "--set=rate=1048576", "--set=streams=2", "--set=phase_seconds=1s")
    done = assay("run", "media-streaming", directory, "--json", "--no-report", *words)

    document = json.loads(done.stdout)
    assert document["results"]
    for one in document["results"]:
        assert one["schedule"]["verdict"] == "fell_behind"
        issued = one["schedule"]["arrivals"] - one["schedule"]["backlog"]
        # A frame takes far longer to move than the microseconds to the next: what was issued was late, the first apart.
        assert 0.5 * issued < one["schedule"]["late"] <= issued
        assert one["schedule"]["late"] + one["schedule"]["backlog"] > 0.5 * one["schedule"]["arrivals"]


def test_each_transaction_reads_ten_pages_and_has_its_commit_in_the_log(assay: Assay, directory: Path) -> None:
    users = 8
    words = ("--set=size=16MiB", "--set=log_size=1MiB", f"--set=users={users}", "--set=phase_seconds=700ms")

    document = run(assay, "oltp", directory, *words)

    # All that the workers did: a row of the document is of the time in which all workers of its job ran.
    rows = RunBundle.open(Path(document["run"]["bundle"])).intervals()
    done = dict(rows.group_by("operation").agg(pl.col("ops").sum()).iter_rows())
    # Those under way at the end have a part of theirs.
    assert done["transaction"] <= done["commit"] <= done["transaction"] + users
    assert 10 * done["commit"] <= done["read page"] <= 10 * (done["commit"] + 2 * users)
    assert done["write page"] <= 2 * (done["commit"] + users)


@pytest.mark.parametrize("suite", TABLES)
def test_the_shares_of_a_mix_are_those_of_the_table_within_sampling_error(
    suite: str, assay: Assay, directory: Path
) -> None:
    words = (
        "--set=files=1000",
        "--set=file_size=256KiB",
        "--set=open_files=16",
        "--set=workers=4",
        "--set=phase_seconds=700ms",
    )

    document = run(assay, suite, directory, *words)

    ops = {one["operation"]: one["ops"] for one in document["results"] if one["operation"] in TABLES[suite]}
    total, weights = sum(ops.values()), sum(TABLES[suite].values())
    assert set(ops) == set(TABLES[suite])
    for name, weight in TABLES[suite].items():
        share = weight / weights
        # Five standard deviations of a binomial draw, and a few operations under way at the ends.
        assert abs(ops[name] - share * total) <= 5 * math.sqrt(total * share * (1 - share)) + 8, name


def test_a_copy_reads_and_writes_each_object_whole(assay: Assay, directory: Path) -> None:
    words = ("--set=object=64KiB", "--set=objects=50", "--set=sessions=3", "--set=phase_seconds=10min")

    found = by_name(run(assay, "session-copy", directory, *words))

    for phase in ("one", "several"):
        copy = found[phase, phase, "copy"]
        assert (copy["ops"], copy["bytes"]) == (50, 2 * 50 * (64 << 10))
    assert found["kernel", "kernel", "copy"]["ops"] == 25


def test_clones_share_their_blocks(assay: Assay, btrfs: Path, tmp_path: Path) -> None:
    text = suites.text("clones")
    load = tmp_path / "kept.toml"
    load.write_text(
        text[: text.index('[[phase]]\nname = "read-plain"')].replace("_share = 0.05", "_share = 0.05\nkeep = true")
    )
    before = shutil.disk_usage(btrfs).used

    found = by_name(run(assay, str(load), btrfs, "--set=size=16MiB", "--set=phase_seconds=10min"))

    assert found["clone", "clone", "clone"]["ops"] == 19
    images = [file for file in (btrfs / "assay-data" / "images").iterdir() if file.name.startswith("f0")]
    assert [file.stat().st_size for file in images] == [16 * MIB] * 20
    assert len({file.read_bytes() for file in images}) == 1
    subprocess.run(["sync", "-f", btrfs], check=True)
    # Twenty files, and the room of one and a little.
    assert shutil.disk_usage(btrfs).used - before < 3 * 16 * MIB


def test_clones_are_read_and_written_to(assay: Assay, btrfs: Path) -> None:
    found = by_name(run(assay, "clones", btrfs, "--set=size=16MiB", "--set=phase_seconds=300ms"))

    assert found["clone", "clone", "clone"]["ops"] == 19
    assert {phase for phase, _, _ in found} == {"clone", "read-plain", "read-clones", "write-plain", "write-clones"}


def test_clones_say_so_where_a_file_system_has_none(assay: Assay, tmp_path: Path) -> None:
    with loop_device(640 * MIB, backing=tmp_path) as device, filesystem(device, "ext4") as at:
        done = assay("run", "clones", at, "--json", "--no-report", "--set=size=1MiB", "--set=phase_seconds=1s")

    assert done.returncode == 3
    assert "the file system has no reflinks, XFS and Btrfs have" in done.stderr


def test_a_file_system_is_filled_to_its_share_in_between_and_emptied_after(assay: Assay, tmp_path: Path) -> None:
    with loop_device(1024 * MIB, backing=tmp_path) as device, filesystem(device, "ext4") as at:
        before = shutil.disk_usage(at).used
        words = ("--set=size=16MiB", "--set=files=2000", "--set=phase_seconds=300ms", "--set=used_share=0.6")
        found = by_name(run(assay, "fill-80", at, *words))
        assert {phase for phase, _, _ in found} >= {"read-before", "read-full", "create-before", "create-full"}
        subprocess.run(["sync", "-f", at], check=True)
        assert shutil.disk_usage(at).used - before < 8 * MIB


def test_zeros_are_zeros_on_the_disk_and_real_data_is_not(assay: Assay, directory: Path, tmp_path: Path) -> None:
    load = tmp_path / "kept.toml"
    load.write_text(suites.text("zeros").replace('size = "${size}"', 'size = "${size}"\nkeep = true'))

    run(assay, str(load), directory, "--size=4MiB", "--set=phase_seconds=200ms")

    real, zeros = ((directory / "assay-data" / name / "f00000000").read_bytes() for name in ("real", "zeros"))
    assert zeros == bytes(4 * MIB)
    blocks = [real[at : at + 4096] for at in range(0, len(real), 4096)]
    assert len(set(blocks)) == len(blocks)


def test_a_suite_of_the_users_runs_by_its_name_and_is_told_from_assays(
    assay: Assay, directory: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "config" / "assay" / "suites"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    for name in ("photos", "mail"):
        text = suites.text("zeros").replace('name = "zeros"\ndesc', f'name = "{name}"\ndesc')
        (folder / f"{name}.toml").write_text(text)
        (folder / f"{name}.toml").chmod(0o644)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    words = ("--scale=0.001", "--set=phase_seconds=200ms", "--no-report", "--json")

    own = json.loads(assay("run", "photos", directory, *words, env=env).stdout)
    taken = assay("run", "mail", directory, *words, env=env)

    assert {one["phase"] for one in own["results"]} >= {"write-zeros", "read-real"}
    assert f"for yours write {folder}/mail.toml" in taken.stderr
    assert {one["phase"] for one in json.loads(taken.stdout)["results"]} == {"serve"}


@pytest.mark.quiet
@pytest.mark.held
def test_two_loads_share_a_device_of_known_rate(assay: Assay) -> None:
    with (
        truth_disk(512 * MIB, most_per_s=400) as disk,
        filesystem(disk.device, mkfs_options=("-b", "4096")) as directory,
    ):
        words = ("size=16MiB", "block=4KiB", "random_block=4KiB", "random_workers=1", "phase_seconds=4s")
        document = run(assay, "interference", directory, *(part for word in words for part in ("--set", word)))

    shares = {one["result"]: one for one in document["solo_shares"]}
    assert list(shares) == [
        "two-streams/first/read",
        "two-streams/second/read",
        "stream-and-random/stream/read",
        "stream-and-random/random/read",
    ]
    rates = {one["label"]: one["iops"] for one in document["results"]}
    for one in shares.values():
        assert one["share"] == pytest.approx(rates[one["result"]] / rates[one["solo"]])
        low, high = one["interval"]
        assert low <= one["share"] <= high
    # One after the other it is asked as fast as it serves, or nearly; together they share that.
    for phase in ("two-streams", "stream-and-random"):
        assert sum(one["share"] for name, one in shares.items() if name.startswith(f"{phase}/")) >= 0.95
        assert sum(rate for label, rate in rates.items() if label.startswith(f"{phase}/")) == pytest.approx(
            400, rel=0.05
        )


PER_S, NEAR = 100, 0.04


def shares_of(
    assay: Assay, suite: str, words: Sequence[str], places: tuple[Path, Path], group: ControlGroup
) -> dict[str, dict[str, Any]]:
    """Give the shares of loads in two directories, by result; alone, each must have the device's rate."""
    sets = [part for word in (*words, "size=8MiB", "phase_seconds=4s") for part in ("--set", word)]
    with going_first():
        document = run(assay, suite, places[0], "--target", f"other={places[1]}", *sets, prefix=group.prefix)
    alone = [one["iops"] for one in document["results"] if one["phase"].endswith("-alone")]
    assert alone == pytest.approx([PER_S] * 3, rel=NEAR)
    return {one["result"]: one for one in document["solo_shares"]}


@pytest.mark.quiet
def test_a_load_on_devices_of_its_own_is_left_alone_and_one_on_the_same_is_not(assay: Assay, tmp_path: Path) -> None:
    with (
        loop_device(512 * MIB, backing=tmp_path) as one,
        loop_device(512 * MIB, backing=tmp_path) as other,
        filesystem(one, "ext4") as first,
        filesystem(other, "ext4") as second,
        blkio_limits([one, other], {"read_iops": PER_S}) as group,
    ):
        shares = shares_of(assay, "isolation", ["block=4KiB", "workers=1"], (first, second), group)

    truth = {"near": ("target", 0.5), "far": ("none", 1.0)}
    assert {(name.split("/")[0], name.split("/")[1]) for name in shares} == {
        (f"beside-{which}", job) for which in truth for job in ("first", which)
    }
    for name, share in shares.items():
        shared, expected = truth[name.split("/")[0].removeprefix("beside-")]
        assert share["shared"] == shared
        assert share["share"] == pytest.approx(expected, abs=0.15)


@pytest.mark.quiet
@pytest.mark.held
def test_loads_in_two_directories_of_one_device_share_its_rate(assay: Assay, tmp_path: Path) -> None:
    with (
        loop_device(512 * MIB, backing=tmp_path) as device,
        filesystem(device, "ext4") as directory,
        blkio_limits([device], {"read_iops": PER_S}) as group,
    ):
        (directory / "other").mkdir()
        words = ["block=4KiB", "random_block=4KiB", "random_workers=1"]
        shares = shares_of(assay, "interference", words, (directory, directory / "other"), group)

    assert len(shares) == 4
    for share in shares.values():
        assert share["shared"] == "device"
        assert share["share"] == pytest.approx(0.5, abs=0.1)
