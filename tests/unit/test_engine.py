"""Reading what an engine writes, and who may start one, without an engine."""

import contextlib
import os
from pathlib import Path

import msgspec
import pytest

from assay import events
from assay.errors import InputError, RunError
from assay.plan import Origin, Plan, User
from assay.running.engine import EngineProcess
from assay.running.growing_file import READ_BYTES, GrowingFile
from assay.running.stopping import Stops


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


@pytest.mark.parametrize("outcome", [events.Outcome.COMPLETE, events.Outcome.STOPPED])
def test_an_engine_that_was_done_before_it_heard_of_a_lost_stream_was_not_stopped_by_it(
    outcome: events.Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = events.Finished(t_ns=1, outcome=outcome, user_cpu_ns=0, system_cpu_ns=0, peak_rss_bytes=0)
    stream, engine = tmp_path / "stream", tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\nread plan\nrm {stream}\nread stop\necho '{msgspec.json.encode(end).decode()}'\n")
    engine.chmod(0o755)
    monkeypatch.setenv("ASSAY_ENGINE", str(engine))
    plan = Plan(
        name="lost",
        origin=Origin(front_end="assay", source="", sha256=""),
        seed=0,
        targets=(),
        file_sets=(),
        phases=(),
    )
    is_stopped = outcome is events.Outcome.STOPPED

    with (
        EngineProcess(plan, stream, tmp_path / "log") as process,
        pytest.raises(RunError, match="so the run was stopped") if is_stopped else contextlib.nullcontext(),
    ):
        heard = [event for event in process.follow(Stops()) if event is not None]
        assert heard == [end]
