"""IOzone's command line against the sizes, walks and refusals that were seen of the original, and its Plans."""

import shlex
from pathlib import Path

import pytest

from assay import events, plan
from assay.analysis.record import RunRecord, read
from assay.bundle.tables import INTERVALS
from assay.errors import InputError
from assay.plan.walk import job_actions, job_ops
from assay.tools.iozone import FRONT_END
from assay.tools.iozone.columns import COLUMNS
from assay.tools.iozone.options import parse
from assay.tools.iozone.plan import to_plan
from assay.tools.iozone.work import stride_rounds
from goldens import Goldens
from unit.classic_runs import finished, table
from unit.memory_run import MemoryRun, hello

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "iozone"
HERE = Path("/mnt/storage")

PLANS = {
    "all-patterns": "-s 20k -r 4k -j 2 -i 0 -i 2 -i 3 -i 4 -i 5 -I -e -c",
    "left-from-before": "-s 404k -r 4k -j 1 -i 1 -i 5 -w -K -J 2 -+n",
    "extensions": "-E -s 64 -r 16 -i 6 -i 7 -i 12 -+n",
    "mapped": "-B -G -s 128 -r 32 -i 0 -i 3 -D -f data/file -+n",
    "in-flight": "-H 4 -I -s 1m -r 64 -i 0 -i 2 -+n",
    "children": "-t 3 -T -s 128 -r 32 -i 0 -i 8",
    "own-files": "-t 2 -F a/one b/two -s 64 -r 4 -i 0 -x -w -o -+n",
}


def made(arguments: str) -> plan.Plan:
    words = shlex.split(arguments)
    return to_plan(parse(words), FRONT_END.origin(words), HERE)


@pytest.mark.parametrize("name", PLANS)
def test_an_argument_list_becomes_its_plan(name: str, goldens: Goldens) -> None:
    goldens.check_plan(GOLDEN / f"{name}.json", made(PLANS[name]))


@pytest.mark.parametrize("name", PLANS)
def test_the_settings_can_be_read_from_the_plan_again(name: str) -> None:
    assert FRONT_END.settings_of(made(PLANS[name])) == parse(shlex.split(PLANS[name]))


# -- sizes ---------------------------------------------------------------------------------------------------------------


def cells(arguments: str) -> list[tuple[int, int]]:
    return [(cell.file_kib, cell.record_kib) for cell in parse(shlex.split(arguments)).matrix.cells()]


def test_the_automatic_matrix_has_the_rows_of_the_original() -> None:
    # Counted in the output of IOzone 3.489 for -a -g 64M: rows for each file size.
    counted = {64: 5, 128: 6, 256: 7, 512: 8, 1024: 9, 2048: 10, 4096: 11, 8192: 12, 16384: 13, 32768: 9, 65536: 9}

    rows = cells("-a -g 64M -i 0 -i 1 -i 2")

    assert {size: sum(file_kib == size for file_kib, _ in rows) for size, _ in rows} == counted
    assert len(rows) == 99
    assert next(record for file_kib, record in rows if file_kib == 32768) == 64


def test_a_gigabyte_of_the_automatic_matrix_has_135_cells_for_each_test() -> None:
    # IOzone 3.489 prints 135 rows for -Rab FILE -g 1G.
    request = "-Rab x.xls -g 1G -i 0 -i 1 -i 2 -i 3 -i 4 -i 5"

    assert len(cells(request)) == 135
    assert len(made(request).phases) == 135 * 9


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", [(512, 4)]),
        ("-s 0 -r 0", [(512, 4)]),
        ("-s 1g -r 1M", [(1 << 20, 1024)]),
        ("-s 64 -s 256 -r 4 -r 128", [(64, 4), (256, 4), (256, 128)]),
        ("-a -s 128 -y 32", [(128, 32), (128, 64), (128, 128)]),
        ("-a -r 16 -g 128", [(64, 16), (128, 16)]),
        ("-a -n 100 -g 300 -y 8 -q 16", [(100, 8), (100, 16), (200, 8), (200, 16)]),
        ("-a -n 64 -g 300 -y 64 -+x 4", [(64, 64), (256, 64), (256, 256)]),
    ],
)
def test_sizes_are_those_of_the_original(arguments: str, expected: list[tuple[int, int]]) -> None:
    assert cells(arguments) == expected


