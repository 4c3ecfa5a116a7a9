"""The section of clients as a browser shows it: drawn without a request, no wider than a phone, in the dark and on paper."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.report.html import write_html
from e2e.browser import CHROMIUM, Page, browser
from unit.set_run import RATES, set_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (Debian: apt-get install chromium)")

OF_CLIENTS = "Array.from(document.querySelectorAll('[data-spec^=figure-clients]'))"
TABLE = "document.querySelector('[aria-label=Clients] table')"
ROWS = f"Array.from({TABLE}.tBodies[0].rows)"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module", params=[4, 300])
def report(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The page of four clients, of which one was lost, or of very many."""
    folder = tmp_path_factory.mktemp("report")
    if request.param == len(RATES):
        return write_html(*set_run(with_lost=True, with_observer=True), folder / "report.html")
    many = set_run({f"a-host-of-a-long-name-{i:04d}": (10 + i % 10, 10) for i in range(request.param)})
    return write_html(*many, folder / "report.html")


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (420, True)])
def test_the_figures_of_clients_are_drawn_without_a_request_and_fit(
    tab: Page, report: Path, width: int, *, dark: bool
) -> None:
    tab.show(report, width=width, dark=dark)
    tab.open_all()

    assert tab.evaluate(f"{OF_CLIENTS}.length") == 4
    assert tab.evaluate("document.querySelectorAll('.undrawn').length") == 0
    drawn = f"{OF_CLIENTS}.map((place) => place.querySelector('svg, canvas'))"
    assert tab.evaluate(f"{drawn}.every((shape) => shape && shape.getBoundingClientRect().width > 200)")
    assert tab.evaluate(f"{OF_CLIENTS}.filter((place) => place.scrollWidth > place.clientWidth + 1).length") == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.requests() == [report.as_uri()]
    assert tab.messages() == []


def test_the_table_of_clients_is_sorted_by_a_click(tab: Page, report: Path) -> None:
    tab.show(report)

    tab.evaluate(f"{TABLE}.querySelectorAll('thead th')[2].querySelector('button').click()")

    by = [float(value) for value in tab.evaluate(f"{ROWS}.map((row) => row.cells[2].dataset.by)")]
    assert by in (sorted(by), sorted(by, reverse=True))
    assert len(set(by)) > 2
