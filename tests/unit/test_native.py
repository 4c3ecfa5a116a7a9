"""What a load file means: parameters, added steps, repeats, the suites and the examples."""

import hashlib
import sys
import tomllib
from pathlib import Path

import pytest

from assay import plan
from assay.errors import FrontEndError, InputError
from assay.loads import native, sizing, suites
from assay.loads.locate import locate
from assay.loads.parameters import declared
from assay.loads.sequence import changed_sets
from assay.loads.settings import settings
from assay.plan.walk import phase_sets

ROOT = Path(__file__).parent.parent.parent

LOAD = """
name = "load"
[parameters]
block = "4KiB"
depth = 2
[[file_set]]
name = "data"
size = "${size}"
[[phase]]
name = "read"
title = "${block} at ${depth}"
[[phase.job]]
backend = "io_uring"
queue_depth = "${depth}"
op = { op = "read", set = "data", size = "${block}" }
"""


def parse(text: str, directory: Path = Path("/mnt"), repeat: int = 1, **settings: str) -> plan.Plan:
    return native.parse(text, "load.toml", directory=directory, settings=settings, repeat=repeat)


def only_op(made: plan.Plan) -> plan.Op:
    (job,) = made.phases[0].jobs
    assert isinstance(job.body, plan.Loop)
    (action,) = job.body.actions
    assert isinstance(action, plan.Do)
    return action.op


def test_settings_replace_the_declared_values() -> None:
    made = parse(LOAD, size="1MiB", block="8KiB", depth="16")

    assert only_op(made).size == plan.Fixed(value=8192)
    assert made.phases[0].jobs[0].queue_depth == 16
    assert made.phases[0].title == "8KiB at 16"
    assert made.file_sets[0].size == plan.Fixed(value=1 << 20)


def test_a_size_given_as_a_plain_number_of_bytes_is_the_same_size() -> None:
    assert parse(LOAD, size="1048576").file_sets == parse(LOAD, size="1MiB").file_sets


def test_a_size_of_one_letter_is_binary_and_shown_in_full() -> None:
    made = parse(LOAD, size="1m", block="8K", depth="2")

    assert made.file_sets == parse(LOAD, size="1MiB").file_sets
    assert only_op(made).size == plan.Fixed(value=8192)
    assert made.phases[0].title == "8KiB at 2"
    with pytest.raises(FrontEndError, match=r"load.toml:15: .*means two things: write 8KiB \(8,192 bytes\), or 8000"):
        parse(LOAD, size="1MiB", block="8KB")


def test_the_parameters_of_a_load_are_its_declared_ones_and_the_built_in_ones_that_it_uses() -> None:
    found = declared(tomllib.loads(LOAD), "load.toml", locate(LOAD))

    assert {name: parameter.default for name, parameter in found.items()} == {"block": "4KiB", "depth": 2, "size": None}


def test_a_setting_that_the_load_does_not_have_is_refused_and_not_ignored() -> None:
    with pytest.raises(FrontEndError, match=r"--set blok: the load has no parameter 'blok'; did you mean 'block'\?"):
        parse(LOAD, size="1MiB", blok="8KiB")
    with pytest.raises(FrontEndError, match=r"--set files: .* known here: block, depth, size"):
        parse(LOAD, size="1MiB", files="7")


def test_a_setting_of_the_wrong_type_is_refused_where_it_is_used() -> None:
    with pytest.raises(FrontEndError, match=r"load.toml:14: phase.job.queue_depth: a whole number .* \('deep'\)"):
        parse(LOAD, size="1MiB", depth="deep")


def test_the_plan_says_which_text_it_was_made_from() -> None:
    origin = parse(LOAD, size="1MiB").origin

    assert origin == plan.Origin(
        front_end="native", source="load.toml", sha256=hashlib.sha256(LOAD.encode()).hexdigest()
    )


def test_the_target_is_the_absolute_directory_as_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    (target,) = parse(LOAD, Path("with space"), size="1MiB").targets

    assert target.uri == f"file://{tmp_path}/with%20space"


def test_repeat_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="repeat is 0"):
        parse(LOAD, size="1MiB", repeat=0)


@pytest.mark.parametrize(
    ("seconds", "interval_s"),
    [
        ((), 1.0),
        ((120.0,), 1.0),
        ((30.0, 2.0), 0.05),
        ((29.9,), 0.5),
        ((8.1, 3.2), 0.1),
        ((3.0,), 0.1),
        ((0.5,), 0.025),
    ],
)
def test_an_interval_is_a_thirtieth_of_the_shortest_phase_at_a_readable_length(
    seconds: tuple[float, ...], interval_s: float
) -> None:
    job = plan.Job(name="job", body=plan.Loop(actions=()))
    phases = [plan.Phase(name=f"{length}", title="", jobs=(job,), stop=plan.Stop(seconds=length)) for length in seconds]

    assert native.sample_interval_s(phases) == interval_s


