"""vdbench's parameter files: what is read, what is refused with its line, and which Plan and text come of it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay import plan
from assay.analysis.record import RunRecord
from assay.analysis.record import read as analysed
from assay.bundle.tables import HISTOGRAMS, HOST, INTERVALS
from assay.errors import FrontEndError, InputError
from assay.places import DevicePlace
from assay.plan.walk import job_actions, job_ops
from assay.targets import remote_directories
from assay.tools.front_end import HostsAsked
from assay.tools.vdbench import FRONT_END
from assay.tools.vdbench import plan as vdbench_plan
from assay.tools.vdbench.runs import runs
from assay.tools.vdbench.settings import Settings, files_of
from assay.units import MIB
from goldens import Goldens
from unit import classic_runs as classic
from unit.memory_run import MemoryRun, bucket_of, hello

GOLDEN = Path(__file__).parent.parent / "golden" / "classic" / "vdbench"
CASES = sorted(GOLDEN.glob("*.vdb"))
RAW = "sd=sd1,lun=file1,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n"
FILES = "fsd=fsd1,anchor=tree,depth=1,width=2,files=5,size=10k\nfwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,format=yes\n"


def read(text: str, *words: str) -> Settings:
    return FRONT_END.parse(["-f", "load", *words], {"load": text})


def made(text: str, tmp_path: Path, *words: str) -> plan.Plan:
    words, files = ("-f", "load", "--dir", str(tmp_path), *words), {"load": text}
    return FRONT_END.to_plan(FRONT_END.parse(words, files), FRONT_END.origin(words, files), tmp_path)


def refused(text: str, *words: str) -> str:
    with pytest.raises(InputError) as error:
        FRONT_END.to_plan(read(text, *words), FRONT_END.origin(["x"]), Path())
    return str(error.value)


def weights(job: plan.Job) -> dict[str, float]:
    """Share of each operation's name in the choice of a job, adding up to 1."""
    (choice,) = (action for action in job_actions(job) if isinstance(action, plan.Choice))
    found: dict[str, float] = {}
    for branch in choice.branches:
        (action,) = branch.actions
        assert isinstance(action, plan.Do)
        assert isinstance(action.op.size, plan.Fixed)
        name = f"{action.op.name} {action.op.size.value:.0f}"
        found[name] = found.get(name, 0.0) + branch.weight
    return {name: weight / sum(found.values()) for name, weight in found.items()}


# -- reading -----------------------------------------------------------------------------------------------------------


def test_words_that_change_nothing_here_are_named_beside_the_output() -> None:
    text = "create_anchors=yes\n" + RAW.replace("sd=sd1\n", "sd=sd1,iorate=100,priority=1\n")

    assert [note.what for note in read(text).load.notes] == ["create_anchors=yes", "priority=1"]


def test_comments_blanks_and_continued_lines_say_nothing_and_go_on() -> None:
    text = (
        "* one\n# two\n/ three\n\n  sd=sd1,lun=file1, behind a blank\n  size=2m\nwd=wd1,sd=sd1 words\n"
        "rd=rd1,\nwd=wd1,iorate=5\neof\nnothing=here\n"
    )

    load = read(text).load

    assert (load.sds["sd1"].lun, load.sds["sd1"].size) == ("file1", 2 << 20)
    assert [(run.name, run.rate) for run in runs(load)] == [("rd1", 5.0)]


def test_a_parameter_behind_a_blank_is_not_lost_silently() -> None:
    said = refused("sd=sd1,lun=f, size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n")

    assert said == "load:1: 'size=1m' follows a blank, where a comment begins; remove the blank"


def test_defaults_hold_for_what_comes_after_them_and_are_overridden() -> None:
    text = (
        "sd=default,size=1m,threads=3\nsd=sd1,lun=a\nsd=sd2,lun=b,threads=4\nwd=default,xfersize=8k\nwd=wd1,sd=sd*\n"
        "rd=default,elapsed=20,interval=2\nrd=rd1,wd=wd1\nrd=rd2,wd=wd*,elapsed=10\n"
    )

    load = read(text).load

    assert [(sd.name, sd.size, sd.threads) for sd in load.sds.values()] == [("sd1", 1 << 20, 3), ("sd2", 1 << 20, 4)]
    assert [(rd.elapsed, rd.interval) for rd in load.rds] == [(20, 2), (10, 2)]
    assert load.rds[0].wds[0].sds == ("sd1", "sd2")
    assert load.rds[0].wds[0].transfer.sizes == ((8192, 100.0),)


