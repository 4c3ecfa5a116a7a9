"""What this machine lets a test do, and the commands that tests run on it.

A missing tool, right or kernel feature skips the test with its name; a command that is there and fails is an error.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND_TIMEOUT_S = 900.0
CAP_SYS_ADMIN = 21  # linux/capability.h


def need_root() -> None:
    """Skip the test unless it runs as root, with the right to mount: root of a container often lacks that."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to make devices and mounts")
    status = Path("/proc/self/status").read_text()
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    if not effective >> CAP_SYS_ADMIN & 1:
        pytest.skip("needs CAP_SYS_ADMIN, to make devices and mounts")


def need_tools(*names: str) -> None:
    """Skip the test unless every command is there; `sbin` counts, although a user's PATH often lacks it."""
    absent = [name for name in names if find_tool(name) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}; .ci/run lists the packages")


def need_strace() -> None:
    """Skip the test unless strace is there and may trace."""
    need_tools("strace")
    if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")


def need_filesystem(kind: str) -> None:
    """Skip the test unless the kernel knows the file system."""
    known = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    if kind not in known:
        pytest.skip(f"needs {kind}, which this kernel does not list in /proc/filesystems")


def find_tool(name: str) -> str | None:
    """Find a command on PATH or where administrators' tools are."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")


def command(*argv: str | os.PathLike[str], timeout_s: float = COMMAND_TIMEOUT_S) -> str:
    """Run a command that must succeed; return its standard output.

    Raises:
        RuntimeError: It exited non-zero; the text has its standard error.
    """
    words = [os.fspath(word) for word in argv]
    words[0] = find_tool(words[0]) or words[0]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def wait_until(is_true: Callable[[], bool], what: str, timeout_s: float = 300.0) -> None:
    """Wait for something that the kernel or a daemon does a little later.

    Raises:
        TimeoutError: It did not become true in time.
    """
    deadline_s = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{what}: not so after {timeout_s:g} s")
        time.sleep(0.02)


def stop(process: subprocess.Popen[bytes], timeout_s: float = 5.0) -> None:
    """End a child: TERM, then KILL if it does not listen; reap it."""
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(COMMAND_TIMEOUT_S)
