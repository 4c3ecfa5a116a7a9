"""The `assay` command for tests, with its runs kept in the test's own folder."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay import events
from assay.errors import RunError
from assay.running.engine import find_engine
from bench.running import speak
from e2e import command
from e2e.command import COMMAND, NOBODY, Assay, Measure, need_command
from testbed.prestarted import Prestarted


@pytest.fixture(scope="session", autouse=True)
def _prestarted() -> Iterator[None]:
    """Load Assay once for all starts that only have to be fast."""
    server = Prestarted()
    command.prestarted = server
    yield
    command.prestarted = None
    server.end()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """What is measured."""
    path = tmp_path / "measured"
    path.mkdir()
    return path


@pytest.fixture
def assay(tmp_path: Path) -> Assay:
    """The command, run as the user who runs the tests."""
    need_command()
    return Assay(runs=tmp_path / "runs")


@pytest.fixture
def measure(assay: Assay, tmp_path: Path) -> Measure:
    """`measure(toml_text, directory, *args)` runs a load and returns the result document."""
    return Measure(assay, tmp_path)


@pytest.fixture
def unprivileged() -> Iterator[Assay]:
    """The command, run as the user nobody, in a home of its own (`unprivileged.home`)."""
    need_command()
    if os.geteuid() != 0:
        pytest.skip("needs root, to become the user nobody")
    # Not under tmp_path: pytest closes its folders to other users.
    home = Path(tempfile.mkdtemp(prefix="assay-nobody-"))
    try:
        os.chown(home, NOBODY, NOBODY)
        nobody = Assay(runs=home / "runs", user=NOBODY, home=home)
        try:
            nobody("--help")
        except PermissionError as error:
            pytest.skip(f"the user nobody may not run {COMMAND}: {error}")
        yield nobody
    finally:
        shutil.rmtree(home)


@pytest.fixture(scope="module")
def hello() -> events.Hello:
    """What the engine says of itself."""
    try:
        said, _ = speak([str(find_engine())], b"{}")
    except RunError as error:
        pytest.skip(str(error))
    first = events.decode(said.splitlines()[0].encode())
    assert isinstance(first, events.Hello)
    return first
