"""Several hosts on one machine: namespaces of network, name, mounts and time, joined by a bridge in one more.

Each host has its own address, hostname, CLOCK_MONOTONIC and sshd, and its own folder at a path that is the same on all of
them (`NetLab.place`), so that one command line means another disk on each. A host that leads is beside them. Nothing leads
out: there is no default route, and the machine's own network has no part in it. Segmentation is left to the kernel's
software, so that counters and token buckets (tc-tbf(8)) see frames as a wire does.

Times of the namespaces are exact by construction: the kernel adds the offset to every reading (time_namespaces(7)).
CLOCK_REALTIME is the machine's everywhere.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from testbed.host import COMMAND_TIMEOUT_S, command, find_tool, need_root, need_tools, stop, wait_until
from testbed.leaks import SESSION_VARIABLE, made

_NETWORK = "198.51.100"
"""TEST-NET-2 of RFC 5737: it is nobody's."""
_LEADER_NUMBER = 1
_FIRST_NUMBER = 11
_MOST_HOSTS = 200
_NAMES = "assay-lab-"
_MS_TO_NS = 1_000_000
S_TO_NS = 1_000_000_000

_NO_IPV6 = "cd /proc/sys/net/ipv6/conf 2> /dev/null || exit 0; echo 1 > all/disable_ipv6; echo 1 > default/disable_ipv6"

# Enters a time namespace of a given offset, and becomes a command. unshare(1) takes whole seconds only.
_SHIFT = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x80):  # CLONE_NEWTIME
    raise OSError(ctypes.get_errno(), "unshare")
with open("/proc/self/timens_offsets", "w") as offsets:
    offsets.write("monotonic " + sys.argv[1])
os.execvp(sys.argv[2], sys.argv[2:])
"""

# Whether the shell itself is in the new time depends on the kernel; its child is. It ends with that, and that with the lab.
_HOLD = """
set -e
hostname "$1"
mount --bind "$2" "$3"
mount --bind "$4/hosts" /etc/hosts
mount --bind "$4/passwd" /etc/passwd
sleep infinity &
echo $!
wait
"""


@dataclass(frozen=True)
class LabHost:
    """One host."""

    name: str
    """Its hostname, and what `/etc/hosts` has its address by."""
    namespace: str
    """Of its network."""
    address: str
    offset_ns: int
    """Its CLOCK_MONOTONIC minus the machine's."""
    folder: Path
    """On this machine; the host has it at `NetLab.place`."""
    holder_pid: int
    """A process of the host that does nothing but hold its namespaces."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """The words to put in front of a command so that it runs on the host, as the same process."""
        kinds = ("--net", "--uts", "--mount", *(("--time",) if self.offset_ns else ()))
        return (find_tool("nsenter") or "nsenter", "--target", str(self.holder_pid), *kinds, "--no-fork", "--")


@dataclass(frozen=True)
class WireCounters:
    """What went through an interface, by the kernel's counters."""

    received_bytes: int
    sent_bytes: int
    received_packets: int
    sent_packets: int
    dropped_packets: int

    def since(self, before: "WireCounters") -> "WireCounters":
        """What came on top of an earlier reading."""
        return WireCounters(
            self.received_bytes - before.received_bytes,
            self.sent_bytes - before.sent_bytes,
            self.received_packets - before.received_packets,
            self.sent_packets - before.sent_packets,
            self.dropped_packets - before.dropped_packets,
        )


