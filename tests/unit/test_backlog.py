"""Is a backlog that grows told from one that comes and goes? Queues whose load is known by construction."""

import numpy as np
import numpy.typing as npt
import pytest

from assay.analysis.statistics.backlog import grows

FloatArray = npt.NDArray[np.float64]
PER_S, INTERVAL_S = 100, 0.1


def lateness_s(seconds: float, service_s: FloatArray, arrivals_s: FloatArray) -> FloatArray:
    """How late one server began with what came, as the mean of each interval in which something was done."""
    begun, free = np.empty(len(arrivals_s)), 0.0
    for at, (due, takes) in enumerate(zip(arrivals_s, service_s, strict=True)):
        begun[at] = max(due, free)
        free = begun[at] + takes
    done = begun + service_s
    inside = done < seconds
    place = (done[inside] / INTERVAL_S).astype(int)
    count = np.bincount(place)
    late = np.bincount(place, (begun - arrivals_s)[inside])
    return late[count > 0] / count[count > 0]


def queue(load: float, seconds: float = 20, *, spread: float = 0.1, poisson: bool = False, seed: int = 1) -> FloatArray:
    """A queue that is asked for `load` times what it serves; service times vary by `spread` of their mean."""
    random = np.random.default_rng(seed)
    count = round(PER_S * seconds)
    gaps = random.exponential(1 / PER_S, count) if poisson else np.full(count, 1 / PER_S)
    service = random.gamma(spread**-2, load / PER_S * spread**2, count)
    return lateness_s(seconds, service, np.cumsum(gaps))


def told(load: float, *, poisson: bool = False, spread: float = 0.1) -> float:
    """Of 30 queues, the share whose backlog is said to grow."""
    takes = load / PER_S
    return np.mean([grows(queue(load, spread=spread, poisson=poisson, seed=seed), takes) for seed in range(30)]).item()


def test_six_thousandths_too_much_are_found_after_twenty_seconds() -> None:
    late = queue(1.006, spread=0.01)

    assert late[-1] == pytest.approx(0.006 * 20, rel=0.1)
    assert told(1.006, spread=0.01) == 1.0
    assert told(1.1, poisson=True) == 1.0


@pytest.mark.parametrize("poisson", [False, True])
def test_a_queue_that_is_served_has_no_backlog_that_grows(poisson: bool) -> None:
    assert told(0.5, poisson=poisson) == told(0.8, poisson=poisson, spread=0.5) == 0.0


def test_what_a_stall_leaves_is_worked_off_and_is_no_growth() -> None:
    service = np.full(2000, 0.005)
    service[1200] = 1.0

    late = lateness_s(20, service, np.arange(1, 2001) / PER_S)

    assert late.max() > 0.8
    assert not grows(late, 0.005)


def test_lateness_below_one_operation_is_nobody_s_wait() -> None:
    assert not grows(np.linspace(0.0, 0.009, 100), 0.01)
    assert grows(np.linspace(0.0, 0.011, 100), 0.01)
    assert not grows(np.linspace(0.0, 1.0, 9), 0.01)
