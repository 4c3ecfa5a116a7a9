"""Read the arguments of commands without pydantic.

Typer reads every option through a pydantic model, also one that is not given, and loading pydantic takes longer than all
else that `assay ls` does. Texts, paths, defaults, plain numbers in range and choices need no model. Typer reads the rest,
and words the errors.
"""

import re
from pathlib import Path
from typing import Any, get_args

from typer.core import TyperCommand

_Context = Any
"""Typer keeps these types to itself."""


def false_by_default(flag: Any) -> Any:
    """Set a flag that is not given to False: typer converts None with pydantic."""
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


class _Plain:
    """Takes a default, a plain number in range, or one of a few words, as it is; leaves anything else to typer."""

    def coerce(self, value: Any, param: Any, ctx: _Context) -> Any:
        """Give the value of an option or argument."""
        kind = param.type_descriptor.annotation
        if value is None or value in get_args(kind) or (isinstance(kind, type) and isinstance(value, kind)):
            return value
        if kind in _NUMBERS and _NUMBERS[kind].fullmatch(value):
            number = kind(value)
            if (param.min is None or number >= param.min) and (param.max is None or number <= param.max):
                return number
        setattr(param, _READER, None)
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


_READER = "_runtime_param"
"""Attribute in which typer keeps what reads a parameter; were it called otherwise, typer would make its own."""
_KINDS = {str: str, Path: Path, list[str]: str}
_NUMBERS = {int: re.compile(r"[0-9]{1,9}"), float: re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")}


class LightCommand(TyperCommand):
    """A command of which words cost nothing to read."""

    def get_help_option(self, ctx: _Context) -> Any:
        """Give `--help`."""
        return false_by_default(super().get_help_option(ctx))

    def parse_args(self, ctx: _Context, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        for parameter in self.params:
            described = getattr(parameter, "type_descriptor", None)
            if described is None:
                continue
            if described.annotation in _KINDS:
                setattr(parameter, _READER, _Words(_KINDS[described.annotation]))
            elif not parameter.multiple and parameter.nargs == 1:
                setattr(parameter, _READER, _Plain())
        rest: list[str] = super().parse_args(ctx, args)
        return rest
