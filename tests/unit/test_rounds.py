"""Rounds: when they end, what their window is, and what is reported of it."""

import io
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assay import events, plan
from assay.analysis.document import document
from assay.analysis.record import RunRecord, read
from assay.analysis.rounds_window import in_window, of_window
from assay.analysis.settling import Settling
from assay.analysis.statistics.round_level import level_of
from assay.bundle.client_set import Share
from assay.cluster.shares import share_plan
from assay.compare.arms import Arm
from assay.console import PlainConsole
from assay.errors import FrontEndError, InputError, PlanError
from assay.loads import native
from assay.places import DevicePlace
from assay.report import text
from assay.report.answer import answer
from assay.report.export import all_figures
from assay.report.head import head_of
from assay.report.page.rounds_section import rounds_section
from assay.results import Document
from assay.verdicts import TrustLevel
from unit import vega
from unit.synthetic import NS, SyntheticRun, interval_of, one_job, one_plan, steady_stream

LOAD = """\
name = "rounds"
[rounds]
of = ["write"]
window = 3
most = 5
[[file_set]]
name = "data"
size = "64MiB"
[[phase]]
name = "fill"
once = true
stop = { bytes = "64MiB" }
[[phase.job]]
op = { op = "write", set = "data", size = "128KiB" }
[[phase]]
name = "read"
seconds = "${phase_seconds}"
[[phase.job]]
op = { op = "read", set = "data", size = "4KiB" }
[[phase]]
name = "write"
seconds = "${phase_seconds}"
[[phase.job]]
op = { op = "write", set = "data", size = "4KiB" }
"""
UNALIGNED = """\
[[phase]]
name = "odd"
title = "512 B"
skip_if_unaligned = true
seconds = "1s"
[[phase.job]]
direct = true
op = { op = "read", set = "data", size = "512B" }
"""
FRESH, WORN = 400, 200


def parse(load: str = LOAD, repeat: int = 1) -> plan.Plan:
    return native.parse(load, "load.toml", directory=Path("/mnt"), settings={"phase_seconds": "1s"}, repeat=repeat)


# -- the rule ----------------------------------------------------------------------------------------------------------


def test_range_and_slope_are_those_of_a_line_by_hand() -> None:
    # 90 to 110 in steps of 5: the line is exact, and rises by 20 over four distances.
    level = level_of([90.0, 95.0, 100.0, 105.0, 110.0])

    assert level is not None
    assert (level.mean, level.range_share) == (100.0, 0.2)
    assert level.slope_share == pytest.approx(0.2)
    assert not level.is_steady(plan.Rounds(of=("p",)))
    assert level.is_steady(plan.Rounds(of=("p",), slope_share=0.2))
    assert not level.is_steady(plan.Rounds(of=("p",), slope_share=0.2, range_share=0.19))


def test_a_peak_in_the_middle_has_a_range_and_no_slope() -> None:
    level = level_of([100.0, 100.0, 115.0, 100.0, 100.0])

    assert level is not None
    assert level.slope_share == pytest.approx(0.0)
    assert level.range_share == pytest.approx(15 / 103)
    assert level.is_steady(plan.Rounds(of=("p",)))


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 0.0]])
def test_nothing_is_no_level(values: list[float]) -> None:
    assert level_of(values) is None


# -- the load file -----------------------------------------------------------------------------------------------------


def test_a_load_has_its_setup_once_and_a_decision_before_each_round_after_the_window() -> None:
    made = parse()

    assert [phase.name for phase in made.phases] == ["fill", *["read", "write"] * 5]
    assert [index for index, phase in enumerate(made.phases) if phase.gate == plan.NextRound()] == [7, 9]
    assert [phase.repeat for phase in made.phases] == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert made.rounds == plan.Rounds(of=("write",), window=3, most=5)


