"""Marks: what was before, during and after them, of series whose truth is known."""

import json
import os
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay import events, plan
from assay.analysis.marked import marks_of_run
from assay.analysis.record import read
from assay.analysis.statistics.recovery import band_of, find_recovery
from assay.analysis.statistics.share_interval import ratio_interval
from assay.bundle import RunBundle
from assay.bundle.kept_marks import (
    LONGEST_LABEL,
    MARKS,
    MOST_MARKS,
    KeptMark,
    MarkGiven,
    add_mark,
    kept_mark,
    marks_of,
    read_marks,
)
from assay.errors import BundleError, InputError
from assay.live.json_lines import JsonLinesDisplay
from assay.live.line_sink import line_sink
from assay.report import mark_words
from assay.report.archive import write_archive
from assay.report.head import Head
from assay.report.kept_answers import KeptAnswer, keep_answer, kept_answer
from assay.report.sections import marks as marks_section
from assay.report.spreadsheets import MARKS as MARKS_TABLE
from assay.report.spreadsheets import tables
from assay.results import DETECTED, Document, EarlierLevel, MarkEffect, RunMark
from assay.running.mark_watch import MarkWatch
from assay.running.marking import take_words
from assay.verdicts import RecoveryVerdict
from unit.bundle_streams import begun, stream
from unit.bundle_streams import plan as quick_plan
from unit.memory_run import judged
from unit.synthetic import NS, Stream, SyntheticRun, one_job, one_plan, steady_stream

ROOT = Path(__file__).parents[2]
REBUILD_MS = {"before": 6.0, "during": 8.0, "after": 5.0}
"""Read latencies of a published rebuild: before the disk was pulled, until the rebuild was done, afterwards."""
PHASE_NS = 10 * NS
"""When the first phase of a synthetic run begins."""


def waits(latency_ms: float, seconds: float, seed: int) -> np.ndarray:
    """Latencies of one worker that asks again at once, for so long: log-normal, their mean as given."""
    sigma = 0.15
    mu = np.log(latency_ms * 1e6) - sigma**2 / 2
    drawn = np.random.default_rng(seed).lognormal(mu, sigma, round(2 * seconds * 1e3 / latency_ms))
    return drawn[np.cumsum(drawn) <= seconds * 1e9].astype(np.int64)


def one_phase(stream: Stream, *, seconds: float, interval_s: float, **marks: float) -> SyntheticRun:
    """A run of a phase with a user's marks, in seconds since the phase began."""
    its_plan = one_plan(plan.Phase(name="read", title="reads", jobs=(one_job(),)), sample_interval_s=interval_s)
    run = SyntheticRun(its_plan).phase([stream], seconds=seconds).end()
    run.marks = tuple(
        KeptMark(t_ns=PHASE_NS + round(at * NS), label=label, given=MarkGiven.WHILE_IT_RAN)
        for label, at in marks.items()
    )
    return run


def given(document: Document) -> list[RunMark]:
    return [mark for mark in document.marks if mark.source != DETECTED]


def only(mark: RunMark) -> MarkEffect:
    (effect,) = mark.effects
    return effect


