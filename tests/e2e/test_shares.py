"""Each share carried out by engines that start together, one a client, on one storage."""

import contextlib
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from assay import events, plan
from assay.bundle.client_set import Share
from assay.cluster.shares import share_plan
from assay.errors import RunError
from assay.loads import native
from assay.plan import Plan
from assay.running.cleaning import clean
from assay.running.client_folders import folders_to_make, make_folders, remove_folders
from assay.running.engine import find_engine
from testbed.host import wait_until

CLIENTS = ("one", "two", "three")
WAIT_S = 300
LOAD = """
name = "shared"
sample_interval = 0.1

[[file_set]]
name = "data"
size = "16KiB"
files = 31
existing_share = 0.8
layout = { kind = "per_directory", files = 4 }

[[phase]]
name = "write"
seconds = 60
[[phase.job]]
workers = 2
arrival = "closed"
stop = { passes = 51 }
op = { op = "write", set = "data", size = "4KiB", access = "random" }

[[phase]]
name = "churn"
seconds = 60
[[phase.job]]
arrival = "closed"
stop = { passes = 50 }
loop = [{ op = "create", set = "data", size = "4KiB" }, { op = "unlink", set = "data" }]
"""

SLICES = """
name = "slices"
[[file_set]]
name = "data"
size = "1000KiB"
[[phase]]
name = "read"
seconds = 60
[[phase.job]]
workers = 2
arrival = "closed"
[phase.job.op]
op = "read"
set = "data"
pick = "own"
size = "4KiB"
access = { kind = "sequential", region = "slice", wrap = false }
"""


def parse(text: str, directory: Path) -> Plan:
    return native.parse(text, "shared.toml", directory=directory, settings={})


