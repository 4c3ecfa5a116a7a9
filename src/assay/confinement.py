"""Confine the writes of this command to `ASSAY_ONLY_IN=DIR`, for command lines that another user may have written.

A campaign sets it for each of its loads. Then directories that are measured, and files that a tool's words have written, lie
in DIR, without `..` and without a link on the way; no client measures, and no program is run but a tool's own.
"""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from assay.errors import InputError
from assay.plan import Plan
from assay.plan.walk import commands
from assay.targets import directories

ONLY_IN: Final = "ASSAY_ONLY_IN"


def is_confined() -> bool:
    """Whether a folder is named."""
    return bool(os.environ.get(ONLY_IN))


def check_plan(plan: Plan, outputs: Sequence[str], *, own_programs: Collection[str]) -> None:
    """Raise InputError where a run would do more than write to the folder.

    Args:
        plan: What is to be done.
        outputs: Further files that are written.
        own_programs: Programs that a tool itself runs.
    """
    if programs := [" ".join(words) for words in commands(plan.phases) if words[0] not in own_programs]:
        check_action(f"running {programs[0]}")
    found = directories(plan)
    if len(found) < len(plan.targets):
        check_action("measuring what is no directory")
    for name in (*map(str, found.values()), *outputs):
        check_output(name)


def check_action(what: str) -> None:
    """Raise InputError for what is more than to write to the folder, if one is named."""
    if is_confined():
        raise InputError(
            f"{what} is more than to measure {os.environ[ONLY_IN]}, which alone is allowed here ({ONLY_IN})"
        )


def check_output(name: str) -> None:
    """Raise InputError for a path that is not in the folder, if one is named."""
    if is_confined():
        check_inside(name, Path(os.environ[ONLY_IN]))


def check_inside(name: str, only_in: Path) -> None:
    """Raise InputError for a path that is not in a folder, or that goes by `..` or a link."""
    path = Path(name)
    if not path.is_absolute() or ".." in path.parts or not path.is_relative_to(only_in):
        raise InputError(f"'{name}' is not in {only_in}, which alone may be written to")
    if "\0" in name:
        raise InputError(f"'{name[:200]}' can be no name of a file")
    below = path.relative_to(only_in).parts
    for count in range(1, len(below) + 1):
        try:
            is_link = (only_in / Path(*below[:count])).is_symlink()
        except OSError:
            raise InputError(f"'{name[:200]}' can be no name of a file") from None
        if is_link:
            raise InputError(f"'{name}' goes by a link; only what is in {only_in} itself may be written to")
