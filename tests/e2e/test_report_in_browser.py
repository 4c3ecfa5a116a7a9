"""The report as a browser shows it: drawn, silent, without a request, named; in the dark, on a phone and on paper."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.analysis.record import read
from assay.report.html import write_html
from e2e.browser import CHROMIUM, Page, browser
from e2e.command import Assay
from unit.quick_run import LOADS, quick_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (Debian: apt-get install chromium)")

DRAWN = "document.querySelector('[data-spec] svg')"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a quick run with every kind of text in it, hostile ones too."""
    memory, document = quick_run()
    return write_html(read(memory), document, tmp_path_factory.mktemp("report") / "report.html")


def widths(tab: Page) -> tuple[int, int]:
    """How wide what is on the page is, and how wide the window."""
    found: list[int] = tab.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    return found[0], found[1]


def column(tab: Page, number: int) -> list[str]:
    """The texts of a column of the summary, from top to bottom."""
    rows = "Array.from(document.querySelectorAll('#summary ~ .scroll tbody tr'))"
    found: list[str] = tab.evaluate(
        f"{rows}.map((row) => row.cells[{number}].dataset.by || row.cells[{number}].textContent)"
    )
    return found


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (420, True)])
def test_everything_is_drawn_without_a_request_or_a_word_on_the_console(
    tab: Page, report: Path, width: int, *, dark: bool
) -> None:
    tab.show(report, width=width, dark=dark)
    tab.open_all()

    assert tab.evaluate("document.querySelectorAll('.undrawn').length") == 0
    drawn = tab.evaluate(
        "Array.from(document.querySelectorAll('[data-spec]')).map((place) => place.querySelector('svg, canvas'))"
        ".every((shape) => shape && shape.getBoundingClientRect().width > 200 && shape.getBoundingClientRect().height > 40)"
    )
    assert drawn
    assert tab.evaluate("document.querySelectorAll('[data-spec]').length") >= 3 * len(LOADS)
    assert tab.requests() == [report.as_uri()]
    assert tab.messages() == []


@pytest.mark.parametrize("width", [1400, 800, 420])
def test_no_window_has_to_be_moved_sideways(tab: Page, report: Path, width: int) -> None:
    tab.show(report, width=width)
    tab.open_all()

    page_px, window_px = widths(tab)

    assert page_px <= window_px == width
    # No picture is cut either: what is wider than its place lies in a region that scrolls by itself.
    cut = tab.evaluate(
        "Array.from(document.querySelectorAll('[data-spec]')).filter((place) => place.scrollWidth > place.clientWidth + 1)"
        ".map((place) => place.dataset.spec)"
    )
    assert cut == []


def test_figures_fill_a_wide_window(tab: Page, report: Path) -> None:
    tab.show(report, width=1900)

    right = tab.evaluate(
        "Math.max(...Array.from(document.querySelectorAll('figure')).map((one) => one.getBoundingClientRect().right))"
    )

    assert right > 0.95 * 1900


def test_every_picture_has_a_name_of_its_own(tab: Page, report: Path) -> None:
    tab.show(report)
    tab.open_all()

    names = tab.pictures()

    assert len(names) >= 3 * len(LOADS) + 2 * len(LOADS)  # figures, and the two small ones of each row
    assert all(names)
    figures = tab.evaluate("Array.from(document.querySelectorAll('[data-spec]')).map((one) => one.ariaLabel)")
    assert len(set(figures)) == len(figures)


def test_the_dark_page_is_dark_in_its_figures_too(tab: Page, report: Path) -> None:
    grounds = {}
    inks = {}
    for dark in (False, True):
        tab.show(report, dark=dark)
        grounds[dark] = [
            tab.evaluate(f"getComputedStyle({place}).backgroundColor") for place in ("document.body", DRAWN)
        ]
        inks[dark] = tab.evaluate(f"getComputedStyle({DRAWN}.querySelector('text')).fill")

    assert grounds == {False: ["rgb(255, 255, 255)"] * 2, True: ["rgb(20, 24, 29)"] * 2}
    assert [sum(map(int, re.findall(r"\d+", inks[dark]))) > 384 for dark in (False, True)] == [False, True]


def test_a_change_of_the_scheme_draws_the_figures_anew(tab: Page, report: Path) -> None:
    tab.show(report)
    tab.emulate_scheme(dark=True)

    tab.wait(f"getComputedStyle({DRAWN}).backgroundColor === 'rgb(20, 24, 29)'")


