"""The rules by which a limiter is found, asked in order; each gives a verdict or passes.

A new limiter is a word in `assay/verdicts.py`, a function here and its line in `RULES`.
"""

import dataclasses
from collections.abc import Callable

from assay.analysis import thresholds
from assay.analysis.cpus import HeldUpBy
from assay.analysis.limiter.conclusion import Conclusion
from assay.analysis.limiter.signals import Signals
from assay.units import format_bytes, format_number, format_seconds
from assay.verdicts import Bottleneck, Confidence

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW
_FASTER = "Only a faster device helps."
_MORE = "Keep more operations in flight: more workers, or a larger queue depth."
_LITTLE_MORE = "Twice as many in flight raise the rate by less than half: more help a little, and take longer each."
_SHARED = "More in flight do not help: look for what they share, such as a lock, a journal or one queue."
_TWICE = "Measure twice as many in flight: more help only where the rate grows."
_HALF_AND_TWICE = "Measure half and twice as many in flight: the device is full where the rate stays."


def offered_load(at: Signals) -> Conclusion | None:
    """G1: the load asked for no more."""
    if at.offered_per_s is not None:
        kept = at.issued_share
        if kept is None:
            kept = at.ops_per_s / at.offered_per_s if at.offered_per_s else 0.0
        is_late = at.late_share > thresholds.NEGLIGIBLE_SHARE
        # At random times some come while another is served, however little there is to do.
        has_rest = at.idle is not None and at.idle >= thresholds.MOST_OF_IT
        if at.falls_behind or kept < 1 - thresholds.NEGLIGIBLE_SHARE or (is_late and not has_rest):
            return None
        served = "served" if is_late else "served on time"
        reason = (
            f"{100 * min(kept, 1.0):.1f} % of the {format_number(at.offered_per_s)} arrivals a second were {served}"
        )
        return Conclusion(Bottleneck.OFFERED_LOAD, HIGH, (reason,), remedy="Ask for a higher rate.")
    if at.own_limit_share is not None and at.own_limit_share >= 1 - thresholds.NEGLIGIBLE_SHARE:
        reason = f"{100 * at.own_limit_share:.1f} % of the {at.own_limit} a second that the load holds itself to"
        sure = HIGH if at.idle is not None and at.idle >= thresholds.NOTABLE_SHARE else MEDIUM
        return Conclusion(Bottleneck.OFFERED_LOAD, sure, (reason,), remedy="Ask for a higher rate.")
    if at.idle is not None and at.idle >= thresholds.MOST_OF_IT:
        reason = f"the load's own schedule left its workers idle for {_percent(at.idle)} of the time"
        return Conclusion(Bottleneck.OFFERED_LOAD, MEDIUM, (reason,), remedy="Think less, or ask for more.")
    return None


def throttle_cpu(at: Signals) -> Conclusion | None:
    """G2: the control group had had its CPU time."""
    if at.throttled < thresholds.SMALL_SHARE:
        return None
    evidence = [f"the kernel stopped this control group for {_percent(at.throttled)} of the time"]
    if at.cpu_limit is not None and at.own_cpus is not None:
        evidence.append(f"it used {at.own_cpus:.2f} of the {at.cpu_limit:g} CPUs that it may have")
    remedy = "Give the group more CPU time, or run outside it."
    return Conclusion(Bottleneck.THROTTLE_CPU, HIGH, tuple(evidence), remedy=remedy)


def throttle_io(at: Signals) -> Conclusion | None:
    """G2: the control group had had its share of the device, and operations waited for more of it.

    The kernel holds back what is beyond a limit before it is a request of the device, so that wait is in the latency and
    not in the device's time. A limit that is nearly used up, while operations wait for the device alone, holds nothing back.
    """
    below = at.device
    if below is None or below.limit_share is None or below.limit_share < 1 - thresholds.SMALL_SHARE:
        return None
    if at.is_absorbed:
        # Who writes memory back waits for the limit, not the operations: the device has nothing to do meanwhile.
        held_back, is_most = 1 - below.utilisation, below.utilisation * thresholds.STAYS < 1
    else:
        held_back = _elsewhere(at)
        is_most = held_back >= thresholds.MOST_OF_IT
    if held_back < thresholds.NOTABLE_SHARE:
        return None
    evidence = [f"{_percent(below.limit_share)} of {below.limit}"]
    if not at.is_absorbed and at.latency_s:
        evidence.append(f"{_percent(held_back)} of the latency is neither the device nor a CPU")
    sure = HIGH if below.is_limit_of_group and is_most else MEDIUM
    return Conclusion(Bottleneck.THROTTLE_IO, sure, tuple(evidence), remedy="Lift the limit, or run outside it.")


