"""Read the limits of this process's control groups.

A limit holds for a group and all below it, so the tightest one from this process's group up to the mounted root counts.
Both hierarchies are read, each controller where it lives: v1 (cgroup-v1/{memory,blkio-controller}.rst) and v2
(cgroup-v2.rst). Groups above a container's own root cannot be seen: a limit there stays unknown.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from assay.host.facts import Fact
from assay.host.mounts import Mount, mounts_of
from assay.host.reading import SystemTree, absent, known

# v1 writes "no limit" as the largest multiple of the page size below 2**63.
_NO_LIMIT_BYTES = 2**62

_V1_THROTTLES = {
    "blkio.throttle.read_bps_device": "rbps",
    "blkio.throttle.write_bps_device": "wbps",
    "blkio.throttle.read_iops_device": "riops",
    "blkio.throttle.write_iops_device": "wiops",
}


def _folders(tree: SystemTree, mounts: Sequence[Mount], controller: str) -> tuple[int, list[str]]:
    """Version (1, 2; 0: none) and this process's group folders for a controller, own first, root last."""
    for line in (tree.read("/proc/self/cgroup").text or "").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        for mount in mounts:
            is_v1 = bool(controllers) and mount.fs_type == "cgroup" and controller in mount.super_options
            is_v2 = not controllers and mount.fs_type == "cgroup2"
            # `..`: the group lies outside of what this cgroup namespace shows.
            is_visible = PurePosixPath(group).is_relative_to(mount.root) and ".." not in group.split("/")
            if not (is_v1 or is_v2) or not is_visible:
                continue
            inside = PurePosixPath(mount.mount_point) / PurePosixPath(group).relative_to(mount.root)
            up = [inside, *inside.parents]
            return (1 if is_v1 else 2), [str(folder) for folder in up if folder.is_relative_to(mount.mount_point)]
    return 0, []


def _cpu_limit(tree: SystemTree, folder: str, version: int) -> float | None:
    """CPUs that a group may use, or None for no limit."""
    if version == 2:
        quota, _, period = (tree.read(f"{folder}/cpu.max").text or "max").partition(" ")
    else:
        quota = tree.read(f"{folder}/cpu.cfs_quota_us").text or "-1"
        period = tree.read(f"{folder}/cpu.cfs_period_us").text or "100000"
    return None if quota in {"max", "-1"} else int(quota) / int(period or "100000")


def _memory_limit(tree: SystemTree, folder: str, version: int) -> int | None:
    """Bytes of memory, page cache included, that a group may hold before it must reclaim; None for no limit."""
    names = ("memory.max", "memory.high") if version == 2 else ("memory.limit_in_bytes",)
    texts = [tree.read(f"{folder}/{name}").text or "max" for name in names]
    limits = [int(text) for text in texts if text != "max"]
    return min((limit for limit in limits if limit < _NO_LIMIT_BYTES), default=None)


def _io_limits(tree: SystemTree, folder: str, version: int) -> list[str]:
    """Throttles of one group as `major:minor rbps=N`."""
    limits = []
    if version == 2:
        for line in (tree.read(f"{folder}/io.max").text or "").splitlines():
            device, *pairs = line.split()
            limits += [f"{device} {pair}" for pair in pairs if not pair.endswith("=max")]
    else:
        for name, short in _V1_THROTTLES.items():
            for line in (tree.read(f"{folder}/{name}").text or "").splitlines():
                device, limit = line.split()
                limits.append(f"{device} {short}={limit}")
    return limits


def _tightest(key: str, limits: list[tuple[float, str]], folders: list[str], controller: str) -> Fact:
    if limits:
        limit, folder = min(limits)
        return known(key, limit, folder)
    if folders:
        return absent(key, f"no limit set from {folders[0]} up")
    return absent(key, f"no '{controller}' controller to be seen")


def io_limits(tree: SystemTree, mounts: Sequence[Mount]) -> tuple[tuple[str, ...], str]:
    """Throttles of this process's block I/O, those of a group above with ` of FOLDER`, and their source."""
    for controller in ("blkio", "io"):
        version, folders = _folders(tree, mounts, controller)
        # The v2 line answers for every controller; only v1 calls this one blkio.
        if folders and not (controller == "blkio" and version == 2):
            limits = _io_limits(tree, folders[0], version)
            # In version 1 a limit of a group above is not one of those below it.
            for above in folders[1:] if version == 2 else ():
                limits += [f"{limit} of {above}" for limit in _io_limits(tree, above, version)]
            return tuple(limits), folders[0]
    return (), "n/a: no 'io' or 'blkio' controller to be seen"


def cgroup_facts(tree: SystemTree | None = None) -> tuple[Fact, ...]:
    """Facts `host.cgroup.*`: CPUs, memory and block I/O that this process may use."""
    tree = tree or SystemTree()
    mounts = mounts_of(tree)
    cpu_version, cpu_folders = _folders(tree, mounts, "cpu")
    memory_version, memory_folders = _folders(tree, mounts, "memory")
    cpu = [(value, at) for at in cpu_folders if (value := _cpu_limit(tree, at, cpu_version)) is not None]
    memory = [(value, at) for at in memory_folders if (value := _memory_limit(tree, at, memory_version)) is not None]
    throttles, source = io_limits(tree, mounts)
    key = "host.cgroup.io_limits"
    return (
        _tightest("host.cgroup.cpu_limit_cpus", list(cpu), cpu_folders, "cpu"),
        _tightest("host.cgroup.memory_limit_bytes", list(memory), memory_folders, "memory"),
        absent(key, source) if source.startswith("n/a: ") else known(key, throttles, source),
    )
