"""Bonnie++'s command line against Plans, its output against recorded output, its lines against published ones."""

import csv
import dataclasses
import shlex
from pathlib import Path

import msgspec
import pytest

from assay import events, plan
from assay.analysis.record import RunRecord, read
from assay.bundle.tables import INTERVALS
from assay.errors import InputError
from assay.plan.walk import job_ops
from assay.tools.bonnie import FRONT_END
from assay.tools.bonnie.figures import figures_of
from assay.tools.bonnie.line import header, line_of
from assay.tools.bonnie.measured import MeasuredPass, MeasuredTest, fold_passes
from assay.tools.bonnie.plan import FILE_TESTS, IO_TESTS, TESTS, to_plan
from assay.tools.bonnie.settings import Settings, choose_size, parse
from assay.tools.bonnie.table import table
from assay.tools.over_clients import Fold
from assay.units import MIB
from bonnie_lines import parse_line
from goldens import Goldens
from unit import vega
from unit.classic_runs import finished
from unit.classic_runs import table as rows_of
from unit.memory_run import MemoryRun, hello

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "bonnie"
REQUESTS = sorted(GOLDEN.glob("*.args"))

# A line of bonnie++ 1.03d as published ("Decoding Bonnie++", 2008-12-15), and what its author read from it.
PUBLISHED = (
    "v2c01,8G,81160,92,109588,38,89987,67,69763,88,113613,36,2635.7,67,"
    "16,687,10,+++++,+++,1517,9,647,10,+++++,+++,1569,8"
)
DECODED = """\
field,unit,value,cpu_pct
putc_write,KB/s,81160,92
block_write,KB/s,109588,38
rewrite,KB/s,89987,67
getc_read,KB/s,69763,88
block_read,KB/s,113613,36
random_seeks,/s,2635.7,67
seq_create,/s,687,10
seq_stat,/s,-1,-1
seq_delete,/s,1517,9
ran_create,/s,647,10
ran_stat,/s,-1,-1
ran_delete,/s,1569,8
"""

# What the Debian package of 2.00a printed on a machine of 2 GiB, but for its slip: the count 16384 in place of 2212.
TABLE_200 = """\
Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
anchors          4G  780k  99  392m  92  1.1g  79 1385k  99  4.1g  99  1231  16
Latency             12934us   10478us    9640us    7914us     552us    6062us
Version 2.00a       ------Sequential Create------ --------Random Create--------
anchors             -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16 +++++ +++ +++++ +++ +++++ +++  2212  99 +++++ +++ +++++ +++
Latency               597us     380us    1459us    1899us      72us    1408us
"""
LINE_200 = (
    "1.98,2.00a,anchors,1,1795262247,4G,,8192,5,780,99,401155,92,1164520,79,1385,99,4315504,99,1231,16,16,,,,,"
    "+++++,+++,+++++,+++,+++++,+++,2212,99,+++++,+++,+++++,+++,12934us,10478us,9640us,7914us,552us,6062us,597us,380us,"
    "1459us,1899us,72us,1408us"
)
TABLE_103 = """\
Version 1.03d       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
h103          1100M 56894  39 572139  47 852257  40 80708  42 1216761  30 +++++ +++
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max:min        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
      4:4096:1024/4   685  43 +++++ +++   649   2   256  26 +++++ +++ +++++ +++
"""
LINE_103 = (
    "h103,1100M,56894,39,572139,47,852257,40,80708,42,1216761,30,+++++,+++,4:4096:1024/4,685,43,+++++,+++,649,2,256,26,"
    "+++++,+++,+++++,+++"
)


def made(arguments: str) -> plan.Plan:
    words = shlex.split(arguments)
    settings = choose_size(parse(words), ram_mib=8192)
    return to_plan(settings, FRONT_END.origin(words), directory=Path("/mnt/a directory"), seed=7)


