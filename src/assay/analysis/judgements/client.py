"""Check whether the machine that the load ran on moved the number.

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
_INCLUDED = "Latencies include that wait."


def judge(case: Case) -> Iterable[Finding]:
    """Judge CPUs, clock and engine."""
    found: list[Finding] = []
    hello = case.run.first(events.Hello)
    use = cpu_use(case.run, case.record, case.window, case.job)
    delay = greatest_run_delay(case.uses)
    if delay is not None and delay[1] > thresholds.RUN_DELAY_SHARE:
        is_throttled = throttled_share(case.record, case.window) >= thresholds.SMALL_SHARE
        found.append(_of_quota(delay) if is_throttled else _run_delay(delay, use, use.held_up(case.uses)))
    elif use.machine and use.programs is not None and use.is_crowded:
        text = f"No CPU was free: {use}. Latencies can include waiting for a CPU."
        cure = "Stop other programs, unless they serve the storage (FUSE, a local server). Then run again."
        effect = use.programs / use.machine
        found.append(findings.weak("cpu-contention", text, cure, brief="no CPU was free", effect=effect))
    steal = steal_share(case.record, case.window)
    if steal is not None and steal > thresholds.SMALL_SHARE:
        text = (
            f"The hypervisor gave {100 * steal:.0f} % of this machine's CPU time to others. Latencies include waiting for a"
            " CPU."
        )
        found.append(findings.warning("cpu-contention", text, "Run on a quieter host, or repeat and compare."))
    if hello and case.latency_ns.p50:
        timer = 2 * hello.clock.read_cost_ns / case.latency_ns.p50
        if timer > thresholds.TIMER_SHARE:
            text = f"Reading the clock twice takes {100 * timer:.1f} % of the median latency, which includes it."
            found.append(findings.note("engine-cost", text, "Use larger operations where that matters."))
    if hello and hello.engine.profile != _RELEASE:
        text = f"The engine is a {hello.engine.profile} build. Its own code takes a large part of every operation."
        cure = "Install the engine built with --release."
        found.append(findings.warning("engine-cost", text, cure, brief=f"a {hello.engine.profile} build of the engine"))
    return tuple(found)


def _of_quota(delay: tuple[int, float]) -> Finding:
    text = f"{_waited(delay)}: its control group had used up its CPU time. Latencies include that wait."
    return findings.warning("cpu-contention", text, "Give the control group more CPU time, or run outside it.")


def _run_delay(delay: tuple[int, float], use: CpuUse, held_up_by: HeldUpBy | None) -> Finding:
    if use.takes_all:
        which = "CPUs that its workers may use" if use.is_confined else "CPUs"
        text = f"{_waited(delay)}: the load kept {use.own_of_allowed:.1f} of {use.allowed} {which} busy. {_INCLUDED}"
        return findings.note("own-cpu-wait", text, "Use fewer workers to measure the storage instead of the CPUs.")
    text = _waited(delay) + (f"; {use}." if str(use) else ".")
    if held_up_by is HeldUpBy.OWN:
        text += " Workers of this load shared a CPU, and latencies include that wait."
        cure = "Use one worker and a larger queue depth, or run again and compare: the kernel chooses the CPUs."
        return findings.weak("own-cpu-wait", text, cure, brief="workers shared a CPU", effect=delay[1])
    if held_up_by is HeldUpBy.KERNEL:
        text += " Threads of the kernel had the CPUs, and latencies include that wait."
        cure = "Use fewer workers, or more CPUs: the work of the file system and the device needs some."
        return findings.weak("own-cpu-wait", text, cure, brief="waited for kernel threads", effect=delay[1])
    cure = "Stop other programs, or use no more workers than CPUs. Then run again."
    return findings.warning("cpu-contention", f"{text} {_INCLUDED}", cure)


def _waited(delay: tuple[int, float]) -> str:
    worker, share = delay
    return f"Worker {worker} waited for a CPU for {100 * share:.0f} % of its time"