def test_variables_come_from_the_command_line_and_none_is_left_over() -> None:
    text = "sd=sd1,lun=$lun,size=!size\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n"

    assert read(text, "lun=/x/y", "size=4k").load.sds["sd1"].lun == "/x/y"
    assert refused(text, "size=4k") == (
        "load:1: variable '$lun' has no value; give it behind the file names as lun=VALUE"
    )
    assert "the files have no $other" in refused(text, "lun=/x/y", "size=4k", "other=1")


def test_parameters_of_the_command_line_reach_every_rd() -> None:
    load = read(
        RAW + "rd=rd2,wd=wd1,elapsed=50\n", "-e", "12", "-i2", "-w", "4", "+", "iorate=7", "forthreads=(1,2)"
    ).load

    assert [(rd.elapsed, rd.interval, rd.warmup) for rd in load.rds] == [(12, 2, 4)] * 2
    assert [run.name for run in runs(load)] == [
        "rd1 threads=1", "rd1 threads=2", "rd2 threads=1", "rd2 threads=2"
    ]  # fmt: skip


def test_loops_are_done_in_the_order_in_which_they_were_written() -> None:
    outer = read("sd=sd1,lun=f,size=1m\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=(10,20),forxf=(4k-16k,d)\n").load
    other = read("sd=sd1,lun=f,size=1m\nwd=wd1,sd=sd1\nrd=r,wd=wd1,forxf=(4k,8k),io=(10-30,10)\n").load

    assert [run.name.removeprefix("r ") for run in runs(outer)] == [
        f"xfersize={size} iorate={rate}" for rate in (10, 20) for size in ("4k", "8k", "16k")
    ]
    assert [run.name.removeprefix("r ") for run in runs(other)] == [
        f"xfersize={size} iorate={rate}" for size in ("4k", "8k") for rate in (10, 20, 30)
    ]


def test_a_curve_is_a_run_at_most_and_shares_of_it_for_each_loop() -> None:
    load = read(
        "sd=s,lun=f,size=1m\nwd=w,sd=s\nrd=r,wd=w,io=curve,forth=(1,2)\nrd=q,wd=w,io=curve,curve=(50,120)\n"
    ).load

    found = [(run.of, run.share) for run in runs(load)]

    points = [10.0, 50.0, 70.0, 80.0, 90.0, 100.0]
    one, two = ([("", 0.0), *((f"r threads={n} max", point) for point in points)] for n in (1, 2))
    assert found == [*one, *two, ("", 0.0), ("q max", 50.0), ("q max", 120.0)]


# -- hosts -------------------------------------------------------------------------------------------------------------

HOSTS = "hd=default,shell=ssh,user=root\nhd=h1,system=node1\nhd=h2,system=node2\n"


