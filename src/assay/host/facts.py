"""Define a fact: a property that can change a result, and its source."""

import msgspec

LINK_FACT = "given.link_bytes_per_s"
"""Key of the bandwidth of the link, as the user states."""
DEVICE_FACT = "given.device_bytes_per_s"
"""Key of the maximum throughput of the devices, as the user states."""

EXPECT_FACT = "given.expect"
"""Key of what the user expects of the results: a text for each limit."""

ENCRYPTED_FACT = "clients.is_encrypted"
"""Key of whether a run of several clients had keys and encryption, which `--insecure` leaves out."""

MACHINE_ID_FACT = "host.machine_id_hash"
"""Key of the identity of an installed system."""

LINK_SPEED_FACT = "host.network.{interface}.link_bytes_per_s"
"""Key of the bandwidth of a network interface in each direction, as its driver reports."""

CEILINGS_FACT = "host.ceilings"
"""Begins the keys of what an earlier run measured that one thread of this machine shows at most."""

FactValue = str | int | float | bool | tuple[str, ...] | None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of the machine, the storage path or the user."""

    key: str
    """Dotted, with the unit in the name: `target.data.fs.free_bytes`."""
    value: FactValue
    """None: the fact could not be read; `source` explains why."""
    source: str
    """`/sys/...`, `user`, the call that was asked, or `n/a: reason`."""