def measured(arguments: str, line: str, *, machine: str, size_mib: int, seed: int = 0) -> MeasuredPass:
    """A run that came to the rates of a line; what the line hides took 0.2 s."""
    read = parse_line(line)
    tests = {}
    for name, cell in read.cells.items():
        latency = read.slowest.get(name, "0us")
        assert latency.endswith("us")
        tests[name] = MeasuredTest(
            name=name,
            rate=cell.rate or 5.0,
            cpu=(cell.cpu_percent or 0) + 0.5,
            seconds=0.2 if cell.rate is None else 1.0,
            slowest_ns=int(latency.removesuffix("us")) * 1000,
        )
    settings = dataclasses.replace(parse(shlex.split(arguments)), size_mib=size_mib)
    return MeasuredPass(settings=settings, machine=machine, seed=seed, tests=tests)


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.stem)
def test_a_command_line_becomes_the_plan_beside_it(path: Path, goldens: Goldens) -> None:
    goldens.check_plan(path.with_suffix(".json"), made(path.read_text().strip()))


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.stem)
def test_settings_can_be_read_again_from_the_plan(path: Path) -> None:
    words = shlex.split(path.read_text())

    again = FRONT_END.settings_of(made(path.read_text().strip()))

    assert again == choose_size(parse(words), ram_mib=8192)


def test_values_may_stand_in_the_same_word_and_flags_together() -> None:
    assert parse(shlex.split("-qbs16:64k -d/x -f2")) == parse(shlex.split("-q -b -s 16:64k -d /x -f2"))


def test_units_are_those_of_each_option() -> None:
    settings = parse(shlex.split("-s 2g:64k:2k:3 -n 3:8k:4k:2:16k"))

    assert (settings.size_mib, settings.chunk_bytes, settings.seeks, settings.seekers) == (2048, 65536, 2048, 3)
    assert (settings.files, settings.max_bytes, settings.min_bytes) == (3072, 8192, 4096)
    assert (settings.directories, settings.file_chunk_bytes) == (2, 16384)


