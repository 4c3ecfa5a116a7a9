"""Streams as an engine writes them, for tests of what becomes of them."""

from pathlib import Path

import msgspec

from assay.bundle import RunBundle
from assay.events import (
    Buckets,
    Event,
    Finished,
    HostSample,
    Interval,
    OperationInterval,
    Outcome,
    PhaseFinished,
    Started,
    StoppedBy,
    Warning,  # noqa: A004 - the name of the line in the stream
    WorkerSample,
)
from assay.plan import Body, FileSet, Fixed, Job, Loop, Origin, Phase, Plan, Target
from unit.memory_run import hello

NS = 1_000_000_000


def plan(name: str = "quick", directory: str = "/srv/data") -> Plan:
    """Make a small Plan of one phase."""
    body: Body = Loop(actions=())
    return Plan(
        name=name,
        origin=Origin(front_end="native", source="quick", sha256="0" * 64),
        seed=1,
        targets=(Target(name="data", uri=f"file://{directory}"),),
        file_sets=(FileSet(name="set", target="data", path="set", files=1, size=Fixed(value=1.0)),),
        phases=(Phase(name="read", title="Read", jobs=(Job(name="readers", body=body),)),),
    )


def interval(tick: int, *, host_instances: int = 1, filled_buckets: int = 2) -> Interval:
    """Make tick `tick` of a phase: tick 0 has no operations; tick t has t reads of 4 KiB in each bucket."""
    buckets = Buckets(
        index=tuple(range(9000, 9000 + filled_buckets)),
        count=(tick,) * filled_buckets,
        max_ns=10**6 + tick,
        sum_ns=tick,
    )
    ops = tick * filled_buckets
    read = OperationInterval(
        job="readers", operation="read", ops=ops, bytes=ops * 4096, errors=0, latency=buckets, response=None
    )
    paced = msgspec.structs.replace(read, operation="paced", response=buckets)
    nothing = Buckets(index=(), count=(), max_ns=5, sum_ns=0)
    stalled = msgspec.structs.replace(read, operation="stalled", ops=0, bytes=0, latency=nothing)
    worker = WorkerSample(
        job="readers", worker=0, ops=ops, bytes=ops, on_cpu_ns=tick, run_delay_ns=0, block_delay_ns=None,
        user_cpu_ns=1, system_cpu_ns=2, io_calls=None, children_cpu_ns=0, idle_ns=tick,
    )  # fmt: skip
    host = [
        HostSample(source="diskstats", instance=f"sd{i}", values={"read_bytes": tick * 4096.0, "write_bytes": 0.0})
        for i in range(host_instances)
    ]
    return Interval(
        t_ns=NS + tick * NS // 5,
        dt_ns=NS // 5 if tick else 0,
        phase_index=0,
        operations=(read, paced, stalled) if tick else (),
        workers=(worker,),
        process_cpu_ns=tick,
        observer_cpu_ns=0,
        process_read_bytes=tick * 4096,
        process_write_bytes=None,
        host=(*host, HostSample(source="pressure", instance="io", values={})),
    )


def stream(ticks: int) -> list[Event]:
    """Make a whole run of one phase."""
    end = NS + ticks * NS // 5
    return [
        hello(),
        Warning(t_ns=1, phase_index=None, id="direct-refused", text="tmpfs"),
        Started(t_ns=NS, phase_index=0, start_ns=NS),
        *[interval(tick) for tick in range(ticks + 1)],
        PhaseFinished(
            t_ns=end, phase_index=0, start_ns=NS, stopped_by=StoppedBy.TIME, workers=(), jobs=(), errors=()
        ),
        Finished(t_ns=end, outcome=Outcome.COMPLETE, user_cpu_ns=1, system_cpu_ns=1, peak_rss_bytes=1),
    ]  # fmt: skip


def encoded(events: list[Event]) -> bytes:
    """Write the lines of a stream."""
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def begun(runs: Path, *, name: str = "quick", ticks: int = 3) -> RunBundle:
    """Make a run whose engine has ended and that is not sealed yet."""
    bundle = RunBundle.create(runs, name, plan=plan(name), argv=["assay", "quick", "/srv/my data"])
    bundle.events_path.write_bytes(encoded(stream(ticks)))
    return bundle
