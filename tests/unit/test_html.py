import gzip
import json
import math
import re
import stat
import sys
import tarfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import msgspec
import pytest
import vl_convert

from assay.analysis.record import RunRecord, read
from assay.errors import InputError, RunError
from assay.report import vega, vega_lite
from assay.report.archive import write_archive
from assay.report.export import PictureFormat, all_figures, write_charts
from assay.report.html import default_path, page, write_html
from assay.report.numbers import headline, rate
from assay.report.page.cards import MOST_CARDS
from assay.report.recording import Recording
from assay.results import Document, Finding
from unit.bundle_streams import begun
from unit.memory_run import RUN_ID
from unit.quick_run import HOSTILE, LOADS, quick_run

MOST_BYTES = 2_500_000
VOID = {"meta", "br", "img", "hr", "input", "link"}


class Reader(HTMLParser):
    """Collects elements as a browser would see them, and checks that they nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.faults += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close one."""
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def specs(self) -> list[dict[str, Any]]:
        """Give the specifications of the figures."""
        return [json.loads(text) for text in self.inside("script") if text.startswith("{")]

    def handle_data(self, data: str) -> None:
        """Keep a text with the elements that it is in."""
        self.texts.append((tuple(self._open), data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Give the attributes of every element of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def inside(self, tag: str) -> list[str]:
        """Give the texts anywhere within elements of a name."""
        return [text for path, text in self.texts if tag in path]


@pytest.fixture(scope="module")
def run() -> tuple[RunRecord, Document]:
    memory, document = quick_run()
    return read(memory), document


@pytest.fixture(scope="module")
def text(run: tuple[RunRecord, Document]) -> str:
    return page(*run)


@pytest.fixture(scope="module")
def seen(text: str) -> Reader:
    return Reader(text)


@pytest.fixture
def bundle_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "20260101T120000Z-quick-0123abcd"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    (folder / "resolved.json").write_text("{}")
    return folder


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_report_of_eleven_results_stays_under_its_bound(text: str) -> None:
    assert len(LOADS) == 11
    assert len(text.encode()) <= MOST_BYTES


@pytest.mark.long
def test_a_page_of_thousands_of_results_tells_each_in_a_row_and_some_in_full(run: tuple[RunRecord, Document]) -> None:
    record, document = run
    good = msgspec.structs.replace(document.results[0], findings=())
    bad = Finding(id="workers-apart", severity="invalid", text="means nothing", cure="")
    results = [good] * 2000
    results[1500] = msgspec.structs.replace(good, findings=(bad,))

    text = page(record, msgspec.structs.replace(document, results=tuple(results)))

    seen = Reader(text)
    ends = [attributes["href"] for attributes in seen.all("a") if (attributes["href"] or "").startswith("#result-")]
    told = [attributes["id"] for attributes in seen.all("details") if attributes.get("class") == "card"]
    assert seen.faults == []
    assert len(text.encode()) <= 5_000_000
    assert len(seen.all("tr")) > 2000
    assert [row["id"] for row in seen.all("tr") if row.get("id")] == [f"row-{i + 1}" for i in range(2000)]
    assert told == [f"result-{i + 1}" for i in [*range(MOST_CARDS - 1), 1500]]
    assert set(ends) == {f"#{ident}" for ident in told}
    assert f"{MOST_CARDS} of 2,000 results are shown in full" in text
    assert "there are too many for one figure of all" in text


def test_the_page_is_well_formed_and_says_its_language(seen: Reader) -> None:
    assert seen.faults == []
    assert seen.all("html") == [{"lang": "en"}]
    assert len(seen.all("main")) == len(seen.all("h1")) == 1


def test_nothing_is_referred_to_that_a_browser_would_fetch(seen: Reader) -> None:
    for tag, attributes in seen.elements:
        for name in ("src", "href", "srcset", "data", "poster", "action", "background"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert not re.search(r"@import|url\(", "".join(seen.inside("style")))


def test_the_only_addresses_in_the_figures_name_schemas(seen: Reader) -> None:
    addresses = {found for spec in seen.specs() for found in re.findall(r"https?://[^\"']*", json.dumps(spec))}

    assert addresses
    assert all(address.startswith("https://vega.github.io/schema/") for address in addresses)


def test_the_page_forbids_itself_every_connection(seen: Reader) -> None:
    policy = next(m["content"] for m in seen.all("meta") if m.get("http-equiv") == "Content-Security-Policy")

    assert policy is not None
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "connect-src" not in policy


def test_every_figure_has_words_for_who_cannot_see_it_and_a_table(text: str, run: tuple[RunRecord, Document]) -> None:
    figures = re.findall(r"<figure .*?</figure>", text, flags=re.DOTALL)

    assert len(figures) == len(list(all_figures(*run))) == 5 + 2 + 3 * len(LOADS)
    for figure in figures:
        inner = Reader(figure)
        rows = len(inner.all("tr"))
        assert rows >= 2
        assert any(len(a.get("aria-label") or "") > 40 for a in inner.all("div") if a.get("role") == "img")
        assert inner.all("figcaption")
        assert all(head.get("scope") in {"col", "row"} for head in inner.all("th"))


def test_the_vega_program_is_in_the_page_once(text: str) -> None:
    assert text.count("vegaEmbed=") <= 1
    assert 800_000 < max(len(script) for script in re.findall(r"<script>(.*?)</script>", text, re.DOTALL)) < 1_000_000


@pytest.mark.long
def test_the_vega_program_is_kept_for_the_next_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = vega.javascript()
    [kept] = (tmp_path / "assay").iterdir()
    assert kept.read_text() == first

    # What is there is taken; half of it is not.
    kept.write_text("other" + first)
    assert vega.javascript() == "other" + first
    kept.write_text(first[:1000])
    assert vega.javascript() == first == kept.read_text()
    # What others can write is not: a report would execute it.
    kept.write_text("other" + first)
    kept.chmod(0o666)
    assert vega.javascript() == first == kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) & 0o022 == 0


def test_a_report_is_made_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert len(vega.javascript()) > 800_000


def test_headings_do_not_skip_a_level(seen: Reader) -> None:
    levels = [int(tag[1]) for tag, _ in seen.elements if re.fullmatch(r"h[1-6]", tag)]

    # Figures of the overview stand right under their section, without a card between.
    assert levels[0] == 1
    assert {3, 4} <= set(levels)
    assert max(levels) == 4


def test_numbers_that_are_not_to_be_trusted_are_struck_through_and_no_others(
    seen: Reader, run: tuple[RunRecord, Document]
) -> None:
    struck = set(seen.inside("s"))

    for result in run[1].results:
        assert (rate(*headline(result)) in struck) == (not result.trusted)
    assert "workers waited for a CPU 34 % of the time" in "".join(seen.inside("details"))


def test_a_struck_number_leads_to_its_warning_and_the_warning_back(
    seen: Reader, run: tuple[RunRecord, Document]
) -> None:
    struck = [attributes for attributes in seen.all("a") if attributes.get("class") == "struck"]
    anchors = {attributes["id"] for _, attributes in seen.elements if "id" in attributes}
    bad = next(i for i, result in enumerate(run[1].results) if not result.trusted)

    assert struck
    assert {attributes["href"] for attributes in struck} == {"#warning-cpu-contention"}
    assert all("workers waited for a CPU" in (attributes["title"] or "") for attributes in struck)
    assert {"warning-cpu-contention", f"result-{bad + 1}"} <= anchors
    text = page(*run)
    warning = re.search(r'<li id="warning-cpu-contention">.*?</li>', text, re.DOTALL)
    assert warning is not None
    assert f'href="#result-{bad + 1}"' in warning[0]


def test_every_link_leads_to_a_place_of_the_page(seen: Reader) -> None:
    anchors = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]

    assert len(set(anchors)) == len(anchors)
    assert {(attributes["href"] or "")[1:] for attributes in seen.all("a")} <= set(anchors)


def test_cards_are_folded_where_the_number_is_trusted(seen: Reader, run: tuple[RunRecord, Document]) -> None:
    cards = [attributes for attributes in seen.all("details") if attributes.get("class") == "card"]

    assert ["open" in card for card in cards] == [not result.trusted for result in run[1].results]


def test_the_page_goes_from_the_answer_to_the_record(text: str) -> None:
    order = ['class="verdict"', 'class="tiles"', 'id="warnings"', 'id="overview"', 'id="summary"', 'id="results"']
    order += ['id="environment"', 'id="plan"']

    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_every_row_has_its_rate_over_time_and_its_latencies_on_one_scale(run: tuple[RunRecord, Document]) -> None:
    rows = re.findall(r'<tr id="row-.*?</tr>', page(*run), flags=re.DOTALL)

    assert len(rows) == len(LOADS)
    places = []
    for row, result in zip(rows, run[1].results, strict=True):
        assert row.count('class="spark"') == row.count('class="strip"') == 1
        slowest = re.search(r'class="max" cx="([\d.]+)"', row)
        assert slowest is not None
        places.append((math.log10(result.latency_ns.max or 1), float(slowest[1])))
    (a, x), (b, y) = min(places), max(places)
    for log_ns, place in places:
        assert place == pytest.approx(x + (log_ns - a) / (b - a) * (y - x), abs=0.2)


def test_the_line_of_a_row_falls_to_zero_where_nothing_was_completed(run: tuple[RunRecord, Document]) -> None:
    row = re.findall(r'<tr id="row-.*?</tr>', page(*run), flags=re.DOTALL)[2]

    path = re.search(r'class="line" d="([^"]*)"', row)
    assert path is not None
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path[1])]
    assert len(heights) == 30
    # Of thirty intervals of 0.2 s those from 3.0 to 3.8 s have no operation: 26 is the zero of a picture 28 high.
    assert [i for i, y in enumerate(heights) if y == 26.0] == [15, 16, 17, 18]
    assert min(heights) == 2.0


