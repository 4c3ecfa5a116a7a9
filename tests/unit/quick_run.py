"""A quick run in memory: eleven results of six seconds, as the engine and the analysis would give them.

Latencies are drawn per interval from known mixtures, so what figures must show is known. One phase stalls completely
for 0.8 s, one is bimodal, one is not trusted, one has hostile text in every name.
"""

import functools
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay import events, plan, results
from assay.analysis import findings
from assay.analysis.marked import marks_of_run
from assay.analysis.record import read
from assay.bundle import tables
from assay.host.facts import Fact
from assay.verdicts import ServedBy
from unit.memory_run import MemoryRun, filled_buckets, hello

INTERVAL_S = 0.2
INTERVALS = 30
WINDOW_S = (0.2, 6.0)
PHASE_GAP_S = 2.0
HOSTILE = "</script><script>alert(\"1\")</script><!-- & 'quoted' <b>"
DRAWN_PER_INTERVAL = 2000


@dataclass(frozen=True)
class Load:
    """One phase of the run: what its intervals look like."""

    name: str
    title: str
    ops_per_s: float
    op_bytes: int
    modes: tuple[tuple[float, float, float], ...]
    """Weight, median in ns and sigma of the logarithm of each mode of the latency."""
    budget: tuple[float, float, float | None, float]
    stall_s: tuple[float, float] | None = None
    trusted: bool = True


LOADS = (
    Load(
        "write", "streaming write, 1 MiB, direct, depth 4", 412, 1 << 20, ((1, 9.4e6, 0.25),), (0.07, 0.02, 0.85, 0.06)
    ),
    Load("read", "streaming read, 1 MiB, buffered, cold", 980, 1 << 20, ((1, 0.98e6, 0.4),), (0.31, 0.04, 0.61, 0.04)),
    Load(
        "randread-1",
        "4 KiB random read, direct, depth 1",
        10300,
        4096,
        ((0.8, 8.2e4, 0.12), (0.2, 1.4e5, 0.3)),
        (0.27, 0.05, 0.62, 0.06),
        (3.0, 3.8),
    ),
    Load(
        "randread-32",
        "4 KiB random read, direct, depth 32",
        26100,
        4096,
        ((0.9, 1.1e6, 0.2), (0.1, 6e6, 0.5)),
        (0.28, 0.34, 0.31, 0.07),
        None,
        False,
    ),
    Load(
        "syncwrite",
        "8 KiB synchronous random write",
        655,
        8192,
        ((0.7, 1.1e6, 0.15), (0.3, 4.2e6, 0.3)),
        (0.05, 0.03, 0.82, 0.10),
    ),
    Load(
        "create-1",
        "create 4 KiB files, 1 worker",
        21500,
        4096,
        ((0.97, 3.9e4, 0.2), (0.03, 3e5, 0.6)),
        (0.93, 0.05, 0.01, 0.01),
    ),
    Load("stat-1", "stat, 1 worker", 412000, 0, ((1, 1.9e3, 0.25),), (0.97, 0.03, 0.0, 0.0)),
    Load(
        "create-many",
        "create 4 KiB files, 4 workers",
        29800,
        4096,
        ((0.9, 9e4, 0.4), (0.1, 6e5, 0.6)),
        (0.45, 0.04, 0.02, 0.49),
    ),
    Load("stat-many", "stat, 4 workers", 731000, 0, ((1, 4.4e3, 0.5),), (0.49, 0.51, None, 0.0)),
    Load("delete-1", "delete, 1 worker", 48200, 0, ((0.99, 1.8e4, 0.2), (0.01, 2e5, 0.5)), (0.91, 0.06, 0.02, 0.01)),
    Load("delete-many", "delete, 4 workers", 61100, 0, ((0.9, 4.4e4, 0.4), (0.1, 3e5, 0.7)), (0.47, 0.06, 0.01, 0.46)),
)


