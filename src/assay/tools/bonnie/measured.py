"""The results of each test of a bonnie++ run.

    rate = KiB, seeks or files / elapsed        CPU = time of the workers on a CPU / elapsed

Elapsed is counted as bonnie++ counts it: a test of the file from its first transfer to the end of its close, with the flush
before it; the seeks from the start of the first seeker to the end of the last, with their flushes; creating and removing
with the sync that ends them. A test that was cut is not here: half a test has no rate of its own; nor is one in which
nothing succeeded.
"""

import dataclasses
from collections.abc import Sequence

from assay import events
from assay.analysis.record import PhaseRecord, RunRecord
from assay.analysis.rows import NS_PER_S
from assay.events import StoppedBy
from assay.tools.bonnie.plan import FLUSH, IO_TESTS, TESTS
from assay.tools.bonnie.settings import Settings
from assay.tools.measured import cpu_ns, totals, work_span
from assay.tools.over_clients import Fold
from assay.units import KIB

LEAST_SECONDS = 0.5
"""What takes less is not shown by bonnie++: it calls that a rounding error. Assay's own report shows it."""

_BEFORE_THE_CLOCK = ("unlink", "open")
_COUNTED = ("chunk", "write", "read", "seek", "create", "stat", "delete")
"""Operations and groups that a test counts; each test has one of them."""


@dataclasses.dataclass(frozen=True)
class MeasuredTest:
    """One test that ran to its end."""

    name: str
    rate: float
    """KiB, seeks or files a second, whatever the time."""
    cpu: float
    """Per cent of the time that its workers were on a CPU."""
    seconds: float
    slowest_ns: float

    @property
    def cpu_percent(self) -> int:
        """Truncated, as bonnie++ does."""
        return int(self.cpu)

    @property
    def is_hidden(self) -> bool:
        """Whether bonnie++ shows `+++++` instead."""
        return self.seconds < LEAST_SECONDS


@dataclasses.dataclass(frozen=True)
class MeasuredPass:
    """One run through all tests."""

    settings: Settings
    """With the size that was used."""
    machine: str
    seed: int
    tests: dict[str, MeasuredTest]

    @property
    def size_mib(self) -> int:
        """Of the I/O tests; 0: they were left out."""
        return self.settings.size_mib or 0


def measure_passes(run: RunRecord, settings: Settings) -> tuple[MeasuredPass, ...]:
    """Compute the result of every repeat; a repeat that did not start has no tests."""
    hello = run.first(events.Hello)
    return tuple(
        MeasuredPass(
            settings=settings,
            machine=settings.machine or (hello.machine.hostname if hello else ""),
            seed=run.plan.seed,
            tests=_tests(run, repeat),
        )
        for repeat in range(settings.times)
    )


def _tests(record: RunRecord, repeat: int) -> dict[str, MeasuredTest]:
    phases = {
        phase.phase.name: phase
        for phase in record.phases
        if phase.phase.repeat == repeat
        and phase.finished
        and phase.finished.stopped_by in {StoppedBy.PASSES, StoppedBy.OPS, StoppedBy.EXHAUSTED}
    }
    found: dict[str, MeasuredTest] = {}
    for name in TESTS:
        has_flush = FLUSH in {phase.name for phase in record.plan.phases}
        if name in phases and (name != "random_seeks" or not has_flush or FLUSH in phases):
            outcome = _test(name, phases[name], phases.get(FLUSH) if name == "random_seeks" else None)
            found |= {name: outcome} if outcome else {}
    return found


def _test(name: str, phase: PhaseRecord, flush: PhaseRecord | None) -> MeasuredTest | None:
    counted = next((each for each in (totals(phase, key) for key in _COUNTED) if each.ops), None)
    if counted is None:
        return None
    seconds = _window_s(phase) - sum(totals(phase, key).seconds for key in _BEFORE_THE_CLOCK)
    seconds += sum(step.seconds for step in phase.steps if step.step == "sync")
    cpu_seconds = cpu_ns(phase, "on_cpu_ns") / NS_PER_S
    if flush is not None:
        seconds += _window_s(flush)
        cpu_seconds += cpu_ns(flush, "on_cpu_ns") / NS_PER_S
    is_in_bytes = name in IO_TESTS and name != "random_seeks"
    moved = counted.bytes / 2 if name == "rewrite" else counted.bytes
    amount = moved / KIB if is_in_bytes else counted.ops
    return MeasuredTest(
        name=name,
        rate=amount / seconds if seconds > 0 else 0.0,
        cpu=100 * cpu_seconds / seconds if seconds > 0 else 0.0,
        seconds=seconds,
        slowest_ns=counted.latency_max_ns,
    )


def fold_passes(passes: Sequence[MeasuredPass], fold: Fold) -> MeasuredPass:
    """Fold one repeat of several clients: of each test that all of them ended, rate with its CPU, and slowest operation."""
    done = [name for name in passes[0].tests if all(name in one.tests for one in passes)]
    return dataclasses.replace(
        passes[0],
        machine=f"{fold.value}-of-{len(passes)}",
        tests={name: _fold_test([one.tests[name] for one in passes], fold) for name in done},
    )


def _fold_test(tests: Sequence[MeasuredTest], fold: Fold) -> MeasuredTest:
    folded = fold.record(tests, lambda test: test.rate)
    # A mean over times of which bonnie++ would show one not is not shown either.
    seconds = min(test.seconds for test in tests) if fold is Fold.MEAN else folded.seconds
    return dataclasses.replace(folded, seconds=seconds, slowest_ns=fold.time([test.slowest_ns for test in tests]))


def _window_s(phase: PhaseRecord) -> float:
    span = work_span(phase)
    return span.seconds if span else 0.0
