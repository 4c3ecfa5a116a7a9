"""Filebench scripts: what they mean, what is refused with file and line, and the output that a run gives."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from assay import plan
from assay.analysis.record import RunRecord, read
from assay.bundle.tables import HISTOGRAMS, INTERVALS
from assay.errors import FrontEndError, InputError
from assay.plan import Plan
from assay.plan.walk import job_actions, job_ops
from assay.tools.filebench import FRONT_END, randoms
from assay.tools.filebench.definitions import Overrides
from assay.tools.filebench.evaluate import evaluate
from assay.tools.filebench.flowops import TYPES, UNITS
from assay.tools.filebench.loading import insert_personalities, personalities
from assay.tools.filebench.randoms import RandVar, of_cvar, of_randvar, up_to
from assay.tools.filebench.thread_plan import ThreadPlanner
from goldens import Goldens
from unit import classic_runs as classic
from unit.memory_run import MemoryRun, hello

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "filebench"
DIRECTORY = Path("/mnt/scratch")
SCRIPTS = sorted(GOLDEN.glob("*.f"))
SECOND_NS = 1_000_000_000
FILES = "define fileset name=files,path=/tmp,entries=10,size=8k,prealloc\n"


def given(text: str, *options: str) -> tuple[list[str], dict[str, str]]:
    return ["-f", "x.f", *options], {"x.f": text}


def made(text: str, *options: str) -> Plan:
    asked = given(text, *options)
    return FRONT_END.to_plan(FRONT_END.parse(*asked), FRONT_END.origin(*asked), DIRECTORY)


def process(*flowops: str, files: str = FILES, head: str = "", instances: int = 1, end: str = "run 5") -> str:
    lines = "\n".join(flowops)
    return f"{head}\n{files}define process name=p {{ thread name=t,instances={instances} {{\n{lines}\n}} }}\n{end}\n"


def only_job(script: Plan) -> plan.Job:
    (job,) = script.phases[-1].jobs
    return job


def ops(script: Plan) -> dict[str, plan.Op]:
    return {op.name: op for job in script.phases[-1].jobs for op in job_ops(job)}


# -- scripts and their Plans -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_becomes_the_plan_beside_it(path: Path, goldens: Goldens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.tools.filebench.check_directory", Path)
    script = made(path.read_text(), "--dir", str(DIRECTORY))

    goldens.check_plan(path.with_suffix(".plan.json"), script)


def test_a_variable_counts_as_it_is_set_last_before_the_run() -> None:
    script = process("flowop read name=r,filename=files,iosize=$size", head="set $size=1k", end="set $size=4k\nrun 5")

    assert ops(made(script))["r"].size == plan.Fixed(value=4096.0)


def test_the_command_line_sets_a_variable_in_place_of_the_script() -> None:
    script = process("flowop read name=r,filename=files,iosize=$size", head="set $size=1k")

    assert ops(made(script, "--set", "size=2k"))["r"].size == plan.Fixed(value=2048.0)


def test_a_variable_that_the_script_does_not_have_cannot_be_set() -> None:
    script = process("flowop read name=r,filename=files,iosize=1k", head="set $one=1")

    with pytest.raises(FrontEndError, match=r"x\.f: --set two: the script sets no such variable; it sets one"):
        made(script, "--set", "two=2")


def test_a_composite_hands_its_variables_on_to_one_inside_it() -> None:
    script = """
