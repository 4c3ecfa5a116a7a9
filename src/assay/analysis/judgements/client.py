"""Did the machine that the load ran on move the number?

CPU contention is METHOD 4.2 G0: a worker that was runnable but waited for a CPU for more than 10 % of its time, or a
hypervisor that took more than 5 %, measured the neighbours. Workers that keep 90 % of all CPUs busy crowd out
themselves: that is oversubscription, not contamination. Nor is it contamination where no other program ran: workers that
the kernel keeps on one CPU wait for each other, though another may be free, or for the kernel's threads
(docs/decisions/0024).
"""

from collections.abc import Iterable

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.budget import greatest_run_delay, throttled_share
from assay.analysis.case import Case
from assay.analysis.cpus import CpuUse, HeldUpBy, cpu_use, steal_share
from assay.results import Finding

_RELEASE = "release"
_SHOWN_CPUS = 0.05
"""Less is 0.0 in print."""


def judge(case: Case) -> Iterable[Finding]:
    """Judge CPUs, clock and engine."""
    found: list[Finding] = []
    hello = case.run.first(events.Hello)
    cpus = hello.machine.cpus if hello else None
    use = cpu_use(case.run, case.record, case.window)
    delay = greatest_run_delay(case.uses)
    if delay is not None and delay[1] > thresholds.RUN_DELAY_SHARE:
        is_throttled = throttled_share(case.record, case.window) >= thresholds.THROTTLED_SHARE
        held_up_by = None if is_throttled else use.held_up(case.uses)
        found.append(_run_delay(delay, use, held_up_by, cpus))
    elif cpus and use.programs is not None and use.is_crowded(cpus):
        text = (
            f"No CPU was free{_used(use, cpus)}: what woke up had to wait for one, or to take it from what ran there."
        )
        cure = "Stop other programs, unless they are the storage's own (FUSE, a server here), then run again."
        found.append(findings.weak("cpus-busy", text, cure, brief="no CPU was free", effect=use.programs / cpus))
    steal = steal_share(case.record, case.window)
    if steal is not None and steal > thresholds.STEAL_SHARE:
        text = f"The hypervisor gave {100 * steal:.0f} % of this machine's CPU time to others."
        found.append(findings.warning("cpu-contention", text, "Run on a quieter host, or repeat and compare."))
    if hello and case.latency_ns.p50:
        timer = 2 * hello.clock.read_cost_ns / case.latency_ns.p50
        if timer > thresholds.TIMER_SHARE:
            text = f"Reading the clock twice is {100 * timer:.1f} % of the median latency."
            found.append(findings.note("timer-share", text, "Use larger operations where that matters."))
    if hello and hello.engine.profile != _RELEASE:
        text = f"The engine is a {hello.engine.profile} build; its own code takes a large part of every operation."
        found.append(findings.warning("engine-profile", text, "Install the engine built with --release."))
    return tuple(found)


def _run_delay(delay: tuple[int, float], use: CpuUse, held_up_by: HeldUpBy | None, cpus: int | None) -> Finding:
    worker, share = delay
    text = f"Worker {worker} was ready to run but waited for a CPU for {100 * share:.0f} % of its time"
    if use.own is not None and cpus and use.own >= thresholds.OWN_CPU_SHARE * cpus:
        text += f"; the load itself kept {use.own:.1f} of {cpus} CPUs busy."
        return findings.note("cpu-oversubscribed", text, "Use fewer workers to see the storage instead of the CPUs.")
    text += _used(use, cpus)
    if held_up_by is HeldUpBy.OWN:
        text += ": the load's own workers waited for each other."
        cure = "Use one worker and a larger queue depth, or run again and compare: the kernel chose who shares a CPU."
        return findings.weak("workers-share-cpu", text, cure, brief="workers shared a CPU", effect=share)
    if held_up_by is HeldUpBy.KERNEL:
        text += ": the workers waited for threads of the kernel, and for each other."
        cure = "Use fewer workers, or a machine with more CPUs: the file system's and the device's own work needs some."
        return findings.weak("kernel-shares-cpu", text, cure, brief="waited for kernel threads", effect=share)
    cure = "Stop other programs if there are any, or use no more workers than there are CPUs, then run again."
    return findings.warning("cpu-contention", f"{text}.", cure)


def _used(use: CpuUse, cpus: int | None) -> str:
    if use.own is None or not cpus:
        return ""
    text = f"; the load itself used {use.own:.1f} of {cpus} CPUs"
    if use.rest is None:
        return text
    if use.kernel is not None and use.kernel >= _SHOWN_CPUS:
        text += f", threads of the kernel {use.kernel:.1f}"
    return f"{text}, all else on the machine {use.rest:.1f}"
