"""One client of five lies, or its stream is broken: it is lost by name and reason, and the others are sealed and right."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay import events
from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle import RunBundle
from assay.bundle.client_set import OnLost, Share
from assay.cluster import client_rules
from assay.cluster.connection import Gone
from assay.cluster.group_run import run_group
from unit.scripted_connection import TICKS, Script, ScriptedConnection
from unit.test_group_run import Received, two_phases

LIAR = "c"
OTHERS = ("a", "b", "d", "e")
S = 1_000_000_000
HUGE = 1 << 80
Event = events.Event


# -- lies about what was recorded ---------------------------------------------------------------------------------------


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(change(data.splitlines(keepends=True)))


def _each(kind: str, change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Change every event of a kind."""

    def changed(line: bytes) -> bytes:
        event = json.loads(line)
        if event["event"] == kind:
            change(event)
        return json.dumps(event).encode() + b"\n"

    return _lines(lambda lines: [changed(line) for line in lines])


def _operations(**values: object) -> Callable[[bytes], bytes]:
    return _each("interval", lambda event: [one.update(values) for one in event["operations"]])


def _latency(**values: object) -> Callable[[bytes], bytes]:
    return _each("interval", lambda event: [one["latency"].update(values) for one in event["operations"]])


def _event(event: Event) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def _warning(text: str = "w") -> events.Warning:
    return events.Warning(t_ns=1, phase_index=None, id="x", text=text)


