"""Every command and option of Assay that a text of the program recommends is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import typer.main

import assay
from assay.cli import app
from assay.tools.registry import TOOLS

SOURCE = Path(assay.__file__).parent
COMMAND = re.compile(r"(?<![\w./-])assay ([a-z][a-z_-]*)([^'`.;:()]*)")
OPTION = re.compile(r"(?<!\S)(--?[a-zA-Z][a-z-]*)")
NO_COMMANDS = frozenset({"and", "command", "itself", "on", "that"})
"""Words that follow the program's name in a sentence."""


def texts() -> Iterator[tuple[str, str]]:
    """Every text in the sources, with its place; what is put in is `{}`."""
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        # The pattern takes an import for a command.
        for node in ast.walk(ast.parse(source)) if COMMAND.search(source.replace("from assay import", "")) else ():
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", "".join(parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node.value


def test_every_command_that_is_recommended_is_there_with_its_options() -> None:
    group = typer.main.get_command(app)
    options = {
        name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for name, command in group.commands.items()  # type: ignore[attr-defined]
    }
    absent, seen = [], set()
    for place, text in texts():
        for found in COMMAND.finditer(text):
            name = found[1]
            if name in NO_COMMANDS or name in TOOLS:
                continue
            seen.add(name)
            if name not in options:
                absent.append(f"{place}: there is no command in '{found[0]}'")
            else:
                absent += [
                    f"{place}: no {o} in '{found[0]}'" for o in OPTION.findall(found[2]) if o not in options[name]
                ]

    assert absent == []
    # Else the pattern would have stopped to find them.
    assert {"measure", "run", "show", "rerun", "clean"} <= seen