def test_a_folded_card_is_drawn_when_it_is_opened(tab: Page, report: Path) -> None:
    tab.show(report)
    first = "document.querySelector('#result-1')"
    assert tab.evaluate(f"[{first}.open, {first}.querySelector('.chart svg, .chart canvas')]") == [False, None]

    tab.evaluate("location.hash = '#result-1'")

    tab.wait(f"{first}.open && {first}.querySelectorAll('.chart svg, .chart canvas').length === 3")


def test_a_struck_number_leads_to_its_reason_in_one_click(tab: Page, report: Path) -> None:
    tab.show(report, height=900)

    tab.evaluate("document.querySelector('#summary ~ .scroll a.struck').click()")

    tab.wait("location.hash.startsWith('#warning-')")
    place = tab.evaluate("document.querySelector(':target').getBoundingClientRect().top")
    assert -1 <= place < 900
    assert "waited for a CPU" in tab.evaluate("document.querySelector(':target').textContent")


def test_the_summary_sorts_by_number_and_back(tab: Page, report: Path) -> None:
    tab.show(report)
    before = column(tab, 2)
    numbers = [float(text) for text in before]
    assert numbers != sorted(numbers)

    button = "document.querySelectorAll('#summary ~ .scroll thead th')[2].querySelector('button')"
    tab.evaluate(f"{button}.click()")
    assert [float(text) for text in column(tab, 2)] == sorted(numbers)
    assert tab.evaluate(f"{button}.closest('th').ariaSort") == "ascending"
    tab.evaluate(f"{button}.click()")
    assert [float(text) for text in column(tab, 2)] == sorted(numbers, reverse=True)

    # Back in the order of the run, by the numbers of the rows.
    tab.evaluate("document.querySelector('#summary ~ .scroll thead th button').click()")
    assert column(tab, 2) == before


def test_numbers_with_units_sort_by_what_they_mean(tab: Page, report: Path) -> None:
    tab.show(report)
    table = "document.querySelector('#figure-overview-latency').closest('figure').querySelector('table')"
    tab.evaluate(f"{table}.querySelectorAll('thead button')[1].click()")

    shown: list[str] = tab.evaluate(f"Array.from({table}.tBodies[0].rows).map((row) => row.cells[1].textContent)")

    ns = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
    values = [float(number) * ns[unit] for number, unit in (text.split() for text in shown)]
    assert values == sorted(values)


def test_what_is_printed_has_no_empty_page(tab: Page, report: Path, tmp_path: Path) -> None:
    tab.show(report)

    pages = printed_pages(tab.printed(tmp_path / "report.pdf").read_bytes())

    assert 2 <= len(pages) < 40
    assert all(words > 0 for words in pages)


def test_the_page_of_a_classic_tool_is_drawn_and_silent_too(tab: Page, assay: Assay, tmp_path: Path) -> None:
    html = tmp_path / "page.html"
    assay("iozone", "-Ra", "-g", "256", "-i", "0", "-i", "1", "-f", tmp_path / "file", "--no-report", cwd=tmp_path)
    assay("report", "last", "-o", html, check=0)

    for dark in (False, True):
        tab.show(html, width=420, dark=dark)
        tab.open_all()

        assert tab.evaluate("document.querySelectorAll('.undrawn').length") == 0
        assert tab.evaluate("document.querySelectorAll('[data-spec]').length") >= 4
        page_px, window_px = widths(tab)
        assert page_px <= window_px
        assert all(tab.pictures())
        assert tab.requests() == [html.as_uri()]
        assert tab.messages() == []


def printed_pages(pdf: bytes) -> list[int]:
    """How many pieces of text and shapes each page of a PDF of Chromium's shows, page by page."""
    objects = {int(found[1]): found[2] for found in re.finditer(rb"(\d+) 0 obj\b(.*?)\bendobj", pdf, re.DOTALL)}
    shown = []
    for body in objects.values():
        if re.search(rb"/Type\s*/Page\b", body):
            (content,) = re.findall(rb"/Contents (\d+) 0 R", body)
            # What follows the compressed bytes is left over, and they may end as a line does.
            stream = objects[int(content)].split(b"stream", 1)[1].lstrip(b"\r\n")
            text = zlib.decompressobj().decompress(stream)
            shown.append(len(re.findall(rb"\bT[jJ]\b", text)) + len(re.findall(rb"\bDo\b", text)))
    return shown
