"""`assay size` and `assay capture` as they are used: the tutorial's capture, several hosts, the page in a browser."""

import csv
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sizing.candidate import Requirement, candidate
from assay.sizing.disks import parse_disk
from assay.sizing.raid import Requests, parse_raid
from e2e.browser import CHROMIUM, Page, browser
from e2e.command import Assay

ROOT = Path(__file__).parents[2]
DAY = ROOT / "docs" / "examples" / "day.perfmon.csv.gz"
TUTORIAL = (ROOT / "docs" / "how-to" / "size.md").read_text(encoding="utf-8")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH (Debian: apt-get install chromium)")


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(("words", "code"), [(("--raid", "0", "--raid", "5"), 0), (("--disks", "11"), 1)])
def test_the_tutorial_shows_what_the_command_prints(assay: Assay, words: tuple[str, ...], code: int) -> None:
    done = assay("size", DAY.name, *words, cwd=DAY.parent, env={"COLUMNS": "100"}, check=code)

    begin = TUTORIAL.index(f"$ assay size {DAY.name} {' '.join(words)}")
    shown = lines_of(TUTORIAL[begin : TUTORIAL.index("```", begin)])[1:]
    printed = lines_of(done.stdout)
    first = printed.index(shown[0])
    assert printed[first : first + len(shown)] == shown


def test_the_tutorial_s_capture_needs_21_disks_and_11_cannot_carry_it(assay: Assay) -> None:
    found = json.loads(assay("size", DAY, "--raid", "0", "--raid", "5", "--json", check=0).stdout)
    offered = json.loads(assay("size", DAY, "--disks", "11", "--json", check=1).stdout)

    assert [one["disks"] for one in found["candidates"]] == [14, 21]
    assert found["captured"]["mean_iops"] == pytest.approx(1815, abs=1)
    assert found["iops"] == found["captured"]["steady_p95_iops"] == pytest.approx(3006, abs=1)
    assert found["write_share"] == pytest.approx(1 / 6, abs=0.001)
    assert [spike["seconds"] for spike in found["captured"]["spikes"]] == [pytest.approx(120, rel=0.001)]
    (one,) = offered["candidates"]
    assert one["utilisation"] == pytest.approx(1.52, abs=0.005)
    assert (one["latency_s"], one["is_enough"]) == (None, False)