def test_text_of_the_run_cannot_become_part_of_the_page(seen: Reader, text: str) -> None:
    scripts = seen.all("script")

    assert len(scripts) == 3 + len(seen.all("figure"))
    assert "b" not in {tag for tag, _ in seen.elements}
    assert HOSTILE not in text
    assert HOSTILE in "".join(shown for path, shown in seen.texts if "td" in path)


def test_hostile_titles_stay_data_in_the_figures() -> None:
    load = replace(LOADS[0], title=HOSTILE)

    memory, document = quick_run((load,))

    seen = Reader(page(read(memory), document))

    assert seen.faults == []
    assert any(f'"title": {json.dumps(HOSTILE)}' in json.dumps(spec) for spec in seen.specs())


def test_facts_stand_with_their_source_and_absent_ones_with_the_reason(seen: Reader) -> None:
    cells = seen.inside("table")

    for expected in ("vm.dirty_ratio_percent", "20", "/proc/sys/vm/dirty_ratio", "n/a: no cpufreq on this machine"):
        assert expected in cells
    assert "machine.kernel" in cells


def test_a_run_that_did_not_end_says_so(run: tuple[RunRecord, Document]) -> None:
    bundle, document = run

    seen = Reader(
        page(replace(bundle, is_sealed=False), msgspec.structs.replace(document, results=document.results[:1]))
    )

    assert any("did not come to its end" in words for words in seen.inside("header"))


