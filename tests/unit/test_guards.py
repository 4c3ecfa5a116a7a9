"""Each thing that Assay writes, makes, removes, executes or signals has its row, with the rule that guards it, in a table.

The table is in docs/reliability.md, by module and kind of call. A call of a kind that a module has no row for fails here:
write the row, with the rule, or use the module that has the rule already. So does a row that no call is left of.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay

SOURCE = Path(assay.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"

WRITES, MAKES, REMOVES, RENAMES = "writes", "makes", "removes", "renames"
EXECUTES, SIGNALS, GRANTS, DATABASE, REMOTE = "executes", "signals", "grants", "database", "remote"
OF_MODULE: dict[str, dict[str, str]] = {
    "os": {
        **dict.fromkeys(("truncate", "ftruncate", "posix_fallocate", "sendfile", "copy_file_range"), WRITES),
        **dict.fromkeys(("pwrite", "pwritev", "setxattr", "utime"), WRITES),
        **dict.fromkeys(("mkdir", "makedirs", "link", "symlink", "mkfifo", "mknod"), MAKES),
        **dict.fromkeys(("unlink", "remove", "rmdir", "removedirs"), REMOVES),
        **dict.fromkeys(("rename", "renames", "replace"), RENAMES),
        **dict.fromkeys(("system", "popen", "posix_spawn", "posix_spawnp", "startfile", "fork", "forkpty"), EXECUTES),
        **dict.fromkeys(("kill", "killpg"), SIGNALS),
        **dict.fromkeys(("chmod", "fchmod", "lchmod", "chown", "fchown", "lchown"), GRANTS),
    },
    "shutil": {
        **dict.fromkeys(("copy", "copy2", "copyfile", "copytree", "unpack_archive", "make_archive"), WRITES),
        "rmtree": REMOVES,
        "move": RENAMES,
        "chown": GRANTS,
    },
    "signal": {"pidfd_send_signal": SIGNALS, "pthread_kill": SIGNALS},
    "sqlite3": {"connect": DATABASE},
    "tarfile": {"open": WRITES},
    "zipfile": {"ZipFile": WRITES},
    "tempfile": dict.fromkeys(
        (
            "NamedTemporaryFile",
            "TemporaryFile",
            "SpooledTemporaryFile",
            "TemporaryDirectory",
            "mkstemp",
            "mkdtemp",
            "mktemp",
        ),
        MAKES,
    ),
    "subprocess": dict.fromkeys(
        ("Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"), EXECUTES
    ),
    "asyncio": dict.fromkeys(("create_subprocess_exec", "create_subprocess_shell"), EXECUTES),
    "runpy": dict.fromkeys(("run_path", "run_module"), EXECUTES),
    "multiprocessing": dict.fromkeys(("Process", "Pool"), EXECUTES),
}
"""Functions of modules of Python."""
METHODS = {
    **dict.fromkeys(("write_text", "write_bytes"), WRITES),
    **dict.fromkeys(("mkdir", "touch", "symlink_to", "hardlink_to", "link_to"), MAKES),
    **dict.fromkeys(("unlink", "rmdir", "rmtree"), REMOVES),
    "rename": RENAMES,
    **dict.fromkeys(("send_signal", "terminate", "kill"), SIGNALS),
    **dict.fromkeys(("chmod", "lchmod"), GRANTS),
}
"""Of paths and processes, whatever they are called."""
NAMES = {name for functions in OF_MODULE.values() for name in functions} | METHODS.keys()
READING = {"O_RDONLY", "O_PATH", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_NOATIME"}
_NO_PATH = re.compile(rf"{'|'.join(OF_MODULE)}|[A-Z]\w*|self\._shell")
"""Whose `open` opens no file: a class by its name, a shell."""
_ROW = re.compile(r"^\| ((?:`[^`|]+`(?:, )?)+) \| ([a-z, ]+) \| ([^|]+) \| ([^|]+) \|$")
_FEWEST_WORDS = 5


def dotted(node: ast.expr) -> str:
    """Write names with dots between; empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name) if of := dotted(value):
            return f"{of}.{name}"
    return ""


