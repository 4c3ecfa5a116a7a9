"""`assay completion SHELL`: print the script that completes commands and options."""

import enum
import os
from typing import Annotated

import typer

from assay.cli.pipes import echo

ASKED = "_ASSAY_COMPLETE"
"""Variable by which a shell asks."""


class Shell(enum.StrEnum):
    """Shells that can."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]) -> None:
    """Print a completion script for your shell: eval "$(assay completion bash)"."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined] # it is public, and not in __all__

    echo(get_completion_script(prog_name="assay", complete_var=ASKED, shell=shell.value))


def be_ready() -> None:
    """Answer completion requests of a shell."""
    if ASKED in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined] # as above

        completion_init()
