"""How sure a reader is that a file is of its format."""

from enum import IntEnum


class Match(IntEnum):
    """The higher, the surer."""

    LIKELY = 1
    """Columns of these names could be another program's."""
    CERTAIN = 2
    """Nothing else writes such a head."""
