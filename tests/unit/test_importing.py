"""Outputs of other tools become runs: every number with the unit that the tool means, and null for what it does not say."""

import json
from pathlib import Path

import pytest

from assay import time_zone
from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.bundle.catalog import list_runs
from assay.compare.arms import Arm, Sample
from assay.compare.comparison import compare
from assay.decode.readers import read as read_output
from assay.errors import BundleError, InputError
from assay.importing import keep, originals
from assay.report.head import head_of
from assay.results import Document, ForeignSource, Result
from assay.time_zone import zone_name
from assay.verdicts import ComparisonVerdict, TrustLevel
from unit.forged_bundles import write_manifest

SAMPLES = Path(__file__).parent / "imported"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
TABLE = "# tool: dd\n# date: 2009-06-12\nlabel,unit,old,new\nread,MB/s,{old},{new}\nread,us p99,900,450\n"


def imported(file: Path, runs: Path, tool: str | None = None) -> dict[str | None, Document]:
    """Import a file; give what each of its runs came to, by the machine, as it is read from the folder again."""
    kept = [keep(original, runs, ("assay", "import", str(file))) for original in originals(str(file), tool)]
    found = (document(read(RunBundle.open(bundle.path))) for bundle in kept)
    return {one.run.foreign.machine if one.run.foreign else "": one for one in found}


def only(name: str, runs: Path) -> Document:
    (found,) = imported(SAMPLES / name, runs).values()
    return found


def results(found: Document) -> dict[str, Result]:
    return {result.label: result for result in found.results}


def rates(found: Document) -> dict[str, tuple[float | None, float | None]]:
    return {result.label: (result.throughput_bytes_per_s, result.iops) for result in found.results}


