"""Make a command when it is looked at: to read the options of all of them takes longer than most commands do."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from assay.cli.light_command import LightCommand

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_values

Function = Callable[..., None]


class LazyCommands(dict[str, Any]):
    """The commands by name, each made of its function when it is first asked for."""

    def __init__(self, functions: Mapping[str, tuple[str, Function]]) -> None:
        """Take the functions by the names of their commands, each with what it is for."""
        super().__init__(dict.fromkeys(functions))
        self._functions = functions

    def __getitem__(self, name: str) -> Any:
        """Give the command of a name; raises KeyError where there is none."""
        made = super().__getitem__(name)
        if made is None:
            made = self[name] = _command(name, *self._functions[name])
        return made

    def get(self, name: str, default: Any = None) -> Any:
        """Give the command of a name, or `default`."""
        return self[name] if name in self else default  # noqa: SIM401 - this is what it would call

    def values(self) -> "dict_values[str, Any]":
        """Make all of them."""
        return {name: self[name] for name in self}.values()

    def items(self) -> "dict_items[str, Any]":
        """Make all of them, with their names."""
        return {name: self[name] for name in self}.items()


def name_of(function: Function) -> str:
    """Name the command of a function; one that would have a name of Python's has an underscore at its end."""
    return function.__name__.rstrip("_")


def _command(name: str, group: str, function: Function) -> Any:
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name, cls=LightCommand, rich_help_panel=group)(function)
    return typer.main.get_command(alone)