def test_other_hosts_are_clients_that_each_do_all_of_it() -> None:
    settings = read(HOSTS + RAW.replace("rd=rd1", "rd=rd1,iorate=max"))

    assert FRONT_END.hosts(settings) == HostsAsked(by="hd=", names=("node1", "node2"))
    assert [note.what for note in settings.load.notes if note.what == "hd="] == ["hd="]
    assert FRONT_END.hosts(read("hd=localhost\n" + RAW)) is None
    assert FRONT_END.hosts(read(HOSTS + RAW.replace("sd=sd1,lun", "sd=sd1,host=*,lun"))) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            RAW.replace("lun=", "host=h1,lun="),
            "load:4: 'host=h1': it is for 1 of 2 hosts, and every client does the same",
        ),
        (RAW.replace("lun=", "host=h3,lun="), "load:4: 'host=h3': no hd= names 'h3'; there are h1, h2"),
        (RAW.replace("rd=rd1", "rd=rd1,iorate=100"), "load:6: rd=rd1: its rate is one of all hosts together"),
        (RAW.replace("rd=rd1", "rd=rd1,iorate=curve"), "load:6: rd=rd1: its rate is one of all hosts together"),
        (RAW.replace("wd=wd1", "wd=wd1,iorate=5", 1), "load:5: wd=wd1: iorate= is a rate of all hosts together"),
        (FILES.replace("rd=rd1", "rd=rd1,fwdrate=9"), "load:6: rd=rd1: its rate is one of all hosts together"),
    ],
)
def test_what_only_some_hosts_do_or_all_have_together_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read(HOSTS + text)

    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hd=a,system=localhost\nhd=b,system=x\n" + RAW, "load:2: hd=a is this machine and 'x' another one"),
        ("hd=b,system=x,clients=2\n" + RAW, "load:1: 'clients=2': a host is one client"),
        ("validate=yes\n" + RAW, "load:1: 'validate=yes': data validation keeps maps and journals of its own"),
        ("sd=s,lun=f,size=1m,journal=/j\n", "load:1: 'journal=/j': data validation"),
        ("dedupratio=2\n" + RAW, "load:1: 'dedupratio=2': Assay's content has a ratio"),
        ("rg=group1,devices=(1,2)\n" + RAW, "load:1: 'rg=group1': replay needs a trace"),
        ('startcmd=("rm x")\n' + RAW, "load:1: 'startcmd=(rm x)': a parameter file starts no program here"),
        ("sd=sd1,lun=/dev/no-sdb\nwd=w,sd=sd1\nrd=r,wd=w\n", "load:1: sd=sd1: lun=/dev/no-sdb: No such file"),
        ("sd=sd1,lun=/dev/null\nwd=w,sd=sd1\nrd=r,wd=w\n", "load:1: sd=sd1: lun=/dev/null is no block device"),
        ("sd=sd1,lun=f\nwd=w,sd=sd1\nrd=r,wd=w\n", "load:1: sd=sd1: size= is missing"),
        ("sd=sd1,lun=f,size=1q\n", "load:1: 'size=1q': '1q': write a whole number from"),
        ("sd=sd1,lun=f,size=1m,blue=1\n", "load:1: 'blue=1': unknown sd parameter 'blue'; supported: lun"),
        ("sd=sd1,lun=f,size=1m,o=1\n", "load:1: 'o=1': unknown sd parameter 'o'"),
        (RAW + "rd=rd1,wd=wd1\n", "load:4: rd=rd1: a definition of that name is above"),
        (RAW + "rd=r2,wd=wd2\n", "load:4: 'wd=wd2': nothing is named 'wd2'; there are wd1"),
        (RAW.replace("sd=sd1\n", "sd=sd1,xfersize=(4k,50,8k,60)\n"), "its per cents add up to 110, not to 100"),
        (RAW.replace("sd=sd1\n", "sd=sd1,xfersize=1000\n"), "an I/O is a multiple of 512 bytes"),
        (RAW.replace("sd=sd1\n", "sd=sd1,seekpct=poisson\n"), "Poisson-distributed offsets are not supported"),
        (RAW.replace("sd=sd1\n", "sd=sd1,stride=(1,2)\n"), "strides of vdbench are not supported"),
        (RAW.replace("sd=sd1\n", "sd=sd1,priority=1\n"), "no workload waits for another here"),
        (RAW.replace("wd=wd1\n", "wd=wd1,elapsed=1\n"), "elapsed=1 is less than two intervals"),
        (RAW.replace("wd=wd1\n", "wd=wd1,distribution=uniform\n"), "exponential or deterministic"),
        (RAW.replace("wd=wd1\n", "wd=wd1,iorate=(9-1,1)\n"), "write a range as (from-to,step)"),
        (RAW.replace("wd=wd1\n", "wd=wd1,iorate=(1-9999,1)\n"), "the range has more than 1000 values"),
        (RAW.replace("wd=wd1\n", "wd=wd1,stopcurve=1\n"), "no point is left out by what came before"),
        (RAW.replace("sd=sd1\n", "sd=sd1,iorate=5\n").replace("wd=wd1\n", "wd=wd1,iorate=9\n"), "with a rate, a curve"),
        (RAW.replace("sd=sd1\n", "sd=sd1,openflags=fsync\n"), "openflags=fsync flushes when an SD is closed"),
        ("sd=a,lun=f,size=(1m\n", "load:1: '(' without ')'"),
        ('sd=a,lun="f\n', "load:1: a quotation mark has no second one"),
        ("sd=a,lun\n", "load:1: 'lun' is not a parameter; write name=value, or * in front of a comment"),
        ("sd=a,lun=,size=1m\n", "load:1: 'lun=' is not a parameter"),
        ("", "there is no rd=, so nothing would run"),
        (FILES.replace("fsd=fsd1\n", "fsd=fsd1,operation=copy\n"), "'copy' is not supported: vdbench reads and writes"),
        (FILES.replace("fsd=fsd1\n", "fsd=fsd1,operation=open\n"), "use operations=(open,close)"),
        (FILES.replace("fsd=fsd1\n", "fsd=fsd1,fileio=(seq,delete)\n"), "give operation=delete a run of its own"),
        (FILES.replace("fsd=fsd1\n", "fsd=fsd1,fileselect=skewed\n"), "skewed choices are not supported"),
        (FILES.replace("size=10k", "size=(1k,50,2k,50)"), "takes files of one size and I/O of one size here"),
        (FILES.replace("size=10k", "size=10k,distribution=all").replace("depth=1", "depth=2"), "use distribution=bottom"),
        (FILES.replace("format=yes", "format=(only,limited)"), "format=limited ends a format by time"),
    ],
)  # fmt: skip
def test_what_has_no_equal_is_refused_with_its_line(text: str, said: str) -> None:
    assert said in refused(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give a parameter file"),
        (["-s", "-t"], "-s: nothing is simulated"),
        (["-jr", "-t"], "-jr: journals are not supported"),
        (["-o"], "-o: its value is missing"),
        (["what", "-t"], "unknown word 'what'"),
        (["-f", "x"], "the parameter file 'x' does not exist"),
        (["-e", "1x", "-t"], "command line:1: '-e=1x': write whole seconds"),
    ],
)
def test_options_without_an_equal_are_refused(words: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        FRONT_END.parse(words)

    assert said in str(error.value)


def test_an_included_file_lies_beside_the_one_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "sds").write_text("sd=sd1,lun=f,size=1m\nsd=sd2,lun=g,size=bad\n")
    (tmp_path / "main").write_text("* first\ninclude=sds\nwd=wd1,sd=sd*\nrd=rd1,wd=wd1\n")

    words = ["-f", str(tmp_path / "main")]
    with pytest.raises(FrontEndError) as error:
        FRONT_END.parse(words, files_of(words))

    assert str(error.value).startswith(f"{tmp_path}/sds:2: 'size=bad'")
    (tmp_path / "sds").write_text("sd=sd1,lun=f,size=1m\n")
    load = FRONT_END.parse(words, files_of(words)).load
    assert load.rds[0].place.line == 4
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name, why in (("/etc/passwd", "leaves the folder"), ("../x", "leaves the folder"), ("link", "over a link")):
        (tmp_path / "main").write_text(f"include={name}\n")
        with pytest.raises(FrontEndError, match=f"main:1: .*{why}"):
            files_of(words)


