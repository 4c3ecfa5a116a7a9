"""Every test session cleans up after itself, and says so if it did not."""

import os
import uuid
from collections.abc import Iterator

import hypothesis
import pytest

# An example may take as long as the machine needs for it.
hypothesis.settings.register_profile(
    "any-speed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any-speed")

pytest.register_assert_rewrite("goldens")

from goldens import Goldens  # noqa: E402 - its asserts are rewritten first
from testbed.killed import clear_dead_devices, end_workers, is_ended, unwind_when_ended  # noqa: E402
from testbed.leaks import ENDING_S, SESSION_VARIABLE, left_over  # noqa: E402

pytest_plugins = ("suite.outcomes", "suite.lanes", "suite.skips", "suite.durations")

UNDOING_S = 120
"""Patience with devices, mounts and servers that are being undone."""


LONGEST_ID = 100
"""Characters of a parameter in the name of a test."""


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name tests with a long text as a parameter by its length: such names are in every log."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_ID:
        return f"{argname}-of-{len(val)}"
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the option of `make goldens`."""
    text = "write the kept documents anew, by running the tests that compare with them and no others"
    parser.addoption("--update-goldens", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has no document to write, when documents are written."""
    if config.getoption("update_goldens"):
        others = [item for item in items if "goldens" not in getattr(item, "fixturenames", ())]
        items[:] = [item for item in items if "goldens" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)


def pytest_configure(config: pytest.Config) -> None:
    """Undo everything when the session gets a signal, and clear what a killed one left in the way."""
    unwind_when_ended()
    if not hasattr(config, "workerinput"):
        clear_dead_devices()


@pytest.hookimpl(tryfirst=True)  # xdist would kill its workers soon afterwards
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let the workers of an interrupted session undo everything, too."""
    if exitstatus == pytest.ExitCode.INTERRUPTED and getattr(session.config.option, "numprocesses", None):
        end_workers(UNDOING_S)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End a worker whose session a signal has ended: it would wait for more work otherwise."""
    if hasattr(config, "workerinput") and is_ended():
        os._exit(pytest.ExitCode.INTERRUPTED)


@pytest.fixture(scope="session")
def goldens(request: pytest.FixtureRequest) -> Goldens:
    """Kept documents, to compare with."""
    return Goldens(update=request.config.getoption("update_goldens"))


@pytest.fixture(scope="session", autouse=True)
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a report keeps for the next is kept for the session, and not in the home of who runs the tests."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def _key_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The key by which runs are known as one's own is the session's, and not the one of who runs the tests."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left() -> Iterator[None]:
    session = uuid.uuid4().hex
    os.environ[SESSION_VARIABLE] = session
    yield
    left = left_over(session, ENDING_S)
    assert not left, "left behind by this test session: " + "; ".join(left)