def table(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "table.csv"
    file.write_text(text)
    return file


# -- what each tool means ----------------------------------------------------------------------------------------------


def test_workers_of_fio_that_ran_at_once_are_added_up_and_are_no_repeats(tmp_path: Path) -> None:
    found = only("fio-3.33.json", tmp_path)

    of = results(found)
    assert list(of) == ["1-a/read", "1-a/write", "2-b/write"]
    both = of["1-a/read"]
    # Of two workers: 496 and 486 reads in 327 and 325 ms.
    assert (both.workers, both.ops, both.bytes, both.seconds) == (2, 982, 2031616 + 1990656, 0.327)
    assert both.iops == pytest.approx(982 / 0.327)
    assert both.throughput_bytes_per_s == pytest.approx((2031616 + 1990656) / 0.327)
    assert both.latency_ns.mean == pytest.approx((496 * 653639.768145 + 486 * 664094.751029) / 982)
    assert (both.latency_ns.p50, both.latency_ns.max) == (None, 10748119)
    alone = of["2-b/write"]
    assert (alone.throughput_bytes_per_s, alone.workers) == (349525333, 1)
    assert alone.latency_ns.p50 is not None
    # 64 operations are too few for it.
    assert alone.latency_ns.p99 is None
    assert found.run.foreign
    assert (found.run.foreign.version, found.run.foreign.measured_utc) == ("3.33", "2026-11-25T04:51:48Z")


def test_fio_before_3_counts_kib_and_microseconds(tmp_path: Path) -> None:
    (result,) = only("fio-2.2.json", tmp_path).results

    assert (result.bytes, result.throughput_bytes_per_s) == (40960 * KIB, 2048 * KIB)
    assert (result.iops, result.ops, result.seconds) == (512, 10240, 20)
    # 10,240 operations of 4 KiB are what it moved.
    assert result.ops
    assert result.bytes == result.ops * 4 * KIB
    assert (result.latency_ns.p99, result.latency_ns.p99_9, result.latency_ns.max) == (506e3, 812e3, 6329e3)


def test_iozone_has_kib_a_second_and_the_records_that_they_are_of(tmp_path: Path) -> None:
    threads = rates(only("iozone-throughput.txt", tmp_path))
    cells = rates(only("iozone-table.txt", tmp_path))

    assert threads == {
        "write-4/write": (12727.5 * KIB, 12727.5 / 64),
        "read-4/read": (64000 * KIB, 1000),
    }
    assert cells["reread-256-64/reread"] == (7735574 * KIB, 7735574 / 64)


def test_lines_of_bonnie_are_repeats_of_their_machine(tmp_path: Path) -> None:
    found = imported(SAMPLES / "bonnie-1.03.csv", tmp_path)

    assert list(found) == ["v2c01", "v2c02"]
    of = results(found["v2c01"])
    assert of["block_write/*"].throughput_bytes_per_s == 109588 * KIB
    assert of["block_write/*#2"].throughput_bytes_per_s == 109688 * KIB
    assert (of["random_seeks/seek"].iops, of["random_seeks/seek"].workers) == (2635.7, 3)
    # Too quick for a figure: not zero.
    assert of["seq_stat/stat"].iops is None
    assert found["v2c02"].run.repeats == 1


def test_the_longest_latency_of_bonnie_2_is_of_its_test(tmp_path: Path) -> None:
    of = results(only("bonnie-2.00.csv", tmp_path))

    assert of["putc_write/*"].latency_ns.max == 15_148_000
    assert of["random_seeks/seek"].latency_ns.max == 139e6
    assert of["ran_delete/delete"].latency_ns.max == 64_000


def test_postmark_has_megabytes_that_are_binary(tmp_path: Path) -> None:
    found = only("postmark.txt", tmp_path)

    assert rates(found)["data read"] == (2.66 * MIB, None)
    assert results(found)["transactions/*"].iops == 1250
    assert results(found)["transactions/*"].seconds == 16


def test_phases_of_elbencho_with_other_threads_are_no_repeats(tmp_path: Path) -> None:
    found = only("elbencho.csv", tmp_path)

    of = {label: result for label, result in results(found).items() if label.startswith("read")}
    assert list(of) == [
        "read threads=8 depth=4 block=1048576 direct/read",
        "read threads=8 depth=4 block=1048576 direct/read#2",
        "read threads=16 depth=4 block=1048576 direct/read",
    ]
    first = next(iter(of.values()))
    assert (first.throughput_bytes_per_s, first.iops, first.seconds) == (9048 * MIB, 9048, 0.905)
    assert (first.latency_ns.mean, first.latency_ns.max) == (3_400_000, 52_000_000)
    assert found.run.foreign
    assert found.run.foreign.measured_utc == "2026-05-22T14:09:38Z"


def test_both_files_of_elbencho_say_the_same(tmp_path: Path) -> None:
    (result,) = only("elbencho.json", tmp_path).results

    assert (result.throughput_bytes_per_s, result.iops, result.seconds) == (9048 * MIB, 9048, 0.905)
    assert (result.latency_ns.mean, result.latency_ns.max) == (3_400_000, 52_000_000)
    assert (result.workers, result.queue_depth) == (8, 4)


def test_only_the_means_of_vdbench_are_figures(tmp_path: Path) -> None:
    flat, summary = only("vdbench-flatfile.txt", tmp_path), only("vdbench-summary.txt", tmp_path)

    assert rates(flat) == {
        "rd1 iorate=100.0000 threads=2": (0.4063 * MIB, 104),
        "rd2 iorate=max threads=2": (19.5313 * MIB, 5000),
    }
    assert flat.results[1].latency_ns.mean == pytest.approx(300_000)
    assert flat.results[1].latency_ns.max == pytest.approx(9_500_000)
    # The run of one interval has no mean: `avg_2-1` is of none.
    assert rates(summary) == {"rd1": (0.1 * MIB, 103)}
    assert summary.results[0].latency_ns.mean == pytest.approx(12_000)


def test_trials_of_phoronix_are_repeats_and_what_is_no_rate_has_no_value(tmp_path: Path) -> None:
    found = imported(SAMPLES / "phoronix.xml", tmp_path)

    old = found["old disk"]
    assert [result.iops for result in old.results[:3]] == [100, 101, 102]
    assert [result.seconds for result in old.results[3:6]] == [12.4, 12.5, 12.6]
    assert old.results[3].iops is None
    game = old.results[6]
    assert (game.iops, game.throughput_bytes_per_s, game.seconds) == (None, None, None)
    assert len(found["new disk"].results) == 3
    assert found["new disk"].run.foreign
    assert found["new disk"].run.foreign.measured_utc == "2023-07-19T09:00:00Z"


def test_what_io500_marks_as_invalid_is_objected_to(tmp_path: Path) -> None:
    found = only("io500.txt", tmp_path)

    of = results(found)
    assert of["ior-easy-write"].throughput_bytes_per_s == pytest.approx(0.146316 * GIB)
    assert of["find"].iops == pytest.approx(22930.156)
    objected = of["mdtest-easy-write"]
    assert {reason.text for reason in objected.trust.reasons} == {"not measured by Assay", "the tool reports a fault"}
    assert {finding.severity for finding in objected.findings if finding.id == "foreign"} == {"warning", "invalid"}
    assert [Sample("r", "", of[name], is_foreign=True).is_usable for name in ("find", "mdtest-easy-write")] == [
        True,
        False,
    ]
    assert found.run.exit_code == 1


def test_a_published_table_has_a_run_for_each_column(tmp_path: Path) -> None:
    found = imported(SAMPLES / "table-postmark.csv", tmp_path)

    assert len(found) == 7
    ext4 = results(found["ext4 noatime"])
    assert (ext4["read"].throughput_bytes_per_s, ext4["transactions"].iops) == (9.62e6, 416)
    assert found["ext4 noatime"].run.foreign
    assert found["ext4 noatime"].run.foreign.tool == "postmark"


def test_rows_of_one_label_are_repeats_or_one_result_by_the_kind_of_their_units(tmp_path: Path) -> None:
    text = "label,unit,a\nread,ops/s,100\nread,us p99,900\nread,ops/s,110\nread,us p99,800\nread,Gbit/s,8\n"

    found = imported(table(tmp_path, text), tmp_path / "runs")["a"]

    assert [(r.label, r.iops, r.latency_ns.p99, r.throughput_bytes_per_s) for r in found.results] == [
        ("read", 100, 900e3, 1e9),
        ("read#2", 110, 800e3, None),
    ]


# -- foreign -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_no_number_of_another_tool_is_trusted_and_its_text_is_kept(sample: str, tmp_path: Path) -> None:
    for found in imported(SAMPLES / sample, tmp_path).values():
        assert found.run.foreign
        assert found.run.seconds is None
        assert found.results
        assert {result.trust.level for result in found.results} == {TrustLevel.NO}
        assert {result.trust.reasons[-1].text for result in found.results} == {"not measured by Assay"}
        assert not any(result.window_s or result.steady or result.limiter for result in found.results)
        bundle = RunBundle.open(Path(found.run.bundle))
        bundle.verify()
        assert (bundle.path / "original.txt").read_bytes() == (SAMPLES / sample).read_bytes()
    listed = list_runs(tmp_path)
    assert listed
    assert all(run.is_foreign and run.seconds is None for run in listed)


def test_a_foreign_run_whose_text_is_another_is_damaged(tmp_path: Path) -> None:
    bundle = RunBundle.open(Path(only("fio-2.2.json", tmp_path).run.bundle))
    (bundle.path / "original.txt").write_text("other")

    with pytest.raises(BundleError, match=r"original\.txt has"):
        bundle.verify()
    with pytest.raises(BundleError, match="another hash"):
        document(read(bundle))


def test_a_foreign_run_without_its_text_is_damaged(tmp_path: Path) -> None:
    bundle = RunBundle.open(Path(only("fio-2.2.json", tmp_path).run.bundle))
    manifest = json.loads((bundle.path / "manifest.json").read_text())
    del manifest["files"]["original.txt"]
    write_manifest(bundle.path, json.dumps(manifest).encode())

    with pytest.raises(BundleError, match=r"does not have original\.txt"):
        document(read(RunBundle.open(bundle.path)))


# -- comparing ---------------------------------------------------------------------------------------------------------


def test_foreign_runs_are_compared_by_their_repeats(tmp_path: Path) -> None:
    found = imported(SAMPLES / "phoronix.xml", tmp_path)

    (against,) = compare([Arm.of("old", [found["old disk"]]), Arm.of("new", [found["new disk"]])]).against

    (row,) = against.rows
    assert (row.metric, row.verdict) == ("iops", ComparisonVerdict.BETTER)
    assert row.ratio == pytest.approx(2000 / 101, rel=0.001)
    assert against.foreign == ("A", "B")
    assert against.order_known


def test_what_gives_no_rate_is_compared_by_its_time_and_less_is_better(tmp_path: Path) -> None:
    text = "label,unit,slow,fast\n" + "".join(f"make,s,{20 + i},{10 + i / 2}\n" for i in (0.0, 0.1, 0.2, 0.3, 0.4))
    found = imported(table(tmp_path, text), tmp_path / "runs")

    (against,) = compare([Arm.of("slow", [found["slow"]]), Arm.of("fast", [found["fast"]])]).against

    (row,) = against.rows
    assert (row.metric, row.verdict) == ("seconds", ComparisonVerdict.BETTER)
    assert row.ratio == pytest.approx(0.5)
    # A sum of times is no rate.
    assert against.geometric_mean is None
    assert not against.order_known


def test_a_file_that_was_imported_twice_is_one_run(tmp_path: Path) -> None:
    twice = [only("fio-2.2.json", tmp_path) for _ in range(2)]

    assert len({found.run.id for found in twice}) == 2
    assert len(Arm.of("twice", twice).documents) == 1


def test_a_percentile_of_a_table_is_compared_beside_its_rate(tmp_path: Path) -> None:
    found = imported(table(tmp_path, TABLE.format(old=100, new=50)), tmp_path / "runs")

    (against,) = compare([Arm.of("old", [found["old"]]), Arm.of("new", [found["new"]])]).against

    assert [row.metric for row in against.rows] == ["throughput", "p99"]
    assert [row.ratio for row in against.rows] == pytest.approx([0.5, 0.5])


# -- refused -----------------------------------------------------------------------------------------------------------


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<PhoronixTestSuite>&b;</PhoronixTestSuite>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing that anybody printed\n", "is not an output in a supported format: fio, elbencho, iozone"),
        (BOMB, "declares a document type or an entity"),
        (f"<PhoronixTestSuite>{'<a>' * 30}{'</a>' * 30}</PhoronixTestSuite>", "nested more than 20 deep"),
        ("<PhoronixTestSuite><a></PhoronixTestSuite>", "its XML is broken"),
        ("label,unit,a\nread,Mb/s,1\n", "the unit 'Mb/s' of 'read' is not one of these"),
        ("label,unit,a\nread,MB/s,nan\n", "'nan' in its line 2 is not a rate or a time"),
        ("label,unit,a,a\nread,MB/s,1,2\n", "needs a name for each"),
        ("label,unit,a\nread,MB/s\n", "its line 2 has 2 cells where the first has 3"),
        ('{"fio version": "fio-3.33", "jobs": [' + "[" * 100_000, "its JSON is broken"),
    ],
)
def test_what_cannot_be_read_as_meant_is_refused_in_a_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "given"
    file.write_text(text)

    with pytest.raises(InputError, match=said.replace("(", r"\(")) as refused:
        originals(str(file))
    assert "\n" not in str(refused.value)


