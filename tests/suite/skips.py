"""Fail a CI session for a test that was skipped without leave.

`tests/allowed_skips.toml` lists the skips that CI expects, each with the reason why nothing is lost. A test that skips
for anything else there, such as a missing package, would hide a truth that is no longer checked: the session is red and
prints it. `.ci/run` sets CI=true; elsewhere a skip is what it is everywhere.
"""

import os
import tomllib
from pathlib import Path

import pytest

ALLOWED = Path(__file__).parents[1] / "allowed_skips.toml"


def pytest_configure(config: pytest.Config) -> None:
    """Watch the skips of CI."""
    if os.environ.get("CI") == "true" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Gate(), "skip-gate")


class Gate:
    """The skips of this session that no line of the list allows."""

    def __init__(self) -> None:
        """Read the list."""
        self._allowed = tomllib.loads(ALLOWED.read_text())["skip"]
        self._refused: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Look at each test that was skipped."""
        self._look_at(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Look at each file that was skipped as a whole."""
        self._look_at(report)

    def _look_at(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            if not any(report.nodeid.startswith(one["tests"]) and one["reason"] in reason for one in self._allowed):
                self._refused[report.nodeid] = reason

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail for what is not allowed."""
        if self._refused and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what is not allowed."""
        if self._refused:
            terminalreporter.section(f"skips that {ALLOWED.name} does not allow in CI", red=True)
            for name, reason in sorted(self._refused.items()):
                terminalreporter.line(f"{name}: {reason}")
