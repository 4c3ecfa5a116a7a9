"""Is each snippet of the reference page a load file's, and of what it stands beside?"""

from pathlib import Path
from typing import get_args

import pytest

from assay import plan
from assay.loads import native
from assay.loads.load_file import SHAPES, tag_of
from bench.reference import snippets
from bench.reference.load_file_page import TABLES, UNIONS
from unit.seam_values import parts

OF_KINDS = [(union, tag) for union, by_tag in snippets.KINDS.items() for tag in by_tag]


def read(text: str) -> set[type]:
    made = native.parse(text, "/loads/load.toml", directory=Path("/mnt"), settings={})
    return {type(part) for part in parts(made)}


def test_every_kind_operation_and_table_has_one() -> None:
    assert set(snippets.KINDS) == set(UNIONS)
    assert set(OF_KINDS) == {(name, tag_of(member)) for name, union in UNIONS.items() for member in get_args(union)}
    assert set(snippets.OPERATIONS) == {kind.value for kind in plan.OpKind}
    assert set(snippets.TABLES) == set(TABLES)


@pytest.mark.parametrize(("union", "tag"), OF_KINDS, ids=lambda word: word)
def test_the_snippet_of_a_kind_makes_it(union: str, tag: str) -> None:
    (kind,) = (member for member in get_args(UNIONS[union]) if tag_of(member) == tag)

    assert kind in read(snippets.whole(union, snippets.KINDS[union][tag]))


@pytest.mark.parametrize("kind", plan.OpKind, ids=lambda kind: kind.value)
def test_the_snippet_of_an_operation_makes_it(kind: plan.OpKind) -> None:
    text = snippets.whole_of_operation(snippets.OPERATIONS[kind.value])
    made = native.parse(text, "/loads/load.toml", directory=Path("/mnt"), settings={})

    assert kind in {part.op for part in parts(made) if isinstance(part, plan.Op)}


@pytest.mark.parametrize("heading", TABLES)
def test_the_snippet_of_a_table_makes_it(heading: str) -> None:
    of_the_plan = {shape: kind for kind, shape in SHAPES.items()}
    shape = TABLES[heading]
    wanted = of_the_plan.get(shape, plan.Plan if heading == "The file" else shape)

    assert wanted in read(snippets.whole(heading, snippets.TABLES[heading]))