def cpu_contention(at: Signals) -> Conclusion | None:
    """G0: most of the time of the operations was a wait for a CPU that others had.

    Work of the load that fills all CPUs that it may use is no contention; workers that busy-wait there do no work.
    """
    if at.takes_all_cpus and not at.is_polling:
        return None
    if at.cpu_wait >= thresholds.MOST_OF_IT:
        sure = HIGH if at.cpu_wait >= thresholds.BUSY_SHARE else MEDIUM
        evidence = [at.waited_for_cpu]
        if at.is_robbed and at.neighbours:
            evidence.append(at.neighbours)
        return Conclusion(Bottleneck.CPU_CONTENTION, sure, tuple(evidence), remedy=_free_cpus(at))
    if at.is_robbed and at.neighbours and (at.steal or 0.0) >= thresholds.MOST_OF_IT:
        return Conclusion(Bottleneck.CPU_CONTENTION, MEDIUM, (at.neighbours,), remedy=_free_cpus(at))
    return None


def _free_cpus(at: Signals) -> str:
    """Give the cure of a wait for a CPU, by who had it."""
    if at.is_robbed:
        return "Use a quieter host, or give the virtual machine CPUs of its own."
    if at.held_up_by is HeldUpBy.OWN:
        return "Use fewer workers, or let them run on more CPUs."
    if at.held_up_by is HeldUpBy.KERNEL:
        return "Use fewer workers, or a machine with more CPUs."
    return "Stop other programs, or give the load CPUs of its own, then run again."


def client_cpu(at: Signals) -> Conclusion | None:
    """G3: the workers that did the operations, or all CPUs, had nothing left.

    One worker that is busy limits its own operations: it is the share of all operations that counts. Workers that
    busy-wait for completions have no share that is known to be work.
    """
    bound = at.cpu_bound_share
    if at.is_polling or bound is None or (bound < thresholds.MOST_OF_IT and not at.takes_all_cpus):
        return None
    evidence = []
    if at.own_cpus is not None and at.cpus:
        which = "CPUs that its workers may use" if at.is_confined else "CPUs"
        evidence.append(f"the load used {at.own_cpus:.2f} of {at.cpus} {which}")
    if bound >= thresholds.MOST_OF_IT:
        evidence.append(
            f"{_percent(bound)} of its operations came from workers that were on a CPU for"
            f" {_percent(thresholds.BUSY_SHARE)} or more of the time that they could have been"
        )
    if at.user_share is not None:
        is_user = at.user_share >= thresholds.USER_SHARE
        where = "in programs (user)" if is_user else "in the kernel (system calls and copies)"
        evidence.append(f"{_percent(at.user_share if is_user else 1 - at.user_share)} of it {where}")
    if at.cached_read_share is not None and at.cached_read_share >= thresholds.CACHED_SHARE:
        share = _percent(at.cached_read_share)
        evidence.append(
            f"a worker reads {share} of what one thread reads from the page cache in operations of that size"
        )
    if at.takes_all_cpus:
        remedy = "Use larger operations, or measure from a client with more CPUs."
        if at.is_confined:
            remedy = "Let the workers run on more CPUs, or use larger operations."
        return Conclusion(Bottleneck.CLIENT_CPU_ALL, HIGH, tuple(evidence), remedy=remedy)
    remedy = "Use more workers, or larger operations."
    sure = HIGH if bound >= thresholds.BUSY_SHARE else MEDIUM
    return Conclusion(Bottleneck.CLIENT_CPU_SINGLE, sure, tuple(evidence), remedy=remedy)


def network(at: Signals) -> Conclusion | None:
    """G4: the link was full."""
    if at.link_bytes_per_s is None or at.wire_bytes_per_s is None:
        return None
    share = at.wire_bytes_per_s / at.link_bytes_per_s
    if share < thresholds.CEILING_SHARE:
        return None
    reason = f"{_rate(at.wire_bytes_per_s)} on a link that carries {_rate(at.link_bytes_per_s)} ({_percent(share)})"
    return Conclusion(Bottleneck.NETWORK_BANDWIDTH, HIGH, (reason,), headroom=1 / share, remedy="Use a faster link.")


def writeback(at: Signals) -> Conclusion | None:
    """G6: memory was full of what the device had still to write."""
    below = at.device
    if not at.is_absorbed or at.dirty_share is None or below is None:
        return None
    is_full = min(at.dirty_share, below.utilisation) >= thresholds.BUSY_SHARE
    # The memory of one burst is written before the next: the mean is below where writers wait, who wait all the same. The
    # kernel writes back all the time, and to a device that could give no more than half as much again (utilisation law).
    is_written_back = at.background_share is not None and at.dirty_share >= at.background_share
    is_slowed = is_written_back and below.utilisation * thresholds.GROWS >= 1
    if not is_full and not (is_slowed and at.waiting >= thresholds.MOST_OF_IT):
        return None
    names, busy = ", ".join(below.names), _percent(below.utilisation)
    reason = (
        f"dirty memory was at {_percent(at.dirty_share)} of where the kernel lets writers wait",
        f"{names} was busy for {busy} of the time, writing {_rate(below.bytes_per_s)}",
    )
    return Conclusion(Bottleneck.WRITEBACK_DEVICE, HIGH if is_full else MEDIUM, reason, remedy=_FASTER)