def test_a_run_without_results_still_has_a_page(run: tuple[RunRecord, Document]) -> None:
    bundle, document = run

    seen = Reader(page(bundle, msgspec.structs.replace(document, results=())))

    assert seen.faults == []
    assert seen.all("figure") == []


def test_a_real_bundle_reads_like_the_one_in_memory(tmp_path: Path) -> None:
    bundle = begun(tmp_path, ticks=12)

    run = read(bundle)

    (phase,) = run.phases
    assert phase.intervals.total("ops") == bundle.intervals()["ops"].sum() > 0
    assert len(Recording(run).edges_s(phase)) > 2


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_report_is_never_written_into_a_bundle(run: tuple[RunRecord, Document], bundle_folder: Path) -> None:
    before = sorted(bundle_folder.iterdir())

    with pytest.raises(InputError, match="inside the run bundle"):
        write_html(*run, bundle_folder / "report.html")
    with pytest.raises(InputError, match="inside the run bundle"):
        write_charts(*run, bundle_folder / "charts", PictureFormat.PNG)

    assert sorted(bundle_folder.iterdir()) == before


def test_a_report_says_where_it_cannot_be_written(run: tuple[RunRecord, Document], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a directory.*report\.html"):
        write_html(*run, tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        write_html(*run, tmp_path / "missing" / "report.html")

    assert list(tmp_path.iterdir()) == []


def test_the_default_report_is_named_after_its_run(run: tuple[RunRecord, Document]) -> None:
    assert default_path(run[0].run_id) == Path(f"assay-{RUN_ID}.html")


@pytest.mark.long
def test_charts_are_written_as_the_pictures_that_they_say_they_are(tmp_path: Path) -> None:
    memory, document = quick_run(LOADS[2:3])
    one = (read(memory), document)

    pngs = write_charts(*one, tmp_path / "png", PictureFormat.PNG)
    svgs = write_charts(*one, tmp_path / "svg", PictureFormat.SVG)

    assert len(set(pngs)) == len(svgs) == len(list(all_figures(*one)))
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") for path in pngs)
    assert all(path.read_text().startswith("<svg") for path in svgs)


def test_an_archive_holds_the_bundle_byte_for_byte_under_its_id(bundle_folder: Path, tmp_path: Path) -> None:
    (bundle_folder / "hist.parquet").write_bytes(bytes(range(256)))

    names = [file.name for file in bundle_folder.iterdir()]

    path = write_archive(bundle_folder, names, tmp_path / "run.tar.gz")

    with tarfile.open(path) as archive:
        packed = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        contents = {Path(name).name: file.read() for name, file in packed.items() if file}
    assert contents == {file.name: file.read_bytes() for file in bundle_folder.iterdir()}
    assert {Path(name).parts[0] for name in packed} == {bundle_folder.name}


def test_an_archive_replaces_nothing_and_says_its_format(bundle_folder: Path, tmp_path: Path) -> None:
    taken = tmp_path / "run.tar.gz"
    taken.write_bytes(gzip.compress(b"precious"))

    with pytest.raises(InputError, match="is not replaced"):
        write_archive(bundle_folder, (), taken)
    with pytest.raises(InputError, match=r"must end in \.tar\.gz"):
        write_archive(bundle_folder, (), tmp_path / "run.tar.zst")

    assert gzip.decompress(taken.read_bytes()) == b"precious"


def test_without_the_chart_stack_the_message_says_how_to_get_it(
    run: tuple[RunRecord, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    with pytest.raises(RunError, match=r"'vl_convert' is not installed.*pip install 'assay\[report\]'") as caught:
        page(*run)

    assert caught.value.exit_code == 3


def test_figures_name_the_schema_that_they_are_held_against() -> None:
    assert alt.SCHEMA_URL == vega_lite.SCHEMA_URL
    assert vega_lite.VERSION in vl_convert.get_vegalite_versions()
