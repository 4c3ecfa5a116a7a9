"""Find whether an engine still writes to a stream: its standard output is locked while any process has it open.

The lock is one of flock(2), which is of the open file, not of the process: the engine has it with its standard
output, and the kernel gives it up when the engine has ended, however that was. Where a file system has no locks, nobody is
known to write.
"""

import fcntl


def lock_for_writer(output: int) -> None:
    """Lock what is to become the standard output of an engine, for as long as it is open anywhere."""
    try:
        fcntl.flock(output, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return


def is_being_written(stream: int) -> bool:
    """Whether another process has a stream open that is locked so; `stream` is open for reading."""
    try:
        fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(stream, fcntl.LOCK_UN)
    return False
