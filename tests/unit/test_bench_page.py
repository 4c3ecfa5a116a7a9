from pathlib import Path

import pytest

from bench import loads, tools
from bench.counting import Instructions
from bench.page import Cost, Measured, page
from bench.running import Tool
from bench.scenarios import Scenario

HERE = Path("/mnt/somewhere")


@pytest.fixture(autouse=True)
def _no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed where the tests run is not on the page."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("ELBENCHO", raising=False)


def _tool(name: str) -> Tool:
    return Tool(name, lambda extent: [f"/opt/{name}", f"--file={HERE}/data", str(extent.ops)], lambda _: (0, 1.0))


def _page() -> str:
    cost = {
        tools.ASSAY: Cost(Instructions(290.4, None), iops=[100.0, 300.0, 90.0], cpu_us_per_op=[2.0, 1.0, 3.0]),
        tools.FIO: Cost(Instructions(2000.6, None), iops=[50.0, 100.0, 60.0], cpu_us_per_op=[4.0, 4.0, 4.0]),
    }
    scenario = Scenario(
        "read", HERE, "a read", "somehow", (10, 1000), (5, 50), tools=(_tool(tools.ASSAY), _tool(tools.FIO))
    )
    return page([Measured(scenario, cost)], left_out=[], command="it", counter="valgrind", rounds=3)


def _cells(text: str, first: str) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [row[1:] for row in rows if row[0] == first]


def test_ratios_are_taken_within_rounds_and_shown_as_median_and_range() -> None:
    # By hand: 100/50, 300/100, 90/60 operations a second; 2/4, 1/4, 3/4 µs.
    assert _cells(_page(), tools.FIO) == [
        ["2,001", "not counted", "4.00", "0.50 (0.25 to 0.75)", "2.00 (1.50 to 3.00)"]
    ]


def test_the_budget_stands_beside_the_instructions_of_all_tools() -> None:
    assert _cells(_page(), "a read") == [[str(loads.budgets()["read"]), "290", "no run", "2,001", "no run"]]


def test_a_tool_that_took_no_part_says_why() -> None:
    assert "not installed here" in _cells(_page(), tools.ELBENCHO)[0][0]


def test_commands_are_shown_without_where_this_machine_keeps_things() -> None:
    text = _page()

    assert "fio --file=DIR/data 1000" in text
    assert str(HERE) not in text
    assert "/opt" not in text