def test_a_time_for_the_whole_is_that_of_all_rounds() -> None:
    assert native.phase_count(LOAD, "load.toml") == 10


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'of = ["write"]',
            'of = ["wriet"]',
            r"load.toml:3: rounds.of: no repeated phase 'wriet'; did you mean 'write'",
        ),
        ('of = ["write"]', 'of = ["fill"]', r"load.toml:3: rounds.of: no repeated phase 'fill'"),
        ('of = ["write"]', "of = []", r"of names no phase"),
        ("most = 5", "most = 2", r"load.toml:5: rounds.most: 2 rounds are fewer than the window, 3"),
        ("window = 3", "window = 1", r"load.toml:4: rounds.window: 1 is out of range"),
        ('name = "write"', 'name = "write"\nonce = true', r"load.toml:22: .*the rounds come last"),
        ('[rounds]\nof = ["write"]\nwindow = 3\nmost = 5\n', "", r"load.toml:7: .*without \[rounds\]"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in LOAD
    with pytest.raises(FrontEndError, match=message):
        parse(LOAD.replace(old, new))


def test_rounds_are_not_repeated_as_a_whole() -> None:
    with pytest.raises(FrontEndError, match=r"load.toml:2: --repeat 3: this load repeats its phases in rounds"):
        parse(repeat=3)


def test_clients_are_refused_before_anything_is_done() -> None:
    with pytest.raises(InputError, match="measure without clients"):
        share_plan(parse(), Share.OWN, ["a", "b"])


def test_a_decision_without_a_rule_is_refused() -> None:
    with pytest.raises(PlanError, match="does not define what ends them"):
        msgspec.structs.replace(parse(), rounds=None)


def test_phases_that_the_device_cannot_do_directly_are_left_out_and_named() -> None:
    def made(logical_block_bytes: int) -> plan.Plan:
        device = DevicePlace(path=Path("/dev/x"), size_bytes=1 << 30, logical_block_bytes=logical_block_bytes)
        return native.parse(LOAD + UNALIGNED, "load.toml", directory=device, settings={"phase_seconds": "1s"})

    assert {phase.name for phase in made(512).phases} == {"fill", "read", "write", "odd"}
    assert made(512).untranslated == ()
    poor = made(4096)
    assert {phase.name for phase in poor.phases} == {"fill", "read", "write"}
    assert poor.untranslated == (plan.Untranslated(what="512 B", why="logical blocks of the device have 4.00 KiB"),)


# -- the decision, from intervals of known counts ----------------------------------------------------------------------


def orders(rates: Sequence[int], *, by: plan.SteadyOf = plan.SteadyOf.OPS) -> list[str]:
    """Give the order for each phase with a gate, until the rounds end."""
    made = msgspec.structs.replace(parse(), rounds=plan.Rounds(of=("write",), window=3, most=5, by=by))
    settling, given = Settling(made), []
    for index, phase in enumerate(made.phases):
        if phase.gate is not None:
            order = settling.order(index)
            given.append(type(order).__name__)
            if isinstance(order, events.SkipTo):
                assert (order.phase_index, order.next_index) == (index, len(made.phases))
                break
        settling.hear(events.Started(t_ns=0, phase_index=index, start_ns=0))
        ops = rates[phase.repeat] if phase.name == "write" else 7 * (index + 1)
        for number in range(1, 5):
            one = interval_of(number, ops, dt_ns=NS // 4)
            took = events.Buckets(index=(), count=(), max_ns=0, sum_ns=ops * 1000)
            own = (
                msgspec.structs.replace(each, job=phase.name, operation="write", latency=took)
                for each in one.operations
            )
            settling.hear(msgspec.structs.replace(one, phase_index=index, operations=tuple(own)))
    return given


def test_the_run_ends_as_soon_as_the_window_is_steady() -> None:
    assert orders([FRESH, FRESH, FRESH, WORN, WORN]) == ["SkipTo"]
    assert orders([FRESH, WORN, WORN, WORN, WORN]) == ["Start", "SkipTo"]
    assert orders([FRESH, WORN, FRESH, WORN, FRESH]) == ["Start", "Start"]


def test_latency_decides_where_it_is_to() -> None:
    # The rate changes, and the mean latency of each operation does not.
    assert orders([FRESH, WORN, FRESH, WORN, FRESH], by=plan.SteadyOf.LATENCY) == ["SkipTo"]


# -- the report of a run -----------------------------------------------------------------------------------------------


def recorded(rates: Sequence[int], *, most: int = 25) -> tuple[RunRecord, Document]:
    """Fill once at another rate, then in each round write at this rate."""
    cell = plan.TableCell(row="4KiB", column="0/100")
    rounds = [
        plan.Phase(
            name="write", title="writes", jobs=(one_job(),), repeat=repeat, cell=cell, stop=plan.Stop(seconds=3.0)
        )
        for repeat in range(most)
    ]
    fill = plan.Phase(name="fill", title="fill", jobs=(one_job(),), stop=plan.Stop(seconds=3.0))
    whole = one_plan(fill, *rounds, sample_interval_s=0.1)
    run = SyntheticRun(msgspec.structs.replace(whole, rounds=plan.Rounds(of=("write",), most=most)))
    for index, per_s in enumerate([1000, *rates]):
        run.phase(
            [steady_stream(per_s=per_s, seconds=3, latency_ns=1_000_000, bytes_each=4096)], seconds=3, index=index
        )
    if len(rates) < most:
        run.say(events.Skipped(t_ns=0, phase_index=len(rates) + 1, next_index=most + 1))
    record = read(run.end())
    return record, document(record)


def test_results_are_of_the_window_alone() -> None:
    _, measured = recorded([FRESH, FRESH, 200, 204, 196, 202, 198])

    assert measured.rounds is not None
    assert (measured.rounds.done, measured.rounds.window, measured.rounds.is_steady) == (7, (2, 6), True)
    (one,) = measured.rounds.tracked
    assert one.values[0] == pytest.approx(FRESH, rel=0.01)
    assert one.mean == pytest.approx(200, rel=0.01)
    assert one.range_share == pytest.approx(8 / 200, abs=0.002)
    fill, write = measured.summaries
    assert write.counted == (2, 3, 4, 5, 6)
    assert write.iops.value == pytest.approx(one.mean)
    assert write.iops.method == "mean"
    assert fill.counted == (0,)
    assert not any(finding.id == "unfinished" for finding in measured.findings)
    assert [result.repeat for result in of_window(measured).results] == [0, 2, 3, 4, 5, 6]
    assert not in_window(measured)(next(one for one in measured.results if one.repeat == 1))


def test_rounds_that_never_become_steady_have_no_usable_result() -> None:
    _, measured = recorded([FRESH, WORN] * 4, most=8)

    assert measured.rounds is not None
    assert (measured.rounds.done, measured.rounds.window, measured.rounds.is_steady) == (8, (3, 7), False)
    _, write = measured.summaries
    assert (write.trust.level, write.trust.reasons[0].text) == (TrustLevel.NO, "not steady in 8 rounds")
    (found,) = (finding for finding in measured.findings if finding.id == "rounds-not-steady")
    assert (
        "'writes' was not steady in the last of 8 rounds: a range of 71.4 % of the mean (20.0 % are allowed)"
        in found.text
    )
    (samples,) = (same for label, same in Arm.of("a", [measured]).samples().items() if label.startswith("write"))
    assert [sample.result.repeat for sample in samples] == [3, 4, 5, 6, 7]
    assert not any(sample.is_usable for sample in samples)


def test_a_phase_that_is_not_steady_within_its_round_makes_the_result_weak() -> None:
    cell = plan.TableCell(row="4KiB", column="0/100")
    phases = [
        plan.Phase(name="write", title="writes", jobs=(one_job(),), repeat=i, cell=cell, stop=plan.Stop(seconds=4.0))
        for i in range(5)
    ]
    whole = one_plan(*phases, sample_interval_s=0.1)
    run = SyntheticRun(msgspec.structs.replace(whole, rounds=plan.Rounds(of=("write",), most=5)))
    for index in range(5):
        first = steady_stream(per_s=400, seconds=3.3, latency_ns=1_000_000, bytes_each=4096)
        later = steady_stream(per_s=100, seconds=4, begin_s=3.3, latency_ns=1_000_000, bytes_each=4096)
        run.phase([first.then(later)], seconds=4, index=index)
    measured = document(read(run.end()))

    assert {one.trust.level for one in measured.results} == {TrustLevel.WEAK}
    (write,) = measured.summaries
    assert write.iops.value == pytest.approx((400 * 3.3 + 100 * 0.7) / 4, rel=0.01)
    assert write.trust.level is TrustLevel.WEAK
    assert "not-steady" in {reason.id for reason in write.trust.reasons}


def test_too_few_rounds_show_nothing() -> None:
    _, measured = recorded([WORN] * 3, most=3)
    assert measured.rounds is not None
    assert (measured.rounds.window, measured.rounds.is_steady) == (None, False)


def test_the_screen_ends_with_the_steady_results() -> None:
    run, measured = recorded([FRESH, FRESH, 200, 204, 196, 202, 198])
    console = PlainConsole(file=io.StringIO(), width=80, color_system=None, force_terminal=True, legacy_windows=False)
    text.render(measured, head_of(measured, run), console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]

    assert max(map(len, lines)) <= 80
    at = lines.index("IOPS")
    assert lines[at + 1].split() == ["0/100"]
    assert lines[at + 2].split()[:2] == ["4KiB", "200~"]
    assert any(
        line.startswith("rounds   Steady after 7 of at most 25 rounds; results are means over") for line in lines
    )
    assert any(line.startswith("Steady after 7 of at most 25 rounds") for line in answer(measured, "synthetic"))


def test_the_figures_have_each_round_and_the_limits_of_the_window() -> None:
    run, measured = recorded([FRESH, FRESH, 200, 204, 196, 202, 198])
    every, window, *_ = all_figures(run, measured)

    for figure in (every, window):
        vega.check(figure)
    assert every.table.columns == ("Result, IOPS", "1", "2", "3", "4", "5", "6", "7")
    ((name, *values),) = every.table.rows
    assert (name, values) == ("4KiB 0/100", ["400", "400", "200", "204", "196", "202", "198"])
    assert window.table.rows == (("3", "200"), ("4", "204"), ("5", "196"), ("6", "202"), ("7", "198"))
    drawn = [row for rows in window.chart.to_dict()["datasets"].values() for row in rows]
    lines = sorted(row["value"] for row in drawn if "round" not in row)
    assert lines == pytest.approx([180, 200, 220], rel=0.01)
    assert "<h2 id=" in rounds_section(measured)
