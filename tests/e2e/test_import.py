"""Results of other tools, kept and compared through the installed command."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.command import Assay
from e2e.peak_memory import PeakMemory

SAMPLES = Path(__file__).parent.parent / "unit" / "imported"
FIO = shutil.which("fio")


def test_an_imported_file_is_listed_shown_exported_decoded_and_never_done_again(assay: Assay, tmp_path: Path) -> None:
    done = assay("import", SAMPLES / "io500.txt", "--tag", "old", "--name", "first", check=0)
    run_id = done.stdout.strip()

    (listed,) = json.loads(assay("ls", "--tag", "old", "--json", check=0).stdout)
    assert (listed["run_id"], listed["is_foreign"], listed["load"]) == (run_id, True, "io500")
    assert "foreign" in assay("ls", check=0).stdout
    shown = assay("show", "first", check=0).stdout
    assert "not measured by Assay" in shown
    assert "limited by" not in shown.splitlines()[-1]
    assert assay("show", "first", "--classic", check=0).stdout == (SAMPLES / "io500.txt").read_text()
    assay("export", "first", "--files", tmp_path / "files", "--csv", tmp_path / "csv", check=0)
    assert (tmp_path / "files" / "io500.txt").read_bytes() == (SAMPLES / "io500.txt").read_bytes()
    assert len((tmp_path / "csv" / "results.csv").read_text().splitlines()) == 6
    assert "ior-easy-write" in assay("decode", "first", check=0).stdout
    for command in (["rerun"], ["report"], ["explain"], ["clean"], ["export", "--charts", str(tmp_path / "charts")]):
        refused = assay(command[0], "first", *command[1:], check=2)
        assert "is a foreign run: another tool measured it" in refused.stderr


def test_what_is_no_output_of_a_tool_leaves_no_run(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\n")

    refused = assay("import", SAMPLES / "io500.txt", tmp_path / "text", check=2)

    assert "is not an output in a supported format" in refused.stderr
    assert json.loads(assay("ls", "--json", check=0).stdout) == []


_MIB = 1 << 20
LARGE: dict[str, Callable[[], str]] = {
    "a million rows": lambda: "label,unit,a\n" + "".join(f"row {n},MB/s,{n}\n" for n in range(1_000_000)),
    "lists in lists": lambda: '{"fio version": "fio-3.33", "jobs": [' + "[]," * (10 * _MIB),
    "elements": lambda: "<PhoronixTestSuite>" + "<a/>" * (7 * _MIB),
    "blanks": lambda: (
        "Command line used: iozone\nOutput is in kBytes/sec\nChildren see throughput for 1 " + " " * (8 * _MIB)
    ),
}


@pytest.mark.parametrize("what", LARGE)
def test_what_is_too_large_is_refused_before_it_is_taken_to_pieces(assay: Assay, tmp_path: Path, what: str) -> None:
    (tmp_path / "file").write_text(LARGE[what]())
    peak = PeakMemory(tmp_path / "peak")

    refused = assay("import", tmp_path / "file", check=2, prefix=peak.prefix)

    assert any(words in refused.stderr for words in ("Split it", "without a result"))
    assert peak.taken_bytes() < 300 * _MIB


def test_a_name_is_of_one_run(assay: Assay) -> None:
    refused = assay("import", SAMPLES / "bonnie-1.03.csv", "--name", "both", check=2)

    assert "these are 2 runs, and a name is of one" in refused.stderr


@pytest.mark.skipif(FIO is None, reason="fio is not installed")
def test_fio_and_assay_fio_have_one_name_for_a_job_and_are_held_together_only_by_request(
    assay: Assay, tmp_path: Path
) -> None:
    job = tmp_path / "job.fio"
    job.write_text(f"[look]\nrw=read\nbs=64k\nsize=4m\ndirectory={tmp_path}\n")
    printed = subprocess.run(
        [str(FIO), "--output-format=json", str(job)], capture_output=True, text=True, check=True, timeout=600
    ).stdout
    (tmp_path / "fio.json").write_text(printed)
    foreign = assay("import", tmp_path / "fio.json", check=0).stdout.strip()
    assay("fio", job)

    refused = assay("compare", foreign, "last", check=2)
    assert "--foreign" in refused.stderr
    compared = json.loads(assay("compare", foreign, "last", "--foreign", "--json", check=0).stdout)

    (against,) = compared["against"]
    assert against["foreign"] == ["A"]
    assert [row["label"] for row in against["rows"]] == ["1-look/read"]
    said = json.loads(printed)["jobs"][0]["read"]["bw_bytes"]
    assert against["rows"][0]["a"]["median"] == said


ROWS = (
    "\tIozone: Performance Test of File I/O\n"
    "\tRun began: Mon Jun 12 10:00:0{second} 2006\n"
    "\tCommand line used: iozone -a -n 64 -g 128 -q 16 -i 0\n"
    "\tOutput is in kBytes/sec\n"
    "              kB  reclen    write  rewrite\n"
)


def iozone_text(second: int, level: float, ratio: float) -> str:
    rows = [
        f"{file:>16}{record:>8}{round(level * (ratio if record < 16 else 1)):>9}{round(2 * level):>9}"
        for file in (64, 128)
        for record in (4, 8, 16)
    ]
    return ROWS.format(second=second) + "\n".join(rows) + "\n\niozone test complete.\n"


def test_tables_of_iozone_are_compared_as_surfaces_in_text_page_and_workbook(assay: Assay, tmp_path: Path) -> None:
    for number, level in enumerate((100_000, 101_000, 99_500)):
        (tmp_path / f"a-{number}.txt").write_text(iozone_text(number, level, 1.0))
        (tmp_path / f"b-{number}.txt").write_text(iozone_text(3 + number, level, 1.3))
    for tag in "ab":
        files = [tmp_path / f"{tag}-{number}.txt" for number in range(3)]
        assay("import", *files, "--tag", tag, "--timezone", "America/New_York", check=0)
    page, book = tmp_path / "page.html", tmp_path / "book.xlsx"

    found = json.loads(assay("compare", "tag:a", "tag:b", "--json", check=0).stdout)
    text = assay("compare", "tag:a", "tag:b", "--html", page, "--xlsx", book, check=0).stdout

    write, rewrite = found["against"][0]["surfaces"]
    assert [write["test"], rewrite["test"]] == ["write", "rewrite"]
    cells = {(cell["file_bytes"] >> 10, cell["record_bytes"] >> 10): cell for cell in write["cells"]}
    assert set(cells) == {(file, record) for file in (64, 128) for record in (4, 8, 16)}
    for (_, record), cell in cells.items():
        truth = 1.3 if record < 16 else 1.0
        assert cell["ratio"] == pytest.approx(truth, rel=1e-3)
        assert cell["interval"][0] < truth < cell["interval"][1]
        assert cell["is_significant"] is (record < 16)
    assert "write: B / A in per cents, file sizes down, record sizes across" in text
    assert "A and B: not measured by Assay" in text
    assert "not measured by Assay" in page.read_text()
    assert "2006-06-12T14:00:00Z" in page.read_text()  # 10:00 in New York
    assert book.stat().st_size > 0


def test_a_zone_that_there_is_not_is_refused_and_nothing_is_kept(assay: Assay) -> None:
    refused = assay("import", SAMPLES / "iozone-table.txt", "--timezone", "Mars/Olympus", check=2)

    assert "unknown time zone 'Mars/Olympus'; write a name such as Europe/Berlin" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert json.loads(assay("ls", "--json", check=0).stdout) == []


def test_what_assay_iozone_printed_stands_in_the_cells_of_its_run(assay: Assay, tmp_path: Path) -> None:
    words = ("-a", "-n", "64k", "-g", "128k", "-i", "0", "-i", "1", "--name", "own")
    assay("iozone", *words, cwd=tmp_path)
    (tmp_path / "printed.txt").write_text(assay("show", "own", "--classic", check=0).stdout)
    assay("import", tmp_path / "printed.txt", "--name", "printed", check=0)

    found = json.loads(assay("compare", "printed", "own", "--foreign", "--json", check=0).stdout)["against"][0]
    text = assay("compare", "printed", "own", "--foreign", check=0).stdout

    assert found["missing"] == []
    surfaces = {surface["test"]: surface for surface in found["surfaces"]}
    assert list(surfaces) == ["write", "rewrite", "read", "reread"]
    for test in ("read", "reread"):
        # Printed are whole KiB a second, of tens of thousands and more.
        assert [cell["ratio"] for cell in surfaces[test]["cells"]] == pytest.approx([1.0] * 11, rel=1e-3)
    # Its writes have the closing flush in their time, which IOzone's formula leaves out.
    assert all(cell["ratio"] <= 1.001 for test in ("write", "rewrite") for cell in surfaces[test]["cells"])
    assert "A: not measured by Assay" in text
    assert "of writes with the closing flush" in text
