"""Folders of the user by the XDG base directory specification."""

import os
from pathlib import Path


def folder(variable: str, default: str) -> Path:
    """Give Assay's folder in the one that an environment variable names; a relative path there is to be ignored.

    Args:
        variable: Such as `XDG_DATA_HOME`.
        default: What stands for it where it is not set, such as `~/.local/share`.
    """
    named = Path(os.environ.get(variable) or default).expanduser()
    return (named if named.is_absolute() else Path(default).expanduser()) / "assay"
