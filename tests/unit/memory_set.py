"""A run of several clients without files: streams with known truth, each on a clock of its own."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import polars as pl

from assay import events, plan
from assay.bundle import RunBundle
from assay.bundle.client_set import ClientSet, Lost, Member, OnLost, PhaseStart, Role, Share
from assay.bundle.tables import HISTOGRAMS, HOST, INTERVALS, OF_STREAM, WORKERS, join
from assay.clocks import ClockReading
from assay.host.facts import FactValue
from unit.memory_run import MemoryRun, facts_of
from unit.synthetic import NS, SyntheticRun

LEADER_NS = 5_000 * NS
"""The leader's clock when the first client's engine says hello."""
FIRST_PHASE_NS = LEADER_NS + 10 * NS
"""The leader's clock when the first phase is to begin: synthetic runs begin theirs 10 s after hello."""
BOUND_NS = 100_000


@dataclasses.dataclass
class Client:
    """One client: what it recorded by its own clock, and how that stood to the leader's."""

    name: str
    run: SyntheticRun
    offset_ns: int = 0
    """Its clock minus the leader's, at the leader's `LEADER_NS`."""
    drift: float = 0.0
    """What its clock gains, as a share."""
    late_ns: int = 0
    """How much later than agreed its first phase begins, by the leader's clock."""
    role: Role = Role.LOAD
    lost: Lost | None = None
    hostname: str = ""
    bound_ns: int = BOUND_NS
    has_stream: bool = True
    readings_at_s: Sequence[float] = (0.0, 1000.0)
    """When the clock was read, in seconds after `LEADER_NS`."""

    def at(self, leader_ns: int) -> int:
        """Give its clock at a time of the leader's."""
        return leader_ns + self.offset_ns + round(self.drift * (leader_ns - LEADER_NS))

    def member(self) -> Member:
        """Write down who it is."""
        times = [LEADER_NS + round(at_s * NS) for at_s in self.readings_at_s]
        return Member(
            name=self.name,
            role=self.role,
            hostname=self.hostname or self.name,
            address=f"{self.name}.example",
            facts=tuple(self.run.facts),
            clock=tuple(
                ClockReading(at_ns=at, offset_ns=self.at(at) - at, bound_ns=self.bound_ns, exchanges=16) for at in times
            ),
            lost=self.lost,
        )

    def stream(self) -> list[events.Event]:
        """Give its events, with a hello whose clock makes its first phase begin when it is to."""
        begins_ns = next((event.start_ns for event in self.run.lines if isinstance(event, events.Started)), 10 * NS)
        zero_ns = self.at(FIRST_PHASE_NS + self.late_ns) - begins_ns
        first, *others = self.run.lines
        assert isinstance(first, events.Hello)
        clock = msgspec.structs.replace(first.clock, monotonic_at_zero_ns=zero_ns)
        machine = msgspec.structs.replace(first.machine, hostname=self.hostname or self.name)
        return [msgspec.structs.replace(first, clock=clock, machine=machine), *others]


class MemorySet(MemoryRun):
    """What is read of the bundle of a set."""

    def __init__(
        self,
        its_plan: plan.Plan,
        clients: Sequence[Client],
        *,
        starts_s: Sequence[float] = (0.0,),
        share: Share = Share.OWN,
        facts: dict[str, FactValue] | None = None,
        members: Mapping[int, tuple[str, ...]] | None = None,
    ) -> None:
        """Put clients together.

        Args:
            its_plan: That all were given.
            clients: In the order of the set.
            starts_s: When each phase was to begin, after the first.
            share: Of the Plan.
            facts: Of the run, as the leader has them.
            members: Who was told to begin a phase, where not all were.
        """
        super().__init__(plan=its_plan, facts=facts_of(facts or {}))
        self._streams = {client.name: client for client in clients if client.has_stream}
        names = tuple(client.name for client in clients)
        self._set = ClientSet(
            share=share,
            on_lost=OnLost.CONTINUE,
            members=tuple(client.member() for client in clients),
            starts=tuple(
                PhaseStart(
                    phase_index=index,
                    at_ns=FIRST_PHASE_NS + round(after_s * NS),
                    members=(members or {}).get(index, names),
                )
                for index, after_s in enumerate(starts_s)
            ),
        )

    @property
    def clients(self) -> tuple[str, ...]:
        """Name those that have a stream."""
        return tuple(sorted(self._streams))

    def client_set(self) -> ClientSet:
        """Return who measured."""
        return self._set

    def events(self, client: str | None = None) -> list[events.Event]:
        """Return a client's events."""
        assert client is not None, "each client of a set is asked for by name"
        return self._streams[client].stream()

    def only(self, client: str) -> SyntheticRun:
        """Give what one client recorded."""
        return self._streams[client].run

    def table(self, name: str) -> pl.DataFrame:
        """Join the tables of all clients."""
        return join({client: self._streams[client].run.table(name) for client in self.clients})