@pytest.mark.parametrize(("ram_mib", "size_mib"), [(100, 300), (2048, 4096), (8000, 16384), (24105, 48210)])
def test_the_size_is_twice_the_memory_in_full_gibibytes_where_more_than_half_of_one_is_left(
    ram_mib: int, size_mib: int
) -> None:
    # 2 x 8000 MiB are 15 GiB and 640 MiB; 2 x 24105 MiB are 47 GiB and 82 MiB.
    assert choose_size(parse([]), ram_mib=ram_mib).size_mib == size_mib


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("-s 100", "file size should be double RAM"),
        ("-s 16:3000 -r 0", "power of two"),
        ("-s 16:2m -r 0", "power of two"),
        ("-s 12x", "whole number"),
        ("-s 1:2:3:4:5", "at most 4"),
        ("-n 1:10:20 -r 0", "smallest file is larger"),
        ("-n 1:0:0:100000 -r 0", "the limit is 99999"),
        ("-n 1000000 -r 1000 -s 2000", "more than half"),
        ("-s 0 -n 0", "nothing is measured"),
        ("-D -s 16 -r 0", "add -f"),
        ("-p 2 -y s", "one at a time"),
        ("-p 0", "-1 to remove"),
        ("-y x", "s waits for semaphores"),
        ("-m a,b", "comma"),
        ("-z 1 -Z /dev/null", "use one"),
        ("-w", "no such option"),
        ("-s", "value is missing"),
        ("/mnt/disk", "-d /mnt/disk"),
        ("--format 3.0", "1.03, 1.96, 2.00"),
        ("--format 1.03 -D", "--format 2.00"),
        ("-x 0", "the minimum is 1"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_cure(arguments: str, part: str) -> None:
    with pytest.raises(InputError, match="bonnie") as caught:
        choose_size(parse(shlex.split(arguments)), ram_mib=8192)

    assert part in str(caught.value)


# -- the Plan ----------------------------------------------------------------------------------------------------------


def calls(job: plan.Job, actions: tuple[plan.Action, ...] | None = None) -> dict[str, float]:
    """Operations of one pass by name."""
    assert isinstance(job.body, plan.Loop)
    counts: dict[str, float] = {}
    for action in job.body.actions if actions is None else actions:
        match action:
            case plan.Do(op=op):
                inner: dict[str, float] = {op.name: 1.0}
            case plan.Group(actions=members):
                inner = calls(job, members)
            case plan.Repeat(times=times, actions=members):
                inner = {name: times * count for name, count in calls(job, members).items()}
            case plan.Choice(branches=branches):
                inner = {}
                for branch in branches:
                    for name, count in calls(job, branch.actions).items():
                        inner[name] = inner.get(name, 0.0) + branch.weight * count
            case _:
                raise AssertionError(action)
        for name, count in inner.items():
            counts[name] = counts.get(name, 0.0) + count
    return counts


def test_the_sequential_tests_transfer_what_the_original_transfers() -> None:
    phases = {phase.name: phase.jobs[0] for phase in made("-r 0 -s 16 -n 0").phases}

    # 16 MiB in chunks of 8 KiB are 2048; 3 MiB are 384, each of 8192 calls of a byte.
    assert calls(phases["putc_write"]) == {"open": 1, "chunk": 384, "fsync": 1, "close": 1}
    for name in ("putc_write", "getc_read"):
        (chunk,) = {op.name: op for op in job_ops(phases[name]) if op.name == "chunk"}.values()
        assert (chunk.size, chunk.flags.chunk_bytes) == (plan.Fixed(value=8192.0), 1)
    assert calls(phases["block_write"]) == {"unlink": 1, "open": 1, "write": 2048, "fsync": 1, "close": 1}
    assert calls(phases["rewrite"]) == {"open": 1, "read": 2048, "write": 2048, "fsync": 1, "close": 1}
    assert calls(phases["block_read"]) == {"open": 1, "read": 2048, "fsync": 1, "close": 1}
    assert calls(phases["random_seeks"]) == pytest.approx({"read": 1.0, "write": 0.1})
    assert (phases["random_seeks"].stop.ops, phases["random_seeks"].workers) == (8192, 5)


def test_1_03_has_files_of_a_gibibyte_streams_and_no_flush() -> None:
    old = made("--format 1.03 -r 0 -s 2560 -n 0")
    phases = {phase.name: phase.jobs[0] for phase in old.phases}

    assert (old.file_sets[0].files, old.file_sets[0].size) == (3, plan.Fixed(value=float(1024 * MIB)))
    assert calls(phases["block_write"]) == {"unlink": 3, "open": 1, "next file": 2, "write": 327_680, "close": 1}
    for name, kind in (("putc_write", plan.OpKind.WRITE), ("getc_read", plan.OpKind.READ)):
        assert calls(phases[name]) == {"open": 1, "next file": 2, "chunk": 327_680, "close": 1}
        assert {op.op for op in job_ops(phases[name]) if op.name == "chunk"} == {kind}
        assert phases[name].backend == plan.Stdio(per_character=True)
    # Nine looks, then one that writes: a tenth of each seeker's seeks, not a share by chance.
    assert calls(phases["random_seeks"]) == {"read": 10, "write": 1}
    assert (phases["random_seeks"].workers, phases["random_seeks"].kind) == (3, plan.WorkerKind.PROCESS)


def test_the_last_file_of_1_03_is_met_as_often_as_its_share_of_the_chunks() -> None:
    seeks = next(phase for phase in made("--format 1.03 -r 0 -s 2560 -n 0").phases if phase.name == "random_seeks")

    read = next(op for op in job_ops(seeks.jobs[0]) if op.name == "read")

    assert isinstance(read.file, plan.FromSet)
    assert isinstance(read.file.pick, plan.RandomFile)
    assert isinstance(read.file.pick.distribution, plan.Tabular)
    full, last = read.file.pick.distribution.rows
    assert (full[1:], last[1:]) == ((0.0, 2 / 3), (2 / 3, 1.0))
    assert full[0] / last[0] == 4  # 2 GiB to 512 MiB


def test_with_x_every_test_is_done_again_and_again() -> None:
    once, thrice = (made(f"-r 0 -s 16 -n 1 {times}").phases for times in ("", "-x 3"))

    assert thrice == tuple(msgspec.structs.replace(phase, repeat=repeat) for repeat in range(3) for phase in once)


def test_directories_hold_one_file_more_than_their_share() -> None:
    sets = {item.name: item for item in made("-r 0 -s 0 -n 1:0:0:4").file_sets}

    assert sets["sequential"].layout == plan.PerDirectory(files=257)


# -- output ------------------------------------------------------------------------------------------------------------


def test_the_table_of_2_00_is_the_original_s_with_rates_where_it_prints_counts() -> None:
    one = measured("-m anchors", LINE_200, machine="anchors", size_mib=4096, seed=1795262247)

    assert table(one) == TABLE_200
    assert line_of(one) == LINE_200


def test_the_table_of_1_03_is_the_original_s() -> None:
    one = measured("--format 1.03 -n 4:4096:1024:4", LINE_103, machine="h103", size_mib=1100)

    assert table(one) == TABLE_103
    assert line_of(one) == LINE_103


def test_the_head_names_as_many_fields_as_a_line_has() -> None:
    one = measured("", LINE_200, machine="anchors", size_mib=4096)
    early = measured("--format 1.96", LINE_200, machine="anchors", size_mib=4096)

    assert len(header("2.00").split(",")) == len(line_of(one).split(",")) == 50
    assert len(header("1.96").split(",")) == len(line_of(early).split(",")) == 48
    named = dict(zip(header("2.00").split(","), line_of(one).split(","), strict=True))
    assert (named["put_block"], named["seeks_cpu"], named["ran_create"]) == ("401155", "16", "2212")


def test_a_part_that_was_not_run_is_blank_in_the_table_and_empty_in_the_line() -> None:
    files = measured("--format 1.03 -s 0", "v2c01" + "," * 26, machine="v2c01", size_mib=0)
    data = measured("--format 1.03 -n 0", PUBLISHED, machine="v2c01", size_mib=8192)

    assert line_of(files).startswith("v2c01" + "," * 14 + "16,")
    assert line_of(data) == ",".join(PUBLISHED.split(",")[:14]) + "," * 13
    assert "Sequential Create" not in table(data)


def test_a_long_name_gives_way_to_the_size() -> None:
    one = measured("", LINE_200, machine="averyveryverylongmachinename", size_mib=16)

    assert table(one).splitlines()[3].startswith("averyveryverylo 16M  780k")


def test_latencies_change_their_unit_where_the_original_does() -> None:
    def shown(nanoseconds: int) -> str:
        one = measured("", LINE_200, machine="x", size_mib=16)
        slow = MeasuredTest(name="rewrite", rate=1.0, cpu=0.0, seconds=1.0, slowest_ns=nanoseconds)
        return line_of(MeasuredPass(one.settings, "x", 0, {"rewrite": slow})).split(",")[40]

    assert [shown(ns) for ns in (99_999_000, 100_000_000, 99_999_999_000, 100_000_000_000)] == [
        "99999us",
        "100ms",
        "100000ms",
        "100s",
    ]


def test_a_published_line_is_read_as_its_author_read_it() -> None:
    line = parse_line(PUBLISHED)

    assert (line.format_version, line.machine, line.size, line.files) == ("1.03", "v2c01", "8G", "16")
    for row in csv.DictReader(DECODED.splitlines()):
        cell = line.cells[row["field"]]
        assert (-1 if cell.rate is None else cell.rate) == float(row["value"])
        assert (-1 if cell.cpu_percent is None else cell.cpu_percent) == int(row["cpu_pct"])


def test_lines_of_the_later_formats_are_read_too() -> None:
    late = parse_line(LINE_200)
    fields = LINE_200.split(",")
    early = parse_line(",".join(["1.96", "1.96", *fields[2:7], *fields[9:]]))

    assert (late.format_version, late.machine, late.size, late.files) == ("1.98", "anchors", "4G", "16")
    assert early.cells == late.cells
    assert set(late.cells) == set(TESTS) == {*IO_TESTS, *FILE_TESTS}
    assert late.slowest["ran_delete"] == "1408us"


@pytest.mark.parametrize("text", ["", "a,b,c", LINE_200.replace("1.98", "2.5", 1), LINE_200.replace("780", "many", 1)])
def test_what_is_no_line_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"bonnie\+\+"):
        parse_line(text)


