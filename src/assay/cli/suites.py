"""`assay suites`: list the defined loads, or show one."""

import enum
from typing import Annotated

import typer

from assay.cli.pipes import echo


class What(enum.StrEnum):
    """What is wanted."""

    LIST = "list"
    SHOW = "show"


def suites(
    what: Annotated[What, typer.Argument(metavar="list|show", help="List all loads, or show one.")] = What.LIST,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of the load to show, or a load file.")
    ] = None,
) -> None:
    """List the loads for `assay run NAME DIR`, yours included, or show one."""
    from assay.errors import InputError

    if (what is What.SHOW) != (name is not None):
        raise InputError(
            "name the load: assay suites show NAME" if name is None else "'assay suites' alone lists them all"
        )
    if name is None:
        _list()
    else:
        _show(name)


def _list() -> None:
    from assay.errors import InputError
    from assay.loads import own_suites
    from assay.loads import suites as loads
    from assay.outward import one_line

    own = own_suites.names()
    width = max(map(len, (*loads.names(), *own, *loads.examples())))
    for heading, names in (("suites", loads.names()), ("examples", loads.examples())):
        echo(f"{heading}, for `assay run NAME DIR`:")
        for name in names:
            echo(f"  {name:<{width}}  {loads.description(name)}")
    shipped = {*loads.names(), *loads.examples()}
    at = own_suites.folder()
    if own:
        echo(f"yours, in {one_line(str(at))}:")
    for name in own:
        try:
            text = (
                f"the name of one that comes with Assay: run it by its path, {at / f'{name}.toml'}"
                if at and name in shipped
                else loads.description(name)
            )
        except InputError as error:
            text = f"not taken: {error}"
        echo(f"  {one_line(name):<{width}}  {one_line(text)}")
    if at and (why := own_suites.refusal(at, is_folder=True)):
        echo(f"assay: your suites are left out: {one_line(why)}", err=True)


def _show(name: str) -> None:
    from assay.loads import native
    from assay.loads import suites as loads
    from assay.outward import one_line

    text, source = loads.read(name)
    words = native.describe(text, source)
    pairs = [
        ("suite", one_line(words.description)),
        ("answers", one_line(words.answers)),
        ("void if", one_line(words.void_if)),
    ]
    if words.parameters:
        given = ", ".join(f"{key} = {value}" for key, value in words.parameters.items())
        pairs.append(("set", one_line(given)))
    if words.scale:
        least = ", ".join(f"{key} (at least {value})" for key, value in words.scale.items())
        pairs.append(("scale", one_line(least)))
    for key, value in pairs:
        if value:
            echo(f"{key + ':':<9} {value}")
    echo("")
    echo(text.rstrip("\n"))