@pytest.mark.parametrize("seed", range(5))
def test_a_disk_that_is_pulled_and_a_rebuild_that_ends_have_their_levels(seed: int) -> None:
    parts = [waits(REBUILD_MS[name], 60, 3 * seed + i) for i, name in enumerate(("before", "during", "after"))]
    latency = np.concatenate(parts)
    run = one_phase(
        Stream(np.cumsum(latency), latency), seconds=180, interval_s=1.0, **{"disk pulled": 60.0, "rebuilt": 120.0}
    )

    document = judged(run)

    pulled, rebuilt = given(document)
    assert (pulled.label, pulled.phase, pulled.phase_s, pulled.source) == ("disk pulled", "read", 60.0, "user")
    effect = only(pulled)
    levels = {"before": effect.before, "during": effect.during, "after": effect.after}
    for name, level in levels.items():
        assert level is not None
        assert level.iops_interval is not None
        assert level.p50_ns is not None
        # Of so many that 95 in 100 hold the truth, none is far off it.
        assert level.iops == pytest.approx(1e3 / REBUILD_MS[name], rel=0.01)
        half = (level.iops_interval[1] - level.iops_interval[0]) / 2
        assert abs(level.iops - 1e3 / REBUILD_MS[name]) <= 2 * half
        assert half < 0.02 * level.iops
        assert level.p50_ns / 1e6 == pytest.approx(REBUILD_MS[name], rel=0.03)
    changed = effect.during_changes.p50
    assert changed is not None
    assert changed.interval is not None
    assert changed.share == pytest.approx(8 / 6 - 1, abs=0.03)
    assert changed.interval[0] < changed.share < changed.interval[1]
    assert effect.during_changes.iops is not None
    assert effect.during_changes.iops.share == pytest.approx(6 / 8 - 1, abs=0.02)
    assert effect.recovery is not None
    assert effect.recovery.verdict is RecoveryVerdict.RECOVERED
    assert effect.recovery.left_s == 0
    assert effect.recovery.seconds == pytest.approx(60, abs=effect.recovery.within_s)
    assert only(rebuilt).before is not None
    # Both ends are found without a mark, too.
    steps = [mark.phase_s for mark in document.marks if mark.source == DETECTED]
    assert steps == [pytest.approx(60, abs=3), pytest.approx(120, abs=3)]


@pytest.mark.long
def test_intervals_of_levels_hold_the_truth_as_often_as_they_say() -> None:
    held = 0
    tries = 60
    for seed in range(tries):
        parts = [waits(ms, 30, 2 * seed + i + 1000) for i, ms in enumerate((6.0, 8.0))]
        latency = np.concatenate(parts)
        run = one_phase(Stream(np.cumsum(latency), latency), seconds=60, interval_s=1.0, pulled=30.0)
        level = only(given(judged(run))[0]).during
        assert level is not None
        assert level.iops_interval is not None
        held += level.iops_interval[0] <= 125 <= level.iops_interval[1]

    assert held >= 0.85 * tries


def frozen(begin_s: float, for_s: float, *, per_s: int = 500, seconds: float = 20.0) -> Stream:
    """Reads at a constant rate, none of which ends from a moment on for some time."""
    steady = steady_stream(per_s=per_s, seconds=seconds, latency_ns=1_000_000)
    is_before = steady.done_ns < begin_s * NS
    later = steady.done_ns[~is_before] + round(for_s * NS)
    latency = steady.latency_ns.copy()
    latency[int(is_before.sum())] += round(for_s * NS)
    inside = later < seconds * NS
    done = np.concatenate([steady.done_ns[is_before], later[inside]])
    return Stream(done, latency[: len(done)])


@pytest.mark.parametrize("begin_s", [8.0, 8.03, 8.07])
@pytest.mark.parametrize("for_s", [0.5, 1.5, 1.53])
def test_a_freeze_is_over_when_it_was(begin_s: float, for_s: float) -> None:
    run = one_phase(frozen(begin_s, for_s), seconds=20, interval_s=0.1, freeze=begin_s)

    effect = only(given(judged(run))[0])

    recovery = effect.recovery
    assert recovery is not None
    assert recovery.verdict is RecoveryVerdict.RECOVERED
    assert recovery.within_s == pytest.approx(0.1)
    assert recovery.seconds == pytest.approx(for_s, abs=recovery.within_s + 1e-3)
    assert effect.before is not None
    assert effect.before.iops == pytest.approx(500, rel=0.001)
    assert effect.during is not None
    assert effect.during.iops == pytest.approx(0, abs=500 * 0.1 / for_s)
    assert effect.after is not None
    assert effect.after.iops == pytest.approx(500, rel=0.01)
    assert effect.during_changes.iops is not None
    assert effect.during_changes.iops.share == pytest.approx(-1, abs=0.1 / for_s)


def test_what_is_shorter_than_an_interval_has_no_level_and_says_so() -> None:
    run = one_phase(frozen(8.2, 0.3), seconds=60, interval_s=1.0, freeze=8.2, thaw=8.5)

    effect = only(given(judged(run))[0])

    assert effect.during is None
    assert effect.missing == "during: shorter than an interval (1.00 s)"
    assert effect.recovery is not None
    assert effect.recovery.within_s == pytest.approx(1.0)


