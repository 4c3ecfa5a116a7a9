"""The page of a comparison as a browser shows it, and the files that `assay compare` and `assay ab` write."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.report.comparison.comparison_page import write_comparison
from assay.units import format_number
from e2e.browser import CHROMIUM, Page, browser
from e2e.command import Assay
from unit.compared_quick_runs import compared
from unit.quick_run import HOSTILE, LOADS

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (Debian: apt-get install chromium)")
WORDS = ("--read", "--random", "--bs", "4k", "--size", "1m", "--time", "0.3s", "--no-report", "-q")


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison with planted differences, a hostile name, and a number that is not trusted."""
    comparison, sides = compared(LOADS[:5], names=("before " + HOSTILE, "after"))
    return write_comparison(comparison, sides, (), tmp_path_factory.mktemp("document") / "comparison.html")


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (420, True)])
def test_everything_is_drawn_silent_named_and_inside_the_window(
    tab: Page, document: Path, width: int, *, dark: bool
) -> None:
    tab.show(document, width=width, dark=dark)
    tab.open_all()

    assert tab.evaluate("document.querySelectorAll('.undrawn').length") == 0
    assert tab.evaluate("document.querySelectorAll('[data-spec]').length") == 1 + 4 * 5
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    cut = tab.evaluate(
        "Array.from(document.querySelectorAll('[data-spec]')).filter((place) => place.scrollWidth > place.clientWidth + 1)"
        ".map((place) => place.dataset.spec)"
    )
    assert cut == []
    names = tab.pictures()
    assert len(names) >= 1 + 4 * 5
    assert all(names)
    assert len(set(names)) == len(names)
    assert tab.requests() == [document.as_uri()]
    assert tab.messages() == []


@needs_browser
def test_maps_of_the_sides_are_side_by_side_in_a_wide_window_and_one_upon_the_other_in_a_narrow_one(
    tab: Page, document: Path
) -> None:
    tops = {}
    for width in (1400, 420):
        tab.show(document, width=width)
        tops[width] = tab.evaluate(
            "Array.from(document.querySelectorAll('#result-1 [data-spec*=latency-]'))"
            ".map((place) => place.closest('figure').getBoundingClientRect().top)"
        )

    assert len(tops[1400]) == len(tops[420]) == 2
    assert tops[1400][0] == tops[1400][1]
    assert tops[420][0] < tops[420][1]


@needs_browser
def test_a_tile_leads_to_the_pictures_of_its_result(tab: Page, document: Path) -> None:
    tab.show(document)
    assert not tab.evaluate("document.querySelector('#result-5').open")

    tab.evaluate("document.querySelector('.tile a[href=\"#result-5\"]').click()")

    tab.wait("document.querySelector('#result-5').open")
    tab.wait("document.querySelectorAll('#result-5 .chart svg, #result-5 .chart canvas').length === 4")


@needs_browser
def test_it_prints(tab: Page, document: Path, tmp_path: Path) -> None:
    tab.show(document)

    assert tab.printed(tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_compare_writes_the_files_that_are_asked_for(assay: Assay, tmp_path: Path) -> None:
    for _ in range(2):
        assay("measure", tmp_path, *WORDS)
    html, xlsx, charts = tmp_path / "c.html", tmp_path / "c.xlsx", tmp_path / "charts"

    text = assay(
        "compare", "last~1", "last", "--html", html, "--xlsx", xlsx, "--charts", charts, "--format", "svg", check=0
    )
    again = assay("compare", "last~1", "last", "--html", html, "--json", check=0)

    pictures = sorted(charts.iterdir())
    assert text.stdout.splitlines()[-2 - len(pictures) :][:2] == [str(html), str(xlsx)]
    assert {picture.suffix for picture in pictures} == {".svg"}
    assert len(pictures) >= 4
    assert "Values of every run" in html.read_text()
    assert xlsx.read_bytes().startswith(b"PK")
    assert json.loads(again.stdout)["schema"] == "assay.comparison/1"
    assert again.stderr.strip() == str(html)


def test_what_cannot_be_written_is_refused_in_a_line_before_anything_is_measured(assay: Assay, tmp_path: Path) -> None:
    side, other = f"measure {tmp_path} --size 1m --time 0.2s", f"measure {tmp_path} --size 2m --time 0.2s"

    assert "is a directory" in assay("compare", "a", "b", "--html", tmp_path, check=2).stderr
    assert "does not exist" in assay("ab", side, other, "--html", tmp_path / "no/c.html", check=2).stderr
    assert "does not exist" in assay("ab", side, other, "--charts", tmp_path / "no/charts", check=2).stderr
    assert "figures can show 6 sides" in assay("compare", *"abcdefg", "--html", tmp_path / "c.html", check=2).stderr
    assert not (tmp_path / "runs").exists()


def test_a_run_is_exported_as_a_workbook(assay: Assay, tmp_path: Path) -> None:
    assay("measure", tmp_path, *WORDS)

    done = assay("export", "last", "--xlsx", tmp_path / "run.xlsx", check=0)

    assert done.stdout.strip() == str(tmp_path / "run.xlsx")
    assert (tmp_path / "run.xlsx").read_bytes().startswith(b"PK")
    assert "is a directory" in assay("export", "last", "--xlsx", tmp_path, check=2).stderr


def test_ab_writes_the_page_of_what_it_measured(assay: Assay, tmp_path: Path) -> None:
    sides = [f"measure {tmp_path} --read --size 1m --time 0.2s --bs {size}" for size in ("4k", "8k")]

    assay("ab", *sides, "--rounds", "1", "--html", tmp_path / "ab.html", check=0)

    # What each run says of itself: side A read blocks of 4 KiB, side B of 8 KiB.
    runs = [json.loads(assay("show", name, "--json").stdout) for name in ("last~1", "last")]
    measured = {run["run"]["id"]: run["results"][0] for run in runs}
    block_bytes = {"A": 4096, "B": 8192}
    text = (tmp_path / "ab.html").read_text()
    shown = [row[1:4] for row in _table(text, "Values of every run")]
    assert sorted(side for side, _, _ in shown) == ["A", "B"]
    assert {run for _, run, _ in shown} == set(measured)
    for side, run, rate in shown:
        result = measured[run]
        assert result["bytes"] == block_bytes[side] * result["ops"]
        assert rate == f"{format_number(result['iops'])} IOPS"
    # One run of a side decides nothing, whatever it measured.
    assert "no confidence interval" in text or "No verdict in" in text


def _table(page: str, title: str) -> list[list[str]]:
    """Return the rows of the table after a title, without its heading."""
    table = page.partition(title)[2].partition("</table>")[0]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)[1:]
    cells = [re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row] for row in cells]
