"""Compare runs: from result documents to verdicts. Nothing here reads a file.

A call of the folder, `assay.compare("tag:before", "tag:after")`, is one of `assay.notebook.compare`: a submodule that is
imported takes its name in the package, and so the two share it.
"""

import importlib
import sys
from types import ModuleType
from typing import Any


class _CalledFolder(ModuleType):
    """A folder of modules that can be called."""

    def __call__(self, *sides: Any, **options: Any) -> Any:
        """Compare runs, as `assay.notebook.compare` does."""
        return importlib.import_module("assay.notebook").compare(*sides, **options)


sys.modules[__name__].__class__ = _CalledFolder
