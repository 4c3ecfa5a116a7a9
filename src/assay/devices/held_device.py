"""Hold the device that a campaign writes to open, from before the first check until the last step.

Commands are given the open device by its descriptor, so that no name can lead them to another. While it is open the kernel
gives its number to none; a medium that is exchanged in it is seen before each step, by its sequence number and size. Only
mount(8) goes by the name, which the kernel made; what it mounted is looked at.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.devices.device_identity import BlockNode, DeviceIdentity, node_of_open, same_name
from assay.devices.system_commands import carry_out
from assay.errors import InputError, RunError
from assay.own_files import open_safe_folder


class HeldDevice:
    """An open device, and what it was when it was looked at first."""

    def __init__(self, node: BlockNode, descriptor: int, *, direct_io: bool | None) -> None:
        """Of an open one."""
        self.node = node
        self.direct_io = direct_io
        """Of a loop device of the campaign's own, as asked for; None: it is none."""
        self._descriptor = descriptor

    @property
    def name(self) -> str:
        """In /sys/class/block."""
        return self.node.name

    @property
    def path(self) -> str:
        """By which people know it, and mount(8) finds it."""
        return self.node.path

    def check(self) -> None:
        """Raise InputError where it is not the medium any more that it was, or its name is another's."""
        try:
            now = node_of_open(self._descriptor, self.node.path).identity
        except (InputError, RunError) as error:
            raise _exchanged(self.node, str(error)) from error
        if now != self.node.identity:
            raise _exchanged(self.node, _difference(self.node.identity, now))
        if not same_name(Path(self.node.path), self._descriptor):
            raise _exchanged(self.node, f"the name is not that of the device {now.number} any more")

    def carry_out(self, words: Sequence[str], *, folder: Path | None = None) -> str:
        """Run a command whose last word is to be this device, after a last look at it.

        Raises:
            InputError: it was exchanged.
            RunError: the command failed.
        """
        self.check()
        place = f"/proc/self/fd/{self._descriptor}"
        return carry_out([*words, place], folder=folder, descriptors=(self._descriptor,), shown={place: self.path})


@contextmanager
def held(node: BlockNode, *, direct_io: bool | None = None) -> Iterator[HeldDevice]:
    """Hold a device that was looked at.

    Raises:
        InputError: it is another by now, or other users can exchange its node.
    """
    path = Path(node.path)
    cure = "name the device by the node that the kernel made, such as /dev/nvme0n1"
    try:
        folder = open_safe_folder(path.parent, cure=cure)
        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, dir_fd=folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise InputError(f"{node.path}: {error.strerror}; {cure}") from error
    try:
        device = HeldDevice(node, descriptor, direct_io=direct_io)
        device.check()
        yield device
    finally:
        os.close(descriptor)


def _exchanged(node: BlockNode, why: str) -> InputError:
    return InputError(
        f"{node.path} was exchanged for another since it was looked at: {why}. Nothing more is written to it"
    )


def _difference(before: DeviceIdentity, now: DeviceIdentity) -> str:
    for what, name in (
        ("size_bytes", "its size in bytes"),
        ("serial", "what it calls itself"),
        ("number", "its number"),
        ("start_bytes", "where it starts"),
        ("diskseq", "the kernel's number of its medium"),
    ):
        then, since = getattr(before, what), getattr(now, what)
        if then != since:
            return f"{name} was {then or 'nothing'}, and is {since or 'nothing'}"
    return "it is not what it was"
