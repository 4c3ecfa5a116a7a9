"""Numbers and words of the command line are read as typer reads them, with and without its models."""

import enum
from typing import Annotated, Literal

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from assay.cli.light_command import LightCommand


class Kind(enum.StrEnum):
    """One of a few words."""

    LIST = "list"
    SHOW = "show"


def _command(
    kind: Annotated[Kind, typer.Argument()] = Kind.LIST,
    count: Annotated[int, typer.Option(min=1, max=1000)] = 1,
    scale: Annotated[float | None, typer.Option(min=0.01)] = None,
    picture: Annotated[Literal["png", "svg"], typer.Option()] = "png",
    flag: Annotated[bool, typer.Option("--flag")] = False,
) -> None:
    typer.echo(repr((kind, count, scale, picture, flag)))


def _read(words: list[str], cls: type[TyperCommand]) -> tuple[int, str]:
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(cls=cls)(_command)
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--flag"],
        ["show"],
        ["SHOW"],
        ["nonsense"],
        *(
            ["--count", word]
            for word in ("1", "1000", "007", "0", "1001", "-1", "+2", "1_0", "2.0", "2.5", "x", "٣", "")
        ),
        *(["--count", "9" * length] for length in (3, 9, 10, 30)),
        *(["--scale", word] for word in ("1", "0.01", "0.001", "1e3", "nan", "inf", "-1", ".5", "5.", "x", "")),
        *(["--picture", word] for word in ("png", "svg", "PNG", "gif", "")),
    ],
    ids=" ".join,
)
def test_words_are_read_and_refused_as_typer_does(words: list[str]) -> None:
    assert _read(words, LightCommand) == _read(words, TyperCommand)
