"""Check what this machine can measure, and what prevents it."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from assay.doctor.check import Check, cannot, gib, limited, ok
from assay.events import Hello
from assay.host.facts import Fact, FactValue

# Reading these takes no system call (vDSO); others cost a microsecond or more, twice an operation.
_FAST_CLOCKS = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase", "tod"})
# The share that other programs must leave of the CPUs, too (`running/quiet.py`).
_SCARCE_SHARE = 0.10
_SLOW_GOVERNORS = frozenset({"powersave", "ondemand", "conservative", "userspace"})


def engine_check(path: Path | None, hello: Hello | None, problem: str) -> Check:
    """Return whether there is an engine that answers; `problem` has the reason."""
    if path is None:
        return cannot("engine", problem, "Install the wheel 'assay-engine' next to assay, or put the program on PATH.")
    if hello is None:
        return cannot(
            "engine", f"{path} does not answer: {problem}", "Install the 'assay-engine' of this assay's version."
        )
    text = f"assay-engine {hello.engine.version} ({hello.engine.profile} build) at {path}"
    if hello.engine.profile != "release":
        return limited(
            "engine", f"{text} costs more CPU than a release build.", "Install a release build for real numbers."
        )
    return ok("engine", text)


def extras_check() -> Check:
    """Return whether the packages for charts are there."""
    if find_spec("vl_convert") is None:
        return limited("reports", "no charts: vl_convert not installed", "pip install 'assay[report]'")
    return ok("reports", "charts and HTML reports can be made")


def _io_uring(value: Mapping[str, FactValue], hello: Hello | None) -> Check:
    subject, disabled = "queue depth", value.get("knob.kernel.io_uring_disabled")
    cure = "As root: sysctl kernel.io_uring_disabled=0, and let the container's seccomp profile allow io_uring."
    lost = "depths above 1 run as threads, which cost more CPU"
    if hello is not None and not hello.capabilities.io_uring:
        return limited(subject, f"no io_uring here ({_notes(hello, 'io_uring')}): {lost}", cure)
    if hello is None and disabled not in {0, None}:
        return limited(subject, f"kernel.io_uring_disabled is {disabled}: {lost}", cure)
    if hello is None:
        return ok(subject, "the kernel's switch does not forbid io_uring; only the engine can try it")
    return ok(subject, "io_uring works: any queue depth from one thread")


def _notes(hello: Hello, word: str) -> str:
    notes = [note for note in hello.capabilities.notes if word in note]
    return "; ".join(notes) or "the engine gives no reason"


def _drop_caches(value: Mapping[str, FactValue], hello: Hello | None) -> Check:
    can = hello.capabilities.drop_caches if hello is not None else bool(value.get("knob.vm.can_drop_caches"))
    if can:
        return ok("cold caches", "page cache, dentries and inodes can be dropped")
    text = "only the data of Assay's own files can be evicted; dentries and inodes stay, so metadata is never cold"
    return limited("cold caches", text, "Run as root on the machine itself, or remount the target before the run.")


def _delay_accounting(value: Mapping[str, FactValue], hello: Hello | None) -> Check:
    switch = value.get("knob.kernel.task_delayacct")
    if switch is True or (hello is not None and hello.capabilities.delay_accounting):
        return ok("waiting for I/O", "counted for the workers of a run")
    return limited(
        "waiting for I/O",
        "kernel.task_delayacct is off: block delay is part of 'other wait' in the time budget",
        "As root: sysctl kernel.task_delayacct=1 (or boot with 'delayacct').",
    )


def _kernel_counters(hello: Hello | None) -> list[Check]:
    if hello is None:
        return []
    checks = []
    if not hello.capabilities.cachestat:
        text = (
            f"no cachestat ({_notes(hello, 'cachestat')}): the content of the page cache is found slowly or not at all"
        )
        checks.append(limited("page cache", text, "Linux 6.5 has it; a seccomp profile may forbid it."))
    if not hello.capabilities.schedstat:
        text = (
            f"no /proc/PID/schedstat ({_notes(hello, 'schedstat')}): waiting for a CPU cannot be distinguished from I/O"
        )
        checks.append(limited("CPU contention", text, "A kernel with CONFIG_SCHED_INFO, as distributions build it."))
    return checks


def _clock(value: Mapping[str, FactValue]) -> Check:
    source = value.get("host.kernel.clocksource")
    if source is None:
        return limited(
            "clock", "the kernel does not report its clock source", "Trust the clock cost that each run measures."
        )
    if source in _FAST_CLOCKS:
        return ok("clock", f"clock source {source}")
    text = f"clock source {source}: reading the time costs a system call, which shows on fast storage"
    return limited("clock", text, "Boot with a working TSC (clocksource=tsc), or look at the finding 'engine-cost'.")


def _cpu(value: Mapping[str, FactValue]) -> Check:
    usable, limit, load = (
        value.get(key) for key in ("host.cpu.usable", "host.cgroup.cpu_limit_cpus", "host.load.average_1min")
    )
    governors = value.get("host.cpu.governors")
    if isinstance(limit, int | float) and isinstance(usable, int) and limit < usable:
        text = f"this control group may use {limit:g} of {usable} CPUs: many workers measure that limit"
        return limited("CPU", text, "Raise the CPU limit of the container or service.")
    if isinstance(load, float) and isinstance(usable, int) and load > usable / 2:
        text = f"load average {load:g} on {usable} usable CPUs: other programs are active"
        return limited("CPU", text, "Stop them, or wait; repeat the run and compare.")
    if isinstance(governors, tuple) and set(governors) & _SLOW_GOVERNORS:
        text = f"frequency governor {', '.join(governors)}: latency depends on how busy the CPU was before"
        return limited("CPU", text, "As root: cpupower frequency-set -g performance.")
    return ok("CPU", f"{usable} usable CPUs, load average {load}")


def _memory(value: Mapping[str, FactValue]) -> Check:
    total, limit = value.get("host.memory.total_bytes"), value.get("host.cgroup.memory_limit_bytes")
    if isinstance(limit, int) and isinstance(total, int) and limit < total:
        text = f"this control group may use {gib(limit)} of {gib(total)}, page cache included"
        return limited("memory", text, "Use that size when you estimate what caches can hold.")
    if (scarce := scarce_memory(total, value.get("host.memory.available_bytes"))) is not None:
        return scarce
    return ok("memory", f"{gib(total)} of memory" if isinstance(total, int) else "size unknown")


def scarce_memory(total: FactValue, available: FactValue) -> Check | None:
    """Name memory, in bytes, that is taken but for a tenth; None where more is available, or a size is unknown."""
    if not isinstance(total, int) or not isinstance(available, int) or available > _SCARCE_SHARE * total:
        return None
    text = f"{gib(available)} of {gib(total)} of memory available: caches are small, and the run can push others out to swap"
    return limited("memory", text, "Stop what holds the memory, or report it with the number.")


def _throttles(value: Mapping[str, FactValue]) -> list[Check]:
    limits = value.get("host.cgroup.io_limits")
    if isinstance(limits, tuple) and limits:
        text = (
            f"the kernel throttles this control group's block I/O ({', '.join(limits)}): the result will be that limit"
        )
        return [limited("I/O limit", text, "Remove the limit, or report it with the number.")]
    return []


def _energy(value: Mapping[str, FactValue]) -> Check:
    can_read = value.get("knob.powercap.can_read_energy")
    if can_read is True:
        return ok("energy", "the processors' own meters can be read")
    if can_read is False:
        return limited(
            "energy",
            "only root can read the processors' own meters: joules are null",
            "Run as root, or read a power meter during the run and give its file to 'assay show --energy'.",
        )
    return ok("energy", "no meter in this machine; the file of a power meter can be given to 'assay show --energy'")


def _virtual(value: Mapping[str, FactValue]) -> list[Check]:
    if value.get("host.virtualisation.is_virtual") is not True:
        return []
    text = "this is a virtual machine: caches, limits and neighbours on its host are not visible from here"
    return [limited("virtualisation", text, "Repeat runs at other times; ask what the host caches and limits.")]


def machine_checks(facts: tuple[Fact, ...], hello: Hello | None) -> tuple[Check, ...]:
    """What this machine can measure, from its facts and, where it answered, from what the engine found out."""
    value = {fact.key: fact.value for fact in facts}
    return (
        _io_uring(value, hello),
        _drop_caches(value, hello),
        _delay_accounting(value, hello),
        *_kernel_counters(hello),
        _clock(value),
        _cpu(value),
        _memory(value),
        *_throttles(value),
        _energy(value),
        *_virtual(value),
    )
