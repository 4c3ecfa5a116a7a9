"""Separate a wrong result from a disturbed test: three outcomes of a test that holds a measurement against a truth.

Wrong: the test fails. It is never run again.
Disturbed: a witness saw something other than the product that can explain the result. The test raises `Disturbed` when
its own witness (fio beside it, a device's log) reports this; a failed test of the held or quiet lane is also disturbed when
other programs, the test beside it included, used CPU time meanwhile, or when its module's fixtures were made
(`testbed/witness.py`). It is retried alone at the end, at most twice.
Undecided: disturbed each time. It is counted and printed; more than `MOST_UNDECIDED` fail the session.

The evidence of each disturbance is kept in `build/tests/disturbed/`. `build/tests/retries.ndjson`, or the file that
`ASSAY_TEST_HISTORY` names, keeps the retries of past sessions: a test retried in two of the last 20 is printed as a defect.
"""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Generator
from itertools import zip_longest
from pathlib import Path
from typing import Literal, cast
from weakref import WeakKeyDictionary

import pytest

from suite import kept, without_group
from testbed.witness import OtherPrograms

DISTURBED = "disturbed"
"""`outcome` of a report."""
RETRIES = 2
MOST_UNDECIDED = 2
HISTORY_SESSIONS, HISTORY_RETRIES = 20, 2
"""A test retried in so many of the last sessions is a defect."""

_LIST, _EVIDENCE, _HISTORY = "disturbed.txt", "disturbed", "retries.ndjson"
_WITNESS = pytest.StashKey[OtherPrograms]()
_MADE_BESIDE: WeakKeyDictionary[pytest.FixtureDef[object], str] = WeakKeyDictionary()
"""What other programs did while a fixture that several tests look at was made; empty: nothing to speak of."""


class Disturbed(Exception):  # noqa: N818 - not an error of what is tested
    """A witness saw something other than the product that explains the result; the text names it, with its figure."""


def disturbed_before(config: pytest.Config) -> set[str]:
    """Node ids that earlier lanes left to the quiet lane."""
    file = kept(config) / _LIST
    return set(file.read_text().splitlines()) if file.exists() else set()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tally, and the list that goes from lane to lane."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tally(config), "outcomes-tally")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Watch what other programs do while a quiet test runs."""
    if item.get_closest_marker("quiet") is not None:
        item.stash[_WITNESS] = OtherPrograms()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Watch what other programs do while a module's fixture is made: it may be the measurement that its tests look at."""
    if fixturedef.scope != "module" or request.node.get_closest_marker("quiet") is None:
        return (yield)
    witness = OtherPrograms()
    made = yield
    _MADE_BESIDE[fixturedef] = witness.disturbance()
    return made


def _made_beside(item: pytest.Item) -> str:
    """What disturbed the fixtures that a test looks at."""
    info = getattr(item, "_fixtureinfo", None)
    fixtures = [] if info is None else [fixture for known in info.name2fixturedefs.values() for fixture in known]
    return next((f"when {one.argname} was made, {why}" for one in fixtures if (why := _MADE_BESIDE.get(one))), "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Call a failure disturbed where a witness explains it."""
    report = yield
    if report.failed and call.excinfo is not None:
        if call.excinfo.errisinstance(Disturbed):
            why = str(call.excinfo.value)
        else:
            witness = item.stash.get(_WITNESS, None)
            why = "" if witness is None else witness.disturbance() or _made_beside(item)
        if why:
            report.outcome = cast("Literal['failed']", DISTURBED)  # a fourth one, as plugins that repeat tests have it
            report.sections.append(("Disturbed", why))
    return report


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """Print `D`, and count it."""
    return (DISTURBED, "D", "DISTURBED") if report.outcome == DISTURBED else None


class Tally:
    """What was disturbed in this session, how often, and what became of it."""

    def __init__(self, config: pytest.Config) -> None:
        """Take over what earlier lanes left."""
        self.lane = config.getoption("lane")
        self.is_parallel = bool(getattr(config.option, "numprocesses", None))
        self._folder = kept(config)
        self._history = Path(os.environ.get("ASSAY_TEST_HISTORY") or self._folder / _HISTORY)
        carried = disturbed_before(config) if self.lane in {"held", "quiet"} else set()
        self.times = Counter(dict.fromkeys(carried, 1))
        self.open = set(carried)
        self.why: dict[str, str] = {}
        self.retried: set[str] = set()
        self.is_over = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what was disturbed, and keep the evidence."""
        name = without_group(report.nodeid)
        if report.outcome == DISTURBED:
            self.times[name] += 1
            self.open.add(name)
            self.why[name] = dict(report.sections)["Disturbed"]
            self._keep(name, report)
        elif report.when == "call" or report.outcome != "passed":
            self.open.discard(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Retry what was disturbed, alone, once all else is done."""
        result = yield
        if not self.is_parallel:
            for _ in range(RETRIES):
                again = [item for item in session.items if self._is_retried(item.nodeid)]
                for item, following in zip_longest(again, again[1:]):
                    self.retried.add(item.nodeid)
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return result

    def _is_retried(self, name: str) -> bool:
        return name in self.open and self.times[name] <= RETRIES

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand what is open to the quiet lane; without a later lane, fail when too much of it is undecided."""
        is_decided_later = self.lane in {"parallel", "held"}
        (self._folder / _LIST).write_text("".join(f"{name}\n" for name in sorted(self.open) if is_decided_later))
        if is_decided_later:
            return
        self._remember()
        if len(self.open) > MOST_UNDECIDED and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what was disturbed and what became of it."""
        if not self.times:
            return
        left = "left to the quiet lane" if self.lane in {"parallel", "held"} else "UNDECIDED"
        terminalreporter.section(f"disturbed tests; evidence in {self._folder / _EVIDENCE}")
        for name, times in sorted(self.times.items()):
            outcome = left if name in self.open else "decided by a retry"
            terminalreporter.line(f"{outcome}, disturbed {times} times: {name}: {self.why.get(name, '')}")
        if self.lane in {"all", "quiet"} and len(self.open) > MOST_UNDECIDED:
            terminalreporter.line(f"{len(self.open)} tests are undecided; at most {MOST_UNDECIDED} may be", red=True)
        for name in self._defects():
            terminalreporter.line(
                f"DEFECT, retried in {HISTORY_RETRIES} of {HISTORY_SESSIONS} sessions: {name}", red=True
            )

    def _keep(self, name: str, report: pytest.TestReport) -> None:
        folder = self._folder / _EVIDENCE
        folder.mkdir(exist_ok=True)
        sections = "".join(f"\n== {title}\n{text}\n" for title, text in report.sections)
        file = folder / f"{re.sub('[^A-Za-z0-9]+', '-', name)[-120:]}-{self.times[name]}.txt"
        file.write_text(f"{name}\n{time.strftime('%FT%TZ', time.gmtime())}\n{report.longreprtext}\n{sections}")

    def _remember(self) -> None:
        session = {"ended_utc": time.strftime("%FT%TZ", time.gmtime()), "retried": sorted(self.times)}
        with self._history.open("a") as history:
            history.write(json.dumps(session) + "\n")

    def _defects(self) -> list[str]:
        """Tests that were retried too often in the last sessions."""
        lines = self._history.read_text().splitlines() if self._history.exists() else []
        retried = Counter(name for line in lines[-HISTORY_SESSIONS:] for name in json.loads(line)["retried"])
        return sorted(name for name, sessions in retried.items() if sessions >= HISTORY_RETRIES)