@functools.cache
def quick_run(loads: tuple[Load, ...] = LOADS) -> tuple[MemoryRun, results.Document]:
    """Make the run and its result document."""
    rng = np.random.default_rng(20260101)
    interval_rows: list[dict[str, object]] = []
    histogram_rows: list[pl.DataFrame] = []
    worker_rows: list[dict[str, object]] = []
    lines: list[events.Event] = []
    found: list[results.Result] = []
    for index, load in enumerate(loads):
        start_ns = round((1.5 + index * (6.0 + PHASE_GAP_S)) * 1e9)
        lines.append(events.Started(t_ns=start_ns, phase_index=index, start_ns=start_ns))
        worker_rows.append(_worker(index, start_ns, 0))
        kept: list[np.ndarray] = []
        counted: list[int] = []
        for tick in range(INTERVALS):
            end_ns = start_ns + round((tick + 1) * INTERVAL_S * 1e9)
            worker_rows.append(_worker(index, end_ns, tick))
            ops, values = _draw(rng, load, tick)
            if ops == 0:
                continue
            kept.append(values if tick else values[:0])
            counted.append(ops)
            interval_rows.append(_interval(index, load, end_ns, ops))
            histogram_rows.append(_histogram(index, load, end_ns, ops, values))
        lines.append(_finished(index, start_ns))
        found.append(_result(load, np.concatenate(kept), sum(counted[1:]), sum(counted)))
    marks: list[events.Event] = [
        events.Mark(
            t_ns=round(1.5e9 + 2 * (6.0 + PHASE_GAP_S) * 1e9 + 2.9e9), label="disk 3 pulled " + HOSTILE, source="user"
        )
    ]
    bundle = MemoryRun(
        plan=_plan(loads),
        tables={
            tables.INTERVALS: pl.DataFrame(interval_rows),
            tables.HISTOGRAMS: pl.concat(histogram_rows),
            tables.WORKERS: pl.DataFrame(worker_rows),
        },
        lines=[hello(), *lines, *marks],
        facts=_facts(),
    )
    return bundle, _document(bundle, tuple(found))