def test_a_format_that_was_said_is_the_only_one_that_is_tried(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an output of iozone"):
        originals(str(SAMPLES / "io500.txt"), "iozone")
    with pytest.raises(InputError, match="there is no format 'spreadsheet'; there are fio"):
        originals(str(SAMPLES / "io500.txt"), "spreadsheet")
    with pytest.raises(InputError, match="there is no file"):
        originals(str(tmp_path / "absent"))


def test_more_machines_than_anybody_measured_are_refused(tmp_path: Path) -> None:
    names = [f"m{i}" for i in range(101)]
    text = f"label,unit,{','.join(names)}\nread,MB/s,{','.join('1' for _ in names)}\n"

    with pytest.raises(InputError, match="101 machines"):
        originals(str(table(tmp_path, text)))


def test_a_text_says_the_same_to_decode_and_to_import() -> None:
    text = (SAMPLES / "io500.txt").read_text()

    tool, figures = read_output(text, "captured")

    assert tool == "io500"
    assert [figure.test for figure in figures] == [
        "ior-easy-write",
        "mdtest-easy-write",
        "find",
        "ior-easy-read",
        "mdtest-hard-stat",
    ]


# -- when it was measured ----------------------------------------------------------------------------------------------

BEGAN = (
    "Run began: {}\n\tCommand line used: iozone -s 64 -r 4 -i 0\n\tOutput is in kBytes/sec\n iozone\n"
    "   64   4   100   200\n"
)


def when(tmp_path: Path, text: str, zone: str | None) -> ForeignSource:
    file = table(tmp_path, text)
    (original,) = originals(str(file), timezone=None if zone is None else zone_name(zone))
    bundle = keep(original, tmp_path / "runs", ("assay", "import"))
    told = document(read(RunBundle.open(bundle.path))).run.foreign
    assert told is not None
    return told


@pytest.mark.parametrize(
    ("began", "zone", "utc"),
    [
        ("Mon Jun 12 10:00:00 2006", None, "2006-06-12T10:00:00Z"),
        ("Mon Jun 12 10:00:00 2006", "UTC", "2006-06-12T10:00:00Z"),
        # Two hours from UTC in summer, one in winter.
        ("Mon Jun 12 10:00:00 2006", "Europe/Berlin", "2006-06-12T08:00:00Z"),
        ("Thu Jan 12 10:00:00 2006", "Europe/Berlin", "2006-01-12T09:00:00Z"),
        # The hour that clocks had twice is the earlier one: 02:30 in summer time.
        ("Sun Oct 29 02:30:00 2006", "Europe/Berlin", "2006-10-29T00:30:00Z"),
        ("Mon Jun 12 01:00:00 2006", "+05:30", "2006-06-11T19:30:00Z"),
        ("Mon Jun 12 20:00:00 2006", "-08:00", "2006-06-13T04:00:00Z"),
    ],
)
def test_a_time_without_a_zone_is_of_the_zone_that_was_said(
    began: str, zone: str | None, utc: str, tmp_path: Path
) -> None:
    told = when(tmp_path, BEGAN.format(began), zone)

    assert (told.measured_utc, told.assumed_zone, told.zone_is_given) == (utc, zone or "UTC", zone is not None)


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo", "-08:00"])
def test_a_time_with_a_zone_is_what_it_says(zone: str | None, tmp_path: Path) -> None:
    text = "# date: 2009-06-12T10:00+02:00\nlabel,unit,a\nread,MB/s,1\n"

    told = when(tmp_path, text, zone)

    assert (told.measured_utc, told.assumed_zone) == ("2009-06-12T08:00:00Z", None)


def test_what_counts_seconds_since_1970_is_of_no_zone(tmp_path: Path) -> None:
    told = when(tmp_path, (SAMPLES / "fio-3.33.json").read_text(), "Asia/Tokyo")

    assert (told.measured_utc, told.assumed_zone) == ("2026-11-25T04:51:48Z", None)


def test_a_system_of_phoronix_has_the_zone_that_was_said(tmp_path: Path) -> None:
    kept = [
        keep(original, tmp_path, ("assay", "import"))
        for original in originals(str(SAMPLES / "phoronix.xml"), timezone="America/New_York")
    ]

    told = [document(read(RunBundle.open(bundle.path))).run.foreign for bundle in kept]
    # 09:00 in July is four hours from UTC.
    assert "2023-07-19T13:00:00Z" in {one.measured_utc for one in told if one}


def test_the_zone_of_this_machine_is_kept_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TZ", ":Pacific/Auckland")

    told = when(tmp_path, BEGAN.format("Mon Jun 12 10:00:00 2006"), "local")

    assert (told.measured_utc, told.assumed_zone) == ("2006-06-11T22:00:00Z", "Pacific/Auckland")


@pytest.mark.parametrize("said", ["", ":"])
def test_a_machine_that_is_told_an_empty_zone_is_in_utc(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    monkeypatch.setattr(time_zone, "_LOCALTIME", tmp_path / "localtime")
    monkeypatch.delenv("TZ", raising=False)
    assert zone_name("local") == "Europe/Berlin"

    monkeypatch.setenv("TZ", said)

    assert zone_name("local") == "UTC"


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "", "../../etc/passwd", "Europe", "+25:00", "+14:30", "2:00", "CET-1CEST", "x" * 500]
)
def test_what_is_no_zone_is_refused_with_what_is_one(zone: str) -> None:
    with pytest.raises(InputError, match=r"unknown time zone .*Europe/Berlin.*\+02:00.*local"):
        zone_name(zone)


