"""What becomes of wrong, disturbed and undecided tests, of skips in CI, and of a session that gets a signal."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.leaks import SESSION_VARIABLE

TESTS = Path(__file__).parents[1]
WAIT_S = 300
"""Patience, for a machine of any speed."""

DISTURBED = """
from pathlib import Path
from suite.outcomes import Disturbed
def attempt(name):
    file = Path(__file__).with_name(name)
    file.write_text((file.read_text() if file.exists() else "") + "x")
    return len(file.read_text())
"""


def session(folder: Path, text: str, *words: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    """Begin a session of a file of tests, with the conftest of this suite."""
    shutil.copy(TESTS / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    quiet: alone\n")
    (folder / "test_it.py").write_text(DISTURBED + text)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(folder)],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(TESTS), SESSION_VARIABLE: folder.name, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(folder: Path, text: str, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a session to its end: exit code, and what it printed."""
    with session(folder, text, *words, env=env) as process:
        output, _ = process.communicate(timeout=WAIT_S)
    return process.returncode, output


def test_a_wrong_result_is_red_and_is_never_run_again(tmp_path: Path) -> None:
    code, output = ended(tmp_path, "def test_it():\n    attempt('tries')\n    assert False\n")

    assert (code, len((tmp_path / "tries").read_text())) == (1, 1), output


@pytest.mark.parametrize(("result", "expected"), [("True", 0), ("False", 1)])
def test_a_disturbed_test_is_retried_and_the_retry_decides(result: str, expected: int, tmp_path: Path) -> None:
    text = f"""
def test_it():
    if attempt('tries') < 3:
        raise Disturbed('fio beside it took 0.31')
    assert {result}
"""
    code, output = ended(tmp_path, text)

    assert (code, len((tmp_path / "tries").read_text())) == (expected, 3), output
    assert "fio beside it took 0.31" in output
    kept = sorted((tmp_path / "build/tests/disturbed").iterdir())
    assert len(kept) == 2
    assert all("Disturbed: fio beside it took 0.31" in file.read_text() for file in kept)


@pytest.mark.parametrize(("count", "expected"), [(2, 0), (3, 1)])
def test_more_than_two_undecided_tests_are_red(count: int, expected: int, tmp_path: Path) -> None:
    text = f"""
import pytest
@pytest.mark.parametrize('number', range({count}))
def test_it(number):
    attempt(f'tries-{{number}}')
    raise Disturbed('always')
"""
    code, output = ended(tmp_path, text)

    assert code == expected, output
    assert {len(file.read_text()) for file in tmp_path.glob("tries-*")} == {3}
    assert output.count("UNDECIDED") == count


def test_the_quiet_lane_retries_what_was_disturbed_in_the_parallel_lane(tmp_path: Path) -> None:
    text = """
import pytest
def test_parallel():
    if attempt('parallel') == 1:
        raise Disturbed('once')
@pytest.mark.quiet
def test_quiet():
    attempt('quiet')
"""
    parallel = ended(tmp_path, text, "--lane", "parallel", "-n", "2", "--dist", "loadgroup")
    assert (parallel[0], (tmp_path / "quiet").exists()) == (0, False), parallel[1]
    quiet = ended(tmp_path, text, "--lane", "quiet")

    assert quiet[0] == 0, quiet[1]
    assert "2 passed" in quiet[1]
    assert ((tmp_path / "parallel").read_text(), (tmp_path / "quiet").read_text()) == ("xx", "x")


@pytest.fixture
def other_program() -> Iterator[None]:
    """A program of somebody else that uses a CPU."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"], env={}) as process:
        yield
        process.kill()


@pytest.mark.usefixtures("other_program")
def test_a_quiet_test_that_fails_beside_another_program_is_disturbed(tmp_path: Path) -> None:
    text = """
import pytest, time
@pytest.mark.quiet
def test_it():
    time.sleep(3)
    assert attempt('tries') > 1
"""
    code, output = ended(tmp_path, text)

    assert code == 0, output
    assert re.search(r"decided by a retry, disturbed 1 times: .*other programs used \d+\.\d\d CPUs", output), output


def test_what_a_module_measured_beside_another_program_disturbs_each_test_that_looks_at_it(tmp_path: Path) -> None:
    text = """
import pytest, time
pytestmark = pytest.mark.quiet
@pytest.fixture(scope="module")
def measured():
    time.sleep(3)
    Path(__file__).with_name('made').touch()
def test_first(measured):
    time.sleep(1)
def test_it(measured):
    assert attempt('tries') > 1
"""
    spin = f"import os\nwhile not os.path.exists({str(tmp_path / 'made')!r}): pass"
    with subprocess.Popen([sys.executable, "-c", spin], env={}):
        code, output = ended(tmp_path, text)

    assert code == 0, output
    # Beside a busy machine, the test's own time is disturbed as well.
    assert re.search(r"decided by a retry, disturbed 1 times: .*other programs used \d+\.\d\d CPUs", output), output


def test_a_test_that_is_retried_in_two_sessions_is_listed_as_a_defect(tmp_path: Path) -> None:
    text = "def test_it():\n    if attempt('tries') % 2:\n        raise Disturbed('odd')\n"

    first, second = (ended(tmp_path, text)[1] for _ in range(2))

    assert "DEFECT" not in first
    assert re.search("DEFECT.*test_it.py::test_it", second), second


@pytest.mark.parametrize(("ci", "expected"), [("true", 1), ("", 0)])
def test_a_skip_that_the_list_does_not_allow_is_red_in_ci(ci: str, expected: int, tmp_path: Path) -> None:
    text = "import pytest\ndef test_it():\n    pytest.skip('needs nbdkit; .ci/run lists the packages')\n"

    code, output = ended(tmp_path, text, env={"CI": ci})

    assert code == expected, output
    assert ("test_it.py::test_it: Skipped: needs nbdkit" in output) == (expected == 1), output


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["alone", "parallel"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_session_that_began_in_the_background_and_undoes_what_it_made(
    number: signal.Signals, words: tuple[str, ...], tmp_path: Path
) -> None:
    text = """
import pytest, time
@pytest.fixture
def made():
    Path(__file__).with_name('made').touch()
    yield
    time.sleep(0.5)
    Path(__file__).with_name('made').unlink()
def test_it(made):
    Path(__file__).with_name('begun').touch()
    time.sleep(3600)
"""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell begins a job in the background
    try:
        process = session(tmp_path, text, *words)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        # Not for what the fixture makes: the signal could come before it gave way, or while another worker still collects.
        while not (tmp_path / "begun").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        output, _ = process.communicate(timeout=WAIT_S)

    assert process.returncode == 2, output
    assert not (tmp_path / "made").exists(), output
