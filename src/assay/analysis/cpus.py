"""Who had the machine's CPUs in a window: the load, programs beside it, threads of the kernel, the hypervisor?

A worker that is ready to run and gets no CPU waits for what runs there instead. Other programs there disturb the
measurement (METHOD 4.2 G0); the load's own workers do not, and the kernel's threads, which do for the file system and the
device what the load asked for, need not (docs/decisions/0024).
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence

from assay import events
from assay.analysis import thresholds
from assay.analysis.budget import WorkerUse, worker_use
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.analysis.shared_machine import grown_on_machine
from assay.analysis.window import Window
from assay.plan import Job

_SHORTEST_WINDOW_S = 1.0
"""/proc/stat counts in ticks of 10 ms: a window of a hundred shows the CPU time to 1 %."""

_ONLINE_FACT = "host.cpu.online"
_SHOWN_CPUS = 0.05
"""Less is 0.0 in print."""
_IDLE = frozenset({"idle", "iowait", "steal"})
"""Time in which a CPU of this machine did nothing."""
_INTERRUPTS = frozenset({"irq", "softirq"})


class HeldUpBy(enum.Enum):
    """Whose work on the CPUs accounts for the workers' long waits for one."""

    OWN = "own"
    """The load's other threads alone."""
    KERNEL = "kernel"
    """Those and the kernel's threads, which checksum, encrypt, write back and commit for the load, or for others."""


@dataclasses.dataclass(frozen=True)
class CpuUse:
    """How many CPUs were kept busy, on average; None where that is not known."""

    own: float | None
    """By the engine, or those of all clients on its machine."""
    others: float | None
    """By all else on the machine: programs, kernel threads and interrupts, those of the load's own I/O among them."""
    kernel: float | None = None
    """Of those, by the kernel's own threads."""
    interrupts: float = 0.0
    """Of those, by interrupts."""
    machine: int | None = None
    """CPUs of the machine."""
    allowed: int | None = None
    """Those that the job's workers may run on, by the affinity of the client and of the Plan; None: not known."""
    own_of_allowed: float | None = None
    """How many of these the load kept busy."""
    pins: tuple[int, ...] = ()
    """The one CPU of each worker, where the Plan names them; by the worker's number modulo the length."""
    own_by_cpu: Mapping[int, float] = dataclasses.field(default_factory=dict)
    """Of the time of each of these CPUs, the share that workers had that may run on no other."""

    @property
    def rest(self) -> float | None:
        """By programs and interrupts; where threads of the kernel were not seen, by those as well."""
        return None if self.others is None else max(0.0, self.others - (self.kernel or 0.0))

    @property
    def programs(self) -> float | None:
        """That, less interrupts."""
        return None if self.rest is None else max(0.0, self.rest - self.interrupts)

    @property
    def takes_all(self) -> bool:
        """Whether the load itself keeps the CPUs busy that the workers may run on."""
        if not self.allowed or self.own_of_allowed is None:
            return False
        return self.own_of_allowed >= thresholds.BUSY_SHARE * self.allowed

    @property
    def is_confined(self) -> bool:
        """Whether the workers may run on some of the machine's CPUs only."""
        return self.allowed is not None and self.machine is not None and self.allowed < self.machine

    def __str__(self) -> str:
        """Who used the CPUs, in words; empty where that is not known."""
        if self.own is None or not self.machine:
            return ""
        text = f"the load itself used {self.own:.1f} of {self.machine} CPUs"
        if self.rest is None:
            return text
        if self.kernel is not None and self.kernel >= _SHOWN_CPUS:
            text += f", threads of the kernel {self.kernel:.1f}"
        return f"{text}, all else on the machine {self.rest:.1f}"

    @property
    def is_crowded(self) -> bool:
        """Whether no CPU of the machine was free, and other programs had a part of them.

        Whatever woke up then had to wait, or to take a CPU from a program: the workers, and threads of the kernel that work
        for them, whose waits are in no time budget. It meets another program as often as these have the CPUs: where that is
        not more than the wait that a worker may have, it is no more than such a wait.
        """
        if not self.machine or self.own is None or self.others is None or self.programs is None:
            return False
        is_full = self.own + self.others >= thresholds.BUSY_SHARE * self.machine
        return is_full and self.programs > thresholds.RUN_DELAY_SHARE * self.machine

    def held_up(self, uses: Sequence[WorkerUse]) -> HeldUpBy | None:
        """Find who accounts for each long wait for a CPU, where it was not other programs; None where that is not known.

        What kept some CPUs busy beside the load cannot have held a worker up for more than that share of its time, nor the
        load's own threads for more than they ran beside it. On a CPU that the Plan's affinity fills with the load's workers
        nobody else had more than the rest of it, whatever ran on the other CPUs.
        """
        waited = [use for use in uses if (use.run_delay_ns or 0) > thresholds.RUN_DELAY_SHARE * use.wall_ns]
        left = [use for use in waited if not self._is_on_a_full_cpu(use)]
        if waited and not left:
            return HeldUpBy.OWN
        if self.own is None or self.others is None or self.rest is None or self.rest > thresholds.RUN_DELAY_SHARE:
            return None
        for use in left:
            if (
                use.on_cpu_ns is None
                or (use.run_delay_ns or 0) + use.on_cpu_ns > (self.own + self.others) * use.wall_ns
            ):
                return None
        return HeldUpBy.OWN if self.others <= thresholds.RUN_DELAY_SHARE else HeldUpBy.KERNEL

    def _is_on_a_full_cpu(self, use: WorkerUse) -> bool:
        if not self.pins:
            return False
        return self.own_by_cpu.get(self.pins[use.worker % len(self.pins)], 0.0) >= thresholds.BUSY_SHARE


