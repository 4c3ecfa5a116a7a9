"""Describe the machine and the work tree that a step ran on, without names of hosts or places."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

PAGE = "docs/proof.md"
WRITTEN_PAGES = (PAGE, "docs/method.md")
"""Pages that steps write: changes in them do not make the work tree another one."""


class WorkTree(NamedTuple):
    """What is proven."""

    commit: str
    """The last commit that changed more than the pages that steps write."""
    is_dirty: bool
    """Whether there are uncommitted changes, new files among them."""


def describe_machine() -> str:
    """Describe kernel, CPUs and memory in a few words."""
    kernel = os.uname()
    memory_kib = int(Path("/proc/meminfo").read_text().partition("MemTotal:")[2].split()[0])
    cpus = len(os.sched_getaffinity(0))
    system = f"Linux {kernel.release.split('-')[0]} on {kernel.machine}"
    return f"{system}, {cpus} CPU{'' if cpus == 1 else 's'}, {memory_kib / (1 << 20):.1f} GiB of memory"


def read_work_tree(root: Path) -> WorkTree:
    """Look at the clone.

    Raises:
        RuntimeError: It is no clone, or has no commit.
    """
    others = ("--", ".", *(f":(exclude){page}" for page in WRITTEN_PAGES))
    commit = _git(root, "log", "-1", "--format=%H", *others)
    if not commit:
        raise RuntimeError("there is no commit to prove")
    return WorkTree(commit, bool(_git(root, "status", "--porcelain", *others)))


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