def test_who_shows_a_foreign_run_reads_which_zone_was_assumed(tmp_path: Path) -> None:
    (original,) = originals(str(table(tmp_path, BEGAN.format("Mon Jun 12 10:00:00 2006"))))
    record = read(keep(original, tmp_path / "runs", ("assay",)))

    told = dict(head_of(document(record), record).pairs)["foreign"]

    assert (
        "at 2006-06-12T10:00:00Z (times taken for UTC, assumed: the tool reports none, and --timezone was not given)"
        in told
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\u2028" * 600_001, "has 600001 lines; the limit is 600000"),
        ("x\r\n" * 600_001, "has 600001 lines"),
        ("label,unit,a\nx,MB/s,1" + "," * 600_000, "has 600004 values; the limit is 600000"),
        ("label,unit,a\n" + "x,MB/s,1\n" * 10_001, "has more than 10000 figures"),
        ("1 bytes copied, 1 s, 1 B/s\n" * 10_001, "more than 10000 copies"),
        ("Vdbench Starting RD=a avg_1-2 1\n" + "avg_1-2 1\n" + "Starting RD=a " * 10_001, "more than 10000 runs"),
        ("label,unit,a\n" + "x" * 200_000 + ",MB/s,1\n", "is an output of table, but field larger than field limit"),
        ("ISO date," + "x" * 70_000 + ",IOPS\n", "more than 65536 characters"),
    ],
)
def test_more_than_anybody_has_is_refused_while_it_is_read(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_output(text, "file")


def test_a_line_that_csv_does_not_take_is_no_line_of_bonnie() -> None:
    line = "1.96,1.96,box,1,1," + "x" * 200_000 + ",1" * 45

    with pytest.raises(InputError, match="is not an output in a supported format"):
        read_output(f"{line}\n", "file")
