"""Warn when this process itself waits for storage that does not answer.

`engine.py` watches the engine. But this process writes too: the run's directory and the report. If their storage hangs, the
kernel blocks this process (state D): it handles no Ctrl-C and can print nothing. A thread prints the warning.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

PATIENCE_S = 10
"""Seconds in state D, in each sample, before the warning: a busy disk releases the process now and then."""
_LOOK_S = 1.0


@contextlib.contextmanager
def warn_if_blocked(runs: Path) -> Iterator[None]:
    """Warn while entered when this thread has waited long for storage.

    Args:
        runs: Where the run is kept, which is most likely what does not answer.
    """
    is_over = threading.Event()
    stat = Path(f"/proc/self/task/{threading.get_native_id()}/stat")
    watch = threading.Thread(target=_watch, args=(stat, runs, is_over), daemon=True)
    try:
        watch.start()
    except RuntimeError:  # no more threads may be made (ulimit -u)
        yield
        return
    try:
        yield
    finally:
        is_over.set()


def _watch(stat: Path, runs: Path, is_over: threading.Event) -> None:
    looks = 0
    while not is_over.wait(_LOOK_S):
        try:
            # The state follows the name in parentheses (proc(5)).
            is_waiting = stat.read_text().rpartition(")")[2].split()[0] == "D"
        except OSError:
            return
        looks = looks + 1 if is_waiting else 0
        if looks == PATIENCE_S:
            who = f"assay (process {os.getpid()}) has waited for {PATIENCE_S} s"
            text = f"{who} for storage that does not answer (state D): {runs}"
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"  {text}\n")
                sys.stderr.flush()
