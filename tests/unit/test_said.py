"""What the engine said of a phase, beside the numbers that it is about, and beside no others."""

import msgspec
import pytest

from assay import events, plan
from assay.analysis.finding_pages import current_id
from assay.events import Severity
from assay.results import Result
from assay.verdicts import TrustLevel
from unit.memory_run import judged
from unit.synthetic import DATA, SyntheticRun, one_job, one_plan, read_op, steady_stream

KINDS = {"read": plan.OpKind.READ, "make": plan.OpKind.CREATE, "look": plan.OpKind.STAT}
JOB = one_job(*(plan.Do(op=read_op(name, kind=kind)) for name, kind in KINDS.items()))


def results(id_: str, severity: Severity, *, allocate: str = "write", job: plan.Job = JOB) -> dict[str, Result]:
    """By operation: the results of a phase of which the engine said something."""
    phase = plan.Phase(name="p", title="p", jobs=(job,))
    data = msgspec.structs.replace(DATA, allocate=plan.Allocate(allocate))
    run = SyntheticRun(one_plan(phase, sample_interval_s=0.1, data=data))
    names = [action.op.name for action in job.body.actions]  # type: ignore[union-attr]
    streams = [steady_stream(per_s=100, seconds=5, latency_ns=1_000_000, operation=name) for name in names]
    run.phase(streams, seconds=5)
    run.say(events.Warning(t_ns=1, phase_index=0, id=id_, severity=severity, text="As it was seen.", cure="Do it."))
    return {result.operation: result for result in judged(run.end()).results}


@pytest.mark.parametrize(
    ("id_", "severity", "about"),
    [
        (events.FREED_INODES, Severity.WEAK, {"make", "*"}),
        (events.HOLES, Severity.WARNING, {"read", "*"}),
        (events.GROWN_DIRECTORY, Severity.NOTE, {"read", "make", "look", "*"}),
        ("late-arrivals", Severity.NOTE, {"read", "make", "look", "*"}),
    ],
)
def test_a_cause_is_said_of_the_operations_that_it_moves(id_: str, severity: Severity, about: set[str]) -> None:
    found = {
        name: [each for each in row.findings if each.id == current_id(id_)]
        for name, row in results(id_, severity).items()
    }

    assert found.keys() == {"read", "make", "look", "*"}
    assert {name for name, findings in found.items() if findings} == about
    assert {(each.severity, each.text, each.cure) for findings in found.values() for each in findings} == {
        (severity.value, "As it was seen.", "Do it.")
    }


def test_what_is_weak_leaves_a_number_weak_and_says_why_in_a_few_words() -> None:
    trust = results(events.FREED_INODES, Severity.WEAK)["make"].trust

    assert "inodes freed a moment before" in {reason.text for reason in trust.reasons}
    assert trust.level is not TrustLevel.YES


@pytest.mark.parametrize(
    ("allocate", "said"),
    [("write", {"reads of holes"}), ("sparse", {"blocks never written"}), ("fallocate", {"blocks never written"})],
)
def test_what_nobody_ever_wrote_is_said_once(allocate: str, said: set[str]) -> None:
    row = results(events.HOLES, Severity.WARNING, allocate=allocate, job=one_job())["read"]

    assert {each.brief for each in row.findings if each.id == "holes"} == said
    # Any other warning of such a phase is passed on.
    other = results(events.GROWN_DIRECTORY, Severity.NOTE, allocate=allocate, job=one_job())["read"]
    assert current_id(events.GROWN_DIRECTORY) in {each.id for each in other.findings}


@pytest.mark.parametrize(
    ("event_id", "severity", "finding", "reason"),
    [
        ("aio-buffered", Severity.WARNING, "load-changed", "aio buffered"),
        ("data-left-behind", Severity.WARNING, "data-folder", "data left behind"),
        ("direct-refused", Severity.WARNING, "direct-refused", "direct refused"),
    ],
)
def test_warnings_of_one_finding_keep_their_severity_and_name_their_cause(
    event_id: str, severity: Severity, finding: str, reason: str
) -> None:
    row = results(event_id, severity)["read"]

    assert [(each.severity, each.text) for each in row.findings if each.id == finding] == [
        (severity.value, "As it was seen.")
    ]
    assert (finding, reason) in {(each.id, each.text) for each in row.trust.reasons}
