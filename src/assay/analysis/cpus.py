"""Who had the machine's CPUs in a window: the load, programs beside it, threads of the kernel, the hypervisor?

A worker that is ready to run and gets no CPU waits for what runs there instead. Other programs there disturb the
measurement (METHOD 4.2 G0); the load's own workers do not, and the kernel's threads, which do for the file system and the
device what the load asked for, need not (docs/decisions/0024).
"""

import dataclasses
import enum
from collections.abc import Sequence

from assay.analysis import thresholds
from assay.analysis.budget import WorkerUse
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.analysis.shared_machine import grown_on_machine
from assay.analysis.window import Window

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

    @property
    def rest(self) -> float | None:
        """By programs and interrupts; where threads of the kernel were not seen, by those as well."""
        return None if self.others is None else max(0.0, self.others - (self.kernel or 0.0))

    @property
    def programs(self) -> float | None:
        """That, less interrupts."""
        return None if self.rest is None else max(0.0, self.rest - self.interrupts)

    def is_crowded(self, cpus: int) -> bool:
        """Say whether no CPU was free, and other programs had a part of them.

        Whatever woke up then had to wait, or to take a CPU from a program: the workers, and threads of the kernel that work
        for them, whose waits are in no time budget.
        """
        if self.own is None or self.others is None or self.programs is None:
            return False
        is_full = self.own + self.others >= thresholds.OWN_CPU_SHARE * cpus
        return is_full and self.programs > thresholds.PROGRAMS_SHARE * cpus

    def held_up(self, uses: Sequence[WorkerUse]) -> HeldUpBy | None:
        """Say who accounts for each long wait for a CPU, where it was not other programs; None where that is not known.

        What kept some CPUs busy beside the load cannot have held a worker up for more than that share of its time, nor the
        load's own threads for more than they ran beside it.
        """
        if self.own is None or self.others is None or self.rest is None or self.rest > thresholds.RUN_DELAY_SHARE:
            return None
        for use in uses:
            if use.run_delay_ns is None or use.run_delay_ns <= thresholds.RUN_DELAY_SHARE * use.wall_ns:
                continue
            if use.on_cpu_ns is None or use.run_delay_ns + use.on_cpu_ns > (self.own + self.others) * use.wall_ns:
                return None
        return HeldUpBy.OWN if self.others <= thresholds.RUN_DELAY_SHARE else HeldUpBy.KERNEL


def cpu_use(run: RunRecord, record: PhaseRecord, window: Window) -> CpuUse:
    """Say how many CPUs were kept busy in a window, and by whom."""
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


def steal_share(record: PhaseRecord, window: Window) -> float | None:
    """Return the share of all CPU time that the hypervisor gave to others (/proc/stat, field 8)."""
    grown = _host_cpu_ns(record, window)
    total = sum(grown.values())
    return grown["steal"] / total if "steal" in grown and total > 0 else None


def _host_cpu_ns(record: PhaseRecord, window: Window) -> dict[str, float]:
    """Return the CPU time of the machine in the window, by what it went into; nothing where its ticks are too coarse."""
    if window.counted.seconds < thresholds.HOST_CPU_WINDOW_S:
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
