"""Evaluate attributes and variables.

A variable is looked up when its value is needed, which is at the run: a `set` behind the definition that uses the variable
counts, as in Filebench. Only `set` itself works its right side out at once.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Final, NoReturn

from assay import plan
from assay.errors import FrontEndError
from assay.tools.arguments import cut
from assay.tools.filebench.personality import Value
from assay.tools.filebench.randoms import DEFAULT_GAMMA, RandVar, of_cvar, of_randvar
from assay.tools.filebench.statements import (
    Arithmetic,
    Attribute,
    Attributes,
    Expression,
    Number,
    Quoted,
    Random,
    Scalar,
    ShareTable,
    Variable,
    unescape,
)

_BOOLEANS: Final = {"true": True, "false": False}
_MOST: Final = 1 << 62
_DEEPEST: Final = 40
_IN_TEXT = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


@dataclasses.dataclass
class Scope:
    """Variables, and inside a composite flowop its own, which hide the others."""

    source: str
    globals: dict[str, Value]
    own: Mapping[str, "tuple[Scalar | ShareTable | None, Scope]"] = dataclasses.field(default_factory=dict)
    """By name: their value, and the scope of its variables."""

    def refuse(self, line: int, text: str) -> NoReturn:
        """Raise FrontEndError with file and line."""
        raise FrontEndError(self.source, line, text)

    # -- values --------------------------------------------------------------------------------------------------------

    def value(self, scalar: Scalar | ShareTable | None, depth: int = 0) -> Value:
        """Give the evaluated value; a word without one is true."""
        match scalar:
            case None:
                return True
            case Number():
                return scalar.value
            case Quoted():
                return unescape(self._fill(scalar))
            case Variable():
                return self._variable(scalar, depth)
            case ShareTable():
                self.refuse(scalar.line, "syntax error near '{': a table goes with randtable")
            case _:
                pass
        return _BOOLEANS.get(scalar.text, scalar.text)

    def _variable(self, variable: Variable, depth: int) -> Value:
        if variable.name in self.own:
            if depth > _DEEPEST:
                self.refuse(
                    variable.line, f"near '${cut(variable.name)}': the variables refer to one another in a circle"
                )
            replacement, where = self.own[variable.name]
            return where.value(replacement, depth + 1)
        if variable.name not in self.globals:
            known = sorted({*self.globals, *self.own})
            there = ", ".join(f"${name}" for name in known[:20]) or "none"
            self.refuse(variable.line, f"near '${cut(variable.name)}': nothing sets this variable; set are {there}")
        return self.globals[variable.name]

    def _fill(self, text: Quoted) -> str:
        return _IN_TEXT.sub(lambda found: str(self._in_text(found, text.line)), text.text)

    def _in_text(self, found: "re.Match[str]", line: int) -> str:
        # A name without a variable stays as it is: it may be meant for the shell.
        if found[1] not in self.globals and found[1] not in self.own:
            return found[0]
        value = self._variable(Variable(found[1], line), 0)
        return (
            str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | str) else found[0]
        )

    def expression(self, node: Expression) -> Value:
        """Work out the right side of a `set`."""
        if not isinstance(node, Arithmetic):
            return self.value(node)
        left, right = self._operand(node.left, node.line), self._operand(node.right, node.line)
        if node.sign == "/" and right == 0:
            self.refuse(node.line, "near '/': this divides by 0")
        result = {
            "+": left + right,
            "-": left - right,
            "*": left * right,
            "/": left // right if right else 0,
        }[node.sign[0]]
        if abs(result) > _MOST:
            self.refuse(node.line, f"near '{node.sign}': the result is above 2^62")
        return result

    def _operand(self, node: Expression, line: int) -> int:
        value = self.expression(node)
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(line, "an expression is made of whole numbers")
        return value

    # -- attributes ----------------------------------------------------------------------------------------------------

    def number(self, attribute: Attribute, least: int = 0, most: int = _MOST) -> int:
        """Read a whole number."""
        value = self.value(attribute.value)
        if isinstance(value, plan.Fixed):
            value = int(value.value)
        if isinstance(value, plan.Distribution):
            self.refuse(
                attribute.line, f"near '{attribute.name}': a random variable is not allowed here, only a number"
            )
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(attribute.line, f"near '{attribute.name}={self.shown(value)}': it is a whole number")
        if not least <= value <= most:
            self.refuse(attribute.line, f"near '{attribute.name}={value}': it lies between {least} and {most}")
        return value

    def boolean(self, attribute: Attribute) -> bool:
        """Read true or false; a number is true unless it is 0."""
        value = self.value(attribute.value)
        if not isinstance(value, bool | int):
            self.refuse(attribute.line, f"near '{attribute.name}={self.shown(value)}': it is true or false")
        return bool(value)

    def drawn(self, attribute: Attribute) -> plan.Distribution:
        """A number, or what a random variable draws."""
        value = self.value(attribute.value)
        if isinstance(value, plan.Distribution):
            return value
        return plan.Fixed(value=float(self.number(attribute)))

    def text(self, attribute: Attribute) -> str:
        """A name or a path."""
        value = self.value(attribute.value)
        if attribute.value is None or not isinstance(value, str | int) or isinstance(value, bool):
            self.refuse(attribute.line, f"near '{attribute.name}': it is a name")
        text = str(value)
        if not text or not text.isprintable():
            self.refuse(attribute.line, f"near '{attribute.name}': it is a name without control characters, not empty")
        if len(text) > 200:
            self.refuse(attribute.line, f"near '{attribute.name}={cut(text)}': a name has at most 200 characters")
        return text

    def percent(self, attribute: Attribute) -> float:
        """A share in per cent; true is all."""
        value = self.value(attribute.value)
        if isinstance(value, bool):
            return float(value)
        return self.number(attribute, 0, 100) / 100

    def shown(self, value: Value) -> str:
        """Write a value so that a message can hold it."""
        if isinstance(value, bool):
            return str(value).lower()
        return cut(str(value)) if isinstance(value, int | str) else "a random variable"

    # -- random variables ----------------------------------------------------------------------------------------------

    def random(self, node: Random) -> plan.Distribution:
        """Make a random variable."""
        by_name = by_name_of(node.attributes)
        known = _RANDVAR if node.kind == "randvar" else _CVAR
        self.check_names(by_name, known, node.kind)
        try:
            return self._randvar(by_name) if node.kind == "randvar" else self._cvar(node, by_name)
        except ValueError as error:
            self.refuse(node.line, f"near '{node.kind}': {error}")
        except OverflowError:
            self.refuse(node.line, f"near '{node.kind}': its numbers are too large to draw from")

    def _randvar(self, by_name: Mapping[str, Attribute]) -> plan.Distribution:
        kind = self.text(by_name["type"]) if "type" in by_name else "gamma"
        if kind not in {"gamma", "uniform", "tabular"}:
            self.refuse(by_name["type"].line, f"near 'type={cut(kind)}': a randvar is gamma, uniform or tabular")

        def number(name: str, default: int = 0) -> int:
            return self.number(by_name[name]) if name in by_name else default

        table = by_name["randtable"].value if "randtable" in by_name else None
        rows: tuple[tuple[float, float, float], ...] = ()
        if isinstance(table, ShareTable):
            rows = tuple(
                tuple(float(self.number(Attribute("randtable", cell, cell.line))) for cell in row)  # type: ignore[misc]
                for row in table.rows
            )
        elif "randtable" in by_name:
            self.refuse(by_name["randtable"].line, "near 'randtable': it is {{share, from, to}, ...}")
        return of_randvar(
            RandVar(
                kind=kind,
                mean=number("mean") if "mean" in by_name else None,
                min=number("min"),
                round=number("round"),
                gamma=number("gamma", DEFAULT_GAMMA),
                table=rows,
            )
        )

    def _cvar(self, node: Random, by_name: Mapping[str, Attribute]) -> plan.Distribution:
        if "type" not in by_name:
            self.refuse(node.line, "near 'cvar': it has a type, such as type=cvar-gamma")
        bounds = {name: float(self.number(by_name[name])) for name in ("min", "max", "round") if name in by_name}
        return of_cvar(
            self.text(by_name["type"]),
            self.text(by_name["parameters"]) if "parameters" in by_name else "",
            bounds.get("min"),
            bounds.get("max"),
            bounds.get("round", 0),
        )

    def check_names(self, by_name: Mapping[str, Attribute], known: "frozenset[str]", what: str) -> None:
        """Refuse attributes that nothing has."""
        for name, attribute in by_name.items():
            if name not in known:
                self.refuse(
                    attribute.line,
                    f"syntax error near '{cut(name)}': {what} has no such attribute; it has {', '.join(sorted(known))}",
                )


_RANDVAR = frozenset({"type", "mean", "min", "round", "gamma", "seed", "randsrc", "randtable"})
_CVAR = frozenset({"type", "parameters", "min", "max", "round"})


def by_name_of(attributes: Attributes) -> dict[str, Attribute]:
    """Give the attributes by name; of several of one name the last."""
    return {("$" if attribute.is_local else "") + attribute.name: attribute for attribute in attributes}


def setting(text: str) -> Value:
    """Read the value of `--set NAME=VALUE` as a script writes it."""
    found = re.fullmatch(r"([0-9]{1,19})([kmg]?)", text, re.ASCII)
    if found:
        return min(int(found[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[found[2]], math.floor(_MOST))
    return _BOOLEANS.get(text, text)
