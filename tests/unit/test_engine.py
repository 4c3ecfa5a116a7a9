"""Reading what an engine writes, without an engine."""

from pathlib import Path

from assay.running.engine import _READ_BYTES, _Lines


def test_a_stream_that_grows_without_end_is_read_in_pieces_that_fit(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(b"garbage\n" * (3 * _READ_BYTES // 8))

    with path.open("rb") as stream:
        lines = _Lines(stream)
        first = lines.read()

        assert sum(len(line) + 1 for _, line in first) == _READ_BYTES
        assert not lines.are_over()


def test_lines_are_whole_and_know_where_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(b"one\n\ntw")

    with path.open("rb") as stream, path.open("ab") as writer:
        lines = _Lines(stream)
        before = lines.read()
        writer.write(b"o\nthree")
        writer.flush()
        after = lines.read()

        assert before == [(0, b"one"), (4, b"")]
        assert after == [(5, b"two")]
        assert lines.are_over()