class _Engine:
    """One client's engine: its events are read by a thread, and it starts when it is told."""

    def __init__(self, part: Plan) -> None:
        self.events: list[events.Event] = []
        self.ready = threading.Semaphore(0)
        self._process = subprocess.Popen([find_engine()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.say(part.to_json())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def say(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = events.decode(line)
            self.events.append(event)
            if isinstance(event, events.Ready):
                self.ready.release()

    def end(self) -> Sequence[events.Event]:
        self._process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        return self.events

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(WAIT_S)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@contextlib.contextmanager
def engines(parts: Mapping[str, Plan]) -> Iterator[dict[str, _Engine]]:
    """Begin an engine a client, with the folders that its worker makes; nothing runs on afterwards."""
    folders = {client: folders_to_make(part) for client, part in parts.items()}
    for each in folders.values():
        make_folders(each)
    begun = {client: _Engine(part) for client, part in parts.items()}
    try:
        yield begun
    finally:
        for engine in begun.values():
            engine.close()
        for each in folders.values():
            remove_folders(each)


def carry_out(parts: Mapping[str, Plan]) -> dict[str, Sequence[events.Event]]:
    """Carry the Plans out: every phase starts when all clients are ready for it."""
    phases = next(iter(parts.values())).phases
    with engines(parts) as begun:
        for index in range(len(phases)):
            for client, engine in begun.items():
                assert engine.ready.acquire(timeout=WAIT_S), (client, [each.events[-3:] for each in begun.values()])
            for engine in begun.values():
                engine.say(msgspec.json.encode(events.Start(phase_index=index, at_monotonic_ns=0)))
        return {client: engine.end() for client, engine in begun.items()}


def done(seen: Sequence[events.Event], operation: str) -> tuple[int, int]:
    """Operations and bytes of all intervals."""
    intervals = (event for event in seen if isinstance(event, events.Interval))
    rows = [row for event in intervals for row in event.operations if row.operation == operation]
    assert sum(row.errors for row in rows) == 0
    return sum(row.ops for row in rows), sum(row.bytes for row in rows)


def check_ended_well(seen: Sequence[events.Event]) -> None:
    assert [event.text for event in seen if isinstance(event, events.Error | events.Warning)] == []
    last = seen[-1]
    assert isinstance(last, events.Finished)
    assert last.outcome is events.Outcome.COMPLETE


def prepared(seen: Sequence[events.Event]) -> list[tuple[int, bool]]:
    return [(event.files, event.reused) for event in seen if isinstance(event, events.Prepared)]


def test_parts_of_the_files_are_laid_out_and_counted_as_the_whole_is(tmp_path: Path) -> None:
    seen = carry_out(share_plan(parse(LOAD, tmp_path), Share.FILES, CLIENTS))

    for each in seen.values():
        check_ended_well(each)
    # 31 files of which four fifths exist, rounded to 25.
    assert [prepared(each) for each in seen.values()] == [[(9, False)], [(8, False)], [(8, False)]]
    for operation, expected in (("write", (102, 102 * 4096)), ("create", (50, 0)), ("unlink", (50, 0))):
        counts = [done(each, operation) for each in seen.values()]
        assert tuple(map(sum, zip(*counts, strict=True))) == expected, (operation, counts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("share", [Share.OWN, Share.TOGETHER])
def test_each_client_does_the_whole_and_nothing_is_left(tmp_path: Path, share: Share) -> None:
    seen = carry_out(share_plan(parse(LOAD, tmp_path), share, CLIENTS))

    for each in seen.values():
        check_ended_well(each)
        assert prepared(each) == [(25, False)]
        assert [done(each, name)[0] for name in ("write", "create", "unlink")] == [102, 50, 50]
    paths = {event.path for each in seen.values() for event in each if isinstance(event, events.Prepared)}
    assert len(paths) == (1 if share is Share.TOGETHER else len(CLIENTS))
    assert list(tmp_path.iterdir()) == []


def test_all_clients_go_through_one_set_once_as_one_client_with_more_workers_does(tmp_path: Path) -> None:
    seen = carry_out(share_plan(parse(SLICES, tmp_path), Share.ONE_SET, CLIENTS))

    for each in seen.values():
        check_ended_well(each)
    assert [prepared(each) for each in seen.values()] == [[(1, False)], [(1, True)], [(1, True)]]
    counts = [done(each, "read") for each in seen.values()]
    assert sum(ops for ops, _ in counts) == 250
    assert sum(data for _, data in counts) == 1000 * 1024
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_is_stopped_while_the_first_lays_the_set_out_leaves_it_alone(tmp_path: Path) -> None:
    parts = share_plan(parse(SLICES, tmp_path), Share.ONE_SET, CLIENTS[:2])
    with engines({"one": parts["one"]}) as first:
        assert first["one"].ready.acquire(timeout=WAIT_S)
        (mark,) = tmp_path.rglob(".assay-set.json")
        mark.write_bytes(mark.read_bytes().replace(b'"complete"', b'"laying_out"'))

        with engines({"two": parts["two"]}) as second:
            wait_until(lambda: any(isinstance(event, events.Progress) for event in second["two"].events), "a wait")
            second["two"].say(msgspec.json.encode(events.StopRun()))
            assert isinstance(ended := second["two"].end()[-1], events.Finished)
            assert ended.outcome is events.Outcome.STOPPED
        first["one"].say(msgspec.json.encode(events.Start(phase_index=0, at_monotonic_ns=0)))

        check_ended_well(first["one"].end())


@pytest.mark.parametrize("share", Share)
def test_what_killed_clients_leave_is_cleaned(tmp_path: Path, share: Share) -> None:
    whole = parse(LOAD, tmp_path)
    parts = share_plan(replace(whole, phases=whole.phases[:1]), share, CLIENTS)

    with engines(parts) as begun:
        for engine in begun.values():
            assert engine.ready.acquire(timeout=WAIT_S)
        with pytest.raises(RunError, match="another Assay run"):
            list(clean(tmp_path))
    assert any(path.is_file() and not path.name.startswith(".") for path in tmp_path.rglob("*"))

    for line in clean(tmp_path):
        assert "left" not in line

    assert list(tmp_path.iterdir()) == []


def test_the_bytes_and_choices_of_clients_differ(tmp_path: Path) -> None:
    parts = share_plan(parse(LOAD, tmp_path), Share.TOGETHER, CLIENTS[:2])
    files = {}
    with engines(parts) as begun:
        for client, engine in begun.items():
            assert engine.ready.acquire(timeout=WAIT_S)
            (path,) = tmp_path.rglob(f"{client}.f00000003")
            files[client] = path.read_bytes()
    list(clean(tmp_path))

    assert len(files["one"]) == len(files["two"]) == 16 << 10
    assert files["one"] != files["two"]


def test_steps_of_the_load_are_those_of_every_client(tmp_path: Path) -> None:
    whole = parse(LOAD.replace('name = "write"\n', 'name = "write"\ncache = "cold"\n'), tmp_path)
    assert any(isinstance(step, plan.Evict) for step in whole.phases[0].before)

    seen = carry_out(share_plan(whole, Share.TOGETHER, CLIENTS[:2]))

    for each in seen.values():
        check_ended_well(each)
        assert [event.step for event in each if isinstance(event, events.StepDone)][:2] == ["prepare", "evict"]
