"""Close descriptors of which nothing is lost when storage fails at it."""

import contextlib
import os


def close(descriptor: int) -> None:
    """Close what was only read, or is synced: errors of its storage lose nothing now. With EINTR it is closed, too."""
    with contextlib.suppress(OSError):
        os.close(descriptor)