@pytest.mark.parametrize(
    ("seconds", "repeat", "interval_s"),
    [
        ((7200.0,), 1, 1.0),  # two hours
        ((86_400.0,), 1, 10.0),  # a day, in 8,640
        ((3600.0,), 24, 10.0),
        ((86_400.0, 100.0), 1, 2.0),  # the short phase has its thirty
        ((86_400.0, 10.0), 1, 1.0),
        ((31_536_000.0,), 1, 3600.0),
        ((2_592_000.0, 10.0), 1, 30.0),  # a month: a hundred thousand are the most, thirty or not
    ],
)
def test_a_run_of_hours_has_ten_thousand_intervals_at_most_where_its_shortest_phase_has_thirty(
    seconds: tuple[float, ...], repeat: int, interval_s: float
) -> None:
    job = plan.Job(name="job", body=plan.Loop(actions=()))
    phases = [plan.Phase(name=f"{length}", title="", jobs=(job,), stop=plan.Stop(seconds=length)) for length in seconds]

    assert native.sample_interval_s(phases, repeat) == interval_s


def test_intervals_are_counted_for_the_longest_time_of_a_phase() -> None:
    job = plan.Job(name="job", body=plan.Loop(actions=()))
    phase = plan.Phase(name="phase", title="", jobs=(job,), stop=plan.Stop(seconds=3600.0), extend_to_s=86_400.0)

    assert native.sample_interval_s([phase]) == 10.0


def test_more_intervals_than_a_bundle_can_hold_are_refused_with_what_would_do() -> None:
    text = """name = "long"
sample_interval = "10ms"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "look"
seconds = "1h"
[[phase.job]]
op = { op = "stat", set = "data" }
"""

    with pytest.raises(InputError, match=r":2: sample_interval: .* 360,000 intervals; .* at most 100,000\. Take 36"):
        parse(text)


def test_the_quick_suite_measures_what_its_titles_say() -> None:
    settings = {"size": "1GiB", "files": "1000", "phase_seconds": "8", "metadata_seconds": "3"}
    made = native.parse(suites.text("quick"), "quick", directory=Path("/mnt"), settings=settings)

    for phase in made.phases:
        (job,) = phase.jobs
        title = phase.title
        assert ("direct" in title) == (job.open.direct is plan.Direct.IF_SUPPORTED)
        assert ("O_DSYNC" in title) == job.open.dsync
        assert ("cold" in title) <= (phase.cache is plan.CacheCondition.COLD)
        if "depth" in title:
            assert title.endswith(f"depth {job.queue_depth}")
        if "worker" in title:
            assert f"{job.workers} worker" in title


def test_the_quick_suite_creates_nothing_after_it_has_deleted() -> None:
    names = [phase.name for phase in parse(suites.text("quick")).phases]

    assert names[5:] == ["create-1", "stat-1", "create-many", "stat-many", "delete-1", "delete-many"]


def test_the_quick_suite_has_the_phases_that_sizing_counts_on() -> None:
    made = parse(suites.text("quick"), phase_seconds="8", metadata_seconds="3")

    seconds = [phase.stop.seconds for phase in made.phases]
    assert (seconds.count(8), seconds.count(3)) == (sizing.STREAM_PHASES, sizing.METADATA_PHASES)


def test_the_quick_suite_lays_each_set_out_once_and_evicts_before_every_cold_phase() -> None:
    made = parse(suites.text("quick"))

    prepared = [step.set for phase in made.phases for step in phase.before if isinstance(step, plan.Prepare)]
    assert prepared == ["data", "files-1", "looked-up", "files-many"]
    cold = [phase for phase in made.phases if phase.cache is plan.CacheCondition.COLD]
    assert [phase.before[-1] for phase in cold] == [plan.Evict(set="data")] * sizing.STREAM_PHASES


def test_the_quick_suite_looks_up_a_number_of_files_that_no_timed_phase_decides() -> None:
    made = parse(suites.text("quick"), looked_up="700")

    looked_up = {name for phase in made.phases if phase.name.startswith("stat-") for name in phase_sets(phase)}
    assert [(known.name, known.files, known.existing_share) for known in made.file_sets if known.name in looked_up] == [
        ("looked-up", 700, 1.0)
    ]
    assert "looked-up" not in {name for phase in made.phases for name in changed_sets(phase)}


def test_a_repeat_of_the_quick_suite_lays_out_the_metadata_sets_again_and_the_data_not() -> None:
    made = parse(suites.text("quick"), repeat=2)

    second = [step for phase in made.phases if phase.repeat == 1 for step in phase.before]
    assert [step.set for step in second if isinstance(step, plan.Prepare)] == ["files-1", "files-many"]
    assert [phase.name for phase in made.phases[:11]] == [phase.name for phase in made.phases[11:]]