def device_ceiling(at: Signals) -> Conclusion | None:
    """G5: the device gave what it is known to give at most."""
    below, ceiling = at.device, at.device_ceiling_bytes_per_s
    if below is None or ceiling is None or below.bytes_per_s < thresholds.CEILING_SHARE * ceiling:
        return None
    reason = f"{_rate(below.bytes_per_s)} of the {_rate(ceiling)} that the device gives at most"
    headroom = ceiling / below.bytes_per_s
    return Conclusion(Bottleneck.DEVICE_THROUGHPUT, HIGH, (reason,), headroom=headroom, remedy=_FASTER)


def device_queue(at: Signals) -> Conclusion | None:
    """G5: operations waited for each other before the device.

    One number in flight does not show that of a device that is never idle: one that serves a request at a time is full, and
    one that works in parallel is busy all the time, long before it is full. Utilisation law: one that serves a request at a
    time gives 1 / utilisation times the rate at most.
    """
    below = at.device
    if below is None or at.outstanding <= 1 or _device_share(at) < thresholds.MOST_OF_IT:
        return None
    names, busy = ", ".join(below.names), _percent(below.utilisation)
    evidence = f"{names} was busy for {busy} of the time, with {below.in_flight:.1f} requests in flight"
    if at.fewer is None or at.latency_s is None:
        if below.utilisation * thresholds.STAYS < 1:
            return None
        return Conclusion(Bottleneck.DEVICE_SATURATED, LOW, (evidence,), remedy=_HALF_AND_TWICE)
    times = at.latency_s / at.fewer.latency_s
    if times < thresholds.QUEUED_TIMES:
        return None
    reason = f"an operation takes {times:.1f} times as long as with fewer in flight: they wait for each other"
    return Conclusion(Bottleneck.DEVICE_SATURATED, HIGH, (evidence, reason), remedy=_FASTER)


def operation_latency(at: Signals) -> Conclusion | None:
    """G7: every operation that the load keeps in flight waits, and nothing is full."""
    if not at.latency_s or not at.outstanding:
        return None
    filled = at.ops_per_s * at.latency_s / at.outstanding
    if abs(filled - 1) > thresholds.NOTABLE_SHARE:
        return None
    shares = {"the device": _device_share(at), "flushes of the device": _flush_share(at)}
    if max(shares.values()) < thresholds.MOST_OF_IT:
        shares["the device and its flushes"] = _while_waiting(at, sum(shares.values()))
    if at.on_cpu is not None:
        shares["this client's CPU"] = min(1.0, at.on_cpu * at.workers / at.outstanding)
    what, share = max(shares.items(), key=lambda pair: pair[1])
    if what == "the device" and shares["flushes of the device"] >= thresholds.MOST_OF_IT:
        # The time of a write that a flush goes with is in both, and the flush is what takes it.
        what, share = "flushes of the device", shares["flushes of the device"]
    each = format_seconds(at.latency_s)
    evidence = [f"{at.outstanding:g} in flight, {each} each: that is the rate (Little's law, {_percent(filled)})"]
    is_named = share >= thresholds.MOST_OF_IT
    if is_named:
        evidence.append(f"{_percent(min(share, 1.0))} of the latency is {what}")
    is_alone = at.outstanding <= 1
    remedy = _MORE if _has_room(at, is_named=is_named) else _TWICE
    # One at a time waits for itself alone. Several may wait for each other, wherever that is not seen.
    sure = HIGH if is_named and is_alone else MEDIUM if is_alone or remedy == _MORE else LOW
    return Conclusion(Bottleneck.OPERATION_LATENCY, sure, tuple(evidence), remedy=remedy)


def _has_room(at: Signals, *, is_named: bool) -> bool:
    """Return whether more operations in flight give a higher rate. Little's law does not: it holds for any closed loop.

    They do where an operation takes no longer than with fewer in flight; and where what takes the time is seen, and the
    device is idle long enough that even one that serves a request at a time would serve half as many again.
    """
    if at.fewer is not None and at.latency_s is not None:
        return at.latency_s <= thresholds.STAYS * at.fewer.latency_s
    return is_named and at.device is not None and at.device.utilisation * thresholds.GROWS <= 1


RULES: tuple[Callable[[Signals], Conclusion | None], ...] = (
    throttle_cpu,
    throttle_io,
    offered_load,
    network,
    writeback,
    cpu_contention,
    client_cpu,
    device_ceiling,
    device_queue,
    operation_latency,
)
"""In the order in which they are asked."""