@pytest.mark.parametrize("switch", ["-z", "-y 4", "-q 16m"])
def test_small_records_of_large_files_come_back_with(switch: str) -> None:
    assert (32768, 4) not in cells("-a -n 32m -g 32m")
    assert (32768, 4) in cells(f"-a -n 32m -g 32m {switch}")


def test_a_file_has_whole_records_only() -> None:
    phase = made("-s 1024 -r 3 -i 0").phases[0]
    [write] = [op for op in job_ops(phase.jobs[0]) if op.op is plan.OpKind.WRITE]
    [records] = [action for action in job_actions(phase.jobs[0]) if isinstance(action, plan.Repeat)]

    assert write.size == plan.Fixed(value=3072)
    assert records.times == 341


# -- what a test does ------------------------------------------------------------------------------------------------------


def strided(records: int, stride: int) -> list[int]:
    return [start + i * stride for start, count in stride_rounds(records, stride) for i in range(count)]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (19, list(range(19))),
        (20, [0, 17, *range(1, 19)]),
        (32, [0, 17, 1, 18, 2, 19, 3, 20, 4, 21, 5, 22, 6, 23, 7, 24, 8, 25, 9, 26, 10, 27, 11, 28, 12, 29,
              13, 14, 15, 16, 17, 18]),
    ],
)  # fmt: skip
def test_the_strided_walk_is_the_one_that_was_traced_of_the_original(records: int, expected: list[int]) -> None:
    assert strided(records, 17) == expected


@pytest.mark.parametrize("records", [1, 8, 17])
def test_a_file_of_no_more_records_than_the_stride_is_read_at_its_first(records: int) -> None:
    phase = made(f"-s {4 * records} -r 4 -i 0 -i 5").phases[-1]
    reads = [op for op in job_ops(phase.jobs[0]) if op.name == "stride-read"]

    assert parse([]).stride == 17
    assert stride_rounds(records, 17) == [(0, records)]
    assert [op.access.region for op in reads if isinstance(op.access, plan.Stride)] == [
        plan.Range(from_bytes=0, length_bytes=4096)
    ]


@pytest.mark.parametrize("stride", [1, 2, 5, 17, 100])
@pytest.mark.parametrize("records", [64, 101, 4096])
def test_a_strided_walk_reads_as_many_records_as_the_file_has_and_stays_in_it(records: int, stride: int) -> None:
    walk = strided(records, stride)

    assert len(walk) == records
    if records > stride:
        assert max(walk) < records


def timed(arguments: str) -> list[tuple[str, ...]]:
    return [phase.jobs[0].timed for phase in made(arguments).phases]


def test_flush_and_close_are_timed_only_on_request() -> None:
    assert timed("-i 0") == [("write",), ("rewrite",)]
    assert timed("-i 0 -e") == [("write", "fsync"), ("rewrite", "fsync")]
    assert timed("-i 0 -c") == [("write", "close"), ("rewrite", "close")]
    assert timed("-i 0 -e -c") == [("write", "fsync", "close"), ("rewrite", "fsync", "close")]


def test_every_column_has_a_test_number_and_titles() -> None:
    assert {column.test for column in COLUMNS} == {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12}
    assert all(column.report and column.sheet for column in COLUMNS)


def test_all_tests_are_done_when_none_is_named() -> None:
    keys = [column.key for column in parse(["-s", "64"]).measured()]

    assert keys == [column.key for column in COLUMNS if column.test <= 8]
    assert [column.key for column in parse(["-s", "64", "-E"]).measured()][-4:] == [
        "pwrite", "repwrite", "pread", "repread"
    ]  # fmt: skip


