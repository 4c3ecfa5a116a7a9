"""What the user says of the machine that a figure is from. Link rates are decimal and in bits, as on the box."""

import dataclasses
import re
from fractions import Fraction

from assay.errors import InputError
from assay.units import parse_bytes

_BITS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_RATE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([A-Za-z]{1,4})(?:/s)?\s*", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Given:
    """Facts of the machine; None: not said."""

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
        link_bytes_per_s=None if link is None else _rate("--link", link, _BITS, "1Gbit") / 8,
        ram_bytes=None if ram is None else _size("--ram", ram),
        server_ram_bytes=None if server_ram is None else _size("--server-ram", server_ram),
        device_bytes_per_s=None if device is None else _rate("--device", device, _BYTES, "640MB/s"),
    )


def _size(option: str, text: str) -> int:
    try:
        size_bytes = parse_bytes(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from error
    if size_bytes <= 0:
        raise InputError(f"{option}: {text} is no memory; leave it out where it is not known")
    return size_bytes


def _rate(option: str, text: str, units: dict[str, int], example: str) -> float:
    match = _RATE.fullmatch(text)
    if match is None or match[2] not in units:
        raise InputError(f"{option}: '{text}' is not a rate such as {example}; its units are {', '.join(units)}")
    rate = float(Fraction(match[1]) * units[match[2]])
    if rate <= 0:
        raise InputError(f"{option}: a rate is above 0")
    return rate