def cpu_use(run: RunRecord, record: PhaseRecord, window: Window, job: Job) -> CpuUse:
    """Return how many CPUs were kept busy in a window, by whom, and on how many of them a job's workers may run."""
    return _confined(_cpu_use(run, record, window), run, record, window, job)


def _cpu_use(run: RunRecord, record: PhaseRecord, window: Window) -> CpuUse:
    seconds = window.counted.seconds
    process_ns = grown_on_machine(run, record, window.counted, "process_cpu_ns")
    if process_ns is None or seconds <= 0:
        return CpuUse(None, None)
    own, grown = process_ns / (seconds * NS_PER_S), _host_cpu_ns(record, window)
    if not grown:
        return CpuUse(own, None)
    cpus = {name: ns / (seconds * NS_PER_S) for name, ns in grown.items() if name not in _IDLE}
    interrupts = sum(used for name, used in cpus.items() if name in _INTERRUPTS)
    # The host counts in ticks, the load by the clock: a little less than nothing is nothing.
    return CpuUse(own, max(0.0, sum(cpus.values()) - own), _of_kernel(record, window), interrupts)


def _confined(use: CpuUse, run: RunRecord, record: PhaseRecord, window: Window, job: Job) -> CpuUse:
    """Add the CPUs of the machine, and of these the ones that a job's workers may run on.

    Which CPUs a NUMA node has is not recorded.
    """
    hello, online = run.first(events.Hello), run.facts.get(_ONLINE_FACT)
    mask = hello.machine.cpus if hello else None
    machine = max(mask, online) if mask and isinstance(online, int) else mask
    pins = job.affinity.cpus
    if pins:
        own_by_cpu = _own_by_cpu(record, window)
        mine = set(pins[: job.workers])
        own = sum(own_by_cpu.get(cpu, 0.0) for cpu in mine)
        return dataclasses.replace(
            use, machine=machine, allowed=len(mine), own_of_allowed=own, pins=pins, own_by_cpu=own_by_cpu
        )
    if job.affinity.numa_node is not None:
        return dataclasses.replace(use, machine=machine)
    own_of_allowed = use.own
    if mask and machine and mask < machine:
        # Other clients of the machine may have other CPUs.
        process_ns = record.process_delta(window.counted, "process_cpu_ns")
        seconds = window.counted.seconds
        own_of_allowed = process_ns / (seconds * NS_PER_S) if process_ns is not None and seconds > 0 else None
    return dataclasses.replace(use, machine=machine, allowed=mask, own_of_allowed=own_of_allowed)


def _own_by_cpu(record: PhaseRecord, window: Window) -> dict[int, float]:
    """Return the share of each CPU's time that workers had that the Plan binds to it, of all jobs of the phase."""
    shares: dict[int, float] = {}
    for job in record.phase.jobs:
        pins = job.affinity.cpus
        for use in worker_use(record, job.name, window) if pins else ():
            cpu = pins[use.worker % len(pins)]
            shares[cpu] = shares.get(cpu, 0.0) + (use.on_cpu_ns or 0) / use.wall_ns
    return shares


def steal_share(record: PhaseRecord, window: Window) -> float | None:
    """Return the share of all CPU time that the hypervisor gave to others (/proc/stat, field 8)."""
    grown = _host_cpu_ns(record, window)
    total = sum(grown.values())
    return grown["steal"] / total if "steal" in grown and total > 0 else None


def _host_cpu_ns(record: PhaseRecord, window: Window) -> dict[str, float]:
    """Return the CPU time of the machine in the window, by what it went into; nothing where its ticks are too coarse."""
    if window.counted.seconds < _SHORTEST_WINDOW_S:
        return {}
    counters, span = record.counters, window.counted
    return {name.removesuffix("_ns"): counters.delta(span, "cpu", "", name) or 0.0 for name in counters.names("cpu")}


def _of_kernel(record: PhaseRecord, window: Window) -> float | None:
    """Return how many CPUs the kernel's threads kept busy; None where they were not seen.

    Looks at them may be seconds apart, so it is the mean between the last looks before the window's two ends; None
    where those lie apart for less than half of the window.
    """
    names = ("on_cpu_ns", "looked_ns")
    on_cpu_ns, looked_ns = (record.counters.delta(window.counted, "kernel_threads", "", name) for name in names)
    if on_cpu_ns is None or looked_ns is None or looked_ns < window.counted.seconds * NS_PER_S / 2:
        return None
    return on_cpu_ns / looked_ns
