"""Did the machine that the load ran on move the number?

CPU contention is METHOD 4.2 G0: a worker that was runnable but waited for a CPU for more than 10 % of its time, or a
hypervisor that took more than 5 %, measured the neighbours. Workers that keep 90 % of all CPUs busy crowd out
themselves: that is oversubscription, not contamination. Nor is it contamination where nothing else ran: workers that the
kernel keeps on one CPU wait for each other, though another may be free (docs/decisions/0024).
"""

from collections.abc import Iterable

from assay import events
from assay.analysis import findings, thresholds
from assay.analysis.budget import (
    cpus_in_use,
    cpus_in_use_by_others,
    greatest_run_delay,
    steal_share,
    throttled_share,
    waited_for_own,
)
from assay.analysis.case import Case
from assay.results import Finding

_RELEASE = "release"


def judge(case: Case) -> Iterable[Finding]:
    """Judge CPUs, clock and engine."""
    found: list[Finding] = []
    hello = case.run.first(events.Hello)
    delay = greatest_run_delay(case.uses)
    if delay is not None and delay[1] > thresholds.RUN_DELAY_SHARE:
        busy = cpus_in_use(case.run, case.record, case.window)
        others = cpus_in_use_by_others(case.run, case.record, case.window)
        is_throttled = throttled_share(case.record, case.window) >= thresholds.THROTTLED_SHARE
        is_own = not is_throttled and waited_for_own(case.uses, busy, others)
        found.append(_run_delay(delay, busy, others, hello.machine.cpus if hello else None, is_own=is_own))
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


def _run_delay(
    delay: tuple[int, float], busy: float | None, others: float | None, cpus: int | None, *, is_own: bool
) -> Finding:
    worker, share = delay
    text = f"Worker {worker} was ready to run but waited for a CPU for {100 * share:.0f} % of its time"
    if busy is not None and cpus and busy >= thresholds.OWN_CPU_SHARE * cpus:
        text += f"; the load itself kept {busy:.1f} of {cpus} CPUs busy."
        return findings.note("cpu-oversubscribed", text, "Use fewer workers to see the storage instead of the CPUs.")
    used = "" if busy is None or not cpus else f"; the load itself used {busy:.1f} of {cpus} CPUs"
    used += f", all else on the machine {others:.1f}" if used and others is not None else ""
    if is_own:
        text = f"{text}{used}: the load's own workers waited for each other."
        cure = "Use one worker and a larger queue depth, or run again and compare: the kernel chose who shares a CPU."
        return findings.weak("workers-share-cpu", text, cure, brief="workers shared a CPU", effect=share)
    cure = "Stop other programs if there are any, or use no more workers than there are CPUs, then run again."
    return findings.warning("cpu-contention", f"{text}{used}.", cure)
