"""Read and set the I/O scheduler of a disk's queue.

The file is reached by the disk's name alone, and only where it is one of sysfs.
"""

import os
import re
from pathlib import Path
from typing import Final

from assay.errors import RunError
from assay.host.reading import SystemTree, chosen

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9!:._-]{0,63}", re.ASCII)
_SYSFS: Final = "/sys"


def schedulers_of(disk: str) -> tuple[str, ...]:
    """Name the schedulers that a disk offers; none where it has no choice."""
    text = SystemTree().read(scheduler_file(disk)).text or ""
    return tuple(word.strip("[]") for word in text.split())


def scheduler_of(disk: str) -> str | None:
    """Give the one that it has; None: unknown."""
    text = SystemTree().read(scheduler_file(disk)).text
    return chosen(text) if text else None


def set_scheduler(disk: str, scheduler: str) -> None:
    """Choose one that the disk offers; raises RunError where it does not, or the kernel does not take it."""
    file = scheduler_file(disk)
    if scheduler not in schedulers_of(disk):
        raise RunError(f"{file} does not offer '{scheduler}'")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_dev != os.stat(_SYSFS).st_dev:  # noqa: PTH116 - as above
                raise RunError(f"{file} is no file of the kernel's")
            os.write(descriptor, scheduler.encode("ascii"))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise RunError(f"{file}: '{scheduler}': {error.strerror}") from error
    if (now := scheduler_of(disk)) != scheduler:
        raise RunError(f"{file} is {now} after '{scheduler}' was written to it")


def scheduler_file(disk: str) -> str:
    """Path of the file; raises RunError for what is no name of a disk."""
    if not _NAME.fullmatch(disk):
        raise RunError(f"'{disk}' is no name of a disk")
    return str(Path(_SYSFS) / "block" / disk / "queue" / "scheduler")