def test_each_test_is_a_phase_and_most_are_done_twice() -> None:
    def phases(arguments: str) -> str:
        return " ".join(phase.name for phase in made(arguments).phases)

    assert phases("-E -s 64 -r 16 -i 9 -i 10") == "pwrite-64-16 repwrite-64-16 pread-64-16 repread-64-16"
    assert phases("-E -s 64 -r 16 -i 11 -i 12") == "pwritev-64-16 repwritev-64-16 preadv-64-16 repreadv-64-16"
    assert phases("-t 2 -s 64 -r 16 -i 0 -i 1") == "write-2 rewrite-2 read-2 reread-2"


def test_the_first_child_that_is_done_stops_the_others_but_for_x() -> None:
    assert {phase.stop.of for phase in made("-t 2 -i 0").phases} == {plan.StopOf.FIRST}
    assert {phase.stop.of for phase in made("-t 2 -i 0 -x").phases} == {plan.StopOf.EACH}


def test_files_cut_short_by_the_stonewall_are_laid_out_whole_before_they_are_read() -> None:
    write, rewrite, read, reread = made("-t 2 -i 0 -i 1").phases

    assert write.before == (plan.Prepare(set="children-2-first"),)
    assert rewrite.before == (plan.Remove(set="children-2-first"), plan.Prepare(set="children-2"))
    assert [(phase.title, phase.before) for phase in (read, reread)] == [
        ("read, 2 children", ()),
        ("re-read, 2 children", ()),
    ]


def test_in_the_mix_even_children_read_and_odd_ones_write() -> None:
    [mixed] = [phase for phase in made("-t 5 -i 0 -i 8").phases if phase.name == "mixed-5"]

    done = {job.name: (job.workers, job.timed) for job in mixed.jobs}

    assert done == {"mix-readers": (3, ("random-read",)), "mix-writers": (2, ("random-write",))}


def test_the_files_of_children_may_be_on_several_storages() -> None:
    made_plan = made("-t 3 -F /a/x /b/y /a/z -i 0 -x")

    assert [target.uri for target in made_plan.targets] == ["file:///a", "file:///b"]
    assert [job.workers for job in made_plan.phases[0].jobs] == [2, 1]


def test_what_is_left_out_is_in_the_plan() -> None:
    left_out = [item.what for item in made("-Z -D -Q -s 64 -i 0").untranslated]

    assert left_out == ["-Z", "-D"]
    assert [item.what for item in made("-Q -H 4 -s 64 -i 0").untranslated] == ["-Q"]


def names_of(phase: plan.Phase) -> list[str]:
    return [op.name for job in phase.jobs for op in job_ops(job)]


def test_files_are_locked_for_the_tests_that_iozone_locks_them_for() -> None:
    phases = made("-W -e -s 64 -i 0 -i 1 -i 2 -i 6").phases

    locked = {phase.name: phase.jobs[0].timed for phase in phases if "lock" in names_of(phase)}

    assert set(locked) == {f"{test}-64-4" for test in ("write", "rewrite", "read", "reread")}
    assert locked["write-64-4"] == ("write", "fsync", "unlock")
    assert names_of(phases[0]) == ["create", "lock", "fsync before", "write", "fsync", "unlock", "close after"]
    kinds = {op.op for phase in phases for op in job_ops(phase.jobs[0]) if op.name == "lock"}
    assert kinds == {plan.OpKind.LOCK, plan.OpKind.LOCK_SHARED}
    children = made("-W -t 2 -i 0 -i 2 -i 6").phases
    assert {phase.name for phase in children if "lock" not in names_of(phase)} == {"fwrite-2"}


def test_records_leave_the_caches_of_the_cpu_before_each_call_with_p() -> None:
    [write, *_] = made("-p -s 64 -i 0 -i 1").phases

    cold = {op.name: op.flags.cold_buffer for op in job_ops(write.jobs[0])}

    assert cold == {"create": False, "fsync before": False, "write": True, "fsync after": False, "close after": False}


# -- refusals --------------------------------------------------------------------------------------------------------------

