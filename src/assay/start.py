"""Where the program begins: it listens for signals before it loads what it is made of, which takes longer than some runs."""

import os
import sys

from assay.errors import INTERRUPTED
from assay.running.stopping import Stopped, end_on_signals


def main() -> None:
    """Run the command line."""
    try:
        end_on_signals()
        from assay.cli import main as run  # noqa: PLC0415 - see above
    except Stopped:
        os.write(2, b"assay: stopped\n")
        sys.exit(INTERRUPTED)
    run()
