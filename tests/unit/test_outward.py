"""What others wrote is shown and not obeyed, on everything that Assay writes to."""

import ast
import io
import json
import zipfile
from pathlib import Path

import pytest
from rich.table import Table

import assay
from assay.console import PlainConsole
from assay.outward import csv_cell, drawn, json_text, markup, one_line, plain
from assay.report.worksheet import biff2, xlsx
from unit.source_statements import statements
from unit.test_worksheet import biff_cells

SOURCE = Path(assay.__file__).parent
OBEYED = "\x00\x07\x08\x1b\r\x7f\x85\x9b\x9d\u200e\u202e\u2066\u2028\ufeff"


def test_what_a_terminal_obeys_is_replaced_and_nothing_else() -> None:
    kept = "µs Größe 4 KiB\t→ 日本 [/b] \\ ' \" <&>\nñ\N{NO-BREAK SPACE}\N{GRINNING FACE}"

    assert plain(OBEYED) == "\N{REPLACEMENT CHARACTER}" * len(OBEYED)
    assert plain(kept) == kept


def test_a_name_of_two_lines_is_one() -> None:
    assert one_line("x\n  writes below /tmp\r\ny\u2028z") == "x;   writes below /tmp; y; z"


def test_markup_of_a_page_is_text() -> None:
    assert markup("<b a='\"'>&\x1b") == "&lt;b a=&#x27;&quot;&#x27;&gt;&amp;\N{REPLACEMENT CHARACTER}"


def test_json_keeps_every_character_and_writes_none_that_a_terminal_obeys() -> None:
    encoded = json.dumps({"name": OBEYED}, ensure_ascii=False)

    assert json.loads(json_text(encoded)) == {"name": OBEYED}
    assert plain(json_text(encoded)) == json_text(encoded)


def test_every_text_of_a_figure_is_plain() -> None:
    assert drawn({"a\x1b": ["b\u202e", 1, {"c": ("d\x07", None)}]}) == {
        "a\N{REPLACEMENT CHARACTER}": [
            "b\N{REPLACEMENT CHARACTER}",
            1,
            {"c": ["d\N{REPLACEMENT CHARACTER}", None]},
        ]
    }


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("http://x";"y")', "'=HYPERLINK( http://x   y )"),
        ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'=1"),
        ("\n=1", "'=1"),
        ("box,=1", "box =1"),
        ('box"=1', "box =1"),
        ("-1", "-1"),
        ("+1.5e-3", "+1.5e-3"),
        ("node-7", "node-7"),
        ("", ""),
    ],
)
def test_a_cell_is_one_cell_and_no_formula(text: str, cell: str) -> None:
    assert csv_cell(text) == cell


def test_a_carriage_return_begins_no_formula() -> None:
    assert csv_cell("\r=1") == "\N{REPLACEMENT CHARACTER}=1"


def test_cells_of_worksheets_are_texts() -> None:
    hostile = "=1+\x1b[31m<b>"

    with zipfile.ZipFile(io.BytesIO(xlsx([(0, 0, hostile)]))) as parts:
        sheet = parts.read("xl/worksheets/sheet1.xml").decode()
    assert 't="inlineStr"' in sheet
    assert "=1+\N{REPLACEMENT CHARACTER}[31m&lt;b&gt;" in sheet
    assert biff_cells(biff2([(0, 0, hostile)])) == [(0, 0, "=1+?[31m<b>")]


def test_a_console_takes_no_text_for_markup_or_for_an_order() -> None:
    shown = io.StringIO()
    console = PlainConsole(file=shown, width=60, force_terminal=True, color_system="standard", legacy_windows=False)
    table = Table(box=None)
    table.add_column("Name[/b]")
    table.add_row("m[/b] [red]x[/red] :smile: \x1b]0;owned\x07 \u202egpj")

    console.print(table)
    console.print("m[/b] \x1b[2J")

    assert "m[/b] [red]x[/red] :smile: \N{REPLACEMENT CHARACTER}]0;owned" in shown.getvalue()
    assert "m[/b] \N{REPLACEMENT CHARACTER}[2J" in shown.getvalue()
    assert "\u202e" not in shown.getvalue()


ONE_PLACE = {"rich.console": {"console.py"}, "rich.markup": set[str](), "html": {"outward.py"}}
"""Modules by which text could go out another way, and the one place of each."""


def test_there_is_no_other_way_out() -> None:
    found: dict[str, set[str]] = {name: set() for name in ONE_PLACE}
    for path in SOURCE.rglob("*.py"):
        for node in statements(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for name in found.keys() & set(names):
                found[name].add(path.relative_to(SOURCE).as_posix())

    assert found == ONE_PLACE
