"""A run of several clients without files: streams with known truth, each on a clock of its own."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import msgspec
import polars as pl

from assay import events, plan
from assay.bundle.client_set import ClientSet, Lost, Member, OnLost, PhaseStart, Role, Share
from assay.bundle.tables import join
from assay.clocks import ClockReading
from assay.host.facts import FactValue
from unit.memory_run import MemoryRun, facts_of, hello
from unit.synthetic import BLOCK_BACKED, NS, SyntheticRun

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

    def table(self, name: str) -> pl.DataFrame:
        """Join the tables of all clients."""
        return join({client: self._streams[client].run.table(name) for client in self.clients})


def many(
    its_plan: plan.Plan, names: Sequence[str], filled: Callable[[SyntheticRun, int], object]
) -> dict[str, SyntheticRun]:
    """Make a run for each name; `filled` fills that of a number."""
    runs = {name: SyntheticRun(its_plan, facts=dict(BLOCK_BACKED), first=hello()) for name in names}
    for number, run in enumerate(runs.values()):
        filled(run, number)
        run.end()
    return runs
