"""The locator is checked against `tomllib`: each value in a generated text is the number of the line it stands on."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.loads.locate import Path, locate

TEXT = '''\
top = 1
dotted.key."with space" = 2  # a [comment] = {
[table]
'literal.key' = 4
many = """
a = "1"
[not.a.table]
quote "" and \\""""
after = 9
list = [10, 10,
  11, # ] 12
  [12, 12],
  { deep = 13, deeper.still = 13 },
]
[[array]]
n = 16
sub = { a.b = 17, c = [17, [17]] }
[array.inner]
n = 19
[[array.nested]]
n = 21
[[array.nested]]
n = 23

[[array]]
n = 26
[[array.nested]]
n = 28
[ spaced . "out" ]
n = 30
raw = \'\'\'
n = 99 '' \'\'\'\'\'
end = 33
'''


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def test_every_number_of_a_text_is_found_on_the_line_that_it_names() -> None:
    lines = locate(TEXT)

    numbers = {path: value for path, value in leaves(tomllib.loads(TEXT)) if isinstance(value, int)}

    assert len(numbers) == 22
    assert {path: lines.line_of(path) for path in numbers} == numbers


def test_every_path_of_the_parsed_text_has_a_line_and_there_are_no_others() -> None:
    def paths(value: object, path: Path = ()) -> Iterator[Path]:
        yield path
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield from paths(item, (*path, key))

    assert locate(TEXT)._lines.keys() == set(paths(tomllib.loads(TEXT))) - {()}


def test_tables_are_found_at_their_headers() -> None:
    lines = locate(TEXT)

    assert lines.line_of(("array", 0)) == 15
    assert lines.line_of(("array", 1)) == 25
    assert lines.line_of(("array", 0, "nested", 1)) == 22
    assert lines.line_of(("spaced", "out")) == 29


def test_a_missing_key_is_placed_at_the_table_that_lacks_it() -> None:
    assert locate(TEXT).line_of(("array", 1, "nested", 0, "missing", "deeper")) == 27
    assert locate(TEXT).line_of(("missing",)) is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_windows_line_ends_count_as_lines(newline: str) -> None:
    assert locate(newline.join(["a = 1", "", "b = 3"])).line_of(("b",)) == 3


FILLERS = [
    "",
    "# k = [",
    'text = """\n[x]\nk = 1\n"""',
    "when = 1979-05-27 07:32:00Z",
    "f = [\n\n1e3, inf,\n]",
    "s = '#'",
]
VALUES = ["{line}", "[{line}, {line}]", "{{ a = {line}, b.c = {line} }}", "[{{ x = {line} }}, [{line}]]"]


@given(st.lists(st.tuples(st.sampled_from(FILLERS), st.sampled_from(VALUES), st.booleans()), max_size=12))
def test_generated_texts_name_their_own_lines(parts: list[tuple[str, str, bool]]) -> None:
    text = ""
    for filler, value, is_array in parts:
        text += f"[[part]]\n{filler}\n"
        line = text.count("\n") + 1
        text += f'v."w x" = {value.format(line=line)}\n'
        if is_array:
            text += f"[[part.more]]\nn = {line + 2}\n"

    lines = locate(text)

    for index, part in enumerate(tomllib.loads(text).get("part", [])):
        for key in {"v", "more"} & set(part):
            for path, number in leaves(part[key], ("part", index, key)):
                assert lines.line_of(path) == number
