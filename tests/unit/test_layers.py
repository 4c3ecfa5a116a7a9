"""A stage imports only from its left: Plan, run, bundle, analysis, reports, tools; `session` puts them together."""

import ast
import functools
import graphlib
import re
from collections import Counter
from pathlib import Path

import assay
from unit.source_statements import statements

SOURCE = Path(assay.__file__).parent

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "tags": set(),
    "xdg": {"errors"},
    "outputs": {"errors", "own_files"},
    "own_files": {"closing", "errors", "ownership"},
    "closing": set(),
    "ownership": set(),
    "outward": set(),
    "begun": set(),
    "clocks": set(),
    "time_zone": {"errors"},
    "verdicts": set(),
    "results": {"outward", "verdicts"},
    "console": {"outward"},
    "units": {"errors"},
    "input_text": {"errors"},
    "power_meter": {"errors", "input_text"},
    "plan": {"errors", "tags"},
    "events": {"tags"},
    "targets": {"errors", "host", "plan", "units"},
    "devices": {"errors", "host", "own_files"},
    "places": {"devices", "errors", "plan", "targets"},
    "loads": {"errors", "input_text", "own_files", "places", "plan", "targets", "units", "xdg"},
    "host": {"errors"},
    "doctor": {"events", "host", "targets"},
    "live": {"analysis", "claims", "console", "errors", "events", "outputs", "outward", "plan", "results", "units"},
    "config": {"errors", "input_text", "own_files", "units", "xdg"},
    "invariants": {"errors", "input_text", "xdg"},
    "bundle": {
        "assay",
        "clocks",
        "closing",
        "config",
        "errors",
        "events",
        "host",
        "outputs",
        "own_files",
        "ownership",
        "plan",
        "units",
        "xdg",
    },
    "running": {
        "assay",
        "begun",
        "bundle",
        "closing",
        "devices",
        "errors",
        "events",
        "host",
        "own_files",
        "ownership",
        "plan",
        "targets",
        "units",
        "xdg",
    },
    "cluster": {
        "assay",
        "bundle",
        "clocks",
        "closing",
        "devices",
        "errors",
        "events",
        "host",
        "input_text",
        "own_files",
        "ownership",
        "plan",
        "running",
        "targets",
        "units",
        "xdg",
    },
    "claims": {
        "analysis",
        "bundle",
        "compare",
        "errors",
        "host",
        "input_text",
        "loads",
        "outward",
        "plan",
        "results",
        "verdicts",
    },
    "decode": {"errors", "outward", "units", "verdicts"},
    "importing": {"bundle", "decode", "errors", "input_text", "plan"},
    "analysis": {
        "assay",
        "bundle",
        "clocks",
        "decode",
        "errors",
        "events",
        "host",
        "invariants",
        "plan",
        "power_meter",
        "results",
        "time_zone",
        "units",
        "verdicts",
    },
    "captures": {"analysis", "errors", "outward", "time_zone", "units"},
    "sizing": {"analysis", "captures", "errors", "outward", "results", "units"},
    "surveys": {"errors", "input_text", "outward", "running", "units"},
    "workingset": {"errors", "outward", "running", "units"},
    "compare": {"analysis", "errors", "results", "units", "verdicts"},
    "report": {
        "analysis",
        "bundle",
        "captures",
        "claims",
        "compare",
        "console",
        "decode",
        "doctor",
        "errors",
        "events",
        "invariants",
        "outputs",
        "outward",
        "own_files",
        "results",
        "sizing",
        "surveys",
        "units",
        "verdicts",
        "workingset",
        "xdg",
    },
    "notebook": {"analysis", "bundle", "claims", "compare", "errors", "report", "results"},
    "tools": {
        "analysis",
        "assay",
        "errors",
        "events",
        "input_text",
        "outputs",
        "outward",
        "places",
        "plan",
        "report",
        "results",
        "running",
        "targets",
        "units",
    },
    "confinement": {"errors", "plan", "targets"},
    "campaign": {
        "bundle",
        "confinement",
        "devices",
        "errors",
        "host",
        "loads",
        "own_files",
        "results",
        "running",
        "targets",
        "tools",
        "units",
    },
    "__main__": {"start"},
    "start": {"begun", "cli", "errors", "running"},
    "execution": {
        "analysis",
        "bundle",
        "claims",
        "cluster",
        "console",
        "errors",
        "host",
        "live",
        "plan",
        "report",
        "results",
        "running",
        "tools",
        "verdicts",
    },
    "session": {
        "bundle",
        "cluster",
        "confinement",
        "errors",
        "execution",
        "host",
        "invariants",
        "live",
        "loads",
        "plan",
        "running",
        "targets",
        "tools",
        "units",
    },
}
"""What each part of `assay` imports beside itself; `assay` is what the package itself defines. The commands (`cli`) put the
parts together and may import all."""


