"""Start the program: handle signals before the rest is loaded, which takes longer than some runs."""

import os
import resource
import sys

from assay.begun import first_line
from assay.errors import COULD_NOT_RUN, INTERRUPTED
from assay.running.stopping import Stopped, end_on_signals, ending

_ADDRESSES_BYTES = 1 << 30
_ADDRESSES_EACH_CPU_BYTES = 64 << 20
"""Address space that the libraries want, most of which is never used; without it they end the program in ways of their own,
some of them only when a run is to be sealed. Measured: 0.8 GB with two CPUs."""


def main() -> None:
    """Run the command line."""
    first_line()
    try:
        end_on_signals()
        _check_address_space()
        from assay.cli import main as run  # noqa: PLC0415 - see above

        run()
    except Stopped:
        os.write(2, b"assay: stopped\n")
        sys.exit(INTERRUPTED)
    finally:
        try:
            ending()
        except Stopped:  # it came as this began
            ending()


def _check_address_space() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _ADDRESSES_BYTES + _ADDRESSES_EACH_CPU_BYTES * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        text = f"address space is limited to {limit >> 20} MiB, and {needed >> 20} MiB are needed"
        sys.stderr.write(f"assay: {text}: raise the limit (ulimit -v)\n")
        sys.exit(COULD_NOT_RUN)