def _draw(rng: np.random.Generator, load: Load, tick: int) -> tuple[int, np.ndarray]:
    start_s = tick * INTERVAL_S
    if load.stall_s and load.stall_s[0] <= start_s + 1e-9 < load.stall_s[1] - 1e-9:
        return 0, np.empty(0)
    expected = load.ops_per_s * INTERVAL_S * (0.55 if tick == 0 else 1.0)
    ops = max(round(expected * (1 + 0.04 * rng.standard_normal())), 1)
    each = -(-ops // DRAWN_PER_INTERVAL)  # operations that one drawn value stands for
    drawn = max(ops // each, 1)
    weights = np.array([weight for weight, _, _ in load.modes])
    mode = rng.choice(len(load.modes), size=drawn, p=weights / weights.sum())
    medians = np.array([median for _, median, _ in load.modes])[mode]
    sigmas = np.array([sigma for _, _, sigma in load.modes])[mode]
    values = medians * np.exp(sigmas * rng.standard_normal(drawn))
    if load.stall_s and tick == round(load.stall_s[1] / INTERVAL_S):
        values[0] = 1e9 * (load.stall_s[1] - load.stall_s[0])  # the operation that waited for the stall to end
    return drawn * each, np.maximum(np.round(values), 1)


def _interval(index: int, load: Load, end_ns: int, ops: int) -> dict[str, object]:
    return {
        "phase_index": index, "job": load.name, "operation": load.name, "t_s": end_ns / 1e9, "dt_s": INTERVAL_S,
        "ops": ops, "bytes": ops * load.op_bytes, "errors": 0,
    }  # fmt: skip


def _histogram(index: int, load: Load, end_ns: int, ops: int, values: np.ndarray) -> pl.DataFrame:
    buckets, counts = filled_buckets(values.astype(np.int64))
    return pl.DataFrame({"bucket": buckets.astype(np.uint32), "n": counts * (ops // len(values))}).select(
        pl.lit(index, dtype=pl.Int32).alias("phase_index"),
        pl.lit(load.name).alias("job"),
        pl.lit(load.name).alias("operation"),
        pl.lit("latency").alias("series"),
        pl.lit(end_ns / 1e9).alias("t_s"),
        "bucket",
        "n",
    )


def _worker(index: int, t_ns: int, ops: int) -> dict[str, object]:
    return {"phase_index": index, "t_s": t_ns / 1e9, "job": "job", "worker": 0, "ops": ops}


def _result(load: Load, values: np.ndarray, window_ops: int, all_ops: int) -> results.Result:
    seconds = WINDOW_S[1] - WINDOW_S[0]
    p50, p90, p99, p99_9 = np.quantile(values, [0.5, 0.9, 0.99, 0.999]).tolist()
    doubt = results.Finding(
        id="cpu-contention",
        severity="warning",
        text=f"workers waited for a CPU 34 % of the time {HOSTILE}",
        cure="Run when the machine is quiet.",
        brief="workers waited for a CPU",
    )
    found = () if load.trusted else (doubt,)
    on_cpu, run_delay, block_delay, other = load.budget
    reads = load.name.startswith(("read", "rand"))
    return results.Result(
        label=f"{load.name}/{load.name}",
        phase=load.name, title=load.title, job=load.name, operation=load.name, target="target", targets=("target",),
        client=None, repeat=0,
        workers=4 if load.name.endswith("-many") else 1, queue_depth=32 if load.name.endswith("-32") else 1,
        ops=all_ops, bytes=all_ops * load.op_bytes, errors=0, seconds=seconds, window_s=WINDOW_S,
        iops=window_ops / seconds, iops_interval=None, committed=None, measures=ServedBy.STORAGE,
        throughput_bytes_per_s=window_ops * load.op_bytes / seconds, latency_intervals_ns=None,
        latency_ns=results.LatencyNs(
            mean=float(values.mean()), p50=p50, p90=p90, p99=p99,
            p99_9=p99_9 if window_ops >= 10_000 else None, max=float(values.max()),
        ),
        response_ns=None, schedule=None, cpu_ns_per_op=1e9 * on_cpu / load.ops_per_s,
        time_budget=results.TimeBudget(
            on_cpu=on_cpu, run_delay=run_delay, block_delay=block_delay, idle=0.0, other_wait=other
        ),
        efficiency=results.Efficiency(
            cpu_seconds_per_gib=None, bytes_per_cpu_second=None, calls_per_op=None, device_bytes_per_byte=None,
            joules_per_op=None, joules_per_gib=None,
        ),
        cache=results.Cache(
            condition="direct" if "direct" in load.title else "cold", hit_ratio=0.01 if reads else None,
            hit_ratio_of="window" if reads else None,
            resident_before=0.0, resident_after=0.4, verdict="storage" if reads else "unknown",
            method="byte_balance" if reads else None,
        ),
        device_bytes=all_ops * load.op_bytes if reads else None, steady=None, limiter=None,
        findings=found, trust=findings.trust(found), trusted=load.trusted,
    )  # fmt: skip


def _plan(loads: tuple[Load, ...]) -> plan.Plan:
    body = plan.Loop(actions=())
    return plan.Plan(
        name="quick",
        origin=plan.Origin(front_end="native", source="suites/quick.toml", sha256="0" * 64),
        seed=1,
        targets=(plan.Target(name="target", uri="file:///srv/data"),),
        file_sets=(),
        phases=tuple(
            plan.Phase(
                name=load.name, title=load.title, jobs=(plan.Job(name=load.name, body=body),), ramp_s=WINDOW_S[0]
            )
            for load in loads
        ),
        sample_interval_s=INTERVAL_S,
        untranslated=(plan.Untranslated(what=HOSTILE, why="has no equal"),),
    )


def _finished(index: int, start_ns: int) -> events.PhaseFinished:
    return events.PhaseFinished(
        t_ns=start_ns + 6_000_100_000, phase_index=index, start_ns=start_ns, stopped_by=events.StoppedBy.TIME,
        workers=(), jobs=(), errors=(),
    )  # fmt: skip


def _facts() -> tuple[Fact, ...]:
    return (
        Fact(key="target.target.directory", value="/srv/data", source="user"),
        Fact(key="target.target.fs.type", value="ext4", source="/proc/self/mountinfo"),
        Fact(key="target.target.fs.is_block_backed", value=True, source="/proc/self/mountinfo"),
        Fact(key="target.target.device.model", value=HOSTILE, source="/sys/block/vda/device/model"),
        Fact(key="host.cpu.governor", value=None, source="n/a: no cpufreq on this machine"),
        Fact(key="vm.dirty_ratio_percent", value=20, source="/proc/sys/vm/dirty_ratio"),
    )


def _document(bundle: MemoryRun, found: tuple[results.Result, ...]) -> results.Document:
    note = results.Finding(
        id="not-judged", severity="note", text="Steady state and limiter are not judged by this version.", cure=""
    )
    run = results.Run(
        id=bundle.run_id, name=None, tags=(), note="", bundle=str(bundle.path), sealed=True, command=bundle.info.command,
        started_utc="2026-01-01T12:00:00Z", seconds=98.0, exit_code=0, repeats=1,
    )  # fmt: skip
    rates = (
        ("memory_copy_large", 64 << 20, 60.0),
        ("system_call", None, 2e6),
        ("cached_pread", 4096, 400e3),
        ("cached_pread", 65536, 60e3),
        ("cached_pread", 1 << 20, 5e3),
    )
    ceilings = results.ClientCeilings(
        measured_utc="2026-01-01T12:00:00Z",
        is_of_this_run=True,
        of_one_thread=tuple(
            results.ThreadCeiling(
                name=name, block_size_bytes=block, ops_per_s=rate, bytes_per_s=None if block is None else block * rate
            )
            for name, block, rate in rates
        ),
        link_bytes_per_s=1.2e9,
        device_bytes_per_s=None,
    )
    return results.Document(
        schema=results.SCHEMA,
        run=run,
        ceilings=ceilings,
        results=found,
        findings=(note,),
        marks=marks_of_run(read(bundle), found),
    )
