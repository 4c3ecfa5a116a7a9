"""What a bonnie++ command line takes from the machine: its memory, its users, a seed, and semaphores for several runs."""

import contextlib
import grp
import os
import pwd
import time
import zlib
from pathlib import Path

from assay.errors import InputError
from assay.plan import User
from assay.running import gates
from assay.tools.arguments import digits
from assay.tools.bonnie.plan import SEMAPHORES, TESTS
from assay.tools.bonnie.settings import Settings

_NO_GROUP = 65534


def ram_mib() -> int:
    """Memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def seed(settings: Settings) -> int:
    """Choose a seed: that of -z, or of the file of -Z, else another one each time.

    Raises:
        InputError: the file cannot be read.
    """
    if settings.random_file is None:
        return (os.getpid() ^ int(time.time())) if settings.seed is None else settings.seed
    try:
        return zlib.crc32(Path(settings.random_file).read_bytes())
    except OSError as error:
        raise InputError(f"bonnie -Z {settings.random_file}: cannot be read: {error.strerror}") from error


def user(settings: Settings) -> User | None:
    """Look up who does the work; None for who starts it.

    Raises:
        InputError: root does not say who, or there is nobody of that name.
    """
    if settings.user is None and settings.group is None:
        if os.geteuid() == 0:
            raise InputError('bonnie: you must use the "-u" switch when running as root; -u root stays root')
        return None
    uid, gid = os.geteuid(), os.getegid()
    if settings.user is not None:
        uid, gid = (int(settings.user), _NO_GROUP) if _is_number(settings.user) else _named_user(settings.user)
    if settings.group:
        gid = int(settings.group) if _is_number(settings.group) else _named_group(settings.group)
    return User(uid=uid, gid=gid)


def _is_number(name: str) -> bool:
    return digits(name) is not None


def _named_user(name: str) -> tuple[int, int]:
    with contextlib.suppress(KeyError):
        found = pwd.getpwnam(name)
        return found.pw_uid, found.pw_gid
    raise InputError(f"bonnie -u {name}: there is no user of that name")


def _named_group(name: str) -> int:
    with contextlib.suppress(KeyError):
        return grp.getgrnam(name).gr_gid
    raise InputError(f"bonnie -g {name}: there is no group of that name")


def semaphores(runs: int) -> str:
    """Make the semaphores for so many runs, or remove them (-1), and say so as bonnie++ does; raises RunError."""
    if runs < 0:
        gates.remove_semaphores(SEMAPHORES, len(TESTS))
        return "Semaphore removed."
    gates.make_semaphores(SEMAPHORES, len(TESTS), runs)
    return f"Creating semaphore for {runs} procs."
