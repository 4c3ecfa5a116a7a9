"""Servers of ssh on loopback, each with a host key of its own, that let one key in; and a home that knows them.

Nothing of the user's own ssh is used: what runs in a session is told by a mark in its environment, and has a folder for
temporary files of its own, so that what is left of it can be seen.
"""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.host import command, find_tool, need_tools, stop, wait_until
from testbed.leaks import SESSION_VARIABLE


@dataclass(frozen=True)
class Sshd:
    """A server."""

    port: int
    folder: Path
    temporary: Path
    """TMPDIR of its sessions."""

    @property
    def known(self) -> str:
        """Its line in known_hosts."""
        kind, key = (self.folder / "host.pub").read_text().split()[:2]
        return f"[127.0.0.1]:{self.port} {kind} {key}\n"

    def processes(self) -> list[str]:
        """Command lines of what runs in its sessions."""
        mark = f"TMPDIR={self.temporary}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(
                        (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                    )
            except OSError:
                continue
        return [line for line in found if line]


def make_key(path: Path) -> None:
    """Make a key pair without a passphrase."""
    command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)


@contextmanager
def sshd(folder: Path, user_key: Path, environment: Mapping[str, str] | None = None) -> Iterator[Sshd]:
    """Run a server.

    Args:
        folder: Of its own; it is made.
        user_key: The private key whose owner may come in, as the user who runs this.
        environment: More variables of its sessions.
    """
    need_tools("sshd", "ssh-keygen")
    folder.mkdir()
    temporary = folder / "tmp"
    temporary.mkdir()
    make_key(folder / "host")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd gives up its rights; Debian makes it at boot
    port = _free_port()
    variables = {
        "TMPDIR": temporary,
        "XDG_STATE_HOME": folder / "state",
        SESSION_VARIABLE: os.environ[SESSION_VARIABLE],
        **{key: os.environ[key] for key in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE") if key in os.environ},
        **(environment or {}),
    }
    settings = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": f"{user_key}.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
        "SetEnv": " ".join(f"{key}={value}" for key, value in variables.items()),
    }
    (folder / "sshd_config").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    words = [find_tool("sshd") or "sshd", "-D", "-e", "-f", str(folder / "sshd_config")]
    with (folder / "sshd.log").open("wb") as log:
        server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    try:
        wait_until(lambda: b"listening" in (folder / "sshd.log").read_bytes(), "sshd listening")
        yield Sshd(port=port, folder=folder, temporary=temporary)
    finally:
        stop(server)


def _free_port() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])
