"""How far the judging of many clients is, by a clock that a test turns."""

import io

import pytest

from assay import plan
from assay.analysis.document import document
from assay.analysis.record import read
from assay.bundle.client_set import Role
from assay.live import analysis_progress
from assay.live.analysis_progress import AnalysisProgress, document_with_progress
from unit.memory_set import Client, MemorySet
from unit.synthetic import SyntheticRun, one_job, one_plan, steady_stream

CLIENTS = 1000
PLAN = one_plan(plan.Phase(name="p", title="reads", jobs=(one_job(),)))


class Terminal(io.StringIO):
    """A stream that is one."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def told(out: io.StringIO, seconds_each: float) -> str:
    """Judge a thousand clients, each in so many seconds."""
    now_s = [100.0]
    progress = AnalysisProgress(out, lambda: now_s[0])
    for done in range(1, CLIENTS + 1):
        now_s[0] += seconds_each
        progress.update(done, CLIENTS)
    progress.end()
    return out.getvalue()


def measured() -> MemorySet:
    stream = steady_stream(per_s=100, seconds=5, latency_ns=500_000, bytes_each=4096)
    runs = [SyntheticRun(PLAN).phase([stream], seconds=5).end() for _ in range(3)]
    watched = SyntheticRun(PLAN).phase([], seconds=5).end()
    return MemorySet(
        PLAN, [*(Client(f"h{i}", run) for i, run in enumerate(runs)), Client("s", watched, role=Role.OBSERVER)]
    )


@pytest.mark.parametrize("out", [io.StringIO(), Terminal()])
def test_what_is_done_soon_says_nothing(out: io.StringIO) -> None:
    assert told(out, 0.0019) == ""


def test_a_log_has_a_line_after_two_seconds_and_then_every_ten() -> None:
    # 1/64 s each: after 2 s 128 clients, after each further 10 s 640.
    assert told(io.StringIO(), 1 / 64) == "analysing clients: 128 of 1,000\nanalysing clients: 768 of 1,000\n"


def test_a_terminal_has_one_line_that_is_written_over_and_taken_away() -> None:
    said = told(Terminal(), 1 / 64).split("\r\033[K")

    counts = [*range(128, CLIENTS + 1, 32)]
    assert said == ["", *(f"analysing clients: {count} of 1,000" for count in counts), ""]


def test_every_client_that_made_load_is_told_once_in_order() -> None:
    heard: list[tuple[int, int]] = []
    run = read(measured())

    judged = document(run, lambda done, total: heard.append((done, total)))

    assert heard == [(1, 3), (2, 3), (3, 3)]
    assert judged == document(run) == document_with_progress(run)


def test_a_run_of_one_client_has_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis_progress, "_FIRST_S", 0.0)
    monkeypatch.setattr(analysis_progress, "_AGAIN_S", 1e9)
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    run = read(measured())

    document_with_progress(run.members[0].run)
    assert out.getvalue() == ""

    document_with_progress(run)
    assert out.getvalue() == "\r\033[Kanalysing clients: 1 of 3\r\033[K"
