"""The user's facts of the machine that a figure is from. Link rates are decimal and in bits, as on the box."""

import dataclasses
from collections.abc import Callable

from assay.errors import InputError
from assay.units import parse_bytes, parse_link, parse_transfer_rate


@dataclasses.dataclass(frozen=True)
class Given:
    """Facts of the machine; None: not given."""

    link_bytes_per_s: float | None = None
    """Of the network between client and storage, each way."""
    ram_bytes: int | None = None
    """Of the client."""
    server_ram_bytes: int | None = None
    """Of the server, or the cache of an array."""
    device_bytes_per_s: float | None = None
    """Most that the devices, or the buses to them, move."""


def read_given(link: str | None, ram: str | None, server_ram: str | None, device: str | None) -> Given:
    """Read the options of the command line; raises InputError."""
    return Given(
        link_bytes_per_s=None if link is None else _of("--link", parse_link, link),
        ram_bytes=None if ram is None else _size("--ram", ram),
        server_ram_bytes=None if server_ram is None else _size("--server-ram", server_ram),
        device_bytes_per_s=None if device is None else _of("--device", parse_transfer_rate, device),
    )


def _size(option: str, text: str) -> int:
    try:
        size_bytes = parse_bytes(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from error
    if size_bytes <= 0:
        raise InputError(f"{option}: {text} is not a memory size; leave it out where it is unknown")
    return size_bytes


def _of(option: str, parse: Callable[[str], float], text: str) -> float:
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from error
