"""Find the address by which others reach this machine.

Nobody is asked who is not in the run: an address is named by the user, by an interface, or by the way that leads to the
other side. Nothing ever listens on all addresses.
"""

import contextlib
import fcntl
import ipaddress
import socket
import struct
from pathlib import Path

from assay.errors import InputError

_SIOCGIFADDR = 0x8915
"""The call that gives an interface's IPv4 address (netdevice(7))."""
_IPV6 = Path("/proc/net/if_inet6")
_GLOBAL_SCOPE = "00"
_LOOPBACK = "127.0.0.1"


def is_loopback(host: str) -> bool:
    """Return whether an IP address is of this machine alone; False for what is not an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_address(named: str) -> str:
    """Give the address that the user means: an IP address, or that of an interface.

    Raises:
        InputError: it is neither, or covers all addresses.
    """
    try:
        address = ipaddress.ip_address(named)
    except ValueError:
        found = of_interface(named)
        if found is None:
            there = ", ".join(f"{name} {host}" for name, host in interfaces().items())
            raise InputError(
                f"'{named}' is not an IP address, and no interface of this machine that has one; there are: {there}"
            ) from None
        return found
    if address.is_unspecified or address.is_multicast:
        raise InputError(f"{named} is not one address of this machine; name the one by which others reach it")
    return str(address)


def of_interface(name: str) -> str | None:
    """Give an interface's IPv4 address, else a global IPv6 one; None where it has none, or is not there."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        return socket.inet_ntoa(answer[20:24])
    with contextlib.suppress(OSError):
        for line in _IPV6.read_text().splitlines():
            digits, _index, _prefix, scope, _flags, interface = line.split()
            if interface == name and scope == _GLOBAL_SCOPE:
                return str(ipaddress.IPv6Address(bytes.fromhex(digits)))
    return None


def interfaces() -> dict[str, str]:
    """Give the address of each interface that has one."""
    found = {name: of_interface(name) for _, name in socket.if_nameindex()}
    return {name: host for name, host in found.items() if host is not None}


def only_address() -> str:
    """Give the one address by which other machines can reach this one, or that of loopback where there is none.

    Raises:
        InputError: there are several, and only the user can choose one.
    """
    outward = {name: host for name, host in interfaces().items() if not is_loopback(host)}
    if len(outward) > 1:
        there = ", ".join(f"{name} {host}" for name, host in outward.items())
        raise InputError(f"this machine has several addresses ({there}): name the one by which the clients reach it")
    return next(iter(outward.values()), _LOOPBACK)


def towards(host: str, port: int) -> str:
    """Give the address of this machine on the way to another; no packet is sent.

    Raises:
        InputError: no way leads there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((host, port))
            return str(asking.getsockname()[0])
    except OSError as error:
        raise InputError(
            f"no route from this machine to {host}: {error.strerror}; is this the network that the leader is in?"
        ) from error


def in_uri(host: str) -> str:
    """Write an IP address as URIs have it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host
