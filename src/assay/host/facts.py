"""A fact: one thing that can move a number, and where it was read."""

import msgspec

LINK_FACT = "given.link_bytes_per_s"
"""Key of what the user says that the link to the storage carries."""
DEVICE_FACT = "given.device_bytes_per_s"
"""Key of what the user says that the devices move at most."""

EXPECT_FACT = "given.expect"
"""Key of what the user expects of the results: a text for each limit."""

ENCRYPTED_FACT = "clients.is_encrypted"
"""Key of whether a run of several clients had keys and encryption, which `--insecure` leaves out."""

MACHINE_ID_FACT = "host.machine_id_hash"
"""Key of what tells installed systems apart."""

LINK_SPEED_FACT = "host.network.{interface}.link_bytes_per_s"
"""Key of what the driver of a network interface says that its link carries, in each direction."""

CEILINGS_FACT = "host.ceilings"
"""Begins the keys of what an earlier run measured that one thread of this machine shows at most."""

FactValue = str | int | float | bool | tuple[str, ...] | None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of the machine, the storage path or the user."""

    key: str
    """Dotted, with the unit in the name: `target.data.fs.free_bytes`."""
    value: FactValue
    """None: the fact could not be read; `source` says why."""
    source: str
    """`/sys/...`, `user`, the call that was asked, or `n/a: reason`."""
