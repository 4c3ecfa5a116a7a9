"""Read the kernel settings that change how storage performs."""

import os
from collections.abc import Callable

from assay.host.facts import Fact, FactValue
from assay.host.reading import SystemTree, absent, fact, flag, known

# Key, file below /proc/sys, conversion. 0 in a *_bytes knob means that its *_ratio twin holds, and the other way round.
_KNOBS: tuple[tuple[str, str, Callable[[str], FactValue]], ...] = (
    ("vm.dirty_background_bytes", "vm/dirty_background_bytes", int),
    ("vm.dirty_background_ratio_percent", "vm/dirty_background_ratio", int),
    ("vm.dirty_bytes", "vm/dirty_bytes", int),
    ("vm.dirty_ratio_percent", "vm/dirty_ratio", int),
    ("vm.dirty_expire_centiseconds", "vm/dirty_expire_centisecs", int),
    ("vm.dirty_writeback_centiseconds", "vm/dirty_writeback_centisecs", int),
    ("vm.swappiness", "vm/swappiness", int),
    ("vm.vfs_cache_pressure", "vm/vfs_cache_pressure", int),
    ("vm.min_free_kib", "vm/min_free_kbytes", int),
    ("vm.zone_reclaim_mode", "vm/zone_reclaim_mode", int),
    ("kernel.task_delayacct", "kernel/task_delayacct", flag),
    ("kernel.perf_event_paranoid", "kernel/perf_event_paranoid", int),
    ("kernel.io_uring_disabled", "kernel/io_uring_disabled", int),
    ("kernel.numa_balancing", "kernel/numa_balancing", int),
    ("fs.aio_max_nr", "fs/aio-max-nr", int),
    ("fs.nr_open", "fs/nr_open", int),
)

DROP_CACHES = "/proc/sys/vm/drop_caches"
POWERCAP = "/sys/class/powercap"


def can_drop_caches(tree: SystemTree) -> bool:
    """Whether this process may empty the caches of the machine; asks, does not do it."""
    return os.access(tree.at(DROP_CACHES), os.W_OK)


def _energy(tree: SystemTree) -> Fact:
    """Report whether the processors' own energy meters may be read; absent if there are none."""
    key = "knob.powercap.can_read_energy"
    files = [f"{POWERCAP}/{zone}/energy_uj" for zone in tree.names(POWERCAP) if zone.startswith("intel-rapl:")]
    there = [path for path in files if tree.at(path).exists()]
    if not there:
        return absent(key, f"{POWERCAP} has no intel-rapl zones")
    return known(key, all(os.access(tree.at(path), os.R_OK) for path in there), f"access({there[0]}, R_OK)")


def knob_facts(tree: SystemTree | None = None) -> tuple[Fact, ...]:
    """Facts `knob.*`: sysctls, whether drop_caches may be written, and whether energy meters may be read."""
    tree = tree or SystemTree()
    facts = [fact(f"knob.{key}", tree.read(f"/proc/sys/{path}"), convert) for key, path, convert in _KNOBS]
    facts.append(known("knob.vm.can_drop_caches", can_drop_caches(tree), f"access({DROP_CACHES}, W_OK)"))
    facts.append(_energy(tree))
    return tuple(facts)