define fileset name=one,path=/tmp,entries=3,prealloc
define fileset name=two,path=/tmp,entries=3,prealloc
define flowop name=inner, $where, $times=2 { flowop statfile name=s,filesetname=$where,iters=$times }
define flowop name=outer, $set { flowop inner name=i,$where=$set flowop inner name=j,$where=$set,$times=5,iters=3 }
define process name=p { thread name=t { flowop outer name=a,$set=two } }
run 5
"""
    job = only_job(made(script))
    found = [(op.name, op.file.set) for op in job_ops(job) if isinstance(op.file, plan.FromSet)]
    repeats = [action.times for action in job_actions(job) if isinstance(action, plan.Repeat)]

    assert found == [("a.i.s", "two"), ("a.j.s", "two")]
    assert repeats == [2, 3, 5]


def test_a_script_without_run_wants_a_time() -> None:
    script = process("flowop statfile name=s,filename=files", end="")

    with pytest.raises(FrontEndError, match=r"x\.f:5: near the end of the script: it has no 'run'.*--time"):
        made(script)
    assert made(script, "--time", "7").phases[-1].stop.seconds == 7


def test_an_older_script_is_measured_while_it_sleeps() -> None:
    end = "create processes\nsleep 4\nstats clear\nsleep 6\nstats snap\nshutdown processes"
    phase = made(process("flowop statfile name=s,filename=files", end=end)).phases[-1]

    assert (phase.stop.seconds, phase.ramp_s) == (10, 4)


def test_scale_makes_files_and_counts_smaller() -> None:
    files = FILES + "define file name=big,path=/tmp,size=100m,prealloc\n"
    script = made(
        process("flowop read name=r,filename=big,iosize=4k", "flowop finishoncount name=f,value=1000", files=files),
        "--scale",
        "0.1",
    )
    (finish,) = [action for action in job_actions(only_job(script)) if isinstance(action, plan.FinishOn)]

    assert script.file_set("big").size == plan.Fixed(value=float(10 << 20))
    assert finish.ops == 100


# -- what flowops become -----------------------------------------------------------------------------------------------


def test_a_file_that_nothing_opens_is_opened_once_and_kept() -> None:
    opened, repeat = only_job(made(process("flowop write name=w,filename=files,iosize=1k"))).body.actions  # type: ignore[union-attr]

    assert isinstance(opened, plan.Do)
    assert (opened.op.op, opened.op.file) == (plan.OpKind.OPEN, plan.FromSet(set="files", pick=plan.InTurn(), slot=0))
    assert isinstance(repeat, plan.Repeat)
    assert [op.file for op in job_ops(only_job(made(process("flowop write name=w,filename=files,iosize=1k"))))][1:] == [
        plan.Slot(slot=0)
    ]
    assert repeat.times > 1 << 50


def test_a_file_that_is_closed_is_opened_in_each_pass() -> None:
    script = process("flowop read name=r,filename=files,fd=3,iosize=1k", "flowop closefile name=c,fd=3")

    assert [op.op.value for op in job_ops(only_job(made(script)))] == ["open", "read", "close"]
    assert not any(isinstance(action, plan.Repeat) for action in job_actions(only_job(made(script))))


def test_files_without_an_fd_are_open_side_by_side() -> None:
    files = "".join(f"define file name={name},path=/tmp,size=1m,prealloc\n" for name in ("a", "b"))
    script = made(
        process("flowop read name=x,filename=a,iosize=1k", "flowop read name=y,filename=b,iosize=1k", files=files)
    )

    assert ops(script)["x"].file != ops(script)["y"].file
    assert script.untranslated[0].what == "the one fd of files without any, for 'b' (line 6)"


def test_a_whole_file_is_read_to_its_end_and_written_to_its_size() -> None:
    script = process(
        "flowop openfile name=o,filename=files,fd=1",
        "flowop readwholefile name=r,fd=1,iosize=1m",
        "flowop writewholefile name=w,fd=1,iosize=4k",
        "flowop closefile name=c,fd=1",
    )

    assert ops(made(script))["r"].access == plan.Whole(to_end=True)
    assert ops(made(script))["w"].access == plan.Whole(to_end=False)


def test_posts_go_to_each_thread_that_waits_and_wait_for_room() -> None:
    script = f"""{FILES}
