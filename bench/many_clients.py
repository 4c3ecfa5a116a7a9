"""Measure what many clients cost their leader: time to join, memory, CPU and lost events, with more and more clients.

    python -m bench.many_clients DIR                        60 real clients, 500 and 1,000 simulated ones
    python -m bench.many_clients DIR --simulated 500        only these
    python -m bench.many_clients DIR --real 60

The leader is the real one, in this process. A real client is a process of `assay worker` with an engine that measures DIR.
Simulated ones are the real clients' code too, many to a process and to an event loop, on connections of their own; only the
engine is replaced by one that plays a stream which a real engine wrote here a moment before, at the pace at which it was
written. What each client says is held to the sum of that stream: operations and buckets that did not come are lost.

All of them share this machine with the leader, so times are longer than where each client has a machine of its own.
"""

import argparse
import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay import __version__, events
from assay.bundle.client_set import Role
from assay.cluster.client_engine import ClientEngine, Over, Receive
from assay.cluster.connection import ClientEvent, Ended, Gone
from assay.cluster.dask_connection import DaskConnection
from assay.cluster.join_file import read_join
from assay.cluster.kept_runs import KeptRun
from assay.cluster.lead import Lead
from assay.cluster.security import security_of
from assay.cluster.wire import Card
from assay.cluster.worker import ClientSettings, ClientWorker
from assay.loads import native
from assay.plan import Plan
from assay.running.engine import EngineProcess, capabilities
from assay.running.stopping import Stops

SECONDS = 10
IDLE_S = 10.0
PATIENCE_S = 900.0
PROCESSES = 4
FETCHED = 50
"""So many clients' streams are fetched."""
LOAD = """
name = "small"
reserve = "1MiB"
[[file_set]]
name = "data"
size = "1MiB"
[[phase]]
name = "read"
seconds = "{seconds}s"
[[phase.job]]
arrival = {{ kind = "open", rate_per_s = 200 }}
op = {{ op = "read", set = "data", access = "random", size = "4KiB" }}
"""


def small_plan(directory: Path) -> Plan:
    """Reads at a rate that leaves the machine to the rest."""
    directory.mkdir(parents=True, exist_ok=True)
    return native.parse(LOAD.format(seconds=SECONDS), "small.toml", directory=directory, settings={})


def sums(seen: Sequence[events.Event]) -> Counter[str]:
    """Operations, bytes and buckets of the histograms, over all intervals; and how often all else was said."""
    found: Counter[str] = Counter()
    for event in seen:
        if isinstance(event, events.Interval):
            for one in event.operations:
                found[f"{one.operation} ops"] += one.ops
                found[f"{one.operation} bytes"] += one.bytes
                for index, count in zip(one.latency.index, one.latency.count, strict=True):
                    found[f"{one.operation} {index}"] += count
        elif not isinstance(event, events.Progress | events.Laps):
            found[type(event).__name__] += 1
    return found


def record(directory: Path, folder: Path) -> Path:
    """Have a real engine write the stream that is played."""
    stream = folder / "recorded.ndjson"
    with EngineProcess(small_plan(directory), stream, folder / "engine.log") as engine:
        engine.send(events.StartWhenReady())
        for _ in engine.follow(Stops()):
            pass
    return stream


# -- simulated clients -------------------------------------------------------------------------------------------------


class PlayedEngine:
    """Plays a stream at its own pace once a start is ordered, in an event loop that many share."""

    def __init__(
        self, recorded: Sequence[events.Event], loop: asyncio.AbstractEventLoop, hear: Receive, over: Over
    ) -> None:
        """Say at once what comes before the start."""
        first = next(place for place, event in enumerate(recorded) if isinstance(event, events.Started))
        self._rest = recorded[first:]
        self._loop, self._hear, self._over = loop, hear, over
        hear(recorded[:first])

    def send(self, control: events.Control) -> None:
        """Begin, where that is the order."""
        if isinstance(control, events.StartWhenReady | events.Start):
            self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._play()))

    async def _play(self) -> None:
        zero_ns, begun_s = _time_of(self._rest[0]), time.monotonic()
        for event in self._rest:
            wait_s = (_time_of(event) - zero_ns) / 1e9 - (time.monotonic() - begun_s)
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            self._hear([event])
        self._over(None)

    def stop(self) -> None:
        """End; nothing has to be removed."""
        self._over(None)

    def kill(self) -> None:
        """End."""
        self._over(None)


