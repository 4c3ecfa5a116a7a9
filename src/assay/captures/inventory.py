"""Describe the size of a virtual environment without samples."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Inventory:
    """Hosts, virtual machines and their disks.

    Attributes:
        hosts: Number of hosts.
        vms: Number of virtual machines, without templates.
        vms_on: Of these, those that are powered on.
        provisioned_bytes: What the disks of all machines may grow to; None: it is not there.
        used_bytes: What they take of their datastores; None: it is not there.
    """

    hosts: int
    vms: int
    vms_on: int
    provisioned_bytes: float | None
    used_bytes: float | None
