"""Where do the ticks of one client lie in the time of all, and when were workers at work?"""

import numpy as np
import pytest

from assay import events
from assay.analysis.rows import Span
from assay.analysis.set_times import ClientPhase
from assay.analysis.work_times import workers_at_work
from assay.clocks import Shift


def client(own_ns: list[int], set_ns: list[int]) -> ClientPhase:
    """A client whose clock is 1000 ns behind, and whose ticks came up to 10 ns after those of the grid."""
    return ClientPhase(
        start_ns=100,
        begun_ns=105,
        shift=Shift(ns=1000, bound_ns=1),
        is_finished=True,
        own_ns=np.array(own_ns, dtype=np.int64),
        set_ns=np.array(set_ns, dtype=np.int64),
    )


def test_ticks_of_a_client_lie_on_the_grid_and_times_between_belong_to_the_tick_that_follows() -> None:
    one = client([201, 310, 405], [1200, 1300, 1400])

    assert one.to_set(np.array([201, 202, 310, 405, 999])).tolist() == [1200, 1300, 1300, 1400, 1400]


@pytest.mark.parametrize(("set_ns", "own_ns"), [(0, 201), (1200, 201), (1299, 201), (1300, 310), (1400, 405), (9999, 405)])
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

    assert workers_at_work(finished) == [Span(10, 90)]
