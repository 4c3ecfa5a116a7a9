"""Reading what an engine writes, and who may start one, without an engine."""

import os
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.plan import Origin, Plan, User
from assay.running.engine import EngineProcess
from assay.running.growing_file import READ_BYTES, GrowingFile


def test_a_stream_that_grows_without_end_is_read_in_pieces_that_fit(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(b"garbage\n" * (3 * READ_BYTES // 8))

    with path.open("rb") as stream:
        lines = GrowingFile(stream, path)
        first = lines.read()

        assert sum(len(line) + 1 for _, line in first) == READ_BYTES
        assert not lines.are_over()


def test_lines_are_whole_and_know_where_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(b"one\n\ntw")

    with path.open("rb") as stream, path.open("ab") as writer:
        lines = GrowingFile(stream, path)
        before = lines.read()
        writer.write(b"o\nthree")
        writer.flush()
        after = lines.read()

        assert before == [(0, b"one"), (4, b"")]
        assert after == [(5, b"two")]
        assert lines.are_over()


def test_only_root_starts_an_engine_as_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Plan(
        name="theirs",
        origin=Origin(front_end="bonnie", source="-u root", sha256=""),
        seed=0,
        targets=(),
        file_sets=(),
        phases=(),
        user=User(uid=0, gid=0),
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(InputError, match="only root"):
        EngineProcess(asked, tmp_path / "stream", tmp_path / "log")
