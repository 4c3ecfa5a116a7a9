"""Commands that read their words without pydantic.

Typer reads every option by a model of pydantic's, also one that is not given, and loading that takes longer than all else
that `assay ls` does. Words and paths need no model; what is a number or one of a few words still has typer's.
"""

from pathlib import Path
from typing import Any

from typer.core import TyperCommand

_Context = Any
"""Typer keeps these types to itself."""


def false_by_default(flag: Any) -> Any:
    """Let a flag that is not given be False: of None typer makes it with pydantic."""
    flag.default = False
    return flag


class _Words:
    """Takes words as they are, and paths as paths."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def coerce(self, value: Any, param: Any, ctx: _Context) -> Any:  # noqa: ARG002 - what typer gives
        """Give the value of an option or argument; of several words a list, as typer does."""
        if param.multiple or param.nargs == -1:
            return [] if value is None else [self._kind(word) for word in value]
        return None if value is None else self._kind(value)


_READER = "_runtime_param"
"""Attribute in which typer keeps what reads a parameter; were it called otherwise, typer would make its own."""
_KINDS = {str: str, Path: Path, list[str]: str}


class LightCommand(TyperCommand):
    """A command of which words cost nothing to read."""

    def get_help_option(self, ctx: _Context) -> Any:
        """Give `--help`."""
        return false_by_default(super().get_help_option(ctx))

    def parse_args(self, ctx: _Context, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        for parameter in self.params:
            described = getattr(parameter, "type_descriptor", None)
            if described is not None and described.annotation in _KINDS:
                setattr(parameter, _READER, _Words(_KINDS[described.annotation]))
        rest: list[str] = super().parse_args(ctx, args)
        return rest
