"""One of three clients is slowed down in five ways: is it named, with its cause and how far behind it is? `make prove`.

A host's control group has its sshd, and so all that is started there.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.many_clients import ManyClients, shared_variables
from e2e.planted.loads import CACHED_READ, RANDOM_READ, STREAM, data, only
from e2e.planted.storage import Disk, delayed_disk, memory_disk
from testbed.control_group import ControlGroup, control_group
from testbed.cpu_quota import cpu_limit
from testbed.devices import MIB
from testbed.first import go_first
from testbed.netlab import LabHost, net_lab
from testbed.throttle import blkio_limit

HOSTS = ("h1", "h2", "h3")
SLOW = "h2"
SERVER = "h4"
TRIES = 3
"""Other programs of a busy machine can slow another client down more."""
SFTP_SERVER = "/usr/lib/openssh/sftp-server"
MEMORY_BYTES = 192 * MIB
"""Of a host that has a worker of some 100 MiB, and 256 MiB of data."""
CONTROL_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Plant:
    """A way to slow one client down, and what is to be said of it."""

    name: str
    plant: Callable[[ManyClients], AbstractContextManager[None]]
    load: str
    disks: tuple[Callable[[], AbstractContextManager[Disk]], ...]
    """Of the hosts, in their order; none: a folder of their own."""
    ratio: tuple[float, float]
    """Of its rate to that of the others."""
    cause: str
    """Pattern."""


@contextmanager
def inside(many: ManyClients, host: LabHost, group: ControlGroup) -> Iterator[None]:
    """Have all that is started on a host from now on run inside a control group, which the host sees."""
    place = group.folder.parent
    # `ip netns exec` has put another /sys there, without control groups.
    _on(many, host, "mount", "-t", "tmpfs", "none", str(CONTROL_GROUPS))
    if group.is_v2:
        _on(many, host, "mount", "-t", "cgroup2", "none", str(CONTROL_GROUPS))
    else:
        _on(many, host, "mkdir", str(place))
        _on(many, host, "mount", "-t", "cgroup", "-o", place.name, "none", str(place))
    listener = many.lab.listener(host)
    members = group.folder / "cgroup.procs"
    members.write_text(str(listener))
    try:
        yield
    finally:
        for pid in members.read_text().split():
            with suppress(OSError):
                (place / "cgroup.procs").write_text(pid)


def _on(many: ManyClients, host: LabHost, *words: str) -> None:
    done = many.lab.run(host, words)
    if done.returncode:
        raise RuntimeError(f"{host.name}: {' '.join(words)}: {done.stderr.strip()}")


@contextmanager
def limited_operations(many: ManyClients) -> Iterator[None]:
    """Hold each host's device to a rate, and the slow one's to another."""
    with ExitStack() as undo:
        for name in HOSTS:
            device = Path(_device_of(many, many.lab[name]))
            group = undo.enter_context(blkio_limit(device, read_iops=90 if name == SLOW else 300))
            undo.enter_context(inside(many, many.lab[name], group))
        yield


def _device_of(many: ManyClients, host: LabHost) -> str:
    lines = many.lab.run(host, ["findmnt", "-n", "-o", "SOURCE", many.directory]).stdout.split()
    return lines[-1]


@contextmanager
def quota(many: ManyClients) -> Iterator[None]:
    """Let the slow engine have 15 % of a CPU, of which its load takes 40 % elsewhere."""
    with cpu_limit(0.15) as group, inside(many, many.lab[SLOW], group):
        go_first(group)
        yield


@contextmanager
def small_memory(many: ManyClients) -> Iterator[None]:
    """Let the slow engine, and the page cache that it fills, have less memory than its data."""
    with control_group("memory", "memory", "memory.limit_in_bytes") as group:
        name = "memory.max" if group.is_v2 else "memory.limit_in_bytes"
        (group.folder / name).write_text(str(MEMORY_BYTES))
        with inside(many, many.lab[SLOW], group):
            yield


@contextmanager
def slow_link(many: ManyClients) -> Iterator[None]:
    """Have all clients work on one server over links of a rate, and the slow one's is a quarter of the others'."""
    lab = many.lab
    key = lab.leader.folder / "home" / ".ssh"
    (lab[SERVER].folder / "served").mkdir()
    options = f"IdentityFile={key}/id_ed25519,UserKnownHostsFile={key}/known_hosts,direct_io,sftp_server={SFTP_SERVER}"
    with ExitStack() as undo:
        for name in HOSTS:
            served = lab.place / "served" / name
            (lab[SERVER].folder / "served" / name).mkdir()
            _on(many, lab[name], "sshfs", "-o", options, f"root@{lab[SERVER].address}:{served}", str(many.directory))
            undo.callback(_on, many, lab[name], "fusermount3", "-u", str(many.directory))
            lab.limit(lab[name], 10_000_000 if name == SLOW else 40_000_000)
        yield


@contextmanager
def nothing(_many: ManyClients) -> Iterator[None]:
    """The disks differ."""
    yield


BURN = """
timed = ["read"]
[[phase.job.loop]]
group = "work"
actions = [
    { op = "read", set = "data", access = "random", size = "4KiB" },
    { think = "400us", burn = true },
]
"""

PLANTS = (
    Plant(
        "IOPS limit, 90 of 300",
        limited_operations,
        only(RANDOM_READ, seconds=4, sets=data("8MiB")),
        (memory_disk,) * 3,
        (0.27, 0.33),
        r"its control group may move no more; .*: 1[01](\.\d)? ms per operation \(median of the others: 3\.[2-5]",
    ),
    Plant(
        "slow device, 8 ms of 2 ms",
        nothing,
        only(RANDOM_READ, seconds=4, sets=data("8MiB")),
        (lambda: delayed_disk(2), lambda: delayed_disk(8), lambda: delayed_disk(2)),
        (0.2, 0.45),
        r"waiting for storage[^:]*: (8|9|10)(\.\d+)? ms per operation \(median of the others: [2-4](\.\d+)? ms\)",
    ),
    Plant(
        "CPU quota, 15 % of a CPU",
        quota,
        only(f"limit = {{ ops_per_s = 1000 }}\n{BURN}", seconds=4, sets=data("8MiB")),
        (),
        (0.2, 0.55),
        r"its control group may use no more of its CPUs: .*\d+ %",
    ),
    Plant(
        "slow link, 10 of 40 Mbit/s",
        slow_link,
        only(STREAM.replace("128KiB", "32KiB"), seconds=4, sets=data("4MiB")),
        (),
        (0.2, 0.35),
        r"waiting for storage, a link or a lock: 2[5-9](\.\d)? ms per operation \(median of the others: [67]\.\d",
    ),
    Plant(
        "small memory, 192 MiB for 256 MiB of data",
        small_memory,
        only(f"limit = {{ ops_per_s = 500 }}\n{CACHED_READ}", seconds=4, sets=data("256MiB"), keys='cache = "warm"'),
        (lambda: delayed_disk(8, size_bytes=384 * MIB),) * 3,
        (0.2, 0.6),
        r"its cache: .*; memory had [2-8]\d % of what it read \(median of the others: (99|100)",
    ),
)


def try_plant(plant: Plant, folder: Path) -> tuple[bool, str]:
    """Plant it and measure; give whether it is named, and what is said of the slowest client."""
    with ExitStack() as undo:
        disks = [undo.enter_context(disk()) for disk in plant.disks]
        hosts = len(HOSTS) + (plant.plant is slow_link)
        lab = undo.enter_context(net_lab(hosts, backing=folder, shared=shared_variables()))
        many = ManyClients(lab)
        many.make_directories()
        for name, disk in zip(HOSTS, disks, strict=False):
            _on(many, lab[name], "mount", str(disk.device), str(many.directory))
        load = lab.leader.folder / "load.toml"
        load.write_text(plant.load)
        undo.enter_context(plant.plant(many))
        words = ("--hosts", ",".join(HOSTS), "--json", "--no-report")
        document = json.loads(many("run", lab.place / load.name, many.directory, *words)[0])
        found = _straggler(document)
        return _is_named(plant, found), _in_words(document, found)


def _straggler(document: dict[str, Any]) -> dict[str, Any] | None:
    (one,) = document["sums"]
    found: dict[str, Any] | None = one["straggler"]
    return found


def _is_named(plant: Plant, found: dict[str, Any] | None) -> bool:
    return (
        found is not None
        and found["client"] == SLOW
        and plant.ratio[0] <= found["ratio"] <= plant.ratio[1]
        and re.search(plant.cause, found["cause"]) is not None
    )


def _in_words(document: dict[str, Any], found: dict[str, Any] | None) -> str:
    if found is None:
        rates = {rate["client"]: round(rate["iops"]) for rate in document["sums"][0]["rates"]}
        return f"no straggler among {rates}"
    return f"{found['client']} has {100 * found['ratio']:.0f} % of the others: {found['cause']}"


def check_stragglers(folder: Path, words: Sequence[str]) -> Iterator[bool]:
    """Try each plant, a few times at most, and print what came of it."""
    for number, plant in enumerate(PLANTS):
        if words and not any(word in plant.name for word in words):
            continue
        for attempt in range(TRIES):
            place = folder / f"plant-{number}-{attempt}"
            place.mkdir()
            is_right, said = try_plant(plant, place)
            sys.stdout.write(f"{'right' if is_right else 'wrong':8}{plant.name}: {said}\n")
            sys.stdout.flush()
            if is_right:
                break
        yield is_right