def test_figures_show_what_the_table_hides_and_say_so() -> None:
    one = measured("-m anchors", LINE_200, machine="anchors", size_mib=4096)

    figures = figures_of([one])

    assert [figure.slug for figure in figures] == ["bonnie-file", "bonnie-seeks", "bonnie-files"]
    for figure in figures:
        vega.check(figure)
    files = {row[0]: row for row in figures[2].table.rows}
    assert files["create, in order"][1:] == ("5.00 files/s", "0 %", "597 µs", "200 ms")
    assert "less than 0.5 s" in figures[2].caption
    assert "less than 0.5 s" not in figures[1].caption


def run_of(arguments: str, done: dict[str, tuple[str, int, int]]) -> RunRecord:
    """A run whose tests each took a second: operation, how many succeeded, how many failed."""
    asked = made(arguments)
    intervals: list[dict[str, object]] = []
    lines: list[events.Event] = [hello()]
    for index, phase in enumerate(asked.phases):
        if phase.name in done:
            operation, ops, errors = done[phase.name]
            job, t_s = phase.jobs[0].name, 10.0 * index + 1
            intervals.append({
                "phase_index": index, "job": job, "operation": operation, "t_s": t_s, "dt_s": 1.0, "ops": ops,
                "bytes": ops * 8192, "errors": errors, "latency_max_ns": 1000, "latency_sum_ns": ops * 1000,
            })  # fmt: skip
            lines.append(finished(index, job, begin_ns=int((t_s - 1) * 1e9), end_ns=int(t_s * 1e9), ops=ops + errors))
    return read(MemoryRun(plan=asked, lines=lines, tables={INTERVALS: rows_of(INTERVALS, intervals)}))


