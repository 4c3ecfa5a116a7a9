"""Did the machine that the load ran on move the number?

CPU contention is METHOD 4.2 G0: a worker that was runnable but waited for a CPU for more than 10 % of its time, or a
hypervisor that took more than 5 %, measured the neighbours. Workers that keep 90 % of all CPUs busy crowd out
themselves: that is oversubscription, not contamination. The CPUs are those that the workers may run on: of the client's
affinity mask, and of the Plan's `cpus`. Nor is it contamination where no other program ran: workers that
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


def judge(case: Case) -> Iterable[Finding]:
    """Judge CPUs, clock and engine."""
    found: list[Finding] = []
    hello = case.run.first(events.Hello)
    use = cpu_use(case.run, case.record, case.window, case.job)
    delay = greatest_run_delay(case.uses)
    if delay is not None and delay[1] > thresholds.RUN_DELAY_SHARE:
        is_throttled = throttled_share(case.record, case.window) >= thresholds.THROTTLED_SHARE
        found.append(_of_quota(delay) if is_throttled else _run_delay(delay, use, use.held_up(case.uses)))
    elif use.machine and use.programs is not None and use.is_crowded:
        text = f"No CPU was free; {use}: what woke up had to wait for one, or to take it from what ran there."
        cure = "Stop other programs, unless they are the storage's own (FUSE, a server here), then run again."
        found.append(findings.weak("cpus-busy", text, cure, brief="no CPU was free", effect=use.programs / use.machine))
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


def _of_quota(delay: tuple[int, float]) -> Finding:
    worker, share = delay
    text = (
        f"Worker {worker} was ready to run but waited for a CPU for {100 * share:.0f} % of its time: its control group had"
        " used up its CPU time."
    )
    return findings.warning("cpu-contention", text, "Give the control group more CPU time, or run outside it.")


def _run_delay(delay: tuple[int, float], use: CpuUse, held_up_by: HeldUpBy | None) -> Finding:
    worker, share = delay
    text = f"Worker {worker} was ready to run but waited for a CPU for {100 * share:.0f} % of its time"
    if use.takes_all:
        which = "CPUs that its workers may use" if use.is_confined else "CPUs"
        text += f"; the load itself kept {use.own_of_allowed:.1f} of {use.allowed} {which} busy."
        return findings.note("cpu-oversubscribed", text, "Use fewer workers to see the storage instead of the CPUs.")
    text += f"; {use}" if str(use) else ""
    if held_up_by is HeldUpBy.OWN:
        text += ": the load's own workers waited for each other."
        cure = "Use one worker and a larger queue depth, or run again and compare: the kernel chose who shares a CPU."
        return findings.weak("workers-share-cpu", text, cure, brief="workers shared a CPU", effect=share)
    if held_up_by is HeldUpBy.KERNEL:
        text += ": the workers waited for threads of the kernel, and for each other."
        cure = "Use fewer workers, or a machine with more CPUs: the file system's and the device's own work needs some."
        return findings.weak("kernel-shares-cpu", text, cure, brief="waited for kernel threads", effect=share)
    cure = "Stop other programs, or use no more workers than CPUs. Then run again."
    return findings.warning("cpu-contention", f"{text}.", cure)