REFUSED = {
    "-a -t 2": "exclude each other",
    "-F a b -t 2": "write -t N before it",
    "-t 2 -F a": "names 1 files for 2 children",
    "-t 2 -f a": "with -F",
    "-f a -F b": "exclude each other",
    "-F b -f a": "write -t N before it",
    "-H 2 -k 2": "choose one",
    "-H 2 -W": "leave it out",
    "-i 13": "tests are 0 to 12",
    "-i 9": "add -E",
    "-i 8": "with -t",
    "-t 2 -i 4": "none of the tests",
    "-t 2 -N": "use -O",
    "-a -q 32m": "16384 KiB",
    "-a -y 128": "lower -y",
    "-a -n 256 -g 128": "nothing would be measured",
    "-s 64 -r 128": "no record fits",
    "-s": "needs a value",
    "-s 5x": "64k or 1g",
    "-t many": "whole number",
    "-l 3 -u 2": "smaller number",
    "-t 100000": "16384",
    "-+p 0": "between 1 and 100",
    "-1": "not an option of IOzone",
    "--repeat 2": "--repeat is not an option of IOzone",
    "file": "is not an option",
    "-X trace": "assay run",
    "-t 2 -+m hosts": "the file of clients 'hosts' does not exist",
    "-B -I": "choose one",
    "-B -H 2": "choose one",
    "-B -o": "-G",
    "-H 4 -e": "leave them out",
    "-t 2 -Q": "one stream",
    "-s 1g -r 4k -j 100000 -i 0 -i 5": "smaller -j",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_does_not_go_together_is_refused_with_the_cure(arguments: str) -> None:
    with pytest.raises(InputError) as caught:
        made(arguments)

    assert REFUSED[arguments] in str(caught.value)


# -- the figures -------------------------------------------------------------------------------------------------------


def timed_run(arguments: str) -> RunRecord:
    """A run whose every phase takes 40 ms, a flush among them."""
    asked = made(arguments)
    rows: list[dict[str, object]] = []
    lines: list[events.Event] = [hello()]
    for index, phase in enumerate(asked.phases):
        job, begin_s = phase.jobs[0], float(index)
        # Four records of 16 KiB in 10 ms, and a flush of 30 ms.
        for operation, ops, moved, ns in ((phase.jobs[0].timed[0], 4, 65536, 10_000_000), ("fsync", 1, 0, 30_000_000)):
            rows.append({
                "phase_index": index, "job": job.name, "operation": operation, "t_s": begin_s + 0.04, "dt_s": 0.04,
                "ops": ops, "bytes": moved, "errors": 0, "latency_max_ns": ns, "latency_sum_ns": ns,
            })  # fmt: skip
        begin_ns = int(begin_s * 1e9)
        lines.append(finished(index, job.name, begin_ns=begin_ns, end_ns=begin_ns + 40_000_000, ops=5))
    return read(MemoryRun(plan=asked, lines=lines, tables={INTERVALS: table(INTERVALS, rows)}))


@pytest.mark.parametrize("arguments", ["-s 64 -r 16 -i 0 -e", "-t 1 -s 64 -r 16 -i 0 -e"])
def test_a_figure_says_that_its_rates_are_by_iozone_s_own_timing(arguments: str) -> None:
    figure = FRONT_END.output(timed_run(arguments)).figures()[0]

    assert "IOzone's own timing" in figure.caption
    assert "window" in figure.caption


def test_cells_that_are_less_than_trusted_are_marked_in_their_map() -> None:
    output = FRONT_END.output(timed_run("-s 64 -r 16 -i 0 -e"))

    write, rewrite = output.marked_figures({("write-64-16", "write"): False, ("rewrite-64-16", "rewrite"): True})

    assert "Grey and in brackets: not trusted (1 cells)" in write.caption
    assert "°: weak (1 cells)" in rewrite.caption
    ((_, bad),), ((_, weak),) = write.table.rows, rewrite.table.rows
    # 64 KiB in the 10 ms of its records and the 30 ms of its flush.
    assert (bad, weak) == ("(1.56)", "1.56°")
