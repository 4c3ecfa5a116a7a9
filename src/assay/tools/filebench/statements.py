"""The statements of a script, as values with their lines. Nothing is looked up or worked out here.

Words that 1.5 dropped are noted where they occur, so that `--wml 1.5` refuses what that version refuses.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import Final, NoReturn, cast

from lark import Token, Tree

from assay.errors import FrontEndError
from assay.tools.arguments import cut
from assay.tools.filebench.grammar import parse

SUFFIXES: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MOST_DIGITS = 19
_NUMBER = re.compile(r"(-?[0-9]+)([A-Za-z]*)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


@dataclasses.dataclass(frozen=True)
class Number:
    """A whole number."""

    value: int
    line: int


@dataclasses.dataclass(frozen=True)
class Word:
    """A word without quotes."""

    text: str
    line: int


@dataclasses.dataclass(frozen=True)
class Quoted:
    """A quoted text; its variables are not replaced yet."""

    text: str
    line: int


@dataclasses.dataclass(frozen=True)
class Variable:
    """`$name`, without the sign."""

    name: str
    line: int


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """Two values and what is done with them: + - * /."""

    sign: str
    left: "Expression"
    right: "Expression"
    line: int


@dataclasses.dataclass(frozen=True)
class ShareTable:
    """Rows of three values: of a table of probabilities."""

    rows: tuple[tuple["Scalar", "Scalar", "Scalar"], ...]
    line: int


Scalar = Number | Word | Quoted | Variable
Expression = Scalar | Arithmetic


@dataclasses.dataclass(frozen=True)
class Attribute:
    """`name=value`, `name` alone or `$name[=value]`."""

    name: str
    value: Scalar | ShareTable | None
    line: int
    is_local: bool = False
    """Whether it is a variable of a composite flowop."""


Attributes = tuple[Attribute, ...]


@dataclasses.dataclass(frozen=True)
class FlowopStatement:
    """`flowop TYPE attributes`."""

    kind: str
    attributes: Attributes
    line: int


@dataclasses.dataclass(frozen=True)
class ThreadStatement:
    """`thread attributes { flowops }`."""

    attributes: Attributes
    flowops: tuple[FlowopStatement, ...]
    line: int


@dataclasses.dataclass(frozen=True)
class Random:
    """`randvar(...)` or `cvar(...)`."""

    kind: str
    attributes: Attributes
    line: int


@dataclasses.dataclass(frozen=True)
class Statement:
    """A command; its `kind` decides which of the fields it has."""

    kind: str
    line: int
    words: tuple[str, ...] = ()
    """Words that choose: the second one of `set mode quit`, what `create` makes."""
    attributes: Attributes = ()
    values: tuple[Scalar, ...] = ()
    name: str = ""
    """Of the variable of a `set`."""
    value: Expression | Random | None = None
    threads: tuple[ThreadStatement, ...] = ()
    flowops: tuple[FlowopStatement, ...] = ()

    @property
    def text(self) -> str:
        """As people write it."""
        return " ".join([self.kind.replace("_", " "), *self.words])


def read(text: str, source: str) -> tuple[Statement, ...]:
    """Read a script; raises FrontEndError with file, line and the words near the fault."""
    reader = _Reader(source)
    return tuple(reader.command(node) for node in parse(text, source).children if isinstance(node, Tree))


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source

    def command(self, node: Tree[Token]) -> Statement:
        kind, line = str(node.data), _line(node)
        parts = [part for part in node.children if part is not None]
        if kind == "set":
            name, value = parts
            name = cast("Token", name)
            is_random = isinstance(value, Tree) and value.data == "random"
            made = self._random(value) if is_random else self._expression(value)  # type: ignore[arg-type]  # it is a Tree
            return Statement(kind, name.line or line, name=name[1:], value=made)
        trees = [part for part in parts if isinstance(part, Tree)]
        tokens = [part for part in parts if isinstance(part, Token)]
        if line == 0 and tokens:
            line = tokens[0].line or 0
        attributes = next((self._attributes(tree) for tree in trees if tree.data == "attributes"), ())
        line = line or (attributes[0].line if attributes else 1)
        return Statement(
            kind,
            line,
            words=tuple(str(token) for token in tokens if token.type in {"WORD", "CREATED", "SHELL"}),
            attributes=attributes,
            values=tuple(self._scalar(token) for token in tokens if token.type not in {"CREATED", "SHELL"}),
            threads=tuple(self._thread(tree) for tree in trees if tree.data == "thread"),
            flowops=tuple(self._flowop(tree) for tree in trees if tree.data == "flowop"),
        )

    def _thread(self, node: Tree[Token]) -> ThreadStatement:
        attributes, *flowops = node.children
        made = tuple(self._flowop(tree) for tree in flowops if isinstance(tree, Tree))
        return ThreadStatement(self._attributes(attributes), made, _line(node))  # type: ignore[arg-type]  # ensured by the grammar

    def _flowop(self, node: Tree[Token]) -> FlowopStatement:
        kind, attributes = node.children
        return FlowopStatement(str(kind), self._attributes(attributes), kind.line or 0)  # type: ignore[arg-type, union-attr]  # same

    def _attributes(self, node: Tree[Token]) -> Attributes:
        return tuple(self._attribute(tree) for tree in node.children if isinstance(tree, Tree))

    def _attribute(self, node: Tree[Token]) -> Attribute:
        name, value = node.children
        name = cast("Token", name)
        line = name.line or 0
        is_local = name.type == "VARIABLE"
        made = None if value is None else self._table(value) if isinstance(value, Tree) else self._scalar(value)
        return Attribute(name[1:] if is_local else str(name), made, line, is_local)

    def _table(self, node: Tree[Token]) -> ShareTable:
        rows = [tuple(self._scalar(token) for token in row.children) for row in node.children]  # type: ignore[union-attr, arg-type]
        return ShareTable(tuple(rows), _line(node))  # type: ignore[arg-type]  # rows have three values

    def _random(self, node: Tree[Token]) -> Random:
        kind, attributes = node.children
        kind = cast("Token", kind)
        if kind not in {"randvar", "cvar"}:
            self._refuse(
                kind.line or 0, f"syntax error near '{cut(kind)}('; a variable is made by randvar(...) or cvar(...)"
            )
        return Random(str(kind), self._attributes(attributes), kind.line or 0)  # type: ignore[arg-type]  # ensured by the grammar

    def _expression(self, node: Tree[Token] | Token) -> Expression:
        if isinstance(node, Token):
            return self._scalar(node)
        first, *rest = node.children
        made = self._expression(cast("Token", first))
        for sign, right in zip(rest[::2], rest[1::2], strict=True):
            line = cast("Token", sign).line or 0
            made = Arithmetic(str(sign), made, self._expression(cast("Token", right)), line)
        return made

    def _scalar(self, token: Token) -> Scalar:
        line = token.line or 0
        match token.type:
            case "NUMBER":
                return Number(self._number(str(token), line), line)
            case "VARIABLE":
                return Variable(token[1:], line)
            case "STRING":
                return Quoted(token[1:-1], line)
            case _:
                return Word(str(token), line)

    def _number(self, text: str, line: int) -> int:
        found = _NUMBER.fullmatch(text)
        digits, suffix = found.groups() if found else (text, "")
        if suffix not in SUFFIXES:
            near = SUFFIXES.get(suffix.lower())
            cure = (
                f"write {cut(digits)}{suffix.lower()}"
                if near
                else "a number ends with k, m or g (1024, 1024^2, 1024^3)"
            )
            self._refuse(line, f"syntax error near '{cut(text)}': there is no suffix '{cut(suffix)}'; {cure}")
        if len(digits) > _MOST_DIGITS:
            self._refuse(line, f"near '{cut(text)}': a number has at most {_MOST_DIGITS} digits")
        return int(digits) * SUFFIXES[suffix]

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise FrontEndError(self._source, line, text)


def _line(node: Tree[Token]) -> int:
    found = next((token.line for token in _tokens(node) if token.line), 0)
    return getattr(node.meta, "line", found) or found


def _tokens(node: Tree[Token]) -> Iterator[Token]:
    for child in node.children:
        if isinstance(child, Token):
            yield child
        elif isinstance(child, Tree):
            yield from _tokens(child)


def unescape(text: str) -> str:
    """Replace the characters after a backslash."""
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text, flags=re.DOTALL)
