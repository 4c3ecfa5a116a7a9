"""Collect the properties of this machine that can change a result.

Facts `host.*` of METHOD 7.3. Hardware identities are kept as hashes: a bundle is made to be passed on.
"""

import hashlib
import hmac
import os
import platform
import re
import resource

from assay.host.facts import LINK_SPEED_FACT, MACHINE_ID_FACT, Fact
from assay.host.reading import (
    Reading,
    SystemTree,
    absent,
    chosen,
    colon_table,
    cpu_list,
    fact,
    flag,
    kib_to_bytes,
    known,
    valued,
    without_secrets,
    words,
)

_CPU = "/sys/devices/system/cpu"
_NET = "/sys/class/net"
# The first CPU's block fits in; on machines with hundreds of CPUs the kernel takes long to print all of them.
_CPUINFO_HEAD_BYTES = 8192

_ULIMITS = {
    "open_files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "locked_memory_bytes": resource.RLIMIT_MEMLOCK,
    "file_size_bytes": resource.RLIMIT_FSIZE,
    "address_space_bytes": resource.RLIMIT_AS,
}


def identity_hash(identity: str) -> str:
    """16 hex digits that distinguish two identities without revealing them (keyed, as machine-id(5) asks for)."""
    return hmac.new(b"assay host identity 1", identity.encode(), hashlib.sha256).hexdigest()[:16]


def _cpu_facts(tree: SystemTree) -> list[Fact]:
    head = tree.read("/proc/cpuinfo", at_most_bytes=_CPUINFO_HEAD_BYTES)
    table = colon_table(head.text or "")
    facts = []
    for key, field in (("host.cpu.model", "model name"), ("host.cpu.microcode", "microcode")):
        reason = f"/proc/cpuinfo has no '{field}'" if head.text else head.source
        facts.append(valued(key, table.get(field) or None, "/proc/cpuinfo", reason))
    packages, cores = _topology(tree)
    facts += [
        known("host.cpu.architecture", platform.machine(), "uname"),
        fact("host.cpu.online", tree.read(f"{_CPU}/online"), cpu_list),
        known("host.cpu.usable", len(os.sched_getaffinity(0)), "sched_getaffinity"),
        _count("host.cpu.cores", cores),
        _count("host.cpu.sockets", packages),
        fact("host.cpu.smt_active", tree.read(f"{_CPU}/smt/active"), flag),
        fact("host.cpu.numa_nodes", tree.read("/sys/devices/system/node/online"), cpu_list),
        _caches(tree),
        _vulnerabilities(tree),
        *_frequency_facts(tree),
    ]
    return facts


def _topology(tree: SystemTree) -> tuple[int, int]:
    """Sockets and cores; 0 if unknown."""
    packages, cores = set(), set()
    for cpu in tree.names(_CPU):
        if re.fullmatch(r"cpu\d+", cpu):
            package = tree.read(f"{_CPU}/{cpu}/topology/physical_package_id").text
            core = tree.read(f"{_CPU}/{cpu}/topology/core_id").text
            if package is not None and core is not None:
                packages.add(package)
                cores.add((package, core))
    return len(packages), len(cores)


def _count(key: str, count: int) -> Fact:
    source = f"{_CPU}/cpu*/topology"
    return valued(key, count or None, source, f"{source} is not there")


def _caches(tree: SystemTree) -> Fact:
    folder = f"{_CPU}/cpu0/cache"
    caches = []
    for index in tree.names(folder):
        level, kind, size = (tree.read(f"{folder}/{index}/{name}").text for name in ("level", "type", "size"))
        if level and kind and size:
            caches.append(f"L{level} {kind} {size}iB")
    return valued("host.cpu.caches", tuple(caches) or None, folder, f"{folder} is not there")


