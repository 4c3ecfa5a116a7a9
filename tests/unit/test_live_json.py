"""Lines of JSON while a run goes on: what they say, and that no reader of theirs is waited for."""

import errno
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay import events
from assay.errors import InputError, RunError
from assay.live.json_lines import JsonLinesDisplay, LiveInterval, LiveOperation
from assay.live.line_sink import LineSink, line_sink
from assay.live.several import SeveralDisplays
from assay.plan import Plan
from unit.bundle_streams import NS, interval, plan, stream
from unit.memory_run import bucket_of, hello

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Open anew in each test."""
    yield
    line_sink.cache_clear()


def shown(path: Path, lines: list[events.Event], its_plan: Plan | None = None) -> list[dict[str, Any]]:
    """Show a display a run, and read what it wrote."""
    display = JsonLinesDisplay(line_sink(str(path)))
    display.begin(its_plan or plan())
    for event in lines:
        display.show(event)
        display.show(None)
    display.end()
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_interval_is_a_line_with_what_was_done_in_it(tmp_path: Path) -> None:
    lines = shown(tmp_path / "lines", stream(3))

    # A tick is a fifth of a second; tick t has 2 t reads of 4 KiB. The sample at the start is no interval.
    assert [line["t_s"] for line in lines] == [0.2, 0.4, 0.6]
    assert [line["dt_s"] for line in lines] == [0.2] * 3
    assert {(line["schema"], line["load"], line["phase"], line["title"], line["repeat"]) for line in lines} == {
        ("assay.live/1", "quick", "read", "Read", 0)
    }
    reads = [line["operations"][0] for line in lines]
    assert [(one["job"], one["operation"], one["ops"], one["bytes"]) for one in reads] == [
        ("readers", "read", 2 * tick, 2 * tick * 4096) for tick in (1, 2, 3)
    ]
    assert [one["iops"] for one in reads] == pytest.approx([10, 20, 30])
    assert [one["bytes_per_s"] for one in reads] == pytest.approx([40960, 81920, 122880])
    assert [one["operation"] for one in lines[0]["operations"]] == ["read", "paced", "stalled"]


def latencies(values_ns: list[int]) -> events.Buckets:
    """Count values as an engine does."""
    found: dict[int, int] = {}
    for value in values_ns:
        found[bucket_of(value)] = found.get(bucket_of(value), 0) + 1
    index = tuple(sorted(found))
    return events.Buckets(
        index=index, count=tuple(found[one] for one in index), max_ns=max(values_ns), sum_ns=sum(values_ns)
    )


def one_interval(buckets: events.Buckets, response: events.Buckets | None = None) -> events.Interval:
    did = events.OperationInterval(
        job="readers", operation="read", ops=sum(buckets.count), bytes=0, errors=3, latency=buckets, response=response
    )
    return msgspec.structs.replace(interval(1), operations=(did,))


def test_percentiles_are_those_of_the_interval(tmp_path: Path) -> None:
    values = [1000 * (number + 1) for number in range(1000)]
    started = events.Started(t_ns=NS, phase_index=0, start_ns=NS)

    (line,) = shown(tmp_path / "a", [hello(), started, one_interval(latencies(values), latencies([9, *values]))])

    (read,) = line["operations"]
    assert read["p50_ns"] == pytest.approx(500_000, rel=0.0005)
    assert read["p99_ns"] == pytest.approx(990_000, rel=0.0005)
    assert read["max_ns"] == 1_000_000
    assert read["errors"] == 3
    assert read["response_max_ns"] == 1_000_000


def test_percentiles_of_few_operations_are_withheld_and_the_largest_is_not(tmp_path: Path) -> None:
    started = events.Started(t_ns=NS, phase_index=0, start_ns=NS)
    few = latencies([5000] * 999)

    (line,) = shown(tmp_path / "a", [hello(), started, one_interval(few)])

    (read,) = line["operations"]
    assert (read["p50_ns"] is None, read["p99_ns"], read["max_ns"]) == (False, None, 5000)
    assert (read["response_p50_ns"], read["response_max_ns"]) == (None, None)


def test_an_interval_in_which_nothing_was_done_is_a_line_with_zeros(tmp_path: Path) -> None:
    stall = msgspec.structs.replace(interval(2), operations=())
    lines = shown(tmp_path / "a", [*stream(1)[:5], stall])

    assert [one["ops"] for one in lines[0]["operations"]] == [2, 2, 0]
    assert [(one["operation"], one["ops"], one["iops"], one["p50_ns"]) for one in lines[1]["operations"]] == [
        ("read", 0, 0.0, None),
        ("paced", 0, 0.0, None),
        ("stalled", 0, 0.0, None),
    ]


def test_time_is_that_of_the_engines_wall_clock(tmp_path: Path) -> None:
    first = hello()
    clock = msgspec.structs.replace(first.clock, realtime_at_zero_ns=1_767_323_045 * NS)
    first = msgspec.structs.replace(first, clock=clock)

    line, *_ = shown(tmp_path / "a", [first, *stream(1)[1:]])

    assert line["time_utc"] == "2026-01-02T03:04:06.200Z"


def test_text_that_others_wrote_is_obeyed_by_no_terminal(tmp_path: Path) -> None:
    hostile = "\x1b[2J\n\u202e"
    made = plan(hostile)

    shown(tmp_path / "a", stream(2), made)

    text = (tmp_path / "a").read_text()
    assert len(text.splitlines()) == 2
    assert "\x1b" not in text
    assert json.loads(text.splitlines()[0])["load"] == hostile


def test_the_page_names_every_field() -> None:
    page = (ROOT / "docs/reference/live-json.md").read_text()

    fields = {*LiveInterval.__struct_fields__, *LiveOperation.__struct_fields__}
    assert [name for name in fields if f"`{name}`" not in page] == []


# -- whoever reads them ------------------------------------------------------------------------------------------------


def test_a_file_that_is_there_is_emptied_once_for_all_runs_of_a_command(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("old\n")

    first = shown(path, stream(2))
    both = shown(path, stream(1))

    assert len(first) == 2
    assert both[:2] == first
    assert len(both) == 3


def test_a_reader_that_leaves_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    sink = LineSink(writing, "x")
    sink.put(b"1\n")
    os.close(reading)

    sink.put(b"2\n")
    sink.put(b"3\n")
    sink.finish()

    assert capsys.readouterr().err == ""
    os.close(writing)


def test_a_reader_that_does_not_read_on_is_not_waited_for_and_gets_whole_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reading, writing = os.pipe()
    sink = LineSink(writing, "x")
    line = b"x" * 9_999 + b"\n"
    for _ in range(400):
        sink.put(line)
    got = bytearray()

    def read() -> None:
        while chunk := os.read(reading, 1 << 16):
            got.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    sink.finish()
    os.close(writing)
    reader.join()
    os.close(reading)

    taken = bytes(got).splitlines(keepends=True)
    assert set(taken) == {line}
    assert 100 <= len(taken) < 400
    assert capsys.readouterr().err == (
        f"--live-json x: {400 - len(taken)} lines were left out, because nobody took them in time\n"
    )


def test_a_full_disk_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    sink = LineSink(os.open("/dev/full", os.O_WRONLY), "/dev/full")

    for _ in range(3):
        sink.put(b"x\n")
    sink.finish()

    assert capsys.readouterr().err == "--live-json /dev/full: no line is written any more: No space left on device\n"


def test_a_descriptor_that_the_caller_opened_is_written_to(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "a", os.O_CREAT | os.O_WRONLY)

    line_sink(f"/dev/fd/{descriptor}").put(b"x\n")

    assert (tmp_path / "a").read_bytes() == b"x\n"
    os.close(descriptor)


def test_what_cannot_be_written_to_is_said_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "link").symlink_to("theirs")

    for name, why in (("absent/a", "No such file"), (".", "Is a directory"), ("theirs/a", "Not a directory")):
        with pytest.raises(InputError, match=why):
            line_sink(str(tmp_path / name))
    with pytest.raises(InputError, match="is a link, which is not followed"):
        line_sink(str(tmp_path / "link"))
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_a_place_that_the_machine_refuses_is_no_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(RunError, match=r"cannot be opened: Read-only file system\. Nothing was measured"):
        line_sink(str(tmp_path / "a"))


# -- several displays --------------------------------------------------------------------------------------------------


class Noting:
    """Notes what it is shown."""

    def __init__(self, *, fails: bool = False) -> None:
        self.seen: list[object] = []
        self.fails = fails

    def begin(self, plan: Plan) -> None:
        """Note it."""
        self.seen.append(plan.name)

    def show(self, event: events.Event | None) -> None:
        """Note it."""
        self.seen.append(event)

    def end(self) -> None:
        """Note it."""
        self.seen.append("end")
        if self.fails:
            raise OSError("gone")


def test_each_of_several_displays_is_shown_the_same() -> None:
    one, other = Noting(), Noting()
    several = SeveralDisplays((one, other))

    several.begin(plan())
    several.show(None)
    several.end()

    assert one.seen == other.seen == ["quick", None, "end"]


def test_a_display_that_fails_at_the_end_keeps_no_other_from_it() -> None:
    one, other = Noting(fails=True), Noting(fails=True)

    with pytest.raises(OSError, match="gone"):
        SeveralDisplays((one, other)).end()

    assert one.seen == other.seen == ["end"]