def decide(at: Signals) -> Conclusion:
    """Describe what limited a number; where others took the CPUs, nothing is sure."""
    found = next((verdict for rule in RULES if (verdict := rule(at))), None) or _unknown(at)
    found = _confirmed(found, at)
    if at.neighbours is None or found.limit is Bottleneck.CPU_CONTENTION:
        return found
    is_of_time = found.limit in _BY_TIME and (at.is_robbed or at.is_delayed)
    return dataclasses.replace(
        found,
        confidence=LOW,
        evidence=(*found.evidence, at.neighbours),
        remedy=_free_cpus(at) if is_of_time else found.remedy,
    )


def _confirmed(found: Conclusion, at: Signals) -> Conclusion:
    """Hold a verdict against the same operation with twice as many in flight, where the run has that (METHOD 4.2)."""
    is_latency = found.limit is Bottleneck.OPERATION_LATENCY
    if at.more is None or at.ops_per_s <= 0 or not at.latency_s or not (is_latency or found.limit in _FULL):
        return found
    rate, latency = at.more.ops_per_s / at.ops_per_s, at.more.latency_s / at.latency_s
    reason = (
        f"with {at.more.outstanding:g} in flight the rate is {rate:.2g} times this, the latency {latency:.2g} times"
    )
    evidence = (*found.evidence, reason)
    if rate >= thresholds.GROWS:
        headroom, sure = (rate, HIGH) if is_latency else (found.headroom, LOW)
        return dataclasses.replace(found, confidence=sure, evidence=evidence, headroom=headroom, remedy=_MORE)
    if rate <= thresholds.STAYS:
        sure, remedy = (LOW, _SHARED) if is_latency else (HIGH, _FASTER)
        return dataclasses.replace(found, confidence=sure, evidence=evidence, remedy=remedy)
    return dataclasses.replace(found, remedy=_LITTLE_MORE)


_FULL = frozenset({Bottleneck.DEVICE_SATURATED, Bottleneck.DEVICE_THROUGHPUT})
"""What gives no more, however many ask."""
_BY_TIME = frozenset(
    {
        Bottleneck.CLIENT_CPU_SINGLE,
        Bottleneck.DEVICE_SATURATED,
        Bottleneck.OPERATION_LATENCY,
        Bottleneck.UNKNOWN,
    }
)
"""What is found by where the time went: a wait for a CPU is in it, and its cure comes first."""


def _unknown(at: Signals) -> Conclusion:
    shares = (("on a CPU", at.on_cpu), ("ready for one", at.run_delay), ("waiting for a block device", at.block_delay))
    evidence = tuple(f"{_percent(share)} of the workers' time {what}" for what, share in shares if share is not None)
    remedy = "Double and halve what is in flight, and compare."
    return Conclusion(Bottleneck.UNKNOWN, LOW, evidence, remedy=remedy)


def _device_share(at: Signals) -> float:
    """Part of an operation's latency that is the time of its requests in the device.

    Requests of one operation are in the device together, so that no more than one counts; of several operations to a
    request, as after read-ahead, each has its part. What memory takes has none: its requests come after it.
    """
    device = at.device
    if device is None or device.await_s is None or at.is_absorbed or not at.latency_s:
        return 0.0
    each = min(1.0, _of_each(at, device.requests_per_s))
    return _while_waiting(at, each * device.await_s / at.latency_s)


def _flush_share(at: Signals) -> float:
    device = at.device
    if device is None or device.flush_s is None or at.is_absorbed or not at.latency_s:
        return 0.0
    return _while_waiting(at, _of_each(at, device.flushes_per_s) * device.flush_s / at.latency_s)


def _elsewhere(at: Signals) -> float:
    """Part of an operation's latency that is neither the device's nor spent on, or waiting for, a CPU."""
    cpu = ((at.on_cpu or 0.0) + (at.run_delay or 0.0)) * at.workers / at.outstanding if at.outstanding else 0.0
    return max(0.0, 1 - _device_share(at) - _flush_share(at) - cpu)


def _while_waiting(at: Signals, share: float) -> float:
    """Leave of the device's part of a latency what the workers waited: write-back goes on while they run.

    So does the end of a call that submits, for a little. Of workers with several operations in flight it says nothing.
    """
    if at.on_cpu is None or at.outstanding > at.workers or share <= at.waiting + thresholds.NOTABLE_SHARE:
        return share
    return at.waiting


def _of_each(at: Signals, per_s: float) -> float:
    """Give what each operation has of what a device does a second; 0 where it is not known whose else that is."""
    if at.others_ops_per_s is None or not at.ops_per_s:
        return 0.0
    return per_s / (at.ops_per_s + at.others_ops_per_s)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _rate(bytes_per_s: float) -> str:
    return f"{format_bytes(bytes_per_s)}/s"