def _vulnerabilities(tree: SystemTree) -> Fact:
    folder = f"{_CPU}/vulnerabilities"
    names = tree.names(folder)
    states = ((name, tree.read(f"{folder}/{name}").text or "unknown") for name in names)
    affected = tuple(f"{name}: {state}" for name, state in states if state != "Not affected")
    return valued("host.cpu.vulnerabilities", affected if names else None, folder, f"{folder} is not there")


def _frequency_facts(tree: SystemTree) -> list[Fact]:
    folder = f"{_CPU}/cpufreq"
    policies = tree.names(folder)
    governors = {tree.read(f"{folder}/{policy}/scaling_governor").text for policy in policies} - {None}
    names = tuple(sorted(str(governor) for governor in governors)) or None
    reason = f"{folder} has no policies; a hypervisor or firmware sets the frequency"
    facts = [valued("host.cpu.governors", names, f"{folder}/policy*/scaling_governor", reason)]
    boost = tree.read(f"{folder}/boost")
    no_turbo = tree.read(f"{_CPU}/intel_pstate/no_turbo")
    if boost.text is None and no_turbo.text is not None:
        facts.append(fact("host.cpu.turbo", no_turbo, lambda text: not flag(text)))
    else:
        facts.append(fact("host.cpu.turbo", boost, flag))
    return facts


def memory_facts(tree: SystemTree) -> list[Fact]:
    """Read the sizes of memory and swap, and how the kernel pages."""
    table = colon_table(tree.read("/proc/meminfo").text or "")

    def memory(key: str, field: str) -> Fact:
        text = table.get(field)
        return fact(key, Reading(text, "/proc/meminfo" if text else f"n/a: no {field} in /proc/meminfo"), kib_to_bytes)

    zram = tuple(
        f"{name} {size} bytes"
        for name in tree.names("/sys/block")
        if name.startswith("zram") and (size := tree.read(f"/sys/block/{name}/disksize").text) not in {None, "0"}
    )
    thp = "/sys/kernel/mm/transparent_hugepage"
    return [
        memory("host.memory.total_bytes", "MemTotal"),
        memory("host.memory.available_bytes", "MemAvailable"),
        memory("host.memory.swap_total_bytes", "SwapTotal"),
        memory("host.memory.swap_free_bytes", "SwapFree"),
        memory("host.memory.huge_pages_reserved_bytes", "Hugetlb"),
        known("host.memory.zram", zram, "/sys/block/zram*/disksize"),
        fact("host.memory.zswap", tree.read("/sys/module/zswap/parameters/enabled"), flag),
        fact("host.memory.transparent_huge_pages", tree.read(f"{thp}/enabled"), chosen),
        fact("host.memory.transparent_huge_pages_defrag", tree.read(f"{thp}/defrag"), chosen),
    ]


def _without_secrets(cmdline: str) -> tuple[str, ...]:
    """Give the boot parameters."""
    return tuple(map(without_secrets, words(cmdline)))