@functools.cache
def imports() -> tuple[tuple[str, str, str], ...]:
    """Importing module, imported module and the place of every import inside `assay`, also of those in functions."""
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE)
        module = ".".join(("assay", *place.with_suffix("").parts)).removesuffix(".__init__")
        for node in statements(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{file}:{node.lineno}: imports are absolute here"
                names = [f"{node.module}.{name.name}" for name in node.names]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            else:
                continue
            found += [
                (module, _module_of(name), f"{place}:{node.lineno}") for name in names if name.split(".")[0] == "assay"
            ]
    return tuple(found)


def test_imports_are_found_in_every_block() -> None:
    source = """
import a
class C:
    async def f():
        with x as y, z: import b
        while True:
            for _ in y: import c
            else: import d
        try: import e
        except* X: import f
        else: import g
        finally: import h
        match x:
            case [1, *_] if lambda: x:
                if x: pass
                elif y: import i
                else: import j
"""

    found = [node.names[0].name for node in statements(ast.parse(source)) if isinstance(node, ast.Import)]

    assert sorted(found) == list("abcdefghij")


def _module_of(name: str) -> str:
    """Name the module that a dotted name is, or is defined in."""
    path = SOURCE.parent.joinpath(*name.split("."))
    return name if path.is_dir() or path.with_suffix(".py").is_file() else name.rpartition(".")[0]


def _part(module: str) -> str:
    """Name the part that a module belongs to; `assay` for what the package itself defines."""
    return module.split(".")[1] if "." in module else "assay"


def test_every_part_imports_only_what_stands_to_its_left() -> None:
    found = [(_part(module), _part(imported), place) for module, imported, place in imports()]

    wrong = [
        f"{place}: {part} imports {imported}"
        for part, imported, place in found
        if imported not in {*MAY_IMPORT.get(part, {imported}), part}
    ]

    assert len(found) > 100
    assert wrong == []


def test_no_part_may_import_what_it_does_not() -> None:
    used = {(_part(module), _part(imported)) for module, imported, _ in imports()}

    unused = [f"{part}: {may}" for part, all_ in MAY_IMPORT.items() for may in all_ if (part, may) not in used]

    assert unused == []


def test_parts_are_in_an_order_without_circles() -> None:
    graphlib.TopologicalSorter(MAY_IMPORT).prepare()


def test_no_module_needs_itself_by_way_of_others() -> None:
    needs: dict[str, set[str]] = {}
    for module, imported, _ in imports():
        needs.setdefault(module, set()).add(imported)

    graphlib.TopologicalSorter(needs).prepare()  # raises with the circle


NAMED_BY_ANOTHER = ("cli/", "analysis/judgements/", "report/figures/", "tools/*/")
"""Folders whose modules are named after a command, what is judged or drawn, or alike in every tool."""


def test_no_two_modules_share_a_name_but_where_the_folder_names_them() -> None:
    places = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py"]
    own = [place for place in places if not any(place.match(f"{folder}*") for folder in NAMED_BY_ANOTHER)]

    shared = [name for name, count in Counter(place.name for place in own).items() if count > 1]

    assert len(own) > 80
    assert shared == []


def test_no_two_types_share_a_name_but_the_settings_that_every_tool_has() -> None:
    types = [
        name
        for path in sorted(SOURCE.rglob("*.py"))
        for name in re.findall(r"^class ([^_\W]\w*)", path.read_text(), re.MULTILINE)
    ]

    assert len(types) > 200
    assert [name for name, count in Counter(types).items() if count > 1] == ["Settings"]


def test_every_part_has_its_place() -> None:
    parts = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}

    assert parts - {"__init__", "__pycache__"} == {*MAY_IMPORT, "cli"}
