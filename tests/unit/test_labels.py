"""The key of a result: unique in its run, and the same in the next."""

import pytest

from assay import plan
from assay.analysis.document import document
from assay.analysis.labels import label_of
from assay.analysis.record import RunRecord, read
from assay.errors import InputError
from assay.report.explain.story import story
from unit.synthetic import SyntheticRun, one_job, one_plan, steady_stream


def recorded(*phases: plan.Phase, ran: int | None = None) -> RunRecord:
    """Run each job of each phase, or of the first few."""
    run = SyntheticRun(one_plan(*phases))
    for index, phase in enumerate(phases[:ran]):
        streams = [
            steady_stream(per_s=100 * (number + 1), seconds=2, latency_ns=1_000_000, worker=number, job=job.name)
            for number, job in enumerate(phase.jobs)
        ]
        run.phase(streams, seconds=2, index=index)
    return read(run.end())


def labels(run: RunRecord) -> list[str]:
    return [result.label for result in document(run).results]


def phase(name: str, *jobs: str, repeat: int = 0) -> plan.Phase:
    return plan.Phase(name=name, title="alike", jobs=tuple(one_job(name=job) for job in jobs), repeat=repeat)


def test_a_label_has_what_tells_results_apart_though_their_titles_are_alike() -> None:
    run = recorded(phase("a", "job"), phase("b", "x", "y"), phase("a", "job", repeat=1))

    assert labels(run) == ["a/read", "b/x/read", "b/y/read", "a/read#2"]
    assert {result.title for result in document(run).results} == {"alike"}


def test_a_label_does_not_turn_on_how_much_of_the_run_there_is() -> None:
    phases = (phase("a", "x", "y"), phase("a", "x", "y", repeat=1))

    assert labels(recorded(*phases, ran=1)) == labels(recorded(*phases))[:2]


def test_a_slash_in_a_name_makes_no_two_labels_one() -> None:
    run = recorded(phase("a/b", "job"), phase("a", "b", "c"), phase("a#2", "job"), phase("a", "b", "c", repeat=1))

    found = labels(run)

    assert found[0] == "a%2Fb/read"
    assert len(set(found)) == len(found) == 6


def test_jobs_that_a_strangers_plan_names_alike_are_numbered() -> None:
    assert labels(recorded(phase("p", "job", "job"))) == ["p/job/read", "p/job/read~2"]


def test_a_percent_sign_is_no_way_around() -> None:
    assert label_of(phase("a%2Fb", "job"), "job", "read") != label_of(phase("a/b", "job"), "job", "read")


def test_an_at_sign_in_a_name_is_no_client() -> None:
    assert label_of(phase("p", "job"), "job", "read@h1") == "p/read%40h1"
    assert label_of(phase("p", "job"), "job", "read", "h1") == "p/read@h1"


def test_a_row_can_be_asked_for_by_its_label() -> None:
    run = recorded(phase("a", "job"), phase("b", "x", "y"))
    made = document(run)

    assert story(made, run, "b/y/read", 80) == story(made, run, "3", 80)
    with pytest.raises(InputError, match="has no row 'b/z/read'; it has: a/read, b/x/read, b/y/read"):
        story(made, run, "b/z/read", 80)
