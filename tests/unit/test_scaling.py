"""What `--scale` makes of the parameters of a load, and what it leaves alone."""

from pathlib import Path

import pytest

from assay import plan
from assay.errors import FrontEndError, InputError
from assay.loads import native, suites
from assay.loads.settings import settings

LOAD = """
name = "scaled"
[parameters]
size = "1GiB"
block = "64KiB"
files = 1000
phase_seconds = "30s"
kept = 7
[scale]
size = "10MiB"
block = "1KiB"
files = 20
phase_seconds = "3s"
[[file_set]]
name = "data"
files = "${files}"
size = "${size}"
[[phase]]
name = "read"
title = "${kept} ${block}"
seconds = "${phase_seconds}"
[[phase.job]]
op = { op = "read", set = "data", size = "${block}" }
"""


def scaled(
    scale: float, *pairs: str, text: str = LOAD, time: str | None = None, size: str | None = None
) -> dict[str, str]:
    return settings(text, "load.toml", pairs, time=time, size=size, repeat=1, scale=scale)


def test_sizes_counts_and_times_are_multiplied_and_rounded_down() -> None:
    # 1024 MiB, 64 KiB, 1000 and 30 s times 0.3.
    assert scaled(0.3) == {"size": "307MiB", "block": "19KiB", "files": "300", "phase_seconds": "9s"}
    assert scaled(2) == {"size": "2048MiB", "block": "128KiB", "files": "2000", "phase_seconds": "60s"}


def test_nothing_becomes_less_than_its_least() -> None:
    assert scaled(0.001) == {"size": "10MiB", "block": "1KiB", "files": "20", "phase_seconds": "3s"}


def test_what_is_given_otherwise_is_not_scaled() -> None:
    given = scaled(0.01, "files=400000", time="5s", size="1MiB")

    assert (given["files"], given["size"], given["phase_seconds"]) == ("400000", "1MiB", "5.000s")
    assert given["block"] == "1KiB"


def test_the_plan_has_the_scaled_values() -> None:
    made = native.parse(LOAD, "load.toml", directory=Path("/mnt"), settings=scaled(0.5))

    (data,), (phase,) = made.file_sets, made.phases
    assert (data.files, data.size, phase.stop.seconds) == (500, plan.Fixed(value=512 << 20), 15)
    assert phase.title == "7 32KiB"


def test_a_load_without_the_table_is_not_scaled_in_silence() -> None:
    text = LOAD.replace("[scale]", "[parameters.x]").split("[parameters.x]")[0] + LOAD[LOAD.index("[[file_set]]") :]

    with pytest.raises(
        FrontEndError, match=r"load.toml: --scale has nothing to scale: the load has no table \[scale\]"
    ):
        scaled(0.5, text=text)


@pytest.mark.parametrize("factor", [0, -1, 1e-7, 1e7, float("nan"), float("inf")])
def test_a_factor_that_no_machine_has_is_refused(factor: float) -> None:
    with pytest.raises(InputError, match=r"--scale .* is out of range: 1e-06 to 1e\+06"):
        scaled(factor)


