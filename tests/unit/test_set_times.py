"""Where do the ticks of one client lie in the time of all, and which workers were at work, and when?"""

import numpy as np
import pytest

from assay import events, plan
from assay.analysis.rows import Span
from assay.analysis.set_times import ClientPhase
from assay.analysis.work_times import workers_at_work
from assay.analysis.workers_of_plan import with_workers
from assay.clocks import Shift
from unit.synthetic import one_job, one_plan


def client(own_ns: list[int], set_ns: list[int]) -> ClientPhase:
    """A client whose clock is 1000 ns behind, and whose ticks came up to 10 ns after those of the grid."""
    return ClientPhase(
        start_ns=100,
        begun_ns=105,
        shift=Shift(ns=1000, bound_ns=1),
        to_grid_ns=1000,
        is_finished=True,
        own_ns=np.array(own_ns, dtype=np.int64),
        set_ns=np.array(set_ns, dtype=np.int64),
        regular_ns=np.array(set_ns, dtype=np.int64),
    )


def test_ticks_of_a_client_lie_on_the_grid_and_times_between_belong_to_the_tick_that_follows() -> None:
    one = client([201, 310, 405], [1200, 1300, 1400])

    assert one.to_set(np.array([201, 202, 310, 405, 999])).tolist() == [1200, 1300, 1300, 1400, 1400]


@pytest.mark.parametrize(
    ("set_ns", "own_ns"), [(0, 201), (1200, 201), (1299, 201), (1300, 310), (1400, 405), (9999, 405)]
)
def test_a_time_of_the_grid_is_that_of_the_last_tick_before_it(set_ns: int, own_ns: int) -> None:
    assert client([201, 310, 405], [1200, 1300, 1400]).to_own(set_ns) == own_ns


def test_without_ticks_the_clocks_alone_tell() -> None:
    one = client([], [])

    assert one.to_set(np.array([7, 8])).tolist() == [1007, 1008]
    assert one.to_own(1007) == 7
    assert one.late_ns(1100) == 5


def test_workers_that_completed_nothing_were_not_at_work() -> None:
    windows = {"did": (10, 90), "began": (20, None), "idle": (None, None)}
    finished = events.PhaseFinished(
        t_ns=100,
        phase_index=0,
        start_ns=0,
        stopped_by=events.StoppedBy.TIME,
        workers=tuple(
            events.WorkerWindow(
                job=job,
                worker=0,
                first_op_ns=first_ns,
                last_op_ns=last_ns,
                started=1,
                completed=int(last_ns is not None),
                failed=0,
                abandoned=int(last_ns is None),
                stopped_by=events.StoppedBy.TIME,
            )
            for job, (first_ns, last_ns) in windows.items()
        ),
        jobs=(),
        errors=(),
    )

    assert [own for _, own in workers_at_work(finished)] == [Span(10, 90)]


@pytest.mark.parametrize("there", [(1, 1), (3, 1), (5, 3), (5, 5)])
def test_a_plan_has_as_many_workers_as_were_there(there: tuple[int, int]) -> None:
    planned = one_plan(*(plan.Phase(name=name, title=name, jobs=(one_job(workers=3),)) for name in "pq"))

    found = with_workers(planned, {(index, "job"): count for index, count in enumerate(there)})

    assert tuple(job.workers for phase in found.phases for job in phase.jobs) == there
    assert [job.workers for phase in planned.phases for job in phase.jobs] == [3, 3]


def test_jobs_of_which_no_other_number_is_known_keep_their_workers() -> None:
    planned = one_plan(plan.Phase(name="p", title="p", jobs=(one_job(name="a"), one_job(name="b"))))

    (phase,) = with_workers(planned, {(0, "a"): 2, (1, "b"): 7}).phases

    assert {job.name: job.workers for job in phase.jobs} == {"a": 2, "b": 1}
