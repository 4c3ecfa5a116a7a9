"""The answer at a glance: what is on the last screen of a terminal, and what goes through a pipe."""

from pathlib import Path

import pytest
from rich.cells import cell_len

from bench.terminal import printed
from e2e.command import COMMAND, need_command

SIZES = ((80, 24), (100, 30), (160, 50))
RUNS: dict[str, tuple[str, ...]] = {
    "quick": ("quick", "{directory}", "--time", "8s"),
    "open loop": ("run", "open-loop", "{directory}", "--time", "3s"),
    "iozone": ("iozone", "-a", "-g", "1m", "-f", "{directory}/iozone.tmp"),
    "bonnie": ("bonnie", "-d", "{directory}", "-s", "64", "-r", "32", "-n", "1", "-u", "root"),
}
UNBROKEN = ("kept in", "report", "notes")
"""Lines with paths, which a terminal breaks where it must."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each kind."""
    need_command()
    return tmp_path_factory.mktemp("runs")


def on_screen(runs: Path, size: tuple[int, int], *words: str) -> tuple[str, str]:
    """What `assay WORDS` shows on a terminal, and what it says beside that."""
    told = printed([COMMAND, *words], size, env={"ASSAY_RUNS": str(runs)})
    assert told.code in {0, 1}, told.beside
    return told.text, told.beside


def answer_of(text: str) -> list[str]:
    """The lines after the last blank one."""
    return text.rstrip().rpartition("\n\n")[2].splitlines()


@pytest.mark.parametrize("kind", RUNS)
def test_the_verdict_is_on_the_last_screen(kind: str, runs: Path, tmp_path: Path) -> None:
    words = tuple(word.format(directory=tmp_path) for word in RUNS[kind])
    measured, said = on_screen(runs, SIZES[0], *words, "--no-report", "--runs", str(runs))
    # Beside a tool's text, in a log, the answer is one line, the last.
    is_tool = kind in {"iozone", "bonnie"}
    first = said.rstrip().splitlines()[-1:] if is_tool else answer_of(measured)
    assert 1 <= len(first) <= 7, first
    assert any(words in " ".join(first) for words in ("Limited by", "ot usable", "Weak", "Served by"))

    for columns, lines in SIZES:
        shown, _ = on_screen(runs, (columns, lines), "show", "last", "--runs", str(runs))
        below_head = [
            line for line in shown[shown.index("   operation") :].splitlines() if not line.startswith(UNBROKEN)
        ]

        assert max(map(cell_len, below_head)) <= columns
        assert 1 <= len(answer_of(shown)) <= min(7, lines)
        assert shown.rstrip().endswith("\n".join(answer_of(shown)))


def test_a_row_has_two_lines_at_80_columns_and_one_in_a_pipe(runs: Path, tmp_path: Path) -> None:
    words = ("run", "open-loop", str(tmp_path), "--time", "1s", "--no-report", "--runs", str(runs))
    measured, _ = on_screen(runs, (80, 24), *words)
    table = measured[measured.index("   operation") :].partition("\n\n")[0].splitlines()

    assert len(table) >= 6
    assert [line[:3].strip() for line in table[2::2]] == [str(row) for row in range(1, len(table) // 2)]
    assert all(line.startswith("   ") for line in table[3::2])
