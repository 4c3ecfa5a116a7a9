"""A plugin of pytest: record which lines each test runs (`--record-lines`), or run chosen tests only (`--only-tests`)."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--record-lines", default=None, help="keep the duration of each test there; needs `coverage run`")
    parser.addoption("--only-tests", default=None, help="run the tests whose node ids are the lines of this file")
    parser.addoption("--longest-test", default=0.0, type=float, help="seconds after which a test ends all by SIGALRM")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests; their files are in the order of the list, and the tests of a file as always."""
    if (path := config.getoption("only_tests")) is not None:
        names = dict.fromkeys(Path(path).read_text().splitlines())
        files = [*dict.fromkeys(name.partition("::")[0] for name in names)]
        chosen = [item for item in items if item.nodeid in names]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
        items[:] = sorted(chosen, key=lambda item: files.index(item.nodeid.partition("::")[0]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record the lines of one test under its node id; end the process where the test takes too long."""
    signal.setitimer(signal.ITIMER_REAL, item.config.getoption("longest_test"))
    path, running = item.config.getoption("record_lines"), coverage.Coverage.current()
    if path is None or running is None:
        return (yield)
    running.switch_context(item.nodeid)
    begun_s = time.perf_counter()
    try:
        return (yield)
    finally:
        with Path(path).open("a") as output:
            output.write(json.dumps([item.nodeid, round(time.perf_counter() - begun_s, 4)]) + "\n")
        running.switch_context("")