@dataclass
class NetLab:
    """The hosts, connected."""

    hub: str
    """Namespace of the bridge; a host's port there has the host's name."""
    place: Path
    """A folder that is each host's own."""
    leader: LabHost
    hosts: tuple[LabHost, ...]
    shared: Mapping[str, str] = field(default_factory=dict)
    """Variables that every command on a host has, by ssh too, on top of `environment`."""

    @property
    def all(self) -> tuple[LabHost, ...]:
        """The leader, and the hosts."""
        return (self.leader, *self.hosts)

    def __getitem__(self, name: str) -> LabHost:
        """A host by its name."""
        return next(host for host in self.all if host.name == name)

    def environment(self) -> dict[str, str]:
        """Variables of commands on hosts: homes and temporary files are the host's own."""
        return {name: text for name, text in os.environ.items() if not name.startswith("XDG_")} | _own_places(
            self.place, self.shared
        )

    def run(
        self, host: LabHost, argv: Sequence[str | os.PathLike[str]], *, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a host, to its end."""
        return subprocess.run(
            [*host.prefix, *(os.fspath(word) for word in argv)],
            env=self.environment() | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )

    @contextmanager
    def popen(
        self,
        host: LabHost,
        argv: Sequence[str | os.PathLike[str]],
        *,
        output: Path,
        errors: Path,
        env: Mapping[str, str] | None = None,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command on a host beside the test; it is ended with the block, whatever state it is in."""
        with output.open("wb") as to, errors.open("wb") as to_errors:
            process = subprocess.Popen(
                [*host.prefix, *(os.fspath(word) for word in argv)],
                env=self.environment() | dict(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=to_errors,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                stop(process)

    def processes(self, host: LabHost, text: str = "") -> dict[int, str]:
        """Processes of a host by pid, with their command lines, those whose line has the text in it.

        The one that holds its namespaces, and the sshd that listens, are not among them.
        """
        own = {host.holder_pid, _parent_of(host.holder_pid)}
        lines = {pid: _command_line(pid) for pid in _pids_in(host.namespace) if pid not in own}
        return {pid: line for pid, line in lines.items() if line and text in line and "[listener]" not in line}

    def listener(self, host: LabHost) -> int:
        """Pid of a host's sshd, which starts what comes by ssh."""
        (found,) = [pid for pid in _pids_in(host.namespace) if "[listener]" in _command_line(pid)]
        return found

    def cut(self, host: LabHost) -> None:
        """Let no frame through from or to a host; both ends see their carrier as before, and nobody is told."""
        command("bridge", "-n", self.hub, "link", "set", "dev", host.name, "state", "disabled")

    def mend(self, host: LabHost) -> None:
        """Undo `cut`."""
        command("bridge", "-n", self.hub, "link", "set", "dev", host.name, "state", "forwarding")

    def limit(self, host: LabHost, bits_per_s: int | None) -> None:
        """Hold each direction of a host's link to a rate, in frames as they are on the wire; None: to none any more."""
        shape = ("tbf", "rate", f"{bits_per_s}bit", "burst", "16kb", "latency", "50ms")
        words = ("replace", shape) if bits_per_s is not None else ("delete", ())
        for namespace, interface in ((host.namespace, "eth0"), (self.hub, host.name)):
            command("tc", "-n", namespace, "qdisc", words[0], "dev", interface, "root", *words[1])

    def counters(self, host: LabHost) -> WireCounters:
        """What went through a host's interface so far."""
        (link,) = json.loads(command("ip", "-n", host.namespace, "-j", "-s", "link", "show", "eth0"))
        received, sent = link["stats64"]["rx"], link["stats64"]["tx"]
        return WireCounters(
            received["bytes"],
            sent["bytes"],
            received["packets"],
            sent["packets"],
            received["dropped"] + sent["dropped"],
        )

    def mount_memory(self, host: LabHost, name: str, size_bytes: int) -> None:
        """Put a file system in memory, of a size, on a folder of a host; the host sees it, and nobody else."""
        (host.folder / name).mkdir(exist_ok=True)
        done = self.run(host, ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "none", self.place / name])
        if done.returncode:
            raise RuntimeError(f"{host.name}: {done.stderr.strip()}")

    @contextmanager
    def held(self, host: LabHost, *, to_host_ms: float = 0.0, from_host_ms: float = 0.0) -> Iterator[None]:
        """Hold every frame to or from a host for so long: a link that is longer one way than the other.

        The kernel's netem is not everywhere; a program takes the frames off one interface and puts them onto the next.
        """
        script = Path(__file__).with_name("held_frames.py")
        inner = ("ip", "-n", self.hub)
        command(*inner, "link", "add", "held-in", "type", "veth", "peer", "name", "held-out")
        try:
            command(*inner, "link", "set", host.name, "nomaster")
            command(*inner, "link", "set", "held-in", "up", "master", "br0")
            command(*inner, "link", "set", "held-out", "up")
            words = ["ip", "netns", "exec", self.hub, sys.executable, str(script), host.name, "held-out"]
            delays = [str(round(ms * _MS_TO_NS)) for ms in (from_host_ms, to_host_ms)]
            with subprocess.Popen([find_tool("ip") or "ip", *words[1:], *delays], stdout=subprocess.PIPE) as relay:
                try:
                    assert relay.stdout is not None
                    assert relay.stdout.readline() == b"ready\n"
                    yield
                finally:
                    relay.terminate()
        finally:
            command(*inner, "link", "del", "held-in")
            command(*inner, "link", "set", host.name, "master", "br0")


@contextmanager
def net_lab(
    hosts: int = 5,
    *,
    rate_bits_per_s: int | None = None,
    offsets_ns: Mapping[str, int] | None = None,
    has_ssh: bool = True,
    backing: Path | None = None,
    shared: Mapping[str, str] | None = None,
) -> Iterator[NetLab]:
    """Make hosts `h1`, `h2`, … and the one that leads, `leader`.

    Args:
        hosts: How many.
        rate_bits_per_s: What each host's link carries in each direction; None: what the machine does.
        offsets_ns: Of clocks, by host; a host that is not in it has the machine's own CLOCK_MONOTONIC.
        has_ssh: Whether an sshd runs on each host, which the leader's `~/.ssh` knows and may enter.
        backing: Folder for the hosts' folders; None: that of temporary files.
        shared: Variables that every command on a host has, by ssh too.
    """
    need_root()
    need_tools("ip", "tc", "bridge", "nsenter", "unshare", "mount", "hostname", *(("sshd", "ssh-keygen") * has_ssh))
    if not 0 < hosts <= _MOST_HOSTS:
        raise ValueError(f"{hosts} hosts; 1 to {_MOST_HOSTS} have an address")
    offsets = dict(offsets_ns or {})
    if offsets and not Path("/proc/self/timens_offsets").exists():
        pytest.skip("needs time namespaces, which this kernel does not have")
    _clear_dead_labs()
    with tempfile.TemporaryDirectory(prefix="assay-lab-", dir=backing) as name, ExitStack() as undo:
        own = Path(name).resolve()
        place = own / "here"
        place.mkdir()
        # A lab that another test of this process has made may still be there.
        prefix = f"{_NAMES}{os.getpid()}-{len(made.namespaces)}-"
        hub = prefix + "hub"
        _add_namespace(hub, undo)
        command("ip", "-n", hub, "link", "add", "br0", "type", "bridge")
        command("ip", "-n", hub, "link", "set", "br0", "up")
        numbers = {"leader": _LEADER_NUMBER} | {f"h{index + 1}": _FIRST_NUMBER + index for index in range(hosts)}
        lines = [f"{_NETWORK}.{number} {each}" for each, number in numbers.items()]
        (own / "hosts").write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
        (own / "passwd").write_text(_at_home(place / "home"))
        made_hosts = [
            _add_host(each, f"{_NETWORK}.{number}", prefix, offsets.get(each, 0), own=own, undo=undo)
            for each, number in numbers.items()
        ]
        lab = NetLab(hub, place, made_hosts[0], tuple(made_hosts[1:]), dict(shared or {}))
        for host in lab.hosts:
            if rate_bits_per_s is not None:
                lab.limit(host, rate_bits_per_s)
        if has_ssh:
            _let_in_by_ssh(lab, own, undo)
        yield lab


def _at_home(home: Path) -> str:
    """Give the list of users with the home of this one moved: ssh asks for nothing else."""
    lines = [line.split(":") for line in Path("/etc/passwd").read_text().splitlines()]
    moved = [[*line[:5], str(home), line[6]] if line[2:3] == [str(os.geteuid())] else line for line in lines]
    return "".join(":".join(line) + "\n" for line in moved)


def _add_namespace(name: str, undo: ExitStack) -> None:
    made.namespaces.add(name)
    command("ip", "netns", "add", name)
    undo.callback(_remove_namespace, name)
    # Else every host says a few words to all by itself, and counters are nobody's alone.
    command("ip", "netns", "exec", name, "sh", "-c", _NO_IPV6)
    command("ip", "-n", name, "link", "set", "lo", "up")


def _remove_namespace(name: str) -> None:
    """End what runs in a namespace, and take it away."""

    def is_empty() -> bool:
        pids = _pids_in(name)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    wait_until(is_empty, f"{name} without processes")
    command("ip", "netns", "del", name)


def _add_host(name: str, address: str, prefix: str, offset_ns: int, *, own: Path, undo: ExitStack) -> LabHost:
    namespace = prefix + name
    folder = own / "of" / name
    for part in ("home", "tmp"):
        (folder / part).mkdir(parents=True, mode=0o700)
    _add_namespace(namespace, undo)
    hub = prefix + "hub"
    inner = ("ip", "-n", namespace)
    command(*inner, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", hub)
    command("ip", "-n", hub, "link", "set", name, "master", "br0", "up", "gso_max_segs", "1")
    command(*inner, "addr", "add", f"{address}/24", "dev", "eth0")
    command(*inner, "link", "set", "eth0", "up", "gso_max_segs", "1")
    words = [
        "netns",
        "exec",
        namespace,
        find_tool("unshare") or "unshare",
        "--uts",
        "--mount",
        "--propagation",
        "private",
    ]
    if offset_ns:
        # Seconds and nanoseconds; the second are never negative.
        words += [sys.executable, "-c", _SHIFT, "{} {}".format(*divmod(offset_ns, S_TO_NS))]
    words += ["sh", "-c", _HOLD, "hold", name, str(folder), str(own / "here"), str(own)]
    holder = subprocess.Popen([find_tool("ip") or "ip", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stderr is not None
    undo.callback(holder.communicate)
    # It ends when its child, or the namespace, does.
    undo.callback(_end_holder, namespace)
    said = holder.stdout.readline()
    if not said:
        raise RuntimeError(f"{name}: {holder.communicate()[1].decode().strip()}")
    return LabHost(name, namespace, address, offset_ns, folder, int(said))


def _end_holder(namespace: str) -> None:
    for pid in _pids_in(namespace):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _let_in_by_ssh(lab: NetLab, own: Path, undo: ExitStack) -> None:
    """Run an sshd on each host, and give the leader the one key that it takes."""
    Path("/run/sshd").mkdir(exist_ok=True)  # where sshd gives up its rights; Debian makes it at boot
    keys = lab.leader.folder / "home" / ".ssh"
    keys.mkdir(mode=0o700)
    _make_key(keys / "id_ed25519")
    known = []
    for host in lab.hosts:
        folder = own / "sshd" / host.name
        folder.mkdir(parents=True, mode=0o700)
        _make_key(folder / "host")
        known.append(f"{host.name},{host.address} {(folder / 'host.pub').read_text()}")
        (folder / "authorized").write_text((keys / "id_ed25519.pub").read_text())
        settings = {
            "ListenAddress": f"{host.address}:22",
            "HostKey": folder / "host",
            "AuthorizedKeysFile": folder / "authorized",
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "UseDNS": "no",
            "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "MaxStartups": "100",
            # The first line of a kind holds, so that all of them are in one.
            "SetEnv": " ".join(f"{key}={text}" for key, text in _own_places(lab.place, lab.shared).items()),
        }
        (folder / "config").write_text("".join(f"{key} {text}\n" for key, text in settings.items()))
        words = [*host.prefix, find_tool("sshd") or "sshd", "-D", "-e", "-f", str(folder / "config")]
        with (folder / "log").open("wb") as log:
            undo.callback(stop, subprocess.Popen(words, stderr=log, stdin=subprocess.DEVNULL))
    (keys / "known_hosts").write_text("".join(known))
    for host in lab.hosts:
        written = own / "sshd" / host.name / "log"
        wait_until(lambda at=written: b"listening" in at.read_bytes(), f"sshd of {host.name}")  # type: ignore[misc]


def _make_key(path: Path) -> None:
    command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path)


def _own_places(place: Path, shared: Mapping[str, str]) -> dict[str, str]:
    return {
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "ASSAY_RUNS": str(place / "runs"),
        SESSION_VARIABLE: os.environ.get(SESSION_VARIABLE, "none"),
        **shared,
    }


def _pids_in(namespace: str) -> list[int]:
    """Processes of a namespace of the network; zombies have none any more."""
    return [int(word) for word in command("ip", "netns", "pids", namespace).split()]


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _clear_dead_labs() -> None:
    """Take away the namespaces of a test process that was killed: they have its pid in their names."""
    for path in Path("/run/netns").glob(f"{_NAMES}*"):
        pid = path.name.removeprefix(_NAMES).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            _remove_namespace(path.name)
