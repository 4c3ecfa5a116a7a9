"""Runs the code cells of a notebook in their order, each as a front end does: the last expression is shown.

`python -m e2e.notebooks FILE` prints what each cell shows as JSON, a line a cell.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any


def code_cells(path: Path) -> list[str]:
    """Give the code of a notebook (nbformat 4)."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(value: Any) -> dict[str, str]:
    """Give what a front end is offered of a value: the names of its kinds, each with the beginning of its text."""
    bundle = value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {"text/plain": repr(value)}
    return {kind: str(text)[:2000] for kind, text in bundle.items()}


def run(path: Path) -> None:
    """Run a notebook and print what its cells show."""
    names: dict[str, Any] = {}
    for cell in code_cells(path):
        tree = ast.parse(cell)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), names)  # noqa: S102 - a notebook of this repository
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)  # noqa: S307 - same
            sys.stdout.write(json.dumps(shown(value)) + "\n")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
