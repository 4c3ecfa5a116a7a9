"""List the mutants of source files, and choose a sample that stays nearly the same when the code changes.

Most places in the code allow several changes. A sample has one change of a place, so that an operator with many replacements
has no more weight than a number. Each file has a share of the sample by its number of places. Within a file, hashes of the
seed, the definition and the line decide: an edit changes the sample at its own lines only.
"""

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import MutationVisitor

from suite.mutation.operators import makes_sense, operators
from suite.mutation.survivors import Change

FACTOR = 2**64


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one place."""

    file: str
    line: int
    column: int
    definition: str
    """The function or class around it."""
    code: str
    """Its line as it is, without indent."""
    operator: str
    occurrence: int
    """Which of the changes that the operator can make in the file."""

    def apply(self, source: str) -> str:
        """Give the changed source."""
        changed = MutationVisitor.mutate_code(source, plugins.get_operator(self.operator)(), self.occurrence)
        if changed is None:
            raise RuntimeError(f"{self.file}:{self.line}: {self.operator} changes nothing")
        return str(changed)

    def describe(self, root: Path) -> Change:
        """Describe the change of its line, in a tree at `root` where it is not applied."""
        lines = self.apply((root / self.file).read_text(encoding="utf-8")).splitlines()
        return Change(self.file, self.code, lines[self.line - 1].strip() if self.line <= len(lines) else "")


def list_mutants(root: Path, files: Sequence[str]) -> list[Mutant]:
    """List all mutants of the files."""
    return [mutant for file in files for mutant in _of_file(root, file)]


def sample(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Choose `count` mutants, each of another place; 0: all mutants."""
    if count == 0:
        return [*mutants]
    places: dict[str, dict[tuple[int, int], list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for mutant in mutants:
        places[mutant.file][mutant.line, mutant.column].append(mutant)
    ranked: list[tuple[float, Mutant]] = []
    for file, of_file in places.items():
        chosen = [
            min(choices, key=lambda one: _number(f"{seed} {one.operator} {_key(one)}")) for choices in of_file.values()
        ]
        # Where the first falls is a matter of chance for each file, so that small files have their share, too.
        first = _number(f"{seed} {file}")
        ranked += [
            ((rank + first) / len(of_file), mutant)
            for rank, mutant in enumerate(sorted(chosen, key=lambda one: _number(f"{seed} {_key(one)}")))
        ]
    ranked.sort(key=lambda each: each[0])
    return [mutant for _, mutant in ranked[:count]]


def _of_file(root: Path, file: str) -> Iterator[Mutant]:
    source = (root / file).read_text(encoding="utf-8")
    lines, declared, nodes = source.splitlines(), _declarations(source), [*ast_nodes(get_ast(source))]
    for name, operator in operators():
        positions = [(node, start) for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, (node, (line, column)) in enumerate(positions):
            if not any(begin <= (line, column) < end for begin, end in declared) and makes_sense(name, node):
                yield Mutant(
                    file=file,
                    line=line,
                    column=column,
                    definition=ASTQuery(node).get_definition_name() or "",
                    code=lines[line - 1].strip(),
                    operator=name,
                    occurrence=occurrence,
                )


def _declarations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Give the extents of what a type checker checks: type hints, and `frozen=True` and its like of classes."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
        elif isinstance(node, ast.ClassDef):
            calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
            found += [
                keyword.value for words in (node.keywords, *(call.keywords for call in calls)) for keyword in words
            ]
    return [
        ((each.lineno, each.col_offset), (each.end_lineno or 0, each.end_col_offset or 0))
        for each in found
        if each is not None
    ]


def _key(mutant: Mutant) -> str:
    """Identify a place by what edits of other lines leave as it is."""
    return f"{mutant.file} {mutant.definition} {mutant.code} {mutant.column}"


def _number(text: str) -> float:
    """Give a number between 0 and 1 that the text decides."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / FACTOR
