"""How much memory a program takes at most, whatever the tests' own process has had.

Linux counts a child's peak from that of the memory it was started from (ru_maxrss of getrusage(2) across execve), so beside
a large parent nothing of a small child is seen.
"""

import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_WRITE_PEAK = """
import pathlib, resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
pathlib.Path(sys.argv[1]).write_text(str(peak_bytes))
sys.exit(code if code >= 0 else 128 - code)
"""


@dataclass(frozen=True)
class PeakMemory:
    """Runs a program below a small process, which writes into a file how much the program took."""

    path: Path

    @property
    def prefix(self) -> Sequence[str]:
        """Words in front of the program's."""
        return sys.executable, "-S", "-c", _WRITE_PEAK, str(self.path)

    def taken_bytes(self) -> int:
        """How much was in memory at most, of the program that was run last."""
        return int(self.path.read_text())


def forget_own_peak() -> int:
    """Let the peak of this process, and so that of its next children, begin at what it holds now; give it, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the peak resident set size
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
