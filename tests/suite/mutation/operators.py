"""The changes that make a mutant: Cosmic Ray's, and one for floats.

Cosmic Ray adds 1 to a number or subtracts 1: a share of 0.95 becomes 1.95, which nearly any test notices. `MoveFloat` makes
it a quarter larger or a fifth smaller instead. Changes that any test notices, or none can, are left out: arithmetic does not
become a bit operation, which floats do not have, and equality does not become identity.
"""

from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray import plugins
from cosmic_ray.ast import is_number
from cosmic_ray.operators.operator import Operator

FACTORS = (0.8, 1.25)
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"})
_BINARY = frozenset({"arith_expr", "term", "power", "shift_expr", "and_expr", "xor_expr", "expr"})
"""Nodes of parso whose children are joined by binary operators."""
_IDENTITY = frozenset({"Is", "IsNot"})


class MoveFloat(Operator):  # type: ignore[misc]
    """Multiplies a float by each of `FACTORS`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Give the place of a float, once for each factor."""
        if is_number(node) and _is_moved(node.value):
            for _ in FACTORS:
                yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Give the node with the moved float."""
        moved = float(node.value) * FACTORS[index]
        return parso.python.tree.Number(f"{moved:.10g}", node.start_pos, prefix=node.prefix)

    @classmethod
    def examples(cls) -> tuple[()]:
        """Give nothing: the tests of this repository are elsewhere."""
        return ()


plugins.OPERATOR_PROVIDERS["assay"] = {"MoveFloat": MoveFloat}


def operators() -> Iterator[tuple[str, Operator]]:
    """Give each operator with its name."""
    for name in plugins.operator_names():
        kind = plugins.get_operator(name)
        if not kind.arguments() and _is_of_use(name):
            yield name, kind()


def makes_sense(name: str, node: Any) -> bool:
    """Whether an operator is applied to a node: floats are moved, and a `*` of arguments is no arithmetic."""
    if name == "core/NumberReplacer":
        return not _is_moved(node.value)
    if name.startswith("core/ReplaceBinaryOperator"):
        return node.parent is not None and node.parent.type in _BINARY
    return True


def _is_of_use(name: str) -> bool:
    family, *change = name.split("_")
    if family == "core/ReplaceBinaryOperator":
        return (change[0] in _ARITHMETIC) == (change[1] in _ARITHMETIC)
    if family == "core/ReplaceComparisonOperator":
        return (change[0] in _IDENTITY) == (change[1] in _IDENTITY)
    return True


def _is_moved(literal: str) -> bool:
    return not literal.lower().startswith("0x") and any(sign in literal for sign in ".eE") and float(literal) != 0
