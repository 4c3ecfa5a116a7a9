"""Control groups of a test's own, of the first generation or the second: made, checked, and removed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.host import need_root, wait_until
from testbed.leaks import made

_ROOT = Path("/sys/fs/cgroup")

# A shell joins the group and becomes the command: no code between fork and exec, and no process besides.
_JOIN = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True)
class ControlGroup:
    """A group, whose limits hold for what runs inside it."""

    folder: Path

    @property
    def is_v2(self) -> bool:
        """Whether it is of the second generation."""
        return self.folder.parent == _ROOT

    @property
    def prefix(self) -> tuple[str, ...]:
        """The words to put in front of a command so that it runs inside the group."""
        return ("/bin/sh", "-c", _JOIN, str(self.folder / "cgroup.procs"))


@contextmanager
def control_group(v1: str, v2: str, v1_file: str) -> Iterator[ControlGroup]:
    """Make a group with a controller.

    Args:
        v1: Folder of the controller in the first generation.
        v2: Its name in the second.
        v1_file: A file that says whether the first one can limit what is to be limited.
    """
    need_root()
    parent = _parent(v1, v2, v1_file)
    folder = parent / f"assay-testbed-{os.getpid()}-{len(made.cgroups)}"
    try:
        if parent == _ROOT:
            (parent / "cgroup.subtree_control").write_text(f"+{v2}")
        folder.mkdir()
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        pytest.skip(f"may not make a control group: {error}")
    made.cgroups.add(folder)
    try:
        yield ControlGroup(folder)
    finally:
        # A group with members, zombies too, cannot be removed.
        wait_until(lambda: not (folder / "cgroup.procs").read_text().strip(), f"{folder} empty")
        folder.rmdir()


def _parent(v1: str, v2: str, v1_file: str) -> Path:
    first = _ROOT / v1
    if (first / "cgroup.procs").exists():
        # Files of some limits are in groups below the first only.
        if not any(
            (folder / v1_file).exists() for folder in (first, *(each for each in first.iterdir() if each.is_dir()))
        ):
            pytest.skip(f"needs {v1_file}; {first} has none")
        return first
    try:
        controllers = (_ROOT / "cgroup.controllers").read_text().split()
    except OSError:
        pytest.skip(f"needs control groups with the controller {v1}; there is none under {_ROOT}")
    if v2 not in controllers:
        pytest.skip(f"needs the {v2} controller; {_ROOT}/cgroup.controllers has: {' '.join(controllers)}")
    return _ROOT
