"""Slow one of three clients down in five ways, and disturb sums: `make prove`, as root.

Words on the command line are parts of what is tried: of causes, or `sum` with a disturbance (`disturbed_sums.py`).
"""

import os
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

from e2e.command import need_command
from e2e.disturbed_sums import check_sums
from e2e.planted_stragglers import check_stragglers
from testbed.first import going_first
from testbed.killed import clear_dead_devices, unwind_when_ended
from testbed.leaks import ENDING_S, SESSION_VARIABLE, left_over


def main(words: list[str]) -> int:
    """Try all; give an exit code: 1 when something was wrong."""
    unwind_when_ended()
    clear_dead_devices()
    need_command()
    os.environ[SESSION_VARIABLE] = session = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="assay-stragglers-") as name:
        os.environ |= dict.fromkeys(("XDG_CACHE_HOME", "XDG_DATA_HOME"), name)
        with going_first():
            right = [*check_stragglers(Path(name), words), *check_sums(Path(name), words)]
    for left in left_over(session, ENDING_S):
        sys.stdout.write(f"left behind: {left}\n")
    return int(not all(right))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except pytest.skip.Exception as skipped:
        sys.exit(f"not tried: {skipped}")
