"""Refuse a load of a campaign that does more than measure its cell, before a file system is made for it.

Of tools the campaign's file was looked at with their own words (`load_words.py`); these are Assay's own commands.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.campaign.campaign_file import Campaign

_OF_FILE = ("set_", "time", "size", "repeat", "scale", "target")
"""Options of `run` that its Plan depends on."""


def check_cells(campaign: "Campaign", root: Any) -> None:
    """Raise InputError for such a load.

    Args:
        campaign: Whose loads they are.
        root: Context of the whole program, which reads the words as it does when they are executed.
    """
    from typer.exceptions import TyperException

    from assay.campaign.campaign_file import DIRECTORY, INPUT
    from assay.campaign.one_measurement import words_for
    from assay.errors import AssayError, InputError
    from assay.own_files import scratch_folder
    from assay.tools.registry import TOOLS

    for load in campaign.loads:
        if load.words[0] in TOOLS:
            continue
        with scratch_folder() as folder:
            cell, written = folder / "cell", folder / "input"
            cell.mkdir()
            written.write_text(load.input.replace(DIRECTORY, str(cell)), encoding="utf-8")
            try:
                _check(words_for(load, cell, written), cell, root)
            except (AssayError, TyperException) as error:
                text = str(error).replace(str(cell), DIRECTORY).replace(str(written), INPUT)
                raise InputError(f"load '{load.name}': {text}") from error


def _check(words: list[str], cell: Path, root: Any) -> None:
    from assay.cli.options import check_commands
    from assay.cli.run import plan_of_file
    from assay.confinement import check_inside
    from assay.errors import InputError
    from assay.loads import suites
    from assay.targets import directories

    name, *rest = words
    if {"-h", "--help", "--as-toml"} & set(rest):
        raise InputError("these words measure nothing")
    given = root.command.get_command(root, name).make_context(name, rest, parent=root).params
    check_inside(given["directory"], cell)
    if name == "run":
        text, source = suites.read(given["load"])
        plan = plan_of_file(text, source, given["directory"], **{option: given.get(option) for option in _OF_FILE})
        found = directories(plan)
        if len(found) < len(plan.targets):
            raise InputError("what is no directory is measured; a campaign measures its own device alone")
        for directory in found.values():
            check_inside(str(directory), cell)
        check_commands(plan, are_allowed=False)
