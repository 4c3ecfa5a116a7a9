"""Nothing in the engine imports what imports it: neither modules nor the parts that they lie in."""

import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "engine" / "src"
Module = tuple[str, ...]
USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([\w:{},\s*]+);", re.MULTILINE)
ROOTS = {("lib",), ("main",)}


def _modules() -> dict[Module, str]:
    """The text of each module without its tests and comments."""
    modules = {}
    for file in SOURCE.rglob("*.rs"):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        if "tests" not in parts:
            text = file.read_text().split("#[cfg(test)]\nmod tests {")[0]
            modules[parts[:-1] if parts[-1] == "mod" else parts] = re.sub(r"//.*", "", text)
    return {module: text for module, text in modules.items() if module not in ROOTS}


def _each(path: str) -> Iterator[str]:
    """Paths of one `use`, its braces resolved: `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`."""
    head, brace, rest = path.partition("{")
    if not brace:
        yield path
        return
    depth, begin, body = 0, 0, rest[: rest.rindex("}")] + ","
    for at, letter in enumerate(body):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if body[begin:at]:
                yield from _each(head + body[begin:at])
            begin = at + 1


def imports(modules: dict[Module, str]) -> dict[Module, set[Module]]:
    """Modules that each names in a `use` or in a path from the crate's root. A child may use what its parents declare."""
    graph: dict[Module, set[Module]] = {}
    for module, text in modules.items():
        uses = [path for use in USE.findall(text) for path in _each(re.sub(r"\s", "", use))]
        graph[module] = set()
        for path in uses + re.findall(r"\bcrate(?:::\w+)+", text):
            names = path.split("::")
            base = {"crate": (), "self": module, "super": module[:-1]}.get(names[0])
            while base is not None and names[0] == "super" and names[1:2] == ["super"]:
                names, base = names[1:], base[:-1]
            full = (*module, *names) if base is None else (*base, *names[1:])
            known = [full[:length] for length in range(len(full), 0, -1) if full[:length] in modules]
            if known and module[: len(known[0])] != known[0]:
                graph[module].add(known[0])
    return graph


def _circle(graph: dict[Module, set[Module]]) -> str:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " <- ".join("::".join(module) for module in error.args[1])
    return ""


def test_modules_of_the_engine_import_in_one_direction() -> None:
    assert _circle(imports(_modules())) == ""


def test_parts_of_the_engine_import_in_one_direction() -> None:
    parts: dict[Module, set[Module]] = {}
    for module, imported in imports(_modules()).items():
        parts.setdefault(module[:1], set()).update(other[:1] for other in imported if other[0] != module[0])

    assert _circle(parts) == ""


def test_no_part_of_a_worker_needs_more_than_two_others() -> None:
    graph = imports(_modules())
    needs = {module: {one for one in graph[module] if one[0] == "worker"} for module in graph if module[0] == "worker"}

    assert len(needs) > 20
    assert {module: others for module, others in needs.items() if len(others) > 2} == {}


def test_the_walk_sees_a_circle_however_it_is_written() -> None:
    modules = {
        ("a",): "use crate::{b::Thing, c};",
        ("b",): "",
        ("c",): "pub use self::d::X;",
        ("c", "d"): "fn f() { crate::e::f() }",
        ("e",): "",
    }
    assert _circle(imports(modules)) == ""

    modules["e",] = "use super::c::d;"

    assert imports(modules)["a",] == {("b",), ("c",)}
    assert _circle(imports(modules)) in {"c::d <- e <- c::d", "e <- c::d <- e"}


def test_unsafe_code_is_in_sys_and_the_backends_but_for_a_few_places() -> None:
    elsewhere = {
        module: len(re.findall(r"\bunsafe (?:\{|fn|impl|extern)", text))
        for module, text in _modules().items()
        if module[0] not in {"sys", "backend", "exact"}
        and module[:2] not in {("content", "fill"), ("content", "stamp")}
    }

    # Names without a look at each byte, buffers of one mapping, fork and clone.
    assert sum(elsewhere.values()) <= 20, {module: count for module, count in elsewhere.items() if count}
