"""A known amount of dirty memory from which on the kernel lets writers wait: vm.dirty_bytes, set back afterwards.

It holds for the whole machine: keep it short.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed.host import need_root

_VM = Path("/proc/sys/vm")
# Of each pair one is in force, and the other reads as 0: what is written to the one sets the other to 0.
_PAIRS = (("dirty_background_bytes", "dirty_background_ratio"), ("dirty_bytes", "dirty_ratio"))


@contextmanager
def dirty_limit(at_most_bytes: int, *, background_bytes: int | None = None) -> Iterator[None]:
    """Let so much be dirty, and begin to write back at half of that where nothing else is asked for."""
    need_root()
    before = [
        next((name, value) for name in pair if (value := (_VM / name).read_text().strip()) != "0") for pair in _PAIRS
    ]
    try:
        try:
            (_VM / "dirty_background_bytes").write_text(str(background_bytes or at_most_bytes // 2))
            (_VM / "dirty_bytes").write_text(str(at_most_bytes))
        except OSError as error:
            pytest.skip(f"may not set vm.dirty_bytes: {error}")
        yield
    finally:
        for name, value in before:
            (_VM / name).write_text(value)
