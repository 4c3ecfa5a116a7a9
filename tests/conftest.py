"""Every test session cleans up after itself, and says so if it did not."""

import os
import signal
import uuid
from collections.abc import Iterator
from types import FrameType

import pytest

from testbed.leaks import SESSION_VARIABLE, left_over


def pytest_configure() -> None:
    """Let SIGTERM unwind the stack as Ctrl-C does, so that devices and mounts are undone."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(f"signal {number}")

    signal.signal(signal.SIGTERM, interrupt)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a report keeps for the next is kept for the session, and not in the home of who runs the tests."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left() -> Iterator[None]:
    session = uuid.uuid4().hex
    os.environ[SESSION_VARIABLE] = session
    yield
    left = left_over(session)
    assert not left, "left behind by this test session: " + "; ".join(left)