def _time_of(event: events.Event) -> int:
    return 0 if isinstance(event, events.Hello) else event.t_ns


async def play(join_file: Path, first: int, count: int, data: bytes, root: Path) -> None:
    """Be so many clients, that all play the same stream, until they are let go."""
    join, folder = read_join(join_file)
    loop = asyncio.get_running_loop()
    recorded = [events.decode(line) for line in data.splitlines()]
    hello = recorded[0]
    assert isinstance(hello, events.Hello)

    def start(_plan: Plan, kept: KeptRun, hear: Receive, over: Over) -> ClientEngine:
        kept.stream.write_bytes(data)
        return PlayedEngine(recorded, loop, hear, over)

    async def one(number: int) -> None:
        card = Card(name=f"c{number}", role=Role.LOAD, assay_version=__version__, token=join.token, hello=hello)
        settings = ClientSettings(card=card, host="127.0.0.1", root=root, idle_s=PATIENCE_S, start_engine=start)
        await ClientWorker(join, security_of(join, folder), settings).serve()

    await asyncio.gather(*(one(first + number) for number in range(count)))


@contextmanager
def simulated(lead: Lead, clients: int, stream: Path, folder: Path) -> Iterator[None]:
    """Start simulated clients in a few processes."""
    started = []
    each = -(-clients // PROCESSES)
    for first in range(0, clients, each):
        words = [lead.join_file, str(first), str(min(each, clients - first)), stream, folder / "state"]
        started.append(subprocess.Popen([sys.executable, "-m", "bench.many_clients", "--play", *map(str, words)]))
    with ended(started):
        yield


@contextmanager
def real(lead: Lead, clients: int, _stream: Path, folder: Path) -> Iterator[None]:
    """Start real clients, a process each."""
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    words = [sys.executable, "-m", "assay", "worker", "--join", str(lead.join_file), "--name"]
    with (folder / "said").open("wb") as said:
        started = [subprocess.Popen([*words, f"c{number}"], env=environment, stderr=said) for number in range(clients)]
    with ended(started):
        yield


@contextmanager
def ended(started: Sequence["subprocess.Popen[bytes]"]) -> Iterator[None]:
    """Leave none of them running."""
    try:
        yield
        for process in started:
            process.wait(PATIENCE_S)
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()


# -- the leader ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """The results of one group of clients."""

    kind: str
    clients: int
    join_s: float
    before_bytes: int
    joined_bytes: int
    end_bytes: int
    idle_cpu: float
    run_cpu: float
    begin_s: float
    clocks_s: float
    widest_bound_ns: int
    fetch_s: float
    close_s: float
    words: int
    gone: int
    missed: int
    lost: int


def own_cpu_s() -> float:
    """CPU time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def own_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def timed(act: Callable[[], object]) -> float:
    """Do something, and say for how long."""
    begun_s = time.monotonic()
    act()
    return time.monotonic() - begun_s


def cost(kind: str, clients: int, stream: Path, directory: Path, folder: Path) -> Cost:
    """Lead so many clients through one run."""
    start = real if kind == "real" else simulated
    expected = sums([events.decode(line) for line in stream.read_bytes().splitlines()])
    before_bytes = own_bytes()
    with Lead("127.0.0.1", folder / "join") as lead, start(lead, clients, stream, folder):
        begun_s = time.monotonic()
        connection = lead.gather(clients, PATIENCE_S, lambda line: print(f"  {line}", flush=True))
        join_s, joined_bytes = time.monotonic() - begun_s, own_bytes()
        idle_s = own_cpu_s()
        time.sleep(IDLE_S)
        idle_cpu = (own_cpu_s() - idle_s) / IDLE_S
        readings: dict[str, int] = {}
        clocks_s = timed(
            lambda: readings.update({name: one.bound_ns for name, one in connection.read_clocks().items()})
        )
        plans = {name: small_plan(directory / name) for name in connection.clients}
        begin_s = timed(lambda: connection.begin(f"{kind}-{clients}", plans))
        cpu_s, begun_s = own_cpu_s(), time.monotonic()
        connection.send_controls(dict.fromkeys(plans, events.StartWhenReady()))
        received, gone = hear_all(connection, set(plans))
        run_cpu = (own_cpu_s() - cpu_s) / (time.monotonic() - begun_s)
        lost, begun_s = 0, time.monotonic()
        for place, name in enumerate(plans):
            its_own = fetched(connection, name, folder) if place < FETCHED else None
            whole = expected if kind == "simulated" else its_own or received[name]
            lost += sum(abs(whole[key] - received[name][key]) for key in {*whole, *received[name]})
        fetch_s = time.monotonic() - begun_s
        missed, words = sum(connection.batches_missed.values()), sum(sum(one.values()) for one in received.values())
        end_bytes = own_bytes()
        close_s = timed(connection.close)
    return Cost(
        kind, clients, join_s, before_bytes, joined_bytes, end_bytes, idle_cpu, run_cpu, begin_s, clocks_s,
        max(readings.values(), default=0), fetch_s, close_s, words, gone, missed, lost,
    )  # fmt: skip


def fetched(connection: DaskConnection, name: str, folder: Path) -> Counter[str]:
    """Fetch a client's stream and give its sums."""
    into = folder / f"{name}.ndjson"
    connection.fetch(name, into)
    connection.remove_run(name)
    found = sums([events.decode(line) for line in into.read_bytes().splitlines()])
    into.unlink()
    return found


def hear_all(connection: DaskConnection, names: set[str]) -> tuple[dict[str, Counter[str]], int]:
    """Receive until all have ended; the sums of each, and how many were gone."""
    received: dict[str, Counter[str]] = {name: Counter() for name in names}
    gone, give_up_s = 0, time.monotonic() + PATIENCE_S
    while names and time.monotonic() < give_up_s:
        for one in connection.receive(1.0):
            if isinstance(one, ClientEvent):
                received[one.client] += sums([one.event])
            elif isinstance(one, Ended | Gone):
                names = names - {one.client}
                gone += isinstance(one, Gone)
    return received, gone


ROWS: Sequence[tuple[str, Callable[[Cost], str]]] = (
    ("until all have joined, s", lambda one: f"{one.join_s:.1f}"),
    ("leader's memory before, MiB", lambda one: f"{one.before_bytes / (1 << 20):.0f}"),
    ("when all have joined, MiB", lambda one: f"{one.joined_bytes / (1 << 20):.0f}"),
    ("at the end, MiB", lambda one: f"{one.end_bytes / (1 << 20):.0f}"),
    (
        "growth with what was loaded, KiB a client",
        lambda one: f"{(one.end_bytes - one.before_bytes) / 1024 / one.clients:.0f}",
    ),
    ("leader's CPU while nothing happens", lambda one: f"{one.idle_cpu:.1%}"),
    ("while all measure", lambda one: f"{one.run_cpu:.1%}"),
    ("to begin a run, s", lambda one: f"{one.begin_s:.1f}"),
    ("to read all clocks, s", lambda one: f"{one.clocks_s:.1f}"),
    ("widest bound of a clock, us", lambda one: f"{one.widest_bound_ns / 1000:.0f}"),
    (f"to fetch {FETCHED} streams, s", lambda one: f"{one.fetch_s:.1f}"),
    ("to let all go, s", lambda one: f"{one.close_s:.1f}"),
    ("clients gone", lambda one: str(one.gone)),
    ("batches missed", lambda one: str(one.missed)),
    ("operations, buckets and words lost", lambda one: str(one.lost)),
)


def table(costs: Sequence[Cost]) -> str:
    """Write a table in Markdown."""
    heads = [f"{one.clients:,} {one.kind}" for one in costs]
    lines = [f"| | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    lines += [f"| {words} | {' | '.join(map(write, costs))} |" for words, write in ROWS]
    return "\n".join(lines)


def main() -> None:
    """Read the words, and print a table."""
    if sys.argv[1:2] == ["--play"]:
        join_file, first, count, played, root = sys.argv[2:]
        asyncio.run(play(Path(join_file), int(first), int(count), Path(played).read_bytes(), Path(root)))
        return
    parser = argparse.ArgumentParser(description="Measure what many clients cost their leader.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--simulated", type=int, nargs="*", default=None)
    parser.add_argument("--real", type=int, nargs="*", default=None)
    words = parser.parse_args()
    is_default = words.simulated is None and words.real is None
    wanted = [("real", count) for count in words.real or ([60] if is_default else [])]
    wanted += [("simulated", count) for count in words.simulated or ([500, 1000] if is_default else [])]
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-", dir=words.directory))
    try:
        capabilities()
        stream = record(folder / "data" / "recorded", folder)
        costs = []
        for kind, clients in wanted:
            print(f"{clients} {kind} clients", flush=True)
            costs.append(cost(kind, clients, stream, folder / "data", folder))
            print(f"\n{table(costs)}\n", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