def test_a_mark_at_which_nothing_happened_moved_nothing() -> None:
    run = one_phase(steady_stream(per_s=500, seconds=20, latency_ns=1_000_000), seconds=20, interval_s=0.1, look=8.0)

    effect = only(given(judged(run))[0])

    assert effect.recovery is not None
    assert effect.recovery.verdict is RecoveryVerdict.UNMOVED
    assert effect.recovery.seconds is None
    assert effect.during is None
    assert effect.after is not None
    assert effect.after_changes.iops is not None
    assert effect.after_changes.iops.share == pytest.approx(0, abs=0.001)


def test_what_never_comes_back_is_not_said_to() -> None:
    slow = steady_stream(per_s=300, seconds=20, begin_s=8.0, latency_ns=1_000_000)
    run = one_phase(
        steady_stream(per_s=500, seconds=8, latency_ns=1_000_000).then(slow), seconds=20, interval_s=0.1, fault=8.0
    )

    effect = only(given(judged(run))[0])

    assert effect.recovery is not None
    assert effect.recovery.verdict is RecoveryVerdict.NOT_RECOVERED
    assert effect.after is None
    assert effect.during is not None
    assert effect.during.iops == pytest.approx(300, rel=0.01)
    assert effect.during_changes.iops is not None
    assert effect.during_changes.iops.share == pytest.approx(-0.4, abs=0.01)


def test_a_pause_of_the_client_is_a_mark_with_its_own_during() -> None:
    run = one_phase(frozen(8.0, 1.5), seconds=20, interval_s=0.1)
    pause = events.Paused(
        t_ns=PHASE_NS + round(9.5 * NS), phase_index=0, begun_ns=PHASE_NS + 8 * NS, paused_ns=round(1.5 * NS)
    )
    run.lines.insert(-2, pause)

    mark = next(mark for mark in judged(run).marks if "was paused" in mark.label)

    assert (mark.label, mark.source, mark.phase_s) == ("the client was paused for 1.50 s", DETECTED, 8.0)
    during = only(mark).during
    assert during is not None
    assert list(during.window_s) == pytest.approx([8.0, 9.5])
    assert during.iops == 0


def test_the_first_fifty_of_what_was_detected_are_marks_beside_all_that_were_given() -> None:
    run = one_phase(steady_stream(per_s=50, seconds=10, latency_ns=1000), seconds=10, interval_s=1.0, last=9.9)
    begins_ns = [PHASE_NS + round(0.1 * number * NS) for number in range(60)]
    run.lines[-2:-2] = [
        events.Paused(t_ns=begun_ns + 1, phase_index=0, begun_ns=begun_ns, paused_ns=NS) for begun_ns in begins_ns
    ]

    document = judged(run)

    detected = [mark.phase_s for mark in document.marks if mark.source == DETECTED]
    assert detected == pytest.approx([0.1 * number for number in range(50)])
    assert [mark.label for mark in given(document)] == ["last"]


@pytest.mark.parametrize(("change", "is_marked"), [(0.049, False), (0.051, True), (-0.049, False), (-0.051, True)])
def test_a_rate_that_changes_by_a_twentieth_is_a_mark(change: float, is_marked: bool) -> None:
    run = one_phase(steady_stream(per_s=100, seconds=30, latency_ns=1_000_000), seconds=30, interval_s=1.0)
    (result,) = judged(run).results
    assert result.steady is not None
    earlier = EarlierLevel(window_s=(0.0, 15.0), ratio=1 / (1 + change))
    steady = msgspec.structs.replace(result.steady, before=(earlier,), window_s=(15.0, 30.0))

    marks = marks_of_run(read(run), [msgspec.structs.replace(result, steady=steady)])

    assert [mark.phase_s for mark in marks] == ([15.0] if is_marked else [])


# -- the way of a rate -------------------------------------------------------------------------------------------------


def test_ten_samples_in_a_row_have_to_be_back() -> None:
    back = find_recovery(100, 0.05, np.array([50.0] * 3 + [100.0] * 9 + [90.0] + [96.0] * 10))
    late = find_recovery(100, 0.05, np.array([50.0] * 3 + [100.0] * 9))

    assert (back.verdict, back.left, back.back) == (RecoveryVerdict.RECOVERED, 0, 13)
    assert (late.verdict, late.back) == (RecoveryVerdict.TOO_SHORT, None)


