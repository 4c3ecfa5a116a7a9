"""A stage imports only from its left: front ends, Plan, run, bundle, analysis, reports."""

import ast
from collections.abc import Iterator
from pathlib import Path

import assay

SOURCE = Path(assay.__file__).parent

BASE = {"assay", "errors", "events", "plan", "results", "tags", "units"}
"""The seams and what they are made of."""

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "tags": set(),
    "units": {"errors"},
    "xdg": set(),
    "plan": {"errors", "plan", "tags"},
    "events": {"tags"},
    "results": set(),
    "targets": {"errors", "plan", "units"},
    "loads": {"errors", "loads", "plan", "targets", "units"},
    "host": {"errors", "host"},
    "doctor": {"doctor", "events", "host", "targets"},
    "bundle": {"assay", "bundle", "errors", "events", "host", "plan", "xdg"},
    "running": {
        "analysis",
        "assay",
        "bundle",
        "errors",
        "events",
        "host",
        "live",
        "loads",
        "plan",
        "report",
        "results",
        "running",
        "targets",
        "tools",
        "units",
    },
    "analysis": BASE | {"analysis", "host"},
    "tools": BASE | {"analysis", "report", "targets", "tools"},
    "report": BASE | {"analysis", "doctor", "host", "report", "xdg"},
    "live": {"events", "live", "plan", "units"},
}
"""What each part of `assay` may import. The commands (`cli`) put the parts together and may import all."""


def imports() -> Iterator[tuple[str, str, str]]:
    """Importing part, imported part and the place of every import inside `assay`."""
    for file in sorted(SOURCE.rglob("*.py")):
        part = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{file}:{node.lineno}: imports are absolute here"
                names = [f"assay.{name.name}" for name in node.names] if node.module == "assay" else [str(node.module)]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            else:
                continue
            for name in names:
                top, _, below = name.partition(".")
                if top == "assay":
                    yield part, _part_of(below), f"{file.relative_to(SOURCE)}:{node.lineno}"


def _part_of(below: str) -> str:
    """Name the part that a dotted name below `assay` lies in; `assay` for what the package itself defines."""
    part = below.partition(".")[0]
    return part if part and ((SOURCE / part).is_dir() or (SOURCE / f"{part}.py").is_file()) else "assay"


def test_every_part_imports_only_what_stands_to_its_left() -> None:
    found = [(part, imported, place) for part, imported, place in imports() if part in MAY_IMPORT]

    wrong = [
        f"{place}: {part} imports {imported}" for part, imported, place in found if imported not in MAY_IMPORT[part]
    ]

    assert len(found) > 100
    assert wrong == []


def test_every_part_has_its_place() -> None:
    parts = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}

    assert parts - {"__init__", "__pycache__"} == {*MAY_IMPORT, "cli"}
