"""Split the tests into three lanes: most run in parallel; those that need a quiet machine run afterwards, in pairs or alone.

A test with the marker `quiet` holds a measurement against a known truth in real time: a throttled device, a planted delay,
a share of a CPU. One that also has the marker `held` measures what a device of its own is held to, far below what a CPU
can do, and waits most of the time: two of them run at once. `make test` runs `--lane parallel` on several workers, then
`--lane held` on two, then `--lane quiet` in one process, which also decides what failed beside another test.

In the first two lanes, tests that share state run on one worker, one after another: the tests of a file that has fixtures of
module scope, all tests of a file of `tests/unit`, and tests with the same `xdist_group` (state of the whole machine).
"""

import os
from pathlib import Path

import pytest

from suite import outcomes, without_group

UNIT = "tests/unit/"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--lane`."""
    parser.addoption(
        "--lane",
        choices=("all", "parallel", "held", "quiet"),
        default="all",
        help="held, quiet: the tests with this marker; parallel: all others; quiet also runs what was disturbed before",
    )


def pytest_xdist_auto_num_workers() -> int:
    """Start two workers more than there are CPUs (`-n auto`): half of the time of an end-to-end test is waiting."""
    return len(os.sched_getaffinity(0)) + 2


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass by the files without a test of the lane, which most are: their imports and parameters take seconds."""
    lane = config.getoption("lane")
    if lane not in {"held", "quiet"} or collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    is_tried_again = any(_path(name) in collection_path.as_posix() for name in outcomes.disturbed_before(config))
    return None if is_tried_again or "pytest.mark.quiet" in collection_path.read_text() else True


@pytest.hookimpl(tryfirst=True)  # before xdist writes the groups into the node ids
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the lane, and name the groups that stay together."""
    lane = config.getoption("lane")
    if lane != "all":
        again = outcomes.disturbed_before(config) if lane == "quiet" else set()
        chosen = [item for item in items if lane_of(item) == lane or item.nodeid in again]
        left_out = set(items) - set(chosen)
        items[:] = chosen
        config.hook.pytest_deselected(items=[*left_out])
    for item in items:
        if item.get_closest_marker("xdist_group") is None and _stays_with_its_file(item):
            item.add_marker(pytest.mark.xdist_group(_file(item)))
    # What waits most starts first, so that workers have enough to do until the end.
    items.sort(key=lambda item: item.nodeid.startswith(UNIT))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run tests that share state side by side: xdist appends the group to a node id, or nothing groups them."""
    if not session.config.getoption("loadgroup", False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") is not None and without_group(item.nodeid) == item.nodeid:
            raise pytest.UsageError(f"xdist does not group the tests: the node id {item.nodeid} has no group")


def lane_of(item: pytest.Item) -> str:
    """Give the lane of a test, by its markers."""
    if item.get_closest_marker("quiet") is None:
        return "parallel"
    return "quiet" if item.get_closest_marker("held") is None else "held"


def _stays_with_its_file(item: pytest.Item) -> bool:
    file = _file(item)
    if file.startswith(UNIT):
        return True
    info = getattr(item, "_fixtureinfo", None)
    fixtures = [] if info is None else [fixture for known in info.name2fixturedefs.values() for fixture in known]
    return any(fixture.scope in {"class", "module"} and fixture.baseid == file for fixture in fixtures)


def _file(item: pytest.Item) -> str:
    return _path(item.nodeid)


def _path(node_id: str) -> str:
    return Path(node_id.partition("::")[0]).as_posix()
