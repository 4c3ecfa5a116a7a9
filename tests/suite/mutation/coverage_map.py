"""Know which unit tests run a statement, from one run of all of them under coverage.py.

The tests of a change in a function are those that run the changed statement. A constant or a class variable is computed when
its module is imported, outside of any test: its tests are those that run a statement with its name.
"""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path

import coverage

TESTS = "tests/unit"
LEFT_OUT = ("test_docs", "test_fuzz", "test_prove")
"""Files whose tests are not asked: they compare constants with the page that repeats them, or try readers at large."""


class CoverageMap:
    """The lines that each test runs."""

    def __init__(self, clone: Path, folder: Path, sources: Sequence[str]) -> None:
        """Take the clone, where the records are kept, and the folders of the clone that are mutated."""
        self._clone = clone
        self._data = folder / "lines.coverage"
        self._durations = folder / "durations.ndjson"
        self._sources = sources

    def record(self, environment: dict[str, str]) -> None:
        """Run the unit tests once, unless that is done.

        Raises:
            RuntimeError: A test fails without any change: every mutant would be killed.
        """
        if self._data.exists() and self._durations.exists():
            return
        under_way = self._data.with_suffix(".under-way")
        self._durations.unlink(missing_ok=True)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "coverage", "run", f"--data-file={under_way}"),
                f"--source={','.join(self._sources)}",
                *("-m", "pytest", "-q", "-p", "suite.mutation.pytest_lines", f"--record-lines={self._durations}"),
                *self._test_files(),
            ],
            cwd=self._clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the unit tests fail without any change: exit code {done.returncode}")
        under_way.rename(self._data)

    def _test_files(self) -> list[str]:
        """Give the test files that import what is mutated, by themselves or by a module of the tests."""
        folder = self._clone / TESTS
        imports = {path.stem: _imports(path) for path in sorted(folder.glob("*.py"))}
        packages = tuple(source.removeprefix("src/").replace("/", ".") for source in self._sources)
        found = {name for name, imported in imports.items() if any(one.startswith(packages) for one in imported)}
        while (
            more := {name for name, imported in imports.items() if imported & {f"unit.{each}" for each in found}}
            - found
        ):
            found |= more
        return [f"{TESTS}/{name}.py" for name in sorted(found) if name.startswith("test_") and name not in LEFT_OUT]

    def tests_of(self, file: str, line: int) -> list[str]:
        """Give the tests that see a change in a line; the file whose tests are quickest is first."""
        module = _Module(self._clone / file)
        if (lines := module.run_lines(line)) is not None:
            found = self._tests_at(file, lines)
        else:
            uses = [(each, used) for each, other in self._modules.items() for used in other.uses(module.names(line))]
            found = {test for each, used in uses for test in self._tests_at(each, used)}
        # A statement that runs once for many tests (a cache, a fixture of the session) is recorded for none or one of them.
        return self._in_order(found or self._tests_at(file, None))

    def widen(self, file: str, tests: Sequence[str]) -> list[str]:
        """Give all tests of the same test files that run anything of a source file."""
        files = {_file_of(test) for test in tests}
        return self._in_order({each for each in self._tests_at(file, None) if _file_of(each) in files} - {*tests})

    @cached_property
    def seconds(self) -> dict[str, float]:
        """How long each test took."""
        return dict(json.loads(line) for line in self._durations.read_text().splitlines())

    @cached_property
    def _modules(self) -> dict[str, "_Module"]:
        files = [path for folder in self._sources for path in sorted((self._clone / folder).rglob("*.py"))]
        return {str(path.relative_to(self._clone)): _Module(path) for path in files}

    @cached_property
    def _lines(self) -> dict[str, dict[int, list[str]]]:
        data = coverage.CoverageData(str(self._data))
        data.read()
        return {
            str(Path(file).relative_to(self._clone)): data.contexts_by_lineno(file) for file in data.measured_files()
        }

    def _in_order(self, tests: AbstractSet[str]) -> list[str]:
        """Sort tests by the duration of all of their file, so that fixtures of a file are made once."""
        of_file: defaultdict[str, float] = defaultdict(float)
        for test in tests:
            of_file[_file_of(test)] += self.seconds[test]
        return sorted(tests, key=lambda test: (of_file[_file_of(test)], _file_of(test)))

    def _tests_at(self, file: str, lines: range | None) -> set[str]:
        ran = self._lines.get(file, {})
        chosen = ran if lines is None else [line for line in lines if line in ran]
        return {test for line in chosen for test in ran[line] if test}


class _Module:
    """The statements of a source file."""

    def __init__(self, path: Path) -> None:
        self._tree = ast.parse(path.read_text(encoding="utf-8"))

    def run_lines(self, line: int) -> range | None:
        """Give the lines that run with a line; None where it runs at import and is no part of a function."""
        way = self._way(line)
        functions = [node for node in way if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        if not functions:
            return None
        if way[-1] is functions[-1]:  # its decorators or defaults
            return range(way[-1].body[0].lineno, _end(way[-1]) + 1)
        return range(way[-1].lineno, _own_end(way[-1]) + 1)

    def names(self, line: int) -> set[str]:
        """Name what a line outside of functions defines."""
        way = self._way(line)
        if not way:
            return set()
        statement = way[-1]
        if isinstance(statement, ast.ClassDef):
            return {statement.name}
        nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}

    def uses(self, names: set[str]) -> Iterator[range]:
        """Give the lines of the statements in functions that use one of the names."""
        for node in ast.walk(self._tree):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name in names and isinstance(node, ast.expr) and (lines := self.run_lines(node.lineno)) is not None:
                yield lines

    def _way(self, line: int) -> list[ast.stmt]:
        """Give the statements that a line is in, the innermost last."""
        way: list[ast.stmt] = []
        node: ast.AST | None = self._tree
        while node is not None:
            inside = (child for child in _statements(node) if _begin(child) <= line <= _end(child))
            if (node := next(inside, None)) is not None:
                way.append(node)
        return way


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _imports(path: Path) -> set[str]:
    """Name the modules that a file imports, and what it imports from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Give the statements directly in a node, through handlers and cases, which are none themselves."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.excepthandler | ast.match_case):
            yield from _statements(child)


def _begin(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _own_end(statement: ast.stmt) -> int:
    """Give the last line of a statement without those in it."""
    inner = [_begin(child) for child in _statements(statement)]
    return min(inner) - 1 if inner and min(inner) > statement.lineno else _end(statement)
