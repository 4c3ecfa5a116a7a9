"""Files of captures, however they are packed and written, and which format they are found to be."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.captures.capture_files import HEAD_LINES, read_captures
from assay.captures.match import Match
from assay.captures.opened import open_lines
from assay.captures.readers import READERS, rvtools
from assay.captures.samples import NUMBERS, DeviceSample, Layer, SampleRows
from assay.captures.stated_facts import Asked
from assay.errors import InputError
from unit.capture_texts import IOSTAT, PERFMON, SADF, TEXTS, capture_of

RECORDED = Path(__file__).parent.parent / "golden" / "captures"
FORMATS = {"iostat": "iostat", "sadf": "sadf -d", "sar": "sar", "vmstat": "vmstat"}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_each_text_is_of_its_format_and_of_no_other(name: str, text: str) -> None:
    head = text.splitlines()[:HEAD_LINES]
    found = {of_name: match for of_name, recognise, _ in READERS if (match := recognise(head)) is not None}
    if rvtools.recognise(head):
        found[rvtools.NAME] = Match.CERTAIN

    assert [of_name for of_name, match in found.items() if match == max(found.values())] == [name]


@pytest.mark.parametrize("path", sorted(RECORDED.iterdir()), ids=lambda path: path.name)
def test_each_recording_is_of_its_format_and_of_no_other(path: Path) -> None:
    head = path.read_text().splitlines()[:HEAD_LINES]

    found = [of_name for of_name, recognise, _ in READERS if recognise(head) is not None]

    expected = "sysstat JSON" if path.suffix == ".json" else FORMATS[path.stem.split("-")[0]]
    assert found == [expected]
    assert read_captures([str(path)], Asked())[0].format_name == expected


def test_what_is_of_no_format_is_refused(tmp_path: Path) -> None:
    for text in ("", "hello\n", "a,b\n1,2\n", "{}\n", "[]"):
        with pytest.raises(InputError, match="--columns"):
            capture_of(tmp_path, text)


def test_a_format_that_is_named_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_text(SADF)

    assert read_captures([str(path)], Asked(), "sadf -d")[0].format_name == "sadf -d"
    with pytest.raises(InputError, match="there is no format 'sadf'"):
        read_captures([str(path)], Asked(), "sadf")


def test_a_packed_file_is_the_file(tmp_path: Path) -> None:
    expected = capture_of(tmp_path, IOSTAT).table

    assert capture_of(tmp_path, gzip.compress(IOSTAT.encode())).table.equals(expected)


def test_a_file_packed_with_zstd_is_the_file(tmp_path: Path) -> None:
    if shutil.which("zstd") is None:
        pytest.skip("zstd is not installed")
    expected = capture_of(tmp_path, IOSTAT).table
    packed = subprocess.run(["zstd", "-c"], input=IOSTAT.encode(), capture_output=True, check=True).stdout

    assert capture_of(tmp_path, packed).table.equals(expected)


def test_a_packed_file_that_is_cut_off_has_the_samples_before(tmp_path: Path) -> None:
    lines = SADF + "".join(
        f"node7;10;2026-11-21 {hour:02}:{minute:02}:{second:02} UTC;{hour * minute}.25;1;1;0;{second * minute};1;0\n"
        for hour in range(20, 24)
        for minute in range(60)
        for second in range(60)
    )
    packed = gzip.compress(lines.encode(), mtime=0)

    capture = capture_of(tmp_path, packed[: len(packed) // 2])

    assert 100 < len(capture.table) < 14_000
    assert any("compressed data has no end" in note for note in capture.notes)


def test_zstd_that_is_cut_off_has_the_samples_before(tmp_path: Path) -> None:
    if shutil.which("zstd") is None:
        pytest.skip("zstd is not installed")
    lines = SADF + "".join(
        f"node7;10;{1795900000 + 10 * n};{n * n % 977};{n % 13};{n % 7};0;1;2;0\n" for n in range(90_000)
    )
    packed = subprocess.run(["zstd", "-c"], input=lines.encode(), capture_output=True, check=True).stdout

    capture = capture_of(tmp_path, packed[: len(packed) // 2])

    assert 100 < len(capture.table) < 80_000
    assert any("compressed data has no end" in note for note in capture.notes)


def test_packed_data_that_is_damaged_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(IOSTAT.encode() * 50))
    packed[40:60] = bytes(20)

    with pytest.raises(InputError, match="cannot read"):
        capture_of(tmp_path, bytes(packed))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_an_encoding_of_windows_is_the_same_file(encoding: str, tmp_path: Path) -> None:
    expected = capture_of(tmp_path, PERFMON).table
    begin = b"\xfe\xff" if encoding == "utf-16-be" else b""

    assert capture_of(tmp_path, begin + PERFMON.encode(encoding)).table.equals(expected)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path / "none", "there is no file"),
        (tmp_path, "no regular file"),
        (tmp_path / "pipe", "no regular file"),
    ):
        with pytest.raises(InputError, match=message):
            read_captures([str(path)], Asked())


def test_lines_of_any_end_have_none(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\r\nb\nc")

    with open_lines(str(tmp_path / "lines"), print) as lines:
        assert list(lines) == ["a", "b", "c"]


# -- the table ---------------------------------------------------------------------------------------------------------


def test_a_refused_sample_leaves_no_part_of_itself() -> None:
    rows = SampleRows("made")
    rows.add("h", "a", Layer.DISK, DeviceSample(1.0, 1.0, read_iops=1.0, write_iops=2.0))
    for wrong in (
        DeviceSample(2.0, 1.0, utilisation=-1.0),
        DeviceSample(2.0, 0.0),
        DeviceSample(2.0, 1.0, iops=float("inf")),
    ):
        with pytest.raises(ValueError, match=r"is|length"):
            rows.add("h", "a", Layer.DISK, wrong)
    rows.add("h", "b", Layer.DISK, DeviceSample(3.0, 1.0, iops=7.0))

    table = rows.table()

    assert table.select("device", "end_s", "iops").rows() == [("a", 1.0, 3.0), ("b", 3.0, 7.0)]
    assert table.columns == ["host", "device", "layer", *NUMBERS]


def test_a_name_has_nothing_that_cannot_be_shown() -> None:
    rows = SampleRows("made")
    rows.add("h\n\x1b[2J", "\ud800a ", Layer.DISK, DeviceSample(1.0, 1.0))

    assert rows.table().select("host", "device").rows() == [("h??[2J", "?a")]