def test_a_plan_needs_no_file_any_more(tmp_path: Path) -> None:
    (tmp_path / "load").write_text(RAW)

    words = ["-f", str(tmp_path / "load"), "--dir", str(tmp_path), "-e10", "+", "iorate=3"]
    files = files_of(words)
    whole = FRONT_END.to_plan(FRONT_END.parse(words, files), FRONT_END.origin(words, files), tmp_path)
    (tmp_path / "load").unlink()

    assert runs(FRONT_END.settings_of(plan.Plan.from_json(whole.to_json())).load)[0].rate == 3.0


# -- Plans -------------------------------------------------------------------------------------------------------------


def test_a_lun_that_is_a_device_is_that_device_and_nothing_is_laid_out(goldens: Goldens) -> None:
    words, text = ["-f", "load"], (GOLDEN / "device" / "device.vdb").read_text()
    with remote_directories():
        made_of = FRONT_END.to_plan(read(text), FRONT_END.origin(words, {"load": text}), Path())
        with pytest.raises(InputError, match="how large /dev/not-there-at-all is on the clients is unknown"):
            FRONT_END.to_plan(read(text.replace("size=1g", "threads=1")), FRONT_END.origin(["x"]), Path())

    goldens.check_plan(GOLDEN / "device" / "device.plan.json", made_of)
    assert [target.uri for target in made_of.targets] == ["block:/dev/not-there-at-all"]
    assert {one.reuse for one in made_of.file_sets} == {plan.Reuse.TRUST}


