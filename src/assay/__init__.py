"""Assay: what does this storage really do, what limits it, and can I trust that number?

`assay.load("last")` and `assay.compare("tag:before", "tag:after")` are for notebooks: docs/reference/notebook.md.
What they need is imported when they are first asked for (PEP 562), so that the command line begins at once; their types are
in `__init__.pyi`.
"""

import importlib

__version__ = "0.1.0"

_OF_NOTEBOOKS = frozenset({"compare", "load"})


def __getattr__(name: str) -> object:
    """Give what notebooks ask for."""
    if name not in _OF_NOTEBOOKS:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    return getattr(importlib.import_module("assay.notebook"), name)