def test_every_suite_has_a_description_and_makes_a_plan() -> None:
    assert "quick" in suites.names()
    for name in suites.names():
        assert suites.description(name)
        needs_size = native.needs_size(suites.text(name), name, ())
        assert (parse(suites.text(name), size="1GiB") if needs_size else parse(suites.text(name))).name == name


def test_a_load_is_read_from_a_suite_or_a_file(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(LOAD)

    assert suites.read("quick") == (suites.text("quick"), "quick.toml")
    assert suites.read(str(own)) == (LOAD, str(own))
    with pytest.raises(InputError, match=r"no load file '.*missing.toml'"):
        suites.read(str(tmp_path / "missing.toml"))
    own.write_bytes(b"name = \xff")
    with pytest.raises(InputError, match="is not UTF-8 text at byte 7"):
        suites.read(str(own))


def test_a_time_for_the_whole_is_shared_by_the_phases_that_it_sets() -> None:
    assert native.phase_count(suites.text("quick"), "quick.toml") == sizing.STREAM_PHASES
    with pytest.raises(FrontEndError, match="--time has nothing to set"):
        native.phase_count(LOAD, "load.toml")


@pytest.mark.parametrize("repeat", [1, 3])
def test_a_time_is_that_of_the_whole_run_with_its_repeats(repeat: int) -> None:
    text = f"{LOAD}[[phase]]\nname = 'timed'\nseconds = '${{phase_seconds}}'\n[[phase.job]]\n" + LOAD.splitlines()[-1]

    values = settings(text, "load.toml", ["size=1MiB"], time="30s", size=None, repeat=repeat)
    made = native.parse(text, "load.toml", directory=Path("/mnt"), settings=values, repeat=repeat)

    assert sum(phase.stop.seconds or 0 for phase in made.phases) == 30


def test_an_unknown_suite_is_refused_with_the_one_that_is_meant_or_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no suite 'quik'; did you mean 'quick'\? 'assay suites' lists them"):
        suites.text("quik")
    with pytest.raises(
        InputError, match=r"no suite 'nothing-like'; there are: backup-streams, clones, .*zeros\. 'assay"
    ):
        suites.text("nothing-like")


@pytest.mark.parametrize("name", suites.examples())
def test_an_example_makes_a_plan_of_its_name_without_any_setting(name: str) -> None:
    text, source = suites.read(name)

    assert (parse(text).name, source) == (name, f"{name}.toml")
    assert suites.description(name)
    assert (ROOT / "docs" / "examples" / source).read_text() == text


def test_a_name_that_is_a_file_too_is_the_load_that_comes_with_assay_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert suites.choice("open-loop") == ""
    Path("open-loop.toml").write_text(LOAD)

    assert suites.read("open-loop")[0] != LOAD
    assert suites.choice("open-loop").endswith("for the file here write ./open-loop.toml")
    assert suites.read("./open-loop.toml")[0] == LOAD
    assert (suites.choice("./open-loop.toml"), suites.choice("other")) == ("", "")
    assert set(suites.names()) & set(suites.examples()) == set()
    with pytest.raises(InputError, match=r"no load file 'append-log\.toml'; 'append-log' comes with Assay"):
        suites.read("append-log.toml")


def test_a_script_is_found_beside_its_load_file(tmp_path: Path) -> None:
    text = """
name = "trace"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "replay"
[[phase.job]]
script = { path = "traces/one.ndjson", ops = [{ op = "read", set = "data", size = "4KiB" }] }
"""

    made = native.parse(text, str(tmp_path / "load.toml"), directory=Path("/mnt"), settings={})

    (job,) = made.phases[0].jobs
    assert isinstance(job.body, plan.Script)
    assert job.body.path == str(tmp_path / "traces/one.ndjson")


def calls_of_parsing(phases: int) -> int:
    """Function calls, of Python's own functions too."""
    table = '[[phase]]\nname = "p{}"\nseconds = 1\njob = {{ op = {{ op = "read", set = "d", size = "4KiB" }} }}\n'
    text = 'name = "x"\n[[file_set]]\nname = "d"\nsize = "1MiB"\n' + "".join(map(table.format, range(phases)))
    count = 0

    def counted(_: object, what: str, __: object) -> None:
        nonlocal count
        count += what.endswith("call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        parse(text)
    finally:
        sys.setprofile(before)
    return count


def test_each_further_phase_of_a_load_file_costs_the_same() -> None:
    calls_of_parsing(1)  # fills caches
    few, more, most = map(calls_of_parsing, (100, 200, 300))

    # Of what grows with the square of the phases, the second hundred takes half as much again as the first.
    assert most - more < 1.01 * (more - few)