def test_the_size_of_a_device_is_what_its_lun_has_unless_less_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    device = DevicePlace(path=Path("/dev/one"), size_bytes=10 * MIB + 700)
    monkeypatch.setattr(vdbench_plan, "check_place", lambda _: device)

    def size(words: str) -> float:
        text = f"sd=sd1,lun=/dev/one{words}\nwd=w,sd=sd1\nrd=r,wd=w\n"
        (one,) = FRONT_END.to_plan(read(text), FRONT_END.origin(["x"]), Path()).file_sets
        assert isinstance(one.size, plan.Fixed)
        return one.size.value

    assert (size(""), size(",size=1m")) == (10 * MIB + 512, MIB)
    with pytest.raises(InputError, match=f"load:1: sd=sd1: size={11 * MIB} is more than /dev/one has"):
        size(",size=11m")


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_plans_are_as_kept(case: Path, goldens: Goldens, tmp_path: Path) -> None:
    words = ("-f", case.name, "--dir", str(tmp_path))
    made_of = FRONT_END.to_plan(
        FRONT_END.parse(words, {case.name: case.read_text()}), FRONT_END.origin([case.name]), tmp_path
    )

    goldens.check_plan(case.with_suffix(".plan.json"), made_of, leave_out=str(tmp_path))


def test_shares_of_workloads_are_products_of_skew_direction_hits_and_sizes(tmp_path: Path) -> None:
    text = (
        "sd=sd1,lun=f,size=64m,hitarea=1m\n"
        "wd=a,sd=sd1,skew=40,rdpct=75,xfersize=(4k,30,8k,70)\nwd=b,sd=sd1,rdpct=0,whpct=25\nrd=r,wd=*,iorate=1000\n"
    )

    (job,) = made(text, tmp_path).phases[0].jobs

    assert weights(job) == pytest.approx(
        {
            "a read 4096": 0.4 * 0.75 * 0.3,
            "a read 8192": 0.4 * 0.75 * 0.7,
            "a write 4096": 0.4 * 0.25 * 0.3,
            "a write 8192": 0.4 * 0.25 * 0.7,
            "b write 4096": 0.6,
        }
    )
    assert job.arrival == plan.Open(rate_per_s=1000.0, spacing=plan.Spacing.POISSON)
    regions = {
        op.access.region for op in job_ops(job) if op.name == "b write" and isinstance(op.access, plan.RandomAccess)
    }
    assert regions == {
        plan.Range(from_bytes=0, length_bytes=1 << 20),
        plan.Range(from_bytes=1 << 20, length_bytes=63 << 20),
    }


def test_shares_are_the_same_in_order_and_at_random_with_one_size_or_many(tmp_path: Path) -> None:
    text = (
        "sd=sd1,lun=f,size=64m\nwd=a,sd=sd1,seekpct=seq,rdpct=50,xfersize=64k,skew=50\nwd=b,sd=sd1,skew=30\n"
        "wd=c,sd=sd1,xfersize=(4k,16k,4k),rdpct=0\nrd=r,wd=*,iorate=100\n"
    )

    (job,) = made(text, tmp_path).phases[0].jobs
    (choice,) = (action for action in job_actions(job) if isinstance(action, plan.Choice))

    names = [action.op.name for branch in choice.branches for action in branch.actions if isinstance(action, plan.Do)]
    whole = sum(branch.weight for branch in choice.branches)
    found = dict(zip(names, (branch.weight / whole for branch in choice.branches), strict=True))
    assert found == pytest.approx({"a read": 0.25, "a write": 0.25, "b read": 0.3, "c write": 0.2})


def test_a_rate_is_divided_up_between_sds_as_the_skews_say(tmp_path: Path) -> None:
    text = (
        "sd=sd1,lun=f,size=1m\nsd=sd2,lun=g,size=1m\nwd=wd1,sd=sd1,rdpct=80,skew=40\nwd=wd2,sd=sd*,rdpct=0\n"
        "rd=r,wd=wd*,iorate=200\n"
    )

    jobs = made(text, tmp_path).phases[0].jobs

    rates = {job.name: job.arrival.rate_per_s for job in jobs if isinstance(job.arrival, plan.Open)}
    assert rates == pytest.approx({"sd1": 200 * (0.4 + 0.3), "sd2": 200 * 0.3})
    assert weights(jobs[0]) == pytest.approx(
        {"wd1 read 4096": 4 / 7 * 0.8, "wd1 write 4096": 4 / 7 * 0.2, "wd2 write 4096": 3 / 7}
    )