define process name=w,instances=2 {{ thread name=w {{
  flowop statfile name=s,filename=files
  flowop semblock name=gate,value=5,highwater=7
}} }}
define process name=r {{ thread name=r {{
  flowop statfile name=t,filename=files
  flowop sempost name=post,target=gate,value=1,blocking
}} }}
run 5
"""
    jobs = {job.name: list(job_actions(job)) for job in made(script).phases[-1].jobs}
    posts = [action.semaphore for action in jobs["r.r"] if isinstance(action, plan.Post)]
    room = [action for action in jobs["r.r"] if isinstance(action, plan.Wait)]
    waits = [action for action in jobs["w.w.1"] if isinstance(action, plan.Wait)]

    assert list(jobs) == ["w.w.1", "w.w.2", "r.r"]
    assert posts == ["w.w.1: gate", "w.w.2: gate"]
    assert [(wait.semaphore, wait.count, wait.initial) for wait in room] == [
        ("w.w.1: gate: room", 1, 7),
        ("w.w.2: gate: room", 1, 7),
    ]
    assert [(wait.semaphore, wait.count) for wait in waits] == [("w.w.1: gate", 5)]


def test_asynchronous_writes_are_done_by_workers_beside_the_thread() -> None:
    script = made(
        process(
            "flowop aiowrite name=a,filename=files,iosize=4k,random,iters=8,dsync,opennext",
            "flowop aiowait name=b",
            instances=2,
        )
    )
    thread, helpers = script.phases[-1].jobs
    (wait,) = [action for action in job_actions(thread) if isinstance(action, plan.Wait)]

    assert (helpers.workers, helpers.open.sync) == (2 * 20, True)
    assert [op.name for op in job_ops(helpers)] == ["a: open", "a"]
    assert (wait.count, wait.initial) == (8, 16)


def test_limits_do_nothing_without_events_and_pay_for_their_target_with_them() -> None:
    lines = ("flowop read name=r,filename=files,iosize=1k", "flowop bwlimit name=b,target=r")
    tokens = [
        [action for action in job_actions(only_job(made(process(*lines, head=head)))) if isinstance(action, plan.Token)]
        for head in ("", "eventgen rate=30")
    ]

    assert tokens[0] == []
    assert tokens[1] == [plan.Token(bucket="eventgen", rate_per_s=30.0, unit=plan.TokenUnit.MEBIBYTE, operation="r")]


def test_data_goes_below_the_directory_of_the_command_line_whatever_the_script_says() -> None:
    files = "define fileset name=../../etc,path=/etc,entries=3,prealloc\n"
    script = made(process("flowop statfile name=s,filename=../../etc", files=files))

    assert [(target.uri, file_set.path) for target in script.targets for file_set in script.file_sets] == [
        (Path.cwd().as_uri(), "filebench-.._.._etc")
    ]


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = [
    ("set $a=16K\n", 1, "syntax error near '16K': there is no suffix 'K'; write 16k"),
    ("\n\nset a=1\n", 3, "syntax error near 'a'"),
    (
        process("flowop statfile name=s,filename=nowhere"),
        4,
        "near 'filename=nowhere': no file or fileset has this name",
    ),
    (process("flowop statfiles name=s,filename=files"), 4, "near 'flowop statfiles': unknown flowop"),
    (process("flowop statfile name=s,filename=files,depth=1"), 4, "near 'depth': flowop has no such attribute"),
    (process("flowop read name=s,filename=files,iosize=$x"), 4, "near '$x': nothing sets this variable"),
    (process("flowop read name=s,filename=files"), 4, "its iosize is 0"),
    (process("flowop read name=s,fd=3,iosize=1k"), 4, "nothing opens its fd 3"),
    (process("flowop read name=s,filename=files,iosize=16k,random"), 4, "larger than the files of 'files', 8192 bytes"),
    (process("flowop print name=s,value=1"), 4, "near 'flowop print': this is not supported"),
    (process("flowop closefile name=s,fd=1"), 4, "nothing opens its fd 1"),
    (process("flowop wakeup name=s,target=nobody"), 4, "near 'target=nobody': wakeup names a block as its target"),
    (
        process("flowop statfile name=s,filename=files", head="enable multi master=a,client=b"),
        1,
        "name all clients with --hosts",
    ),
    (
        process("flowop statfile name=s,filename=files", head='system "rm -rf /"'),
        1,
        "near 'rm -rf /': this runs a command",
    ),
    (process("flowop statfile name=s,filename=files", head="!ls"), 1, "near 'ls': this runs a command"),
    (
        process("flowop statfile name=s,filename=files", head="eventgen speed=1"),
        1,
        "near 'speed': eventgen has no such",
    ),
    ("define file name=a,path=/dev/sda1\nrun 5\n", 1, "devices are not written to"),
    ("define fileset name=a\nrun 5\n", 1, "it has no path"),
    ("set $a=randvar(type=tabular,randtable={{50,1,2}})\n", 1, "add up to 50 per cent, not 100"),
    ("set $a=cvar(type=cvar-gauss)\n", 1, "there is no type 'cvar-gauss'"),
    ("set $a=1 / 0\n", 1, "divides by 0"),
    ("set mode quit sometimes\n", 1, "a run quits at timeout, alldone, firstdone"),
    ("foreach $a in 1,2 { run 5 }\n", 1, "near 'foreach'"),
    ("define process name=p {\n", 1, "syntax error near the end of the script"),
]


@pytest.mark.parametrize(("text", "line", "said"), REFUSED)
def test_a_fault_is_told_with_file_line_and_what_is_near(text: str, line: int, said: str) -> None:
    with pytest.raises(FrontEndError, match=rf"^x\.f:{line}: .*{re.escape(said)}"):
        made(text)


@pytest.mark.parametrize(
    "old", ["set $a=$b", "stats clear", 'usage "x"', "define randvar name=$a,type=uniform", "warmup 3"]
)
def test_what_only_1_4_had_is_refused_where_1_5_is_wanted(old: str) -> None:
    script = process("flowop statfile name=s,filename=files", head=f"set $b=1\n{old}")

    made(script)
    with pytest.raises(FrontEndError, match=r"^x\.f:2: syntax error near"):
        made(script, "--wml", "1.5")


def test_commands_run_where_they_are_allowed_and_the_plan_says_so() -> None:
    script = made(process("flowop statfile name=s,filename=files", head='system "sync; true"'), "--allow-commands")
    (op,) = job_ops(script.phases[0].jobs[0])

    assert op.flags.argv == ("/bin/sh", "-c", "sync; true")


def test_what_nobody_can_read_is_refused_in_a_line() -> None:
    with pytest.raises(FrontEndError, match=r"x\.f:1: braces are 61 deep"):
        evaluate("{" * 5000, "x.f", Overrides())


# -- random variables --------------------------------------------------------------------------------------------------


def moments(drawn: plan.Distribution) -> tuple[float, float]:
    """Mean and standard deviation of a table."""
    assert isinstance(drawn, plan.Tabular)
    total = sum(weight for weight, _, _ in drawn.rows)
    mean = sum(weight * (low + high) / 2 for weight, low, high in drawn.rows) / total
    square = sum(weight * (low * low + low * high + high * high) / 3 for weight, low, high in drawn.rows) / total
    return mean, (square - mean * mean) ** 0.5


@pytest.mark.parametrize(
    ("drawn", "law"),
    [
        (of_cvar("cvar-weibull", "shape:2;scale:4096"), stats.weibull_min(2, scale=4096)),
        (of_cvar("cvar-triangular", "lower:100;upper:500;mode:200"), stats.triang(0.25, loc=100, scale=400)),
        (of_cvar("cvar-gamma", "mean:8192;gamma:1.5", round_to=16), stats.gamma(1.5, scale=8192 / 1.5)),
        (of_cvar("cvar-normal", "mean:8000;sigma:500", round_to=8), stats.norm(8000, 500)),
        (of_cvar("cvar-lognormal", "shape:0.5;scale:1000", round_to=2), stats.lognorm(0.5, scale=1000)),
        (of_cvar("cvar-erlang", "shape:3;rate:900", round_to=1), stats.gamma(3, scale=300)),
        (of_cvar("cvar-exponential", "mean:700", round_to=2), stats.expon(scale=700)),
    ],
)
def test_a_custom_variable_has_the_moments_of_its_law(drawn: plan.Distribution, law: Any) -> None:
    mean, deviation = moments(drawn)

    assert mean == pytest.approx(law.mean(), rel=2e-3)
    assert deviation == pytest.approx(law.std(), rel=2e-2)


@pytest.mark.parametrize("shape", [0.1, 0.5, 1.5, 20.0])
def test_the_gamma_function_is_that_of_scipy(shape: float) -> None:
    law = randoms.gamma(1000, shape)

    for x in (0.1, 10, 500, 1000, 5000, 20_000):
        assert law.cdf(x) == pytest.approx(stats.gamma.cdf(x, shape, scale=1000 / shape), rel=1e-9, abs=1e-12)


def test_a_gamma_randvar_has_its_mean_with_min_and_all() -> None:
    assert of_randvar(RandVar(mean=5632, min=1024)) == plan.Gamma(mean=4608.0, shape=1.5, min=1024.0)


def test_a_table_is_stretched_to_the_mean_that_is_asked_for() -> None:
    table = ((50.0, 0.0, 100.0), (50.0, 100.0, 300.0))

    assert of_randvar(RandVar(kind="tabular", table=table)) == plan.Tabular(rows=table)
    assert moments(of_randvar(RandVar(kind="tabular", table=table, mean=500, min=100)))[0] == pytest.approx(500)


def test_rounded_draws_of_a_table_have_the_shares_of_their_intervals() -> None:
    drawn = of_randvar(RandVar(kind="tabular", table=((100.0, 1024.0, 3072.0),), min=1024, round=1024))

    assert drawn == plan.Tabular(rows=((25.0, 1024.0, 1024.0), (50.0, 2048.0, 2048.0), (25.0, 3072.0, 3072.0)))


def test_an_append_of_a_random_length_has_half_the_mean() -> None:
    assert up_to(plan.Fixed(value=16384.0)) == plan.Uniform(min=1.0, max=16384.0)
    assert moments(up_to(plan.Gamma(mean=10_000.0, shape=1.5)))[0] == pytest.approx(5000, rel=5e-3)


def test_the_types_of_custom_variables_are_told() -> None:
    class Context:
        said = ""

        def measure(self, _words: object, _files: object = None) -> int:
            raise AssertionError

        def write(self, text: str) -> None:
            self.said += text

        def may_write(self, name: str) -> bool:
            raise AssertionError(name)

        def check_action(self, what: str) -> None:
            raise AssertionError(what)

    context = Context()

    assert FRONT_END.follow(["-c"], context) == 0
    assert "  cvar-gamma\n" in context.said
    assert FRONT_END.follow(["-c", "cvar-gamma"], context) == 0
    assert "\tmean\t\t4096.0\n" in context.said
    with pytest.raises(InputError, match="unknown custom variable type cvar-x"):
        FRONT_END.follow(["-c", "cvar-x"], context)


# -- output ------------------------------------------------------------------------------------------------------------


def run_of(text: str, done: Mapping[str, tuple[int, int, int]], *options: str, seconds: int = 5) -> RunRecord:
    """A run of a script in which each operation came to so many operations, bytes, and ns each."""
    script = made(text, *options)
    job = script.phases[-1].jobs[0].name
    index = len(script.phases) - 1
    rows, buckets = [], []
    for operation, (count, size, ns) in done.items():
        for second in range(1, seconds + 1):
            shared: dict[str, object] = {"phase_index": index, "job": job, "operation": operation, "t_s": float(second)}
            rows.append(
                {
                    **shared,
                    "dt_s": 1.0,
                    "ops": count // seconds,
                    "bytes": size // seconds,
                    "errors": 0,
                    "latency_max_ns": 2 * ns,
                    "latency_sum_ns": ns * (count // seconds),
                }
            )
            buckets.append({**shared, "series": "latency", "bucket": ns, "n": count // seconds})
    finished = classic.finished(
        index, job, begin_ns=0, end_ns=seconds * SECOND_NS, ops=sum(row[0] for row in done.values())
    )
    tables = {INTERVALS: classic.table(INTERVALS, rows), HISTOGRAMS: classic.table(HISTOGRAMS, buckets)}
    return read(MemoryRun(plan=script, lines=[hello(), finished], tables=tables))


MAILBOX = (GOLDEN / "mailbox.f").read_text()
DONE = {
    "drop": (1000, 0, 1500),
    "deliver": (1000, 0, 1800),
    "body": (1000, 1000 * 2048, 900),
    "flush": (1000, 0, 2000),
    "delivered": (1000, 0, 400),
    "look": (1000, 0, 700),
    "fetch": (1000, 1000 * 8192, 1200),
    "looked": (995, 0, 300),
}


def test_the_lines_are_those_of_filebench(goldens: Goldens) -> None:
    goldens.check(GOLDEN / "mailbox.txt", classic.text(run_of(MAILBOX, DONE)))


def test_the_summary_adds_up_what_the_lines_say() -> None:
    text = classic.text(run_of(MAILBOX, DONE))

    # 7995 operations in 5 s; 1000 reads, 1000 writes; 10000 KiB; the mean latency is weighted by operations.
    ns = sum(count * each for count, _, each in DONE.values())
    assert f"IO Summary:  7995 ops 1599.000 ops/s 200/200 rd/wr   2.0mb/s {ns / 7995 / 1e6:5.3f}ms/op" in text
    # The hog is no I/O; it was done as often as what is done in the same pass.
    assert "think                1000ops      200ops/s" in text


def test_of_several_clients_each_line_is_a_mean_or_that_of_the_slowest_or_fastest() -> None:
    slow = {name: (count // 2, size // 2, ns * 3) for name, (count, size, ns) in DONE.items()}
    outputs = [FRONT_END.output(run_of(MAILBOX, done)) for done in (DONE, slow)]

    mean, slowest, fastest = (re.sub(r"^.*Running...\n", "", text) for text in outputs[0].of_clients(outputs).values())

    for text, one in ((slowest, outputs[1]), (fastest, outputs[0])):
        assert set(text.splitlines()) - {""} <= set(one.text().splitlines())
    # fetch: 1000 and 500 in 5 s, of 8 KiB; 1.2 and 3.6 us each, at most twice as long.
    assert "fetch                750ops      150ops/s   1.2mb/s    0.002ms/op [0.001ms - 0.007ms]" in mean
    assert re.search(r"IO Summary:  599\d ops 1199\.\d+ ops/s 150/150 rd/wr", mean)


def test_snapshots_add_up_or_begin_anew() -> None:
    def shown(period: str) -> list[str]:
        script = MAILBOX.replace("run 5", f"psrun {period} 5")
        return re.findall(r"IO Summary: +(\d+) ops", classic.text(run_of(script, DONE)))

    assert shown("2") == ["3198", "6396", "7995"]
    assert shown("-2") == ["3198", "3198", "7995"]


def test_a_snapshot_that_begins_anew_has_the_slowest_since_then() -> None:
    def slowest(period: str) -> list[str]:
        script = MAILBOX.replace("run 5", f"psrun {period} 5")
        return re.findall(r"^flush .* - (\S+)ms\]$", classic.text(run_of(script, DONE)), re.MULTILINE)

    # One of 4000 ns in the first second, the others take 2000 ns.
    assert slowest("2") == ["0.004", "0.004", "0.004"]
    assert slowest("-2") == ["0.004", "0.002", "0.004"]


def test_a_histogram_counts_by_powers_of_two() -> None:
    text = classic.text(run_of(MAILBOX.replace("run 5", "enable lathist\nrun 5"), DONE))
    (line,) = re.findall(r"^fetch.*\[ (.*) \]$", text, re.MULTILINE)

    # 1200 ns lie between 2^10 and 2^11.
    assert [int(word) for word in line.split()] == [1000 if power == 11 else 0 for power in range(64)]


def test_every_flowop_of_the_language_is_carried_out_or_refused_by_name() -> None:
    carried_out = {name.removeprefix("_") for name in dir(ThreadPlanner)} | set(UNITS)

    assert {name for name, kind in TYPES.items() if not kind.refusal} <= carried_out


# -- personalities of 1.4 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", personalities())
def test_a_script_that_loads_a_personality_and_sets_its_variables_is_carried_out(name: str) -> None:
    single = name not in {"fileserver", "varmail", "webproxy", "webserver"}
    sizes = "set $filesize=1m\n" if single else "set $nfiles=20\nset $filesize=4k\n"

    script = made(insert_personalities(f"load {name}\nset $dir=/mnt/x\nset $nthreads=3\n{sizes}run 60\n"))

    assert {job.workers for job in script.phases[-1].jobs} == {3}
    assert script.phases[-1].stop.seconds == 60
    assert all(one.files in {1, 20} for one in script.file_sets)


def test_a_stream_of_writes_stays_in_its_file_and_says_so() -> None:
    found = made(insert_personalities("load singlestreamwrite\nset $filesize=1m\nrun 1\n"))
    at_random = made(insert_personalities("load randomwrite\nset $filesize=1m\nrun 1\n"))

    assert ops(found)["write"].access == plan.Sequential()
    assert [item.what.partition(" (")[0] for item in found.untranslated] == ["growth of 'data' by 'write'"]
    assert not at_random.untranslated


def test_what_a_mail_server_does_is_in_the_shares_that_are_known_of_varmail() -> None:
    kinds = Counter(op.op for op in ops(made(insert_personalities("load varmail\nrun 1\n"))).values())

    assert kinds[plan.OpKind.FSYNC] == 2
    assert kinds[plan.OpKind.UNLINK] == kinds[plan.OpKind.CREATE] == 1


def test_lines_behind_a_load_keep_their_numbers_and_an_unknown_name_is_refused() -> None:
    with pytest.raises(FrontEndError, match=r"x\.f:3: "):
        made(insert_personalities("# old\nload fileserver\nset $nthreads=\n"))
    with pytest.raises(FrontEndError, match=r"x\.f:1: near 'load nothing': .* there is no personality"):
        made(insert_personalities("load nothing\nrun 1\n"))
    assert insert_personalities("load varmail\n").count("\n") == 1
