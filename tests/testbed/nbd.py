"""A known latency: a block device in memory whose reads take at least so long.

nbdkit's delay filter waits before each read; nbdfuse shows that disk as a file; a loop device makes a block device of
it. The chain adds 0.1 to 0.5 ms on a quiet machine, up to 1.2 ms on a busy one: assert [delay, delay + 1.5 ms]. nbdfuse
serves about four requests at a time, so the rate at a queue depth above that is no truth.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from testbed.devices import attached_loop, need_fuse
from testbed.host import command, need_root, need_tools, stop, wait_until
from testbed.leaks import made, mounts_of_machine

# Hardware does not wait for a CPU, whatever else runs.
_FIRST = ("nice", "-n", "-20")


@contextmanager
def nbd_delay_device(read_delay_ms: int, size_bytes: int, *, write_delay_ms: int = 0) -> Iterator[Path]:
    """Make a block device whose every read takes `read_delay_ms`, every write `write_delay_ms`, plus the chain's own.

    Yields:
        The device, `/dev/loopN`.
    """
    need_root()
    need_tools("nbdkit", "nbdfuse", "losetup", "fusermount3")
    need_fuse()
    delays = (f"rdelay={read_delay_ms}ms", f"wdelay={write_delay_ms}ms")
    with (
        nbd_file("--filter=delay", "memory", str(size_bytes), *delays) as file,
        attached_loop(file, direct_io=True) as device,
    ):
        yield device


@contextmanager
def nbd_rate_device(bytes_per_s: int, size_bytes: int) -> Iterator[Path]:
    """Make a block device that reads and writes, each, at no more than a rate.

    nbdkit's rate filter holds it with a bucket of tokens of 0.05 s, full at first: what passes in T is known to within
    0.05 s / T.

    Yields:
        The device, `/dev/loopN`.
    """
    need_root()
    need_tools("nbdkit", "nbdfuse", "losetup", "fusermount3")
    need_fuse()
    # The filter counts bits.
    limit = (f"rate={8 * bytes_per_s}", "burstiness=0.05")
    with (
        nbd_file("--filter=rate", "memory", str(size_bytes), *limit) as file,
        attached_loop(file, direct_io=True) as device,
    ):
        yield device


@contextmanager
def nbd_file(*nbdkit_arguments: str) -> Iterator[Path]:
    """Show what nbdkit serves as a file."""
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="assay-nbd-"))).resolve()
        socket, file = folder / "socket", folder / "disk.img"
        server = subprocess.Popen(
            [*_FIRST, "nbdkit", "--foreground", "--exit-with-parent", "-U", socket, *nbdkit_arguments]
        )
        undo.callback(stop, server)
        wait_until(lambda: _alive(server) and socket.is_socket(), "nbdkit listening")
        file.touch()
        made.mounts.add(file)
        bridge = subprocess.Popen([*_FIRST, "nbdfuse", file, f"nbd+unix:///?socket={socket}"])
        undo.callback(stop, bridge)
        undo.callback(_unmount_if_mounted, file)
        wait_until(lambda: _alive(bridge) and file in mounts_of_machine(), f"nbdfuse on {file}")
        yield file


def _alive(process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"{process.args!r} ended at once with exit code {process.returncode}")
    return True


def _unmount_if_mounted(file: Path) -> None:
    if file in mounts_of_machine():
        command("fusermount3", "-u", file)
