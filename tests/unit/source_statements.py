"""Statements of Python, without the expressions in them, which are nine of ten nodes of a syntax tree."""

import ast
from collections.abc import Iterator

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""What a statement keeps other statements in."""


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Give every statement below a module, class, function or other statement."""
    for block in _BLOCKS:
        for one in getattr(tree, block, ()):
            yield one
            yield from statements(one)