def test_more_than_before_is_back_for_what_fell_and_not_for_what_rose() -> None:
    fell = find_recovery(100, 0.05, np.array([50.0] * 3 + [130.0] * 10))
    rose = find_recovery(100, 0.05, np.array([150.0] * 3 + [130.0] * 12))

    assert (fell.verdict, fell.back) == (RecoveryVerdict.RECOVERED, 3)
    assert rose.verdict is RecoveryVerdict.NOT_RECOVERED


def test_single_samples_a_little_off_have_not_left() -> None:
    assert find_recovery(100, 0.05, np.array([100.0, 94.0] * 10)).verdict is RecoveryVerdict.UNMOVED
    assert find_recovery(100, 0.05, np.array([100.0] * 5)).verdict is RecoveryVerdict.TOO_SHORT


def test_a_rate_is_not_asked_to_be_steadier_than_it_was() -> None:
    quiet, loud = np.full(40, 100.0), 100 + 10 * np.random.default_rng(1).normal(size=4000)

    assert band_of(quiet) == 0.05
    assert band_of(loud) == pytest.approx(0.3, rel=0.05)


def test_the_interval_of_a_ratio_holds_it_as_often_as_it_says() -> None:
    rng, held, tries = np.random.default_rng(7), 0, 4000
    for _ in range(tries):
        a, b = rng.normal(100, 3), rng.normal(75, 2)
        ends = ratio_interval(a, (a - 1.96 * 3, a + 1.96 * 3), b, (b - 1.96 * 2, b + 1.96 * 2))
        assert ends is not None
        held += ends[0] <= 0.75 <= ends[1]

    assert 0.94 <= held / tries <= 0.96


def test_a_ratio_to_what_may_be_nothing_has_no_interval() -> None:
    assert ratio_interval(1.0, (0.0, 2.0), 1.0, (0.5, 1.5)) is None
    assert ratio_interval(2.0, (1.0, 4.0), 0.0, (0.0, 1.0)) == (0.0, 1.0)
    assert ratio_interval(2.0, (1.0, 4.0), 0.5, (-0.5, 1.0)) == (0.0, 1.0)


def test_the_interval_of_a_ratio_is_the_same_in_every_unit() -> None:
    in_seconds = ratio_interval(100.0, (90.0, 115.0), 75.0, (70.0, 82.0))
    in_hours = ratio_interval(100 / 3600, (90 / 3600, 115 / 3600), 75 / 3600, (70 / 3600, 82 / 3600))

    assert in_seconds is not None
    assert in_hours == pytest.approx(in_seconds, rel=1e-12)


# -- the file ----------------------------------------------------------------------------------------------------------


def a_mark(t_ns: int = NS, label: str = "disk pulled", given: MarkGiven = MarkGiven.AFTERWARDS) -> KeptMark:
    return kept_mark(t_ns, label, given)


