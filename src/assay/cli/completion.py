"""`assay completion SHELL`: the script that lets a shell complete commands and options."""

import enum
import os
from typing import Annotated

import typer

from assay.cli.pipes import say

ASKED = "_ASSAY_COMPLETE"
"""Variable by which a shell asks."""


class Shell(enum.StrEnum):
    """Shells that can."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]) -> None:
    """Print a script that completes commands and options in your shell: eval "$(assay completion bash)"."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined] # it is public, and not in __all__

    say(get_completion_script(prog_name="assay", complete_var=ASKED, shell=shell.value))


def be_ready() -> None:
    """Let the program answer a shell that asks it what may follow."""
    if ASKED in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined] # as above

        completion_init()