def test_a_written_table_is_a_capture_and_two_hosts_are_added_up(assay: Assay, tmp_path: Path) -> None:
    table = tmp_path / "samples.csv"
    assay("capture", "read", DAY, "-o", table, check=0)
    with table.open(newline="") as file:
        rows = list(csv.reader(file))
    host = rows[0].index("host")
    other = tmp_path / "other.csv"
    with other.open("w", newline="") as file:
        csv.writer(file).writerows([rows[0], *([*row[:host], "DB2", *row[host + 1 :]] for row in rows[1:])])

    one = json.loads(assay("size", table, "--json", check=0).stdout)
    two = json.loads(assay("size", DAY, other, "--json", check=0).stdout)

    assert one["iops"] == json.loads(assay("size", DAY, "--json", check=0).stdout)["iops"]
    assert two["iops"] == pytest.approx(2 * one["iops"])
    assert two["captured"]["hosts"] == ["DB1", "DB2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give captures of the load, or its rate"),
        (("/etc/passwd",), "is of no format that is known"),
        (("missing",), "there is no file"),
        (("--iops", "3000"), "--writes"),
        (("--iops", "3000", "--writes", "20%", "--raid", "7"), "--raid '7'"),
        (("--iops", "3000", "--writes", "20%", "--disks-now", "24"), "--disks-now is for captures"),
        (("--iops", "3000", "--writes", "20%", "--disk", "ssd"), "--disk 'ssd'"),
        (("--iops", "3000", "--writes", "20%", "--disk", "ssd=run:last"), "there is no run"),
        (("--iops", "3000", "--writes", "20%", "--capacity", "1TiB"), "--disk-size"),
        (("--iops", "3000", "--writes", "20%", "-o", "size.txt"), ".html or .xlsx"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_cannot_be_sized_is_refused(assay: Assay, words: tuple[str, ...], said: str) -> None:
    done = assay("size", *words, check=2)

    assert done.stdout == ""
    assert said in done.stderr


# -- the page ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (420, True)])
def test_the_page_is_drawn_silent_and_its_sliders_compute_what_the_command_does(
    assay: Assay, tab: Page, tmp_path: Path, width: int, *, dark: bool
) -> None:
    page = tmp_path / "size.html"
    words = ("--raid", "5", "--raid", "10", "--raid", "6:8", "--disk", "15k", "--disk", "7.2k")
    assay("size", DAY, *words, "-o", page, check=0)
    tab.show(page, width=width, dark=dark)
    tab.open_all()

    assert tab.evaluate("document.querySelectorAll('.undrawn').length") == 0
    assert tab.evaluate("document.querySelectorAll('[data-spec]').length") == 2
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.requests() == [page.as_uri()]
    for disk, kind in enumerate(("15k", "7.2k")):
        for level, raid in enumerate(("5", "10", "6:8")):
            for iops, writes, latency_ms, headroom in ((3006, 16.7, 20, 0), (500, 60, 8, 30), (9000, 0, 50, 10)):
                values = {"iops": iops, "writes": writes, "latency": latency_ms, "headroom": headroom}
                shown = tab.evaluate(_set(disk, level, values))
                front = iops / (1 - headroom / 100)
                requests = Requests(front * (1 - writes / 100), front * writes / 100)
                wanted = candidate(parse_disk(kind), parse_raid(raid), Requirement(requests, latency_ms / 1000))
                assert shown == (str(wanted.disks) if wanted.disks else "none"), (kind, raid, values)
    assert tab.messages() == []


def _set(disk: int, level: int, values: dict[str, float]) -> str:
    """Move the page's sliders and read what it computes."""
    moved = "".join(f"box.querySelector('[name={name}]').value = {value};" for name, value in values.items())
    return (
        "(() => { const box = document.getElementById('what-if');"
        f"box.querySelector('[name=disk]').selectedIndex = {disk}; box.querySelector('[name=raid]').selectedIndex = {level};"
        f"{moved} box.dispatchEvent(new Event('input')); return box.querySelector('output').dataset.disks; }})()"
    )


def test_a_workbook_has_the_candidates_and_the_load(assay: Assay, tmp_path: Path) -> None:
    book = tmp_path / "size.xlsx"
    assay("size", DAY, "-o", book, check=0)

    with zipfile.ZipFile(book) as package:
        names = re.findall(r'<sheet name="([^"]+)"', package.read("xl/workbook.xml").decode())
        first = package.read("xl/worksheets/sheet1.xml").decode()
    assert names == ["Candidates", "Answer", "Load", "Spikes", "Assumed"]
    assert "<v>21</v>" in first


def test_a_recording_of_this_machine_is_a_capture_and_is_not_overwritten(assay: Assay, tmp_path: Path) -> None:
    words = ("capture", "record", "-o", tmp_path / "here.csv", "--time", "0.6s", "--interval", "0.2s", "--host", "here")
    assay(*words, check=0)

    found = json.loads(assay("capture", "read", tmp_path / "here.csv", "--json", check=0).stdout)

    named = {line.split()[2] for line in Path("/proc/diskstats").read_text().splitlines()}
    assert {one["device"] for one in found["devices"]} <= named
    assert {one["host"] for one in found["devices"]} == {"here"}
    assert {one["samples"] for one in found["devices"]} <= {3, 4}
    before = (tmp_path / "here.csv").read_bytes()
    assert "is there already" in assay(*words, check=2).stderr
    assert (tmp_path / "here.csv").read_bytes() == before