def test_what_is_in_order_is_one_stream_for_all_threads(tmp_path: Path) -> None:
    text = (
        "sd=sd1,lun=f,size=1m,threads=4,range=(25,75)\nwd=wd1,sd=sd1,seekpct=seq,rdpct=50\n"
        "rd=r,wd=wd1,forseekpct=(seq,eof,20,100)\n"
    )

    phases = made(text, tmp_path).phases

    half = plan.Range(from_bytes=1 << 18, length_bytes=1 << 19)
    assert [{op.access for op in job_ops(phase.jobs[0])} for phase in phases] == [
        {plan.SharedStream(region=half)},
        {plan.SharedStream(region=half, wrap=False)},
        {plan.SharedStream(region=half, jump_share=0.2)},
        {plan.RandomAccess(region=half)},
    ]
    assert phases[0].jobs[0].workers == 4
    assert [phase.name for phase in phases] == ["r seekpct=0", "r seekpct=eof", "r seekpct=20", "r seekpct=100"]


def test_skew_as_fast_as_it_goes_draws_the_sd_too(tmp_path: Path) -> None:
    text = "sd=sd1,lun=f,size=1m\nsd=sd2,lun=g,size=1m\nwd=a,sd=sd1,skew=30\nwd=b,sd=sd2\nrd=r,wd=*,iorate=max\n"

    (job,) = made(text, tmp_path).phases[0].jobs

    assert weights(job) == pytest.approx({"a read 4096": 0.3, "b read 4096": 0.7})
    assert (job.workers, job.arrival) == (16, plan.Closed())
    without_skew = made(text.replace(",skew=30", ""), tmp_path)
    assert [other.name for other in without_skew.phases[0].jobs] == ["sd1", "sd2"]


def test_the_points_of_a_curve_are_shares_of_the_run_at_most(tmp_path: Path) -> None:
    text = "sd=s,lun=f,size=1m\nwd=w,sd=s\nrd=r,wd=w,iorate=curve,curve=(50,100),distribution=deterministic\n"

    most, half, whole = (phase.jobs[0].arrival for phase in made(text, tmp_path).phases)

    assert most == plan.Closed()
    assert (half, whole) == (
        plan.OpenShare(phase="r max", rate_share=0.5),
        plan.OpenShare(phase="r max", rate_share=1.0),
    )


def test_without_warm_up_the_first_interval_is_left_out_of_the_mean(tmp_path: Path) -> None:
    phases = made(RAW + "rd=b,wd=wd1,elapsed=20,interval=5,warmup=10\n", tmp_path).phases

    assert [(phase.stop.seconds, phase.ramp_s) for phase in phases] == [(30.0, 1.0), (30.0, 10.0)]


def test_a_file_is_opened_gone_through_and_closed(tmp_path: Path) -> None:
    text = FILES.replace("fsd=fsd1\n", "fsd=fsd1,operation=read,xfersize=4k,fileio=seq,fileselect=seq,threads=3\n")

    (phase,) = made(text, tmp_path).phases
    (job,) = phase.jobs

    done = [(op.op.value, op.size.value if isinstance(op.size, plan.Fixed) else None) for op in job_ops(job)]
    repeats = [action.times for action in job_actions(job) if isinstance(action, plan.Repeat)]
    # 10 KiB in pieces of 4 KiB: two whole ones, and 2 KiB.
    assert done == [("open", 0.0), ("read", 4096.0), ("read", 2048.0), ("close", 0.0)]
    assert repeats == [2]
    assert phase.before == (plan.Prepare(set="fsd1"),)


def test_at_a_rate_only_what_was_asked_for_counts(tmp_path: Path) -> None:
    text = FILES.replace("fsd=fsd1\n", "fsd=fsd1,operation=write,rdpct=30,fileio=random,xfersize=4k\n").replace(
        "format=yes", "format=yes,fwdrate=(50,max)"
    )

    phases = made(text, tmp_path).phases

    assert [phase.name for phase in phases] == ["rd1 fwdrate=50", "rd1 fwdrate=max"]
    at_rate, at_most = (phase.jobs[0] for phase in phases)
    assert (at_rate.timed, at_most.timed) == (("read", "write"), ())
    assert at_rate.arrival == plan.Open(rate_per_s=50.0, spacing=plan.Spacing.POISSON)
    assert weights(at_rate) == pytest.approx({"read 4096": 0.3, "write 4096": 0.7})


def test_the_rate_of_a_curve_of_files_is_of_what_was_asked_for(tmp_path: Path) -> None:
    phases = made(FILES.replace("format=yes", "format=yes,fwdrate=curve,curve=(50,100)"), tmp_path).phases

    assert [phase.jobs[0].timed for phase in phases] == [("read",)] * 3