def test_a_test_in_which_every_operation_failed_is_blank_and_the_others_are_printed() -> None:
    run = run_of(
        "-r 0 -s 4 -n 0 -f -m box",
        {"block_write": ("write", 512, 0), "rewrite": ("chunk", 512, 0), "block_read": ("read", 0, 512)},
    )

    cells = parse_line(FRONT_END.output(run).text().splitlines()[-1]).cells

    assert cells["block_write"].rate == 4096
    assert set(cells) == {"block_write", "rewrite"}


def test_of_several_clients_a_rate_has_its_own_cpu_and_a_mean_hides_what_one_was_too_fast_for() -> None:
    runs = {name: measured("", LINE_200, machine=name, size_mib=4096) for name in ("a", "b")}
    of_b = dict(runs["b"].tests)
    of_b["rewrite"] = MeasuredTest(name="rewrite", rate=1000.0, cpu=40.5, seconds=9.0, slowest_ns=1_000)
    of_b["getc_read"] = MeasuredTest(name="getc_read", rate=9000.0, cpu=99.0, seconds=0.2, slowest_ns=1_000)
    del of_b["block_read"]
    passes = [runs["a"], dataclasses.replace(runs["b"], tests=of_b)]

    mean, slowest, fastest = (parse_line(line_of(fold_passes(passes, fold))) for fold in Fold)

    # a: 1,164,520 KiB/s with 79 % of a CPU and 9640 us.
    assert [one.cells["rewrite"].rate for one in (mean, slowest, fastest)] == [(1_164_520 + 1000) // 2, 1000, 1_164_520]
    assert [one.cells["rewrite"].cpu_percent for one in (mean, slowest, fastest)] == [60, 40, 79]
    assert [one.slowest["rewrite"] for one in (mean, slowest, fastest)] == ["4820us", "9640us", "1us"]
    assert [one.cells["getc_read"].rate for one in (mean, slowest, fastest)] == [None, 1385, None]
    assert "block_read" not in mean.cells
    assert line_of(fold_passes(passes, Fold.MEAN)).split(",")[2] == "mean-of-2"


def test_defaults_are_those_of_the_original() -> None:
    assert parse([]) == Settings(
        version="2.00", chunk_bytes=8192, seeks=8192, seekers=5, number=16, directories=1, concurrency=1
    )
    assert parse(["--format", "1.03"]).seekers == 3