def test_marks_leave_a_sealed_run_what_its_manifest_says_and_go_with_it(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    add_mark(bundle.path, a_mark(5, "while", MarkGiven.WHILE_IT_RAN))
    bundle.seal()
    add_mark(bundle.path, a_mark(3))

    opened = RunBundle.open(bundle.path)
    opened.verify()
    assert opened.marks == (a_mark(3), a_mark(5, "while", MarkGiven.WHILE_IT_RAN))
    assert MARKS in opened.file_names()
    assert write_archive(bundle.path, opened.file_names(), tmp_path / "run.tar.gz").stat().st_size > 0


@pytest.mark.parametrize("label", ["", "  ", "a\nb", "\x1b[2J", "x" * (LONGEST_LABEL + 1)])
def test_words_beyond_the_limits_are_bad_input(label: str) -> None:
    with pytest.raises(InputError):
        a_mark(label=label)


def test_a_run_has_so_many_marks_and_no_more(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    for number in range(MOST_MARKS):
        add_mark(bundle.path, a_mark(number, "ä" * LONGEST_LABEL))

    with pytest.raises(InputError, match=f"a run has at most {MOST_MARKS}"):
        add_mark(bundle.path, a_mark())
    assert len(read_marks(bundle.path)) == MOST_MARKS


HOSTILE = {
    "other schema": b'{"schema": "assay.marks/9"}',
    "no JSON": b"\x00\xff",
    "a terminal obeys it": b'{"schema": "assay.marks/1", "marks": [{"t_ns": 1, "label": "\\u001b[2J", "given": "user"}]}',
    "before the run": b'{"schema": "assay.marks/1", "marks": [{"t_ns": -1, "label": "x", "given": "user"}]}',
    "after all runs": b'{"schema": "assay.marks/1", "marks": [{"t_ns": 1000000000000000000, "label":"x","given": "user"}]}',
    "set by another": b'{"schema": "assay.marks/1", "marks": [{"t_ns": 1, "label": "x", "given": "detected"}]}',
    "many": json.dumps(
        {"schema": "assay.marks/1", "marks": [{"t_ns": 1, "label": "x", "given": "user"}] * (MOST_MARKS + 1)}
    ).encode(),
    "nested": b'{"schema": "assay.marks/1", "marks": ' + b"[" * 5000,
    "large": b'{"schema": "assay.marks/1"}' + b" " * (1 << 20),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_a_stranger_wrote_beyond_the_limits_says_nothing(tmp_path: Path, kind: str) -> None:
    bundle = begun(tmp_path)
    bundle.seal()
    (bundle.path / MARKS).write_bytes(HOSTILE[kind])

    with pytest.raises(BundleError, match=MARKS):
        read_marks(bundle.path)
    assert marks_of(bundle.path) == ()
    with pytest.raises(BundleError):
        add_mark(bundle.path, a_mark())


@pytest.mark.parametrize("kind", ["link", "FIFO", "folder"])
def test_no_other_file_is_reached_by_way_of_marks(tmp_path: Path, kind: str) -> None:
    bundle = begun(tmp_path)
    elsewhere = tmp_path / "elsewhere.json"
    text = '{"schema": "assay.marks/1", "marks": []}'
    elsewhere.write_text(text)
    place = bundle.path / MARKS
    if kind == "link":
        place.symlink_to(elsewhere)
    elif kind == "FIFO":
        os.mkfifo(place)
    else:
        place.mkdir()

    assert marks_of(bundle.path) == ()
    with pytest.raises(BundleError):
        add_mark(bundle.path, a_mark())
    assert elsewhere.read_text() == text


def test_a_run_that_others_can_write_to_or_that_is_a_link_gets_no_mark(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(bundle.path)

    with pytest.raises(InputError, match="is a link"):
        add_mark(link, a_mark())
    bundle.path.chmod(0o777)
    with pytest.raises(InputError, match="not yours alone"):
        add_mark(bundle.path, a_mark())
    assert not (bundle.path / MARKS).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a run to another user")
def test_a_run_of_another_user_gets_no_mark(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    os.chown(bundle.path, 65534, 65534)

    with pytest.raises(InputError, match="not yours alone"):
        add_mark(bundle.path, a_mark())
    assert not (bundle.path / MARKS).exists()


def test_who_shows_a_run_is_told_of_each_mark_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.running.mark_watch._LOOK_S", 0.0)
    bundle = begun(tmp_path)
    watch = MarkWatch(bundle.path)
    told = [*watch.new()]
    add_mark(bundle.path, a_mark(5, "one"))
    told += [*watch.new(), *watch.new()]
    add_mark(bundle.path, a_mark(5, "one"))
    add_mark(bundle.path, a_mark(3, "two"))
    told += [*watch.new(), *watch.new()]

    assert sorted((mark.t_ns, mark.label) for mark in told) == [(3, "two"), (5, "one"), (5, "one")]


def test_a_mark_is_in_the_next_line_of_json(tmp_path: Path) -> None:
    display = JsonLinesDisplay(line_sink(str(tmp_path / "lines")))
    display.begin(quick_plan())
    lines = stream(3)
    second = [at for at, event in enumerate(lines) if isinstance(event, events.Interval)][2]
    start_ns = next(event.start_ns for event in lines if isinstance(event, events.Started))
    lines.insert(second, events.Mark(t_ns=start_ns + NS // 4, label="pulled", source="user"))
    for event in lines:
        display.show(event)
    display.end()
    line_sink.cache_clear()

    marks = [json.loads(line)["marks"] for line in (tmp_path / "lines").read_text().splitlines()]

    assert marks == [[], [{"t_s": 0.25, "label": "pulled", "source": "user"}], []]


def test_an_answer_that_was_kept_before_a_mark_is_worked_out_again(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.seal()
    answer = KeptAnswer(document=judged(bundle), head=Head(load="quick", pairs=()))
    keep_answer(bundle.path, tmp_path, answer)
    assert kept_answer(bundle.path, tmp_path) == answer

    add_mark(bundle.path, a_mark())
    assert kept_answer(bundle.path, tmp_path) is None
    again = KeptAnswer(document=judged(RunBundle.open(bundle.path)), head=answer.head)
    keep_answer(bundle.path, tmp_path, again)

    assert kept_answer(bundle.path, tmp_path) == again
    assert [mark.label for mark in again.document.marks] == ["disk pulled"]


def test_words_name_a_run_once() -> None:
    assert take_words(["disk pulled"], None) == (None, "disk pulled")
    assert take_words(["last", "disk pulled"], None) == take_words(["disk pulled"], "last") == ("last", "disk pulled")
    with pytest.raises(InputError, match="leave one of the two out"):
        take_words(["last", "disk pulled"], "last~1")
    with pytest.raises(InputError, match="into quotes"):
        take_words(["the", "disk", "pulled"], None)


# -- how it is told ----------------------------------------------------------------------------------------------------


def test_marks_are_told_with_their_levels_in_words_page_and_table() -> None:
    run = one_phase(frozen(8.0, 1.5), seconds=20, interval_s=0.1, **{"<b>freeze</b>": 8.0})
    document = judged(run)

    (row,) = [row for row in mark_words.rows(document) if "freeze" in row[2]]
    page, table = marks_section(document), tables(read(run), document)[MARKS_TABLE]

    assert row[1] == "8.00 s of 'read'"
    assert row[4:7] == ("read/read", "500 ops/s ± 0 %, p50 1.00 ms, p99 1.00 ms", "0 ops/s")
    assert row[8].startswith("during: rate -100 % [-100, -100]")
    assert row[9] == "back within ± 5 % after 1.50 s (to 100 ms)"
    assert "&lt;b&gt;freeze" in page
    assert "<b>freeze" not in page
    first = table.filter(source="user").row(0, named=True)
    assert (first["mark"], first["phase_s"], first["label"]) == ("<b>freeze</b>", 8.0, "read/read")
    assert (first["before_iops"], first["during_iops"], first["recovery"]) == (500.0, 0.0, "recovered")
    assert first["recovery_s"] == pytest.approx(1.5)


def test_a_run_without_marks_says_nothing_of_them() -> None:
    run = one_phase(steady_stream(per_s=500, seconds=20, latency_ns=1_000_000), seconds=20, interval_s=0.1)
    document = judged(run)

    assert document.marks == marks_of_run(read(run), document.results) == ()
    assert marks_section(document) == ""


@pytest.mark.parametrize(
    ("off", "is_moved"),
    [
        # The band is 5 %: one sample has left the level beyond 10 %, and several do with three of them beyond 5 %.
        ([0.099], False),
        ([0.101], True),
        ([0.06, 0.06], False),
        ([0.06, 0.06, 0.06], True),
        ([0.049, 0.049, 0.049], False),
        # Three on both sides are not three on one.
        ([0.06, -0.06, 0.06], False),
    ],
)
def test_a_rate_has_left_its_level_with_one_sample_at_twice_the_band_or_three_outside_of_it(
    off: list[float], is_moved: bool
) -> None:
    after = 1000 * (1 + np.array([0.0, *off, *[0.0] * 10]))

    found = find_recovery(1000.0, 0.05, after)

    assert found.verdict is (RecoveryVerdict.RECOVERED if is_moved else RecoveryVerdict.UNMOVED)
    assert (found.left, found.back) == ((1, 1 + len(off)) if is_moved else (None, None))
