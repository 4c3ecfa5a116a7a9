"""How long a load must last for disks to carry it."""

from typing import Final

USUAL_SPIKE_S: Final = 300.0
"""Shorter is a spike: seconds are for a cache, half an hour is for disks."""
SUSTAINED_S: Final = 1800.0
WINDOWS_S: Final = (300.0, SUSTAINED_S, 4 * 3600.0, 24 * 3600.0)
"""Over which greatest means are given."""
