"""How often a command reads a run: each table once, and none of what was worked out before."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.bundle import RunBundle
from assay.bundle.catalog import resolve
from assay.bundle.kept_list import CATALOG
from assay.bundle.tables import COLUMNS
from assay.cli import app

POSTMARK = "set number 50\nset transactions 100\nset subdirectories 2\n"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each table, and the events, are asked of a bundle: a scan reads the file of its table once."""
    counted: Counter[str] = Counter()
    scan, read_events = RunBundle.scan, RunBundle.events

    def counting_scan(bundle: RunBundle, name: str) -> object:
        counted[name] += 1
        return scan(bundle, name)

    def counting_events(bundle: RunBundle) -> object:
        counted["events"] += 1
        return read_events(bundle)

    monkeypatch.setattr(RunBundle, "scan", counting_scan)
    monkeypatch.setattr(RunBundle, "events", counting_events)
    return counted


@pytest.fixture
def at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to measure, with runs kept beside it."""
    monkeypatch.setenv("ASSAY_RUNS", str(tmp_path / "runs"))
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    return tmp_path


def postmark(folder: Path, request: str) -> list[str]:
    """Command line of a small run of PostMark's."""
    (folder / "load").write_text(f"{POSTMARK}set location {folder / 'data'}\n{request}\nquit\n")
    return ["postmark", str(folder / "load")]


def end(words: Sequence[str]) -> None:
    """Run a command here, so that what it reads can be counted."""
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code in (0, 1), done.output


def forget(folder: Path, reads: Counter[str]) -> None:
    """Have what was worked out of runs worked out again, and counts begin anew."""
    for file in (folder / "runs").glob(f"{CATALOG}*"):
        file.unlink()
    reads.clear()


def once() -> dict[str, int]:
    return dict.fromkeys((*COLUMNS, "events"), 1)


def test_a_run_of_postmark_reads_each_table_once(at_work: Path, reads: Counter[str]) -> None:
    end(postmark(at_work, f"run {at_work / 'report'}"))

    assert reads == once()


def test_a_look_at_a_run_reads_each_table_once(at_work: Path, reads: Counter[str]) -> None:
    end([*postmark(at_work, "run"), "--no-report"])
    for command in ("show", "show --json", "show --classic", "report -o page.html", "export --charts ."):
        forget(at_work, reads)

        end(command.split())

        assert reads == once(), command


def test_the_list_works_out_once_what_a_run_came_to(at_work: Path, reads: Counter[str]) -> None:
    end([*postmark(at_work, "run"), "--no-report"])
    forget(at_work, reads)

    end(["ls"])
    end(["ls"])

    assert reads == once()
    assert RunBundle.open(resolve("last", at_work / "runs")).info.exit_code is None


def test_what_was_worked_out_at_the_end_of_a_run_is_not_read_again(at_work: Path, reads: Counter[str]) -> None:
    end([*postmark(at_work, "run"), "--no-report"])
    for command in ("show", "show --json", "ls"):
        reads.clear()

        end(command.split())

        assert reads == Counter(), command
