"""Compute the parameters of a load for `--scale F`.

The table `[scale]` of a load file names them, each with the least that it becomes: `size = "64MiB"`. A parameter of it that
the caller does not set himself is its default times F, rounded down (sizes to whole MiB, below one to whole KiB; times to
whole milliseconds; counts to whole numbers), and never below that least. What is not named there stays as it is.
"""

import math
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

from assay.errors import FrontEndError, InputError
from assay.loads.locate import Lines
from assay.loads.parameters import Parameter, declared
from assay.loads.placeholders import Scalar
from assay.units import KIB, MIB, parse_bytes, parse_seconds

LEAST, MOST = 1e-6, 1e6
"""What a scale lies between."""
_MS = 1000


def check_scale(document: Mapping[str, Any], source: str, lines: Lines) -> dict[str, Scalar]:
    """Give the least of each parameter that scales, as in `[scale]`.

    Raises:
        FrontEndError: a name without a default, or a least that is none or lies above the default.
    """
    table = document.get("scale", {})
    if not isinstance(table, dict):
        raise FrontEndError(source, lines.line_of(("scale",)), "scale: a table is wanted")
    known = declared(document, source, lines)
    for name, least in table.items():
        line = lines.line_of(("scale", name))
        parameter = known.get(name, Parameter(name=name, default=None))
        if parameter.default is None:
            raise FrontEndError(source, line, f"scale.{name}: [parameters] gives '{name}' no default to scale")
        if isinstance(least, bool) or not isinstance(least, str | int | float):
            raise FrontEndError(
                source, line, f"scale.{name}: the least that it becomes is wanted: a size, a time or a count"
            )
        try:
            smallest, default = _quantity(least), _quantity(parameter.default)
        except InputError as error:
            raise FrontEndError(source, line, f"scale.{name}: {error}") from error
        if smallest[1] != default[1] or smallest[0] > default[0]:
            why = "lies above" if smallest[1] == default[1] else "is of another kind than"
            raise FrontEndError(source, line, f"scale.{name}: {least} {why} the default, {parameter.default}")
    return dict(table)


def scaled(
    document: Mapping[str, Any], source: str, lines: Lines, factor: float, *, given: Collection[str]
) -> dict[str, str]:
    """Work out the parameters that scale, as text.

    Args:
        document: The load file.
        source: Its name, for messages.
        lines: Where in it what is.
        factor: What defaults are multiplied by.
        given: Names that the caller sets himself; they are left out.

    Raises:
        InputError: a factor beyond its limits.
        FrontEndError: the load scales nothing, or its table is wrong.
    """
    if not LEAST <= factor <= MOST:
        raise InputError(f"--scale {factor:g} is out of range: {LEAST:g} to {MOST:g}")
    least = check_scale(document, source, lines)
    if not least:
        cure = "give its parameters by --set, --size and --time, or name in a table [scale] those that scale"
        raise FrontEndError(source, None, f"--scale has nothing to scale: the load has no table [scale]; {cure}")
    known = declared(document, source, lines)
    defaults = {name: known[name].default for name in least}
    return {name: _times(value, least[name], factor) for name, value in defaults.items() if value and name not in given}


def _times(default: Scalar, least: Scalar, factor: float) -> str:
    (value, unit), (smallest, _) = _quantity(default), _quantity(least)
    # 0.3 is three tenths, as it was written.
    wanted = max(value * Fraction(repr(factor)), smallest)
    if unit == "s":
        return f"{int(wanted * _MS) / _MS:g}s"
    if unit == "B":
        steps = ((MIB, "MiB"), (KIB, "KiB"), (1, "B"))
        size, name = next((step, name) for step, name in steps if wanted >= step or step == 1)
        return f"{int(wanted // size)}{name}"
    return str(max(int(wanted), 1))


def _quantity(value: Scalar) -> tuple[Fraction, str]:
    """Read a size (B), a time (s) or a count; raises InputError for what is none."""
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"'{value}' is no size, time or count")
    if not isinstance(value, str):
        return Fraction(value), ""
    try:
        return Fraction(parse_bytes(value)), "B"
    except InputError:
        try:
            return Fraction(parse_seconds(value)), "s"
        except InputError:
            raise InputError(f"'{value}' is no size, time or count") from None
