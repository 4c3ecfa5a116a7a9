"""Replace the `${name}` of a load file by values.

The table `[parameters]` declares names with default values; the caller's settings replace them. Three names need no
declaration, because the caller always can work them out: `size`, `files` and `phase_seconds`. The table `[scale]` names
which of them `--scale` makes larger or smaller (scaling.py).
"""

import difflib
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.errors import FrontEndError, InputError
from assay.loads.locate import Lines
from assay.loads.placeholders import REFERENCE, Scalar, find_references, replace_references
from assay.loads.text_bounds import WORD_CHARACTERS
from assay.units import parse_bytes, parse_seconds, spell_out

PHASE_SECONDS = "phase_seconds"
SIZE = "size"
BUILT_IN = (SIZE, "files", PHASE_SECONDS)
"""Bytes of the data set, files of a metadata set, seconds of a timed phase."""

_OF_PARAMETERS = ("parameters", "scale")


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A value that the caller may set."""

    name: str
    default: Scalar | None
    """None: the caller must give it (a built-in name that the file uses without declaring it)."""


def declared(document: Mapping[str, Any], source: str, lines: Lines) -> dict[str, Parameter]:
    """List what a load file declares, and the built-in names that it uses."""
    table = document.get("parameters", {})
    if not isinstance(table, dict):
        raise FrontEndError(source, lines.line_of(("parameters",)), "parameters: a table is wanted")
    found = {name: Parameter(name=name, default=_scalar(table[name], name, source, lines)) for name in table}
    for name, path in find_references(_body(document)):
        if name in found:
            continue
        if name not in BUILT_IN:
            known = [*found, *(built_in for built_in in BUILT_IN if built_in not in found)]
            raise FrontEndError(source, lines.line_of(path), f"no parameter '{name}'; {_cure(name, known)}")
        found[name] = Parameter(name=name, default=None)
    return found


def substitute(document: Mapping[str, Any], settings: Mapping[str, str], source: str, lines: Lines) -> dict[str, Any]:
    """Put values for all `${name}` of a document; `parameters` itself is left out of the result.

    Raises:
        FrontEndError: a reference or a setting that names no parameter, or a parameter without a value.
    """
    known = declared(document, source, lines)
    for name in settings:
        if name not in known:
            option = {"size": "--size", PHASE_SECONDS: "--time"}.get(name, f"--set {name}")
            raise FrontEndError(source, None, f"{option}: the load has no parameter '{name}'; {_cure(name, known)}")
    values: dict[str, Scalar] = {}
    for name, parameter in known.items():
        if name in settings:
            values[name] = _typed(_in_full(settings[name], parameter), parameter.default)
        elif parameter.default is not None:
            values[name] = parameter.default
        else:
            cure = f"give it with --set {name}=..., or declare a default under [parameters]"
            place = next(path for found, path in find_references(_body(document)) if found == name)
            raise FrontEndError(source, lines.line_of(place), f"parameter '{name}' has no value; {cure}")
    replaced: dict[str, Any] = replace_references(_body(document), values, is_last=True)
    return replaced


def changed_parameters(
    document: Mapping[str, Any], settings: Mapping[str, str], source: str, lines: Lines
) -> tuple[str, ...]:
    """Name the parameters that are set to another value than their default: `phase_seconds = 1s (1min)`."""
    known = declared(document, source, lines)
    return tuple(
        f"{name} = {value} ({default})"
        for name, value in settings.items()
        if name in known and (default := known[name].default) is not None and _quantity(value) != _quantity(default)
    )


def _quantity(value: Scalar) -> object:
    """Give a size or a time as a number, so that two spellings of one are equal."""
    for parse in (parse_bytes, parse_seconds):
        try:
            return parse(str(value))
        except InputError:
            continue
    return str(value)


def references(value: object) -> set[str]:
    """Names that `${...}` anywhere inside a value refers to."""
    return {name for name, _ in find_references(value)}


def _body(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in _OF_PARAMETERS}


def _scalar(value: object, name: str, source: str, lines: Lines) -> Scalar:
    line = lines.line_of(("parameters", name))
    if not isinstance(value, str | int | float | bool):
        raise FrontEndError(source, line, f"parameters.{name}: a text, a number, true or false is wanted")
    if isinstance(value, str) and REFERENCE.search(value):
        raise FrontEndError(source, line, f"parameters.{name}: a default cannot refer to another parameter")
    return value


def _typed(setting: str, default: Scalar | None) -> Scalar:
    """Give a setting the type of the default that it replaces, where it can be read so.

    Where it cannot, the text is kept: the place of use reports what it needs (`--set block=8KiB` replaces 4096).
    """
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(setting, setting)
    if isinstance(default, str) or len(setting) > WORD_CHARACTERS:
        return setting
    for kind in (int, float):
        try:
            return kind(setting)
        except ValueError:
            continue
    return setting


def _in_full(setting: str, parameter: Parameter) -> str:
    """Give the setting of a size its unit in full, so that titles show what `256M` means."""
    default = "0B" if parameter.name == SIZE and parameter.default is None else parameter.default
    if not isinstance(default, str):
        return setting
    try:
        parse_bytes(default)
    except InputError:
        return setting
    return spell_out(setting)


def _cure(name: str, known: Mapping[str, object] | list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known here: {', '.join(known) or 'none'}"


def format_phase_seconds(seconds: float) -> str:
    """A duration as load files write it, to the millisecond."""
    return f"{max(seconds, 0.001):.3f}s"
