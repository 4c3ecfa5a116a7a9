"""What the commands of the classic tools share.

Everything after the command's word is the tool's own command line, in the tool's own syntax. Assay's few options are long
ones that no classic tool knows; they are taken out wherever they stand.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.errors import InputError

CONTEXT: dict[str, Any] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": ["--help"],
}
"""How typer hands a command line through."""


@dataclasses.dataclass(frozen=True)
class ClassicArguments:
    """A command line, taken apart: what is the tool's, and what is Assay's."""

    tool: tuple[str, ...]
    runs: Path | None = None
    """`--runs DIR`: where runs are kept."""
    json: bool = False
    """`--json`: the result document on standard output instead of the tool's output."""
    no_report: bool = False
    """`--no-report`: no HTML report."""


def take_apart(arguments: Sequence[str]) -> ClassicArguments:
    """Take Assay's own options out of a classic tool's command line; raises InputError if `--runs` names no folder."""
    tool: list[str] = []
    taken: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        name, separator, value = argument.partition("=")
        if argument == "--json":
            taken["json"] = True
        elif argument == "--no-report":
            taken["no_report"] = True
        elif name == "--runs":
            folder = value if separator else next(rest, "")
            if not folder:
                raise InputError("--runs: name the folder where runs are kept")
            taken["runs"] = Path(folder)
        else:
            tool.append(argument)
    return ClassicArguments(tool=tuple(tool), **taken)


def check_room(directory: Path, *, reserve_bytes: int, needed_bytes: int, needed_inodes: int) -> None:
    """Refuse a load that makes more than its file system holds: it would write until nothing is left for others.

    Raises:
        InputError: the bytes with the reserve, or the files and directories, do not fit.
    """
    from assay.host.storage import storage_path
    from assay.units import format_bytes

    storage = storage_path(directory)
    if needed_bytes and needed_bytes + reserve_bytes > storage.free_bytes:
        raise InputError(
            f"{format_bytes(needed_bytes)} do not fit: {format_bytes(storage.free_bytes)} are free on the file system of"
            f" {directory}, of which {format_bytes(reserve_bytes)} stay free. Use fewer or smaller files"
        )
    if storage.free_inodes is not None and needed_inodes > storage.free_inodes:
        raise InputError(
            f"{needed_inodes} files and directories do not fit: the file system of {directory} has room for"
            f" {storage.free_inodes} more (df -i). Use fewer"
        )