ANOTHER_HELLO = _each("hello", lambda event: event["clock"].update(monotonic_at_zero_ns=7))
RECORDED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing": (lambda _: b"", "is that of another run"),
    "zeros": (lambda data: bytes(len(data)), "is that of another run"),
    "text": (lambda _: b"no stream\n" * 9, "is that of another run"),
    "a list": (lambda _: b"[]\n", "is no line of"),
    "another kind of line": (_lines(lambda lines: [*lines, b'{"event":"no","t_ns":1}\n']), "is no line of"),
    "a line in the middle is broken": (
        _lines(lambda lines: [*lines[:3], b"{\n", *lines[3:]]),
        "yet whole lines follow",
    ),
    "cut in the last line": (lambda data: data[:-9], "ends in the middle"),
    "cut after a line": (_lines(lambda lines: lines[:-1]), "ends in the middle"),
    "cut after the first phase": (_lines(lambda lines: lines[: len(lines) // 2]), "another end of a phase"),
    "no hello": (_lines(lambda lines: lines[1:]), "did not begin with its hello"),
    "twice": (lambda data: data * 2, "went on after its end"),
    "hello twice": (_lines(lambda lines: [lines[0], *lines]), "sent a second hello"),
    "of another run": (ANOTHER_HELLO, "is that of another run"),
    "of another schema": (_each("hello", lambda event: event.update(schema="assay.events/9")), "is a stream of"),
    "a phase that there is not": (_each("interval", lambda event: event.update(phase_index=2)), "phase_index"),
    "a phase below all": (_each("interval", lambda event: event.update(phase_index=-1)), "phase_index"),
    "an event of no phase": (_each("started", lambda event: event.update(phase_index=9)), "is of phase 9"),
    "a time before the beginning": (_each("ready", lambda event: event.update(t_ns=-1)), "is at -1 ns"),
    "intervals of next year": (
        _each("interval", lambda event: event.update(t_ns=event["t_ns"] + 3 * 10**16)),
        "it spoke of",
    ),
    "events of next year": (
        _each("phase_finished", lambda event: event.update(t_ns=3 * 10**16)),
        "another end|it spoke of",
    ),
    "intervals that go back": (
        _lines(lambda lines: [*lines[:3], *reversed(lines[3:6]), *lines[6:]]),
        "go back in time",
    ),
    "an interval of a year": (_each("interval", lambda event: event.update(dt_ns=3 * 10**16)), "longer than the run"),
    "a number beyond 64 bits": (_operations(ops=HUGE), "has a number that no run comes to"),
    "fewer than none": (_operations(bytes=-1), "'bytes' goes from -1"),
    "more than any machine": (_operations(bytes=10**18), "more bytes than any machine"),
    "operations without latencies": (_operations(ops=10**6), "differ in number"),
    "latencies without operations": (_latency(index=[1], count=[10**6]), "differ in number"),
    "a histogram without counts": (_latency(index=[1, 2, 3]), "a histogram has"),
    "a bucket that there is not": (_latency(index=[10**8], count=[1]), "'bucket' goes"),
    "a job that there is not": (_operations(job="other"), "of the job 'other'"),
    "a long text": (_lines(lambda lines: [lines[0], _event(_warning("w" * 99_999)), *lines[1:]]), "99999 characters"),
    "many warnings": (
        _lines(lambda lines: [lines[0], *[_event(_warning())] * 1041, *lines[1:]]),
        "more than 1040 warnings",
    ),
    "much text": (
        _lines(lambda lines: [lines[0], *[_event(_warning("w" * 16_000))] * 300, *lines[1:]]),
        "have more than",
    ),
    "too long": (lambda data: data + b" " * (80 << 20), "too long"),
    "a counter that is none": (
        _each("interval", lambda event: event["host"].append({"source": "s", "instance": "i", "values": {"v": "x"}})),
        "is no line of",
    ),
    "a worker beyond 64 bits": (
        _each("interval", lambda event: [one.update(idle_ns=HUGE) for one in event["workers"]]),
        "has a number that no run comes to",
    ),
    "another end of a phase": (
        _each("phase_finished", lambda event: event.update(start_ns=11)),
        "another end of a phase",
    ),
    "a phase once more": (_lines(lambda lines: [*lines[:-1], lines[2], lines[-1]]), "a second time, or out of order"),
    "deep": (lambda _: b'{"event":' * 100_000 + b"\n", "is no line of|is that of another run"),
}


# -- lies while the run goes on ------------------------------------------------------------------------------------------


def _of(kind: type[Event], change: Callable[[Any], Sequence[Event]]) -> Callable[[Event], Sequence[Event]]:
    return lambda event: change(event) if isinstance(event, kind) else (event,)


def _interval(**values: Any) -> Callable[[Event], Sequence[Event]]:
    return _of(events.Interval, lambda event: (msgspec.structs.replace(event, **values),))


def _told_operations(**values: Any) -> Callable[[Event], Sequence[Event]]:
    def changed(event: events.Interval) -> Sequence[Event]:
        operations = tuple(msgspec.structs.replace(one, **values) for one in event.operations)
        return (msgspec.structs.replace(event, operations=operations),)

    return _of(events.Interval, changed)


_HELLO: Event = ScriptedConnection({"a": Script()}).clients["a"].hello
BAD_BUCKETS = events.Buckets(index=(1, 1), count=(1, 1), max_ns=1, sum_ns=1)
TOLD: dict[str, tuple[Callable[[Event], Sequence[Event]], str]] = {
    "no hello": (_of(events.Hello, lambda _: ()), "did not begin with its hello"),
    "hello twice": (_of(events.Ready, lambda event: (_HELLO, event)), "sent a second hello"),
    "a hello of long ago": (
        _of(
            events.Hello,
            lambda event: (
                msgspec.structs.replace(
                    event, clock=msgspec.structs.replace(event.clock, monotonic_at_zero_ns=-(10**15))
                ),
            ),
        ),
        "that is of another run",
    ),
    "a phase that there is not": (_interval(phase_index=7), "is of phase 7"),
    "ready for a phase that there is not": (
        _of(events.Ready, lambda event: (msgspec.structs.replace(event, phase_index=99),)),
        "is of phase 99",
    ),
    "next year": (_interval(t_ns=3 * 10**16), "it spoke of"),
    "beyond 64 bits": (_told_operations(ops=HUGE), "it counted"),
    "fewer than none": (_told_operations(errors=-1), "it counted"),
    "more than any machine": (_told_operations(bytes=10**18), "more than any machine can do"),
    "operations without latencies": (_told_operations(ops=10**6), "1000000 operations have"),
    "one bucket twice": (_told_operations(latency=BAD_BUCKETS), "one bucket twice"),
    "a job that there is not": (_told_operations(job="x" * 500), "of the job 'xxx"),
    "many warnings": (_of(events.Started, lambda event: (event, *[_warning()] * 1041)), "more than 1040 warnings"),
    "the end of a phase twice": (_of(events.PhaseFinished, lambda event: (event, event)), "a second time"),
    "words after the end": (_of(events.Finished, lambda event: (event, _warning())), "went on after its end"),
    "a text of a book": (_of(events.Started, lambda event: (event, _warning("w" * 99_999))), "99999 characters"),
    "an interval of minus a second": (_interval(dt_ns=-S), "an interval has -1000000000 ns"),
}


# -- lies of a clock ------------------------------------------------------------------------------------------------------


def _jump(by_ns: int, at: int) -> Callable[[Any, int], Any]:
    return lambda reading, number: (
        msgspec.structs.replace(reading, offset_ns=reading.offset_ns + by_ns) if number >= at else reading
    )


SHOWN: dict[str, tuple[Callable[[Any, int], Any], str]] = {
    "an hour back": (_jump(-3600 * S, 1), "its clock went back"),
    "an hour ahead": (_jump(3600 * S, 1), "its clock gained"),
    "146 years": (_jump(1 << 61, 2), "its clock gained"),
    "ahead in the end": (_jump(3600 * S, 3), "its clock gained"),
    "seconds to answer": (
        lambda reading, number: msgspec.structs.replace(reading, bound_ns=8 * S) if number else reading,
        "its clock could not be read",
    ),
}


def _run(tmp_path: Path, scripts: Mapping[str, Script]) -> tuple[RunBundle, ScriptedConnection, Received]:
    connection = ScriptedConnection(dict(scripts))
    received = Received()
    bundle, error = run_group(
        two_phases(),
        connection,
        share=Share.OWN,
        on_lost=OnLost.CONTINUE,
        listener=received,
        runs=tmp_path,
        argv=("assay", "quick"),
    )
    assert error is None, error
    return RunBundle.open(bundle.path), connection, received


def _check(bundle: RunBundle, connection: ScriptedConnection, received: Received, reasons: Mapping[str, str]) -> None:
    """Look whether who lied is lost with its reason, and all of the others are there whole."""
    assert bundle.is_sealed
    bundle.verify()
    bundle.check_contents()
    found = bundle.client_set()
    assert found is not None
    lost = {member.name: member.lost for member in found.members}
    assert {name for name, one in lost.items() if one is not None} == reasons.keys()
    intervals = bundle.intervals()
    for name, script in connection.scripts.items():
        mine = intervals.filter(intervals["client"] == name)
        if name in reasons:
            one = lost[name]
            assert one is not None
            assert re.search(reasons[name], one.reason), (name, one.reason)
            assert any(said.startswith(f"{name}") for said in received.said)
            assert not mine.height or not one.reason.startswith("its data is discarded")
        else:
            kept = [event for event in script.stream if not isinstance(event, events.Interval)]
            assert bundle.events(name) == kept
            assert mine.filter(mine["operation"] == "read").height == 2 * (TICKS - 1)


def _lie(kind: str, lie: str) -> tuple[Script, str]:
    match kind:
        case "recorded":
            recorded, reason = RECORDED[lie]
            return Script(recorded=recorded), reason
        case "told":
            tells, reason = TOLD[lie]
            return Script(tells=tells), reason
    shows, reason = SHOWN[lie]
    return Script(shows=shows), reason


LIES: dict[str, Mapping[str, object]] = {"recorded": RECORDED, "told": TOLD, "shown": SHOWN}
ALL = [(kind, lie) for kind, lies in LIES.items() for lie in lies]
ONE_BY_ONE = ALL if os.environ.get("ASSAY_LOST") == "all" else [ALL[0], ("told", "next year")]


def _lies_together(tmp_path: Path, lies: Mapping[str, tuple[Script, str]]) -> None:
    scripts = {name: Script() for name in OTHERS} | {name: script for name, (script, _) in lies.items()}
    bundle, connection, received = _run(tmp_path, scripts)
    _check(bundle, connection, received, {name: reason for name, (_, reason) in lies.items()})


@pytest.mark.parametrize(("kind", "lie"), ONE_BY_ONE)
def test_one_of_five_lies(tmp_path: Path, kind: str, lie: str) -> None:
    _lies_together(tmp_path, {LIAR: _lie(kind, lie)})


@pytest.mark.parametrize("kind", LIES)
@pytest.mark.long
def test_all_liars_of_a_kind_are_lost_and_nobody_else(tmp_path: Path, kind: str) -> None:
    """A liar for each lie, all in one set: each is lost with its own reason."""
    _lies_together(tmp_path, {f"liar-{number}": _lie(kind, lie) for number, lie in enumerate(LIES[kind])})


def test_a_liar_on_the_wire_is_gone_with_all_that_it_said(tmp_path: Path) -> None:
    class Connection(ScriptedConnection):
        def send_controls(self, controls: Mapping[str, events.Control]) -> None:
            super().send_controls(controls)
            if not self.scripts[LIAR].is_gone:
                self.scripts[LIAR].is_gone = True
                self.received.append(
                    Gone(client=LIAR, reason="it sent a pickle", last_event_ns=1, noticed_ns=2, is_lie=True)
                )

    connection, received = Connection({name: Script() for name in ("a", "b", LIAR, "d", "e")}), Received()
    bundle, error = run_group(
        two_phases(),
        connection,
        share=Share.OWN,
        on_lost=OnLost.CONTINUE,
        listener=received,
        runs=tmp_path,
        argv=("assay",),
    )

    assert error is None
    reasons = {LIAR: "its data is discarded: it sent a pickle"}
    _check(RunBundle.open(bundle.path), connection, received, reasons)
    assert bundle.events(LIAR) == []


def test_the_sums_are_those_of_the_others(tmp_path: Path) -> None:
    liars = {"l1": Script(recorded=RECORDED["zeros"][0]), "l2": Script(tells=TOLD["beyond 64 bits"][0])}
    with_liars, _, _ = _run(tmp_path / "six", {name: Script() for name in OTHERS} | liars)
    without, _, _ = _run(tmp_path / "four", {name: Script() for name in OTHERS})

    found, wanted = (document(read(bundle)).sums for bundle in (with_liars, without))

    assert [one.clients for one in found] == [one.clients for one in wanted]
    assert {one.clients for one in found} == {len(OTHERS)}
    assert [{rate.client for rate in one.rates} for one in found] == [set(OTHERS)] * len(wanted)


def test_honest_clients_break_no_rule(tmp_path: Path) -> None:
    scripts = {"a": Script(), "b": Script(offset_ns=1000 * S), "c": Script(offset_ns=-(10**15))}
    bundle, connection, received = _run(tmp_path, scripts)

    _check(bundle, connection, received, {})


def test_a_clock_that_is_slow_at_each_start_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.cluster.group_clocks.CLOCKS_NS", 5 * S)
    slow = Script(shows=lambda reading, _: msgspec.structs.replace(reading, bound_ns=S // 10))

    _lies_together(tmp_path, {LIAR: (slow, "the others waited 8 s in all for its clock, which is read within 0.1 s")})


def test_a_stream_can_be_as_long_as_its_plan_and_time_make_it() -> None:
    plan = two_phases()

    assert client_rules.most_bytes(plan, 0) == 64 << 20
    assert client_rules.most_bytes(plan, 100) == (64 << 20) + 100 * ((1 << 20) + 4096)