def test_format_says_when_files_are_laid_out(tmp_path: Path) -> None:
    text = (
        FILES
        + "rd=rd2,fwd=fwd1\nrd=rd3,fwd=fwd1,format=yes\nrd=rd4,fwd=fwd1,format=only\nrd=rd5,fwd=fwd1,format=clean\n"
    )

    laid_out = made(text, tmp_path)

    prepare, remove = plan.Prepare(set="fsd1"), plan.Remove(set="fsd1")
    assert [phase.before for phase in laid_out.phases] == [
        (prepare,),
        (),
        (remove, prepare),
        (remove, prepare),
        (remove,),
    ]
    (file_set,) = laid_out.file_sets
    assert (file_set.files, file_set.layout, file_set.keep) == (10, plan.Tree(width=2, depth=1), True)


def test_a_working_set_is_a_share_of_the_files(tmp_path: Path) -> None:
    text = FILES.replace("size=10k", "size=10k,workingsetsize=25k").replace("fsd=fsd1\n", "fsd=fsd1,fileio=random\n")

    (job,) = made(text, tmp_path).phases[0].jobs

    picks = [op.file.pick for op in job_ops(job) if isinstance(op.file, plan.FromSet)]
    assert picks == [plan.RandomFile(distribution=plan.Uniform(min=0.0, max=0.25))]


# -- what is printed ---------------------------------------------------------------------------------------------------

MS = 1_000_000


@dataclass(frozen=True)
class Done:
    """What an operation did in an interval of a second: so many, of so many bytes, each in so many ms."""

    operation: str
    ops: int
    size: int
    each_ms: int


def host_rows(index: int, t_s: float, busy_s: float) -> list[dict[str, object]]:
    """Counters of a machine that is half idle."""
    shares = {("cpu", "user_ns"): 0.3, ("cpu", "system_ns"): 0.2, ("cpu", "idle_ns"): 0.5, ("process", "x"): 1.0}
    return [
        {
            "phase_index": index,
            "t_s": t_s,
            "source": source,
            "instance": "",
            "name": name,
            "value": share * busy_s * 1e9,
        }
        for (source, name), share in shares.items()
    ]


def run_of(text: str, phases: Sequence[Sequence[Sequence[Done]]], *words: str) -> RunRecord:
    """A run of one job `sd1` of which is known what each phase did, second by second."""
    asked, files = ("-f", "load", "--dir", "/", *words), {"load": text}
    made_of = FRONT_END.to_plan(FRONT_END.parse(asked, files), FRONT_END.origin(asked, files), Path())
    rows, buckets, host = [], [], []
    for index, seconds in enumerate(phases):
        begin_s = 100 * index
        host += host_rows(index, begin_s, 0)
        longest: dict[str, int] = {}
        for second, done in enumerate(seconds, start=1):
            t_s = float(begin_s + second)
            host += host_rows(index, t_s, second)
            for one in done:
                spent = one.each_ms * MS
                longest[one.operation] = max(longest.get(one.operation, 0), spent)
                rows.append(
                    {
                        "phase_index": index, "t_s": t_s, "dt_s": 1.0, "job": "sd1", "operation": one.operation,
                        "ops": one.ops, "bytes": one.ops * one.size, "errors": 0, "latency_sum_ns": one.ops * spent,
                        "latency_max_ns": longest[one.operation],
                    }
                )  # fmt: skip
                buckets.append(
                    {
                        "phase_index": index, "t_s": t_s, "job": "sd1", "operation": one.operation, "series": "latency",
                        "bucket": bucket_of(spent), "n": one.ops,
                    }
                )  # fmt: skip
    tables = {
        INTERVALS: classic.table(INTERVALS, rows),
        HISTOGRAMS: classic.table(HISTOGRAMS, buckets),
        HOST: classic.table(HOST, host),
    }
    return analysed(MemoryRun(plan=made_of, lines=[hello()], tables=tables))


def lines_of(run: RunRecord) -> dict[str, list[float | str]]:
    """Values of the lines by interval."""
    found = [
        line.split() for line in classic.text(run).splitlines() if re.match(r"\d\d:\d\d:\d\d\.\d{3} +(\d|avg)", line)
    ]
    return {label: [value if value == "n/a" else float(value) for value in rest] for _, label, *rest in found}