def kept(runs: Path, measured: MemorySet, *, is_sealed: bool = True) -> RunBundle:
    """Write a set down as its leader and its engines would."""
    bundle = RunBundle.create(runs, "set", plan=measured.plan, argv=["assay", "run", "set.toml", "/data"])
    bundle.record_facts(measured.facts)
    bundle.keep_client_set(measured.client_set())
    for name in measured.clients:
        lines = in_order(measured.events(name), _intervals(measured.only(name)))
        bundle.stream_path(name).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    if is_sealed:
        bundle.seal()
    return bundle


def in_order(happened: Sequence[events.Event], intervals: Sequence[events.Interval]) -> list[events.Event]:
    """Put intervals between the begin and the end of their phases."""
    first, *others = happened
    return [first, *sorted([*others, *intervals], key=lambda event: (getattr(event, "t_ns", 0), _rank(event)))]


def _rank(event: events.Event) -> int:
    """Say what is written first of one moment."""
    return {events.Started: 0, events.Interval: 1}.get(type(event), 2)


def _intervals(run: SyntheticRun) -> list[events.Interval]:
    """Make the lines again that the tables of a client are made of."""
    tables = {name: run.table(name) for name in OF_STREAM}
    ticks = tables[HOST].filter(source="process").select("phase_index", "t_s").unique().sort("t_s")
    return [_interval(tables, index, t_s) for index, t_s in ticks.iter_rows()]


def _interval(tables: Mapping[str, pl.DataFrame], index: int, t_s: float) -> events.Interval:
    at = {name: table.filter(phase_index=index, t_s=t_s) for name, table in tables.items()}
    host: dict[tuple[str, str], dict[str, float]] = {}
    for row in at[HOST].iter_rows(named=True):
        host.setdefault((row["source"], row["instance"]), {})[row["name"]] = row["value"]
    process = {name: int(value) for name, value in host.pop(("process", "")).items()}
    operations = []
    for row in at[INTERVALS].iter_rows(named=True):
        buckets = at[HISTOGRAMS].filter(job=row["job"], operation=row["operation"])
        latency = events.Buckets(
            index=tuple(buckets["bucket"]),
            count=tuple(buckets["n"]),
            max_ns=row["latency_max_ns"],
            sum_ns=row["latency_sum_ns"],
        )
        names = ("job", "operation", "ops", "bytes", "errors")
        operations.append(
            events.OperationInterval(**{name: row[name] for name in names}, latency=latency, response=None)
        )
    samples = [
        events.WorkerSample(**{name: row[name] for name in events.WorkerSample.__struct_fields__})
        for row in at[WORKERS].iter_rows(named=True)
    ]
    lengths = at[INTERVALS]["dt_s"]
    return events.Interval(
        t_ns=round(t_s * NS),
        dt_ns=round(lengths[0] * NS) if len(lengths) else 0,
        phase_index=index,
        operations=tuple(operations),
        workers=tuple(samples),
        process_cpu_ns=process["process_cpu_ns"],
        observer_cpu_ns=process["observer_cpu_ns"],
        process_read_bytes=process.get("process_read_bytes"),
        process_write_bytes=process.get("process_write_bytes"),
        host=tuple(
            events.HostSample(source=source, instance=instance, values=values)
            for (source, instance), values in host.items()
        ),
    )
