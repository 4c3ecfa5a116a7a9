"""All rows of the matrix."""

from e2e.faults import clocks, ended, failing, limits, names, space

FAULTS = (*space.FAULTS, *ended.FAULTS, *failing.FAULTS, *names.FAULTS, *limits.FAULTS, *clocks.FAULTS)