def _system_facts(tree: SystemTree) -> list[Fact]:
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    release = colon_table((tree.read("/etc/os-release").text or "").replace("=", ":"))
    distribution = release.get("PRETTY_NAME", "").strip('"') or None
    no_libc = "the C library is not glibc and reports no version"
    return [
        fact(MACHINE_ID_FACT, tree.read("/etc/machine-id"), identity_hash),
        fact("host.kernel.release", tree.read("/proc/sys/kernel/osrelease")),
        fact("host.kernel.version", tree.read("/proc/sys/kernel/version")),
        fact("host.kernel.cmdline", tree.read("/proc/cmdline"), _without_secrets),
        fact("host.kernel.clocksource", tree.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        valued("host.distribution", distribution, "/etc/os-release", "/etc/os-release has none"),
        valued("host.libc", libc or None, "confstr(CS_GNU_LIBC_VERSION)", no_libc),
        known("host.python", f"{platform.python_implementation()} {platform.python_version()}", "python"),
    ]


def _virtualisation_facts(tree: SystemTree) -> list[Fact]:
    flags = colon_table(tree.read("/proc/cpuinfo", at_most_bytes=_CPUINFO_HEAD_BYTES).text or "").get("flags")
    # Only x86 has the CPUID bit; on others the absence of the flag means nothing.
    is_virtual = "hypervisor" in flags.split() if flags else None
    source, reason = "/proc/cpuinfo flags: hypervisor", "/proc/cpuinfo has no flags on this architecture"
    return [
        valued("host.virtualisation.is_virtual", is_virtual, source, reason),
        fact("host.virtualisation.hypervisor", tree.read("/sys/hypervisor/type")),
        fact("host.vendor", tree.read("/sys/class/dmi/id/sys_vendor")),
        fact("host.product", tree.read("/sys/class/dmi/id/product_name")),
        _container(tree),
    ]


def _container(tree: SystemTree) -> Fact:
    key = "host.virtualisation.container"
    manager = tree.read("/run/systemd/container")
    if manager.text is not None:
        return fact(key, manager)
    for name, path in (("docker", "/.dockerenv"), ("podman", "/run/.containerenv")):
        if tree.is_file(path):
            return known(key, name, path)
    match = re.search(r"kubepods|docker|lxc|libpod|containerd", tree.read("/proc/1/cgroup").text or "")
    return known(key, match.group(), "/proc/1/cgroup") if match else absent(key, "no sign of a container")


def _ulimit_facts() -> list[Fact]:
    facts = []
    for name, which in _ULIMITS.items():
        soft, _ = resource.getrlimit(which)
        key = f"host.ulimit.{name}"
        facts.append(absent(key, "unlimited") if soft == resource.RLIM_INFINITY else known(key, soft, "getrlimit"))
    return facts


def _load_facts(tree: SystemTree) -> list[Fact]:
    first_line = Reading((tree.read("/proc/stat", at_most_bytes=512).text or "").partition("\n")[0], "/proc/stat")
    return [
        fact("host.load.average_1min", tree.read("/proc/loadavg"), lambda text: float(text.split()[0])),
        fact("host.load.steal_share_since_boot", first_line, _steal_share),
    ]


def _link_facts(tree: SystemTree) -> list[Fact]:
    """Speeds of the links behind network interfaces of hardware: those of virtual ones mean nothing (sysfs-class-net)."""
    return [
        fact(LINK_SPEED_FACT.format(interface=name), tree.read(f"{_NET}/{name}/speed"), _mbit_to_bytes)
        for name in tree.names(_NET)
        if tree.names(f"{_NET}/{name}/device")
    ]


def _mbit_to_bytes(text: str) -> int:
    """Megabits a second to bytes; a link that is down, or whose driver does not know, has none (0 or -1)."""
    if int(text) <= 0:
        raise ValueError(text)
    return int(text) * 1_000_000 // 8


def _steal_share(cpu_line: str) -> float:
    """Share of all CPU time since boot that the hypervisor gave to others (proc_stat(5): the eighth number)."""
    name, *numbers = cpu_line.split()
    # guest times, the ninth and tenth, are already in user and nice.
    ticks = [int(number) for number in numbers[:8]]
    if name != "cpu" or len(ticks) < 8 or sum(ticks) == 0:
        raise ValueError(cpu_line)
    return round(ticks[7] / sum(ticks), 4)


def ram_bytes() -> int:
    """Memory of this machine that the kernel manages, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def machine_facts(tree: SystemTree | None = None) -> tuple[Fact, ...]:
    """Facts `host.*` of this machine and what it allows this process; cgroups are in `cgroups`."""
    tree = tree or SystemTree()
    return (
        *_system_facts(tree),
        *_virtualisation_facts(tree),
        *_cpu_facts(tree),
        *memory_facts(tree),
        *_ulimit_facts(),
        *_load_facts(tree),
        *_link_facts(tree),
    )