class Calls(ast.NodeVisitor):
    """Finds the kinds of calls in a module."""

    def __init__(self) -> None:
        self.found: defaultdict[str, list[int]] = defaultdict(list)
        self._flags: defaultdict[str, list[ast.expr]] = defaultdict(list)
        self._called: set[int] = set()

    def visit_Module(self, node: ast.Module) -> None:
        """Remember what flags are made of, wherever they get their name."""
        for statement in ast.walk(node):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self._flags[target.id].append(statement.value)
            elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                self._flags[statement.target.id].append(statement.value)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Refuse another name for a module: its calls would not be found."""
        for alias in node.names:
            assert alias.asname is None or alias.name not in OF_MODULE, f"import {alias.name} under its own name"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Refuse functions by their bare names, for the same reason."""
        for alias in node.names:
            assert alias.name not in OF_MODULE.get(node.module or "", {}), (
                f"import {node.module}, not {alias.name} of it"
            )

    def visit_Call(self, node: ast.Call) -> None:
        """Find what depends on how it is called."""
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open" and self._is_writing_mode(node, 1):
            self._add(WRITES, node)
        if isinstance(called, ast.Attribute):
            of = dotted(called.value)
            if (of, called.attr) == ("connection", "run"):
                self._add(REMOTE, node)
                self._called.add(id(called))
            elif (of, called.attr) == ("os", "open"):
                if dotted(node.args[0]) != "os.devnull" and not self._is_reading(node.args[1]):
                    self._add(WRITES, node)
            elif called.attr == "open" and not _NO_PATH.fullmatch(of) and self._is_writing_mode(node, 0):
                self._add(WRITES, node)
            elif called.attr == "replace" and of != "os" and len(node.args) == 1 and not node.keywords:
                # Of a text it takes two, of a value its fields by name.
                self._add(RENAMES, node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Find what is called, or handed on to be called."""
        is_start = node.attr.startswith(("exec", "spawn"))
        if is_start or node.attr in NAMES:
            of = dotted(node.value)
            kind = OF_MODULE[of].get(node.attr) if of in OF_MODULE else METHODS.get(node.attr)
            if of == "os" and is_start:
                kind = EXECUTES
            if kind is not None and id(node) not in self._called:
                self._add(kind, node)
        self.generic_visit(node)

    def _add(self, kind: str, node: ast.expr) -> None:
        self.found[kind].append(node.lineno)

    def _is_writing_mode(self, call: ast.Call, place: int) -> bool:
        modes = [word.value for word in call.keywords if word.arg == "mode"] or call.args[place : place + 1]
        if not modes:
            return False
        mode = modes[0]
        return not (isinstance(mode, ast.Constant) and isinstance(mode.value, str)) or bool(
            set(mode.value) & set("wax+")
        )

    def _is_reading(self, flags: ast.expr) -> bool:
        match flags:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._is_reading(left) and self._is_reading(right)
            case ast.Attribute(value=ast.Name(id="os"), attr=name):
                return name in READING
            case ast.IfExp(body=one, orelse=other):
                return self._is_reading(one) and self._is_reading(other)
            case ast.Name(id=name) if name in self._flags:
                return all(map(self._is_reading, self._flags[name]))
        return False


def calls_in(source: str) -> dict[str, list[int]]:
    calls = Calls()
    calls.visit(ast.parse(source))
    return dict(calls.found)


def calls() -> dict[str, dict[str, list[int]]]:
    """Find the kinds of calls of every module, with their lines."""
    found = {
        path.relative_to(SOURCE).as_posix(): calls_in(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }
    return {module: kinds for module, kinds in found.items() if kinds}


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Give the rows of the table: module, kinds, thing and rule."""
    _, begin, rest = PAGE.read_text(encoding="utf-8").partition("## What guards each thing\n")
    assert begin, "docs/reliability.md has the table no more"
    for line in rest.partition("\n## ")[0].splitlines():
        if (row := _ROW.match(line)) and not row[1].startswith("`assay-engine"):
            for module in re.findall(r"`([^`]+)`", row[1]):
                yield module, row[2], row[3], row[4]


@pytest.mark.long
def test_every_call_that_changes_something_has_a_row_with_its_rule() -> None:
    guarded: defaultdict[str, set[str]] = defaultdict(set)
    for module, kinds, _, rule in rows():
        guarded[module] |= {kind.strip() for kind in kinds.split(",")}
        assert len(rule.split()) >= _FEWEST_WORDS, f"{module}: '{rule}' is no rule"

    found = calls()
    lacking = [
        f"{module}:{lines[0]} {kind}"
        for module, kinds in found.items()
        for kind, lines in kinds.items()
        if kind not in guarded[module]
    ]
    stale = [
        f"{module} {kind}" for module, kinds in guarded.items() for kind in kinds if kind not in found.get(module, {})
    ]

    assert not lacking, f"no row in the table of docs/reliability.md, or not for this kind: {', '.join(lacking)}"
    assert not stale, f"rows of docs/reliability.md that nothing does any more: {', '.join(stale)}"


def test_folders_for_temporary_files_are_made_by_one_module() -> None:
    """$TMPDIR may be a folder in which somebody else can exchange them."""
    named = re.compile(r"tempfile\.(?:TemporaryDirectory|mkdtemp|mktemp|gettempdir)")

    users = [path.name for path in SOURCE.rglob("*.py") if named.search(path.read_text(encoding="utf-8"))]

    assert users == ["own_files.py"]


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("import os\nos.unlink(x)", {REMOVES}),
        ("import os\ncallback(os.rmdir, x)", {REMOVES}),
        ("path.replace(other)\ntext.replace('a', 'b')\nstructs.replace(x, y=1)", {RENAMES}),
        ("import os\nos.open(x, os.O_RDONLY | os.O_CLOEXEC)", set()),
        ("import os\n_F = os.O_RDONLY\n_G = _F | os.O_CREAT\nos.open(x, _F)\nos.open(y, _G)", {WRITES}),
        ("import os\ndef f(flags):\n    os.open(x, flags)", {WRITES}),
        ("open(x)\nopen(x, 'rb')\npath.open()\npath.open('rb')", set()),
        ("open(x, 'r+b')", {WRITES}),
        ("path.open(mode=given)", {WRITES}),
        ("import os\nos.execvp(x, y)", {EXECUTES}),
        ("import asyncio\nawait asyncio.create_subprocess_exec(x)", {EXECUTES}),
        ("process.kill()", {SIGNALS}),
        ("import signal\nsignal.pidfd_send_signal(x, 9)", {SIGNALS}),
        ("import sqlite3\nsqlite3.connect(x)", {DATABASE}),
        ("import tempfile\ntempfile.mkdtemp()", {MAKES}),
        ("path.chmod(0o777)", {GRANTS}),
        ("await connection.run(x)", {REMOTE}),
    ],
)
def test_each_kind_of_call_is_found(source: str, kinds: set[str]) -> None:
    assert calls_in(source).keys() == kinds


@pytest.mark.parametrize("source", ["from os import unlink", "import subprocess as quiet", "from shutil import rmtree"])
def test_no_call_hides_behind_another_name(source: str) -> None:
    with pytest.raises(AssertionError, match="import"):
        calls_in(source)


if __name__ == "__main__":
    for module_, kinds_ in calls().items():
        print(f"| `{module_}` | {', '.join(sorted(kinds_))} |")  # noqa: T201 - to begin rows with
