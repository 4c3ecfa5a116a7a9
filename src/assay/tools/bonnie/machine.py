"""What a bonnie++ command line takes from the machine: its memory, its users, a seed, and semaphores for several runs."""

import os
import time
import zlib

from assay.errors import InputError
from assay.plan import User
from assay.running import gates
from assay.running.users import group_id, user_id
from assay.tools.bonnie.plan import SEMAPHORES, TESTS
from assay.tools.bonnie.settings import Settings

_MOST_RANDOM_BYTES = 1 << 20


def ram_mib() -> int:
    """Read the memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def seed(settings: Settings) -> int:
    """Choose a seed: that of -z, or of the file of -Z, else another one each time.

    Raises:
        InputError: the file cannot be read.
    """
    if settings.random_file is None:
        return (os.getpid() ^ int(time.time())) if settings.seed is None else settings.seed
    try:
        # Without waiting for the other end of a pipe; of a device that never ends, what makes a seed.
        with os.fdopen(os.open(settings.random_file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return zlib.crc32(file.read(_MOST_RANDOM_BYTES) or b"")
    except OSError as error:
        raise InputError(f"bonnie -Z {settings.random_file}: cannot be read: {error.strerror}") from error


def user(settings: Settings) -> User | None:
    """Look up who does the work; None for who starts it.

    Raises:
        InputError: root names no user, or no user has that name.
    """
    if settings.user is None and settings.group is None:
        if os.geteuid() == 0:
            raise InputError('bonnie: you must use the "-u" switch when running as root; -u root stays root')
        return None
    uid, gid = os.geteuid(), os.getegid()
    if settings.user is not None:
        uid, gid = user_id(settings.user, asked_by="bonnie -u")
    if settings.group:
        gid = group_id(settings.group, asked_by="bonnie -g")
    return User(uid=uid, gid=gid)


def semaphores(runs: int) -> str:
    """Make the semaphores for N runs, or remove them (-1), and print what bonnie++ prints; raises RunError."""
    if runs < 0:
        gates.remove_semaphores(SEMAPHORES, len(TESTS))
        return "Semaphore removed."
    gates.make_semaphores(SEMAPHORES, len(TESTS), runs)
    return f"Creating semaphore for {runs} procs."
