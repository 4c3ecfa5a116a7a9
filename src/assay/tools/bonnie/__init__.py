"""Bonnie++: its command line -> settings -> a Plan with the same phases.

`settings.py` reads the options, `phases.py` makes the Plan. Nothing here looks at the machine: memory, user and clock are
the caller's.
"""

from assay.tools.bonnie.phases import FILE_TESTS, FLUSH, IO_TESTS, TESTS, to_plan
from assay.tools.bonnie.settings import DEFAULT_VERSION, VERSIONS, Settings, parse

__all__ = ["DEFAULT_VERSION", "FILE_TESTS", "FLUSH", "IO_TESTS", "TESTS", "VERSIONS", "Settings", "parse", "to_plan"]
