"""What a verdict on the limiter is given: figures of one window, each None where nothing tells it."""

import dataclasses

from assay.analysis import thresholds
from assay.analysis.cpus import HeldUpBy

_HELD_UP_BY = {HeldUpBy.OWN: "each other", HeldUpBy.KERNEL: "threads of the kernel and each other"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceSignals:
    """What the devices of an operation did in the window, by /proc/diskstats."""

    names: tuple[str, ...]
    utilisation: float
    """Share of the time in which the busiest had at least one request."""
    in_flight: float
    """Requests in it or waiting for it, on average, all devices together."""
    await_s: float | None
    """Mean time of a request of the operation's direction, flushes apart; None: there was none."""
    flush_s: float | None
    """Mean time of a flush."""
    requests_per_s: float
    """Of the operation's direction."""
    bytes_per_s: float
    flushes_per_s: float
    limit_share: float | None = None
    """Of a limit set for this control group, the closest: how much of it is used."""
    limit: str = ""
    """That limit, in words."""
    is_limit_of_group: bool = True
    """Whether this is from the group's own counters; else from the device's, which count everybody."""


@dataclasses.dataclass(frozen=True)
class CurvePoint:
    """The same operation with another number in flight, from another phase of the run."""

    outstanding: float
    ops_per_s: float
    latency_s: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Signals:
    """What is known of one operation and its surroundings."""

    # -- the operation
    outstanding: float
    """Operations that the load keeps in flight."""
    ops_per_s: float
    latency_s: float | None = None
    """Mean, issue to completion."""
    fewer: CurvePoint | None = None
    """With the most in flight that are at most half as many."""
    more: CurvePoint | None = None
    """With the fewest in flight that are at least twice as many."""
    is_absorbed: bool = False
    """Whether a write counts as done when memory has it."""

    # -- what the load asks for
    offered_per_s: float | None = None
    """Arrivals a second of an open loop."""
    issued_share: float | None = None
    """Of all that were due, those that were issued before the end; where they came at random times, so that no window has
    the rate that was asked for."""
    falls_behind: bool = False
    """Whether the open loop fell behind its schedule (`ScheduleVerdict.FELL_BEHIND`)."""
    late_share: float = 0.0
    """Part of them that were issued when the next one was due already."""
    own_limit_share: float | None = None
    """Of the rate that the load itself holds its closed loop to, what was reached; None: there is no such limit."""
    own_limit: str = ""
    """That limit, in words."""
    idle: float | None = None
    """Share of the workers' time in which their own schedule gave them nothing to do."""

    # -- the client
    workers: int = 1
    on_cpu: float | None = None
    """Shares of the workers' time, on average: on a CPU, ready for one, waiting for a block device."""
    run_delay: float | None = None
    block_delay: float | None = None
    is_polling: bool = False
    """Whether the workers wait for completions on a CPU: their CPU time is no work then, and not among these signals."""
    cpu_bound_share: float | None = None
    """Part of the operations that came from workers that had nothing left of the CPU time that they got."""
    user_share: float | None = None
    """Part of the CPU time that was not the kernel's."""
    cpus: int | None = None
    """Those that the workers may run on."""
    is_confined: bool = False
    """Whether the machine has more."""
    own_cpus: float | None = None
    """How many of them the load kept busy."""
    cpu_users: str = ""
    """Who used the machine's CPUs, in words."""
    is_crowded: bool = False
    """No CPU was free, and other programs had a part of them."""
    held_up_by: HeldUpBy | None = None
    """Who the workers waited for a CPU behind, where it was not other programs."""
    steal: float | None = None
    cpu_limit: float | None = None
    """CPUs that the control group may have."""
    throttled: float = 0.0
    """Share of the time in which the kernel stopped the control group."""

    cached_read_share: float | None = None
    """Of what one thread reads from the page cache in operations of that size, what each worker reads."""

    # -- what is below
    device: DeviceSignals | None = None
    others_ops_per_s: float | None = 0.0
    """Operations of the same kind that other clients of the run, on the same machine, ask of the device; None: not known."""
    device_ceiling_bytes_per_s: float | None = None
    """What the devices give at most, as the user says."""
    link_bytes_per_s: float | None = None
    """What the link carries of data."""
    wire_bytes_per_s: float | None = None
    """What it carried in the busier direction."""
    dirty_share: float | None = None
    """Dirty memory as a share of what the kernel lets be dirty."""
    background_share: float | None = None
    """The same where the kernel begins to write back by itself."""

    @property
    def waiting(self) -> float:
        """Share of the workers' time in which they waited for something other than a CPU or their own schedule."""
        if self.on_cpu is None:
            return 0.0
        return max(0.0, 1 - self.on_cpu - (self.run_delay or 0.0) - (self.idle or 0.0))

    @property
    def takes_all_cpus(self) -> bool:
        """Whether the load itself keeps the CPUs busy."""
        return bool(self.cpus and self.own_cpus is not None and self.own_cpus >= thresholds.BUSY_SHARE * self.cpus)

    @property
    def cpu_wait(self) -> float:
        """Share of the time that the workers spent on operations in which they were ready to run and had no CPU."""
        busy = 1 - (self.idle or 0.0)
        return min(1.0, (self.run_delay or 0.0) / busy) if busy > 0 else 0.0

    @property
    def is_robbed(self) -> bool:
        """Whether the hypervisor gave a part of the CPU time to others."""
        return self.steal is not None and self.steal > thresholds.SMALL_SHARE

    @property
    def is_delayed(self) -> bool:
        """Whether the workers waited long for a CPU that the load did not fill, nor a limit took from it."""
        waited = self.run_delay is not None and self.run_delay > thresholds.RUN_DELAY_SHARE
        return waited and not self.takes_all_cpus and self.throttled < thresholds.SMALL_SHARE

    @property
    def neighbours(self) -> str | None:
        """What others, or who shares a CPU with whom, took of the CPUs, in words; None: nothing to speak of."""
        if self.is_robbed:
            return f"the hypervisor gave {100 * (self.steal or 0):.0f} % of the CPU time to others"
        if not self.is_delayed:
            is_crowded = self.is_crowded and not self.takes_all_cpus
            return "no CPU was free, and not for the load alone" if is_crowded else None
        return self.waited_for_cpu

    @property
    def waited_for_cpu(self) -> str:
        """How long the workers waited for a CPU, and who had it, in words."""
        waited = f"its workers waited for a CPU for {100 * (self.run_delay or 0):.0f} % of their time"
        if self.held_up_by is not None:
            return f"{waited}, behind {_HELD_UP_BY[self.held_up_by]}"
        return f"{waited}; {self.cpu_users}" if self.cpu_users else waited
