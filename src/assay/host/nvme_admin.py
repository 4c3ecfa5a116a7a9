"""Ask an NVMe controller for its SMART / Health log page, by the kernel's passthrough of admin commands.

Get Log Page changes nothing on the device. The kernel lets root alone ask. The command has the kernel's own time limit:
with a shorter one the kernel would reset a controller that is slow to answer.
Sources: linux/nvme_ioctl.h; NVM Express Base Specification 2.0, 5.16.
"""

import ctypes
import fcntl
import os
import stat
import struct
from typing import Final, NamedTuple

from assay.host.nvme_log import LOG_BYTES
from assay.host.reading import SystemTree

ADMIN_COMMAND: Final = 0xC0484E41
"""NVME_IOCTL_ADMIN_CMD: `_IOWR('N', 0x41, struct nvme_admin_cmd)`."""
_COMMAND: Final = struct.Struct("=BBHIIIQQIIIIIIIIII")
"""struct nvme_passthru_cmd: opcode, flags, reserved, nsid, cdw2, cdw3, metadata, addr, metadata_len, data_len, cdw10 to
cdw15, timeout_ms, result."""
_GET_LOG_PAGE: Final = 0x02
_HEALTH: Final = 0x02
_OF_CONTROLLER: Final = 0xFFFFFFFF
"""Namespace of what is the whole controller's."""


class HealthLog(NamedTuple):
    """A log page and its source; without a page the source is the reason."""

    page: bytes | None
    source: str


def health_command(address: int) -> bytes:
    """Make the command that has the controller write its log page, of 512 bytes, to an address."""
    dwords = LOG_BYTES // 4 - 1
    command = (_GET_LOG_PAGE, 0, 0, _OF_CONTROLLER, 0, 0, 0, address, 0, LOG_BYTES, dwords << 16 | _HEALTH)
    return _COMMAND.pack(*command, *(0,) * 7)


def ask_health_log(tree: SystemTree, name: str, number: str) -> HealthLog:
    """Ask the controller of a namespace, such as `nvme0n1`, whose number is `major:minor`."""
    path = f"/dev/{name}"
    try:
        descriptor = os.open(tree.at(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return HealthLog(None, f"n/a: {path}: {error.strerror}")
    try:
        facts = os.fstat(descriptor)
        found = f"{os.major(facts.st_rdev)}:{os.minor(facts.st_rdev)}"
        if not stat.S_ISBLK(facts.st_mode) or found != number:
            return HealthLog(None, f"n/a: {path} is not the block device {number}")
        page = ctypes.create_string_buffer(LOG_BYTES)
        command = bytearray(health_command(ctypes.addressof(page)))
        status = fcntl.ioctl(descriptor, ADMIN_COMMAND, command)
    except PermissionError:
        return HealthLog(None, f"n/a: {path}: root alone may ask for the SMART log")
    except OSError as error:
        return HealthLog(None, f"n/a: {path}: Get Log Page: {error.strerror}")
    finally:
        os.close(descriptor)
    if status != 0:
        return HealthLog(None, f"n/a: {path}: Get Log Page: the device answers with status {status:#x}")
    return HealthLog(page.raw, f"Get Log Page 02h of {path}")