def test_lines_hold_the_rates_and_means_of_their_interval() -> None:
    text = RAW.replace("wd=wd1\n", "wd=wd1,rdpct=75,iorate=max,elapsed=3,interval=1\n")
    seconds = [
        [Done("wd1 read", 10, 4096, 9), Done("wd1 write", 10, 4096, 9)],
        [Done("wd1 read", 600, 4096, 2), Done("wd1 write", 200, 8192, 6)],
        [Done("wd1 read", 600, 4096, 4), Done("wd1 write", 200, 8192, 8)],
    ]

    found = lines_of(run_of(text, [seconds]))

    mib = (600 * 4096 + 200 * 8192) / (1 << 20)
    # Rate, MB/s, bytes, read %, resp, reads, writes, longest, deviation, queue depth, CPU, system.
    deviation = math.sqrt(0.75 * 1 + 0.25 * 9)
    second = [800, mib, 5120, 75, 3, 2, 6, 6, deviation, 2.4, 50, 20]
    assert found["2"] == pytest.approx(second, abs=0.006)
    spread = math.sqrt((600 * 4 + 200 * 4 + 600 * 0 + 200 * 16) / 1600)
    assert found["avg_2-3"] == pytest.approx([800, mib, 5120, 75, 4, 3, 7, 8, spread, 3.2, 50, 20], abs=0.006)
    assert list(found) == ["1", "2", "3", "avg_2-3"]


def test_the_mean_begins_after_the_warm_up_and_intervals_are_as_long_as_asked() -> None:
    text = RAW.replace("wd=wd1\n", "wd=wd1,iorate=max,elapsed=4,interval=2,warmup=4\n") + "rd=rd2,wd=wd1,interval=1\n"
    seconds = [[Done("wd1 read", ops, 4096, 1)] for ops in (1, 2, 3, 4, 10, 20, 30, 40)]

    found = lines_of(run_of(text, [seconds]))

    assert {label: values[0] for label, values in found.items()} == {
        "1": 1.5, "2": 3.5, "3": 15, "4": 35, "avg_3-4": 25
    }  # fmt: skip
    assert found["1"][6] == "n/a"


def test_the_flatfile_has_the_same_numbers_by_name() -> None:
    text = RAW.replace("wd=wd1\n", "wd=wd1,iorate=300,elapsed=2,interval=1\n").replace("sd=sd1\n", "sd=sd1,seekpct=0\n")
    run = run_of(text, [[[Done("wd1 read", 200, 4096, 5)], [Done("wd1 read", 300, 4096, 5)]]], "-o", "out")

    summary, flat = classic.files(run)

    assert (str(summary.path), str(flat.path)) == ("out/summary.html", "out/flatfile.html")
    lines = [line.split() for line in flat.content.decode().splitlines() if line and line[0] not in "*<"]
    row = dict(zip(lines[0], lines[2], strict=True))
    wanted = {
        "Run": "rd1", "Interval": "2", "rate": "300.0000", "resp": "5.0000", "xfersize": "4096", "threads": "8",
        "rdpct": "100", "seekpct": "0", "write_resp": "n/a", "queue_depth": "1.5000", "cpu_used": "50.0000",
    }  # fmt: skip
    assert {name: row[name] for name in wanted} == wanted
    assert [line[3] for line in lines[1:]] == ["1", "2", "avg_2-2"]


def test_a_name_is_text_in_the_files_of_html() -> None:
    text = RAW.replace("rd=rd1,wd=wd1\n", "rd=<b>rd1</b>,wd=wd1,iorate=max,elapsed=2,interval=1\n")
    done = [Done("wd1 read", 200, 4096, 5)]

    summary, flat = classic.files(run_of(text, [[done, done]], "-o", "out"))

    for file in (summary, flat):
        assert b"<b>" not in file.content
        assert b"&lt;b&gt;rd1" in file.content


def test_the_curve_is_drawn_from_the_means_of_its_points() -> None:
    text = RAW.replace("wd=wd1\n", "wd=wd1,iorate=curve,curve=(50,80),elapsed=2,interval=1\n")
    phases = [
        [[Done("wd1 read", 1, 4096, 1)], [Done("wd1 read", ops, 4096, ms)]]
        for ops, ms in ((1000, 8), (500, 1), (800, 2))
    ]

    (figure,) = classic.figures(run_of(text, phases))

    drawn = [
        (row["x"], row["y"])
        for rows in figure.chart.to_dict()["datasets"].values()
        for row in rows
        if {"x", "y"} <= row.keys()
    ]
    assert {(500.0, 1.0), (800.0, 2.0), (1000.0, 8.0)} <= set(drawn)
    assert [row[1] for row in figure.table.rows] == ["max", "50 %", "80 %"]