@pytest.mark.parametrize(
    ("line", "wrong", "said"),
    [
        ('size = "10MiB"', 'size = "2GiB"', "load.toml:10: scale.size: 2GiB lies above the default, 1GiB"),
        ('size = "10MiB"', "size = true", "load.toml:10: scale.size: the least that it becomes is wanted"),
        ('size = "10MiB"', 'size = "much"', "load.toml:10: scale.size: 'much' is no size, time or count"),
        ('size = "10MiB"', "size = inf", "load.toml:10: scale.size: 'inf' is no size, time or count"),
        ('block = "1KiB"', 'block = "1s"', "load.toml:11: scale.block: 1s is of another kind than the default, 64KiB"),
        ("files = 20", "other = 20", "load.toml:12: scale.other: [parameters] gives 'other' no default to scale"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line_whether_it_is_used_or_not(line: str, wrong: str, said: str) -> None:
    text = LOAD.replace(line, wrong)

    for read in (
        lambda: scaled(1, text=text),
        lambda: native.parse(text, "load.toml", directory=Path("/"), settings={}),
    ):
        with pytest.raises(FrontEndError) as refused:
            read()
        assert str(refused.value).startswith(said)


def test_a_time_for_the_whole_is_refused_where_times_differ_with_their_names() -> None:
    with pytest.raises(FrontEndError, match="one by one: --set read_seconds=T, --set write_seconds=T"):
        native.phase_count(suites.text("eleven-metrics"), "eleven")


def test_every_suite_but_quick_scales_and_says_what_it_asks() -> None:
    for name in suites.names():
        said = native.describe(suites.text(name), name)
        if name == "quick":
            continue
        assert said.answers.endswith("?"), name
        assert said.void_if, name
        assert said.scale, name
        assert set(said.scale) <= set(said.parameters), name


def test_the_eleven_metrics_are_those_of_the_list() -> None:
    made = native.parse(suites.text("eleven-metrics"), "eleven", directory=Path("/mnt"), settings={})

    jobs = [phase.jobs[0] for phase in made.phases]
    assert [phase.name for phase in made.phases] == [str(number) for number in range(1, 12)]
    assert all(phase.title.startswith(f"{phase.name}: ") and phase.stands_for for phase in made.phases)
    assert [job.workers for job in jobs] == [1, 1, 20, 10, 20, 128, 1, 20, 128, 20, 8]
    assert [phase.stop.seconds for phase in made.phases] == [30] * 6 + [120] * 5
    cold = plan.CacheCondition.COLD
    assert [phase.name for phase in made.phases if phase.cache is cold] == ["1", "2", "3", "5", "10"]
    streams, pool, created = made.file_sets
    assert (streams.files, streams.size) == (20, plan.Fixed(value=1 << 30))
    assert (pool.files, pool.reuse, streams.reuse) == (400_000, plan.Reuse.IF_MATCHES, plan.Reuse.IF_MATCHES)
    assert created.size == plan.Fixed(value=8 << 10)
    assert [job.open.sync for job in jobs] == [False] * 8 + [True, False, False]


def test_names_and_inodes_are_dropped_before_the_cold_metrics_where_that_is_wanted() -> None:
    text = suites.text("eleven-metrics")
    dropped = {}
    for wanted in ("false", "true"):
        made = native.parse(text, "eleven", directory=Path("/mnt"), settings={"drop_caches": wanted})
        dropped[wanted] = [phase.name for phase in made.phases if plan.DropCaches() in phase.before]

    # 2 keeps what a server has, 4 and 6 what is there.
    assert dropped == {"false": [], "true": ["1", "3", "5", "10"]}


def test_a_scale_keeps_the_threads_and_can_keep_the_files_of_metric_10() -> None:
    text = suites.text("eleven-metrics")
    given = settings(text, "eleven", ["files=400000"], time=None, size=None, repeat=1, scale=0.01)
    made = native.parse(text, "eleven", directory=Path("/mnt"), settings=given)

    assert [phase.jobs[0].workers for phase in made.phases] == [1, 1, 20, 10, 20, 128, 1, 20, 128, 20, 8]
    assert [file_set.files for file_set in made.file_sets] == [20, 400_000, 40_000]
    assert made.file_sets[0].size == plan.Fixed(value=10 << 20)
    assert sum(phase.stop.seconds or 0 for phase in made.phases) == 33


TABLES = {
    "nfs-sfs2008": {
        "LOOKUP": 24, "READ": 18, "WRITE": 10, "GETATTR": 26, "READDIR": 1, "CREATE": 1, "REMOVE": 1, "SETATTR": 4,
        "READDIRPLUS": 2,
    },
    "nfs-sfs3": {
        "LOOKUP": 27, "READ": 18, "WRITE": 9, "GETATTR": 11, "READDIR": 2, "CREATE": 1, "REMOVE": 1, "SETATTR": 1,
        "READDIRPLUS": 9, "COMMIT": 5,
    },
}  # fmt: skip
"""As SPEC published them, but ACCESS, READLINK and FSSTAT."""


@pytest.mark.parametrize("name", TABLES)
def test_a_mix_has_the_weights_of_its_table(name: str) -> None:
    made = native.parse(suites.text(name), name, directory=Path("/mnt"), settings={})

    (job,) = made.phases[0].jobs
    assert isinstance(job.body, plan.Loop)
    (choice,) = job.body.actions
    assert isinstance(choice, plan.Choice)
    weights = {
        one.op.name: branch.weight for branch in choice.branches for one in branch.actions if isinstance(one, plan.Do)
    }
    assert weights == TABLES[name]
