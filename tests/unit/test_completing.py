from pathlib import Path

import msgspec
import pytest

from assay.bundle import RunBundle
from assay.bundle.catalog import resolve
from assay.bundle.client_set import ClientSet, Lost, Member, OnLost, Role, Share
from assay.bundle.completing import COMPLETES, complete
from assay.bundle.kept_marks import MarkGiven, add_mark, kept_mark
from assay.bundle.remarks import Remarks, write_remarks
from assay.bundle.tables import read_stream
from assay.clocks import ClockReading
from assay.errors import BundleError
from unit.bundle_streams import interval, plan
from unit.memory_run import hello


def line(event: object) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def member(name: str, lost: Lost | None = None) -> Member:
    return Member(name=name, role=Role.LOAD, hostname=name, address=name, facts=(), clock=(), lost=lost)


def client_set(lost: Lost | None) -> ClientSet:
    return ClientSet(share=Share.OWN, on_lost=OnLost.CONTINUE, members=(member("a"), member("b", lost)), starts=())


LOST = Lost(heard_ns=5, noticed_ns=6, reason="socket closed", phase_index=0)


def sealed(tmp_path: Path, ticks: dict[str, int]) -> RunBundle:
    bundle = RunBundle.create(tmp_path, "set", plan=plan(), argv=("assay", "run"))
    for client, count in ticks.items():
        events = [hello(), *(interval(tick) for tick in range(count))]
        bundle.stream_path(client).write_bytes(b"".join(map(line, events)))
    bundle.keep_client_set(client_set(LOST))
    bundle.seal()
    return bundle


def test_a_completed_run_has_all_of_both_and_says_which_it_completes(tmp_path: Path) -> None:
    part = sealed(tmp_path, {"a": 4, "b": 1})
    whole = sealed(tmp_path, {"a": 4, "b": 4})
    (tmp_path / "b.ndjson").write_bytes(line(hello()) + b"".join(line(interval(tick)) for tick in range(4)))
    stream = read_stream(tmp_path, "b.ndjson")
    found = client_set(msgspec.structs.replace(LOST, is_collected=True))

    made = complete(part, {"b": stream}, found, tmp_path)

    assert made.is_sealed
    made.verify()
    assert made.run_id != part.run_id
    for name in ("intervals", "histograms", "workers", "host"):
        assert getattr(made, name)().equals(getattr(whole, name)())
    assert made.events("b") == whole.events("b")
    assert made.client_set() == found
    assert (made.info.started_utc, made.info.seconds) == (part.info.started_utc, part.info.seconds)
    assert {fact.key: fact.value for fact in made.facts}[COMPLETES] == part.run_id
    assert made.is_own(tmp_path)
    part.verify()


def test_remarks_and_marks_go_along_and_the_name_and_last_are_those_of_the_completed_run(tmp_path: Path) -> None:
    part = sealed(tmp_path, {"a": 4, "b": 1})
    said = Remarks(name="before", tags=("ssd", "night"), note="disk pulled")
    write_remarks(part.path, said)
    marks = [kept_mark(at_ns, f"at {at_ns}", MarkGiven.AFTERWARDS) for at_ns in (5, 2_000_000_000)]
    for mark in marks:
        add_mark(part.path, mark)
    (tmp_path / "b.ndjson").write_bytes(line(hello()) + line(interval(0)))

    made = complete(part, {"b": read_stream(tmp_path, "b.ndjson")}, client_set(None), tmp_path)

    assert (made.remarks, part.remarks) == (said, Remarks(tags=said.tags, note=said.note))
    assert resolve("last", tmp_path) == resolve("before", tmp_path) == made.path
    assert list(made.marks) == marks


def test_marks_keep_their_moment_where_the_time_of_the_run_begins_earlier(tmp_path: Path) -> None:
    clock = (ClockReading(at_ns=0, offset_ns=0, bound_ns=0, exchanges=16),)
    unread = client_set(LOST)
    found = msgspec.structs.replace(
        unread, members=tuple(msgspec.structs.replace(one, clock=clock) for one in unread.members)
    )
    part = RunBundle.create(tmp_path, "set", plan=plan(), argv=("assay", "run"))
    part.stream_path("a").write_bytes(line(hello()))
    part.stream_path("b").write_bytes(b"")
    part.keep_client_set(found)
    part.seal()
    add_mark(part.path, kept_mark(7, "pulled", MarkGiven.AFTERWARDS))
    earlier = msgspec.structs.replace(hello().clock, monotonic_at_zero_ns=hello().clock.monotonic_at_zero_ns - 300)
    (tmp_path / "b.ndjson").write_bytes(line(msgspec.structs.replace(hello(), clock=earlier)))

    made = complete(part, {"b": read_stream(tmp_path, "b.ndjson")}, found, tmp_path)

    assert [mark.t_ns for mark in made.marks] == [307]


def test_what_no_client_of_the_run_recorded_does_not_go_into_it(tmp_path: Path) -> None:
    part = sealed(tmp_path, {"a": 4, "b": 1})
    before = sorted(path.name for path in tmp_path.iterdir())
    stream = read_stream(tmp_path, "nothing.ndjson")

    with pytest.raises(BundleError, match="has no client c"):
        complete(part, {"c": stream}, client_set(None), tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == before
