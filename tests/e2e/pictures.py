"""The pictures of the documentation, made of real runs: `make pictures DIR=/mnt/scratch`.

`report.png` is the top of the report of a quick run; `heat-map-and-time-budget.png` is what the report of a buffered read
from memory shows, which fio would print as a rate of storage. Needs Chromium, a quiet machine and two minutes.
"""

import sys
import tempfile
from pathlib import Path

from e2e.browser import Page, browser
from e2e.command import Assay

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
BUFFERED_READ = """
name = "buffered-read"

[[file_set]]
name = "data"
size = "256MiB"

[[phase]]
name = "read"
title = "random read, 4 KiB, buffered"
cache = "warm"
seconds = "10s"
[[phase.job]]
op = { op = "read", set = "data", access = "random", size = "4KiB" }
"""
_TWO_FIGURES = """
(() => {
  const figures = ["figure-01-random-read-4-kib-buffered-latency", "figure-overview-time-budget"].map(
    (name) => document.querySelector(`[data-spec="${name}"]`).closest("figure"));
  for (const figure of figures) figure.querySelector("details").remove();
  const verdict = document.querySelector(".verdict");
  document.body.replaceChildren(verdict, ...figures);
})()
"""
"""Leaves the verdict, the heat map and the time budget on the page, as they are drawn."""


def main(directory: str) -> None:
    """Measure in a directory, and write the pictures anew."""
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder, "profile")) as page:
        assay = Assay(runs=Path(folder, "runs"))
        load = Path(folder, "buffered-read.toml")
        load.write_text(BUFFERED_READ)
        for words, draw in (
            (("quick", directory, "--no-report"), _report),
            (("run", load, directory, "--no-report"), _two_figures),
        ):
            done = assay(*words)
            sys.stderr.write(done.stdout + done.stderr)
            html = Path(folder, "report.html")
            assay("report", "last", "-o", html, check=0)
            draw(page, html)


def _report(page: Page, html: Path) -> None:
    page.show(html, width=1400)
    end = page.evaluate("document.querySelector('#summary').getBoundingClientRect().top + window.scrollY")
    page.picture(IMAGES / "report.png", height=min(round(end), 1800))


def _two_figures(page: Page, html: Path) -> None:
    page.show(html, width=760)
    page.open_all()
    page.evaluate(_TWO_FIGURES)
    end = page.evaluate("document.body.lastElementChild.getBoundingClientRect().bottom + window.scrollY")
    page.picture(IMAGES / "heat-map-and-time-budget.png", height=round(end) + 8)


if __name__ == "__main__":
    main(sys.argv[1])
