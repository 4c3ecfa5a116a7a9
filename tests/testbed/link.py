"""A link of known rate, and a file server at its other end: a network namespace, joined by a pair of interfaces.

The kernel's token bucket (tc-tbf(8)) holds each direction to the rate. Segmentation is left to the kernel's software, so
that counters and bucket see frames as a wire does. The server is an sshd of the namespace's own, mounted with sshfs: the
one network file system that needs nothing of the kernel but FUSE. Nothing of the machine's own network is touched.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.devices import need_fuse
from testbed.host import command, find_tool, need_root, need_tools, stop, wait_until
from testbed.leaks import made, mounts_of_machine

_PORT = 2299


@dataclass(frozen=True)
class Link:
    """A link to a namespace."""

    namespace: str
    interface: str
    """Its end on this machine."""
    server_address: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """The words to put in front of a command so that it runs at the other end."""
        return ("ip", "netns", "exec", self.namespace)

    def moved_bytes(self) -> tuple[int, int]:
        """Bytes that came in and went out, by the kernel's counters."""
        folder = Path("/sys/class/net") / self.interface / "statistics"
        came, went = ((folder / f"{direction}_bytes").read_text() for direction in ("rx", "tx"))
        return int(came), int(went)


@contextmanager
def link(bits_per_s: int) -> Iterator[Link]:
    """Make a namespace, and a link to it that moves so much in each direction."""
    need_root()
    need_tools("ip", "tc")
    number = os.getpid() % 250 + 1
    made_link = Link(f"assay-{os.getpid()}", f"assay{os.getpid()}"[:15], f"10.77.{number}.2")
    inner = ("ip", "-n", made_link.namespace)
    shape = ("root", "tbf", "rate", f"{bits_per_s}bit", "burst", "16kb", "latency", "50ms")
    with ExitStack() as undo:
        made.namespaces.add(made_link.namespace)
        made.interfaces.add(made_link.interface)
        command("ip", "netns", "add", made_link.namespace)
        undo.callback(command, "ip", "netns", "del", made_link.namespace)
        far = ("peer", "name", "eth0", "netns", made_link.namespace)
        command("ip", "link", "add", made_link.interface, "type", "veth", *far)
        # With the namespace it would go, too, some time later.
        undo.callback(command, "ip", "link", "del", made_link.interface)
        command("ip", "addr", "add", f"10.77.{number}.1/30", "dev", made_link.interface)
        command("ip", "link", "set", made_link.interface, "up", "gso_max_segs", "1")
        command(*inner, "addr", "add", f"{made_link.server_address}/30", "dev", "eth0")
        command(*inner, "link", "set", "eth0", "up", "gso_max_segs", "1")
        command(*inner, "link", "set", "lo", "up")
        command("tc", "qdisc", "add", "dev", made_link.interface, *shape)
        command("tc", "-n", made_link.namespace, "qdisc", "add", "dev", "eth0", *shape)
        yield made_link


@contextmanager
def served_over(path: Link, folder: Path) -> Iterator[Path]:
    """Mount a folder of this machine through a link.

    Yields:
        The mount point.
    """
    need_tools("sshd", "sshfs", "ssh-keygen", "fusermount3")
    need_fuse()
    with tempfile.TemporaryDirectory(prefix="assay-link-") as name, ExitStack() as undo:
        own = Path(name).resolve()
        mount_point = own / "mounted"
        mount_point.mkdir()
        for key in ("host", "user"):
            command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", own / key)
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd gives up its rights; Debian makes it at boot
        settings = {
            "ListenAddress": f"{path.server_address}:{_PORT}",
            "HostKey": own / "host",
            "AuthorizedKeysFile": own / "user.pub",
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PermitRootLogin": "prohibit-password",
            "Subsystem": "sftp internal-sftp",
        }
        (own / "sshd_config").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        words = [*path.prefix, find_tool("sshd") or "sshd", "-D", "-e", "-f", str(own / "sshd_config")]
        with (own / "sshd.log").open("wb") as log:
            server = subprocess.Popen(words, stderr=log)
        undo.callback(stop, server)
        wait_until(lambda: b"listening" in (own / "sshd.log").read_bytes(), "sshd listening")
        made.mounts.add(mount_point)
        # It says good-bye to the server after the mount is gone: with the link gone, too, it would wait for long.
        undo.callback(wait_until, lambda: not _users_of(own / "user"), "the end of the connection")
        options = f"port={_PORT},IdentityFile={own / 'user'},StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null"
        command("sshfs", "-o", f"{options},LogLevel=ERROR", f"root@{path.server_address}:{folder}", mount_point)
        undo.callback(command, "fusermount3", "-u", mount_point)
        wait_until(lambda: mount_point in mounts_of_machine(), f"sshfs on {mount_point}")
        yield mount_point


def _users_of(key: Path) -> list[str]:
    """Processes that were given a key on their command line."""
    lines = (_command_line(folder) for folder in Path("/proc").glob("[0-9]*"))
    return [line for line in lines if f"IdentityFile={key}" in line]


def _command_line(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_text(errors="replace")
    except OSError:
        return ""
