"""Queues: how many requests a second keep the mean response time at a target.

One disk with a queue of its own is M/M/1: R = s / (1 - rate s), so rate(R) = 1/s - 1/R. Disks that share one queue (a
declustered array, channels of an SSD) are M/M/c, by Erlang's C formula. Where arrivals come in bursts, the waiting
part is multiplied by (ca^2 + 1) / 2 (Kingman, with exponential service); ca^2, the squared coefficient of variation of
the times between arrivals, is 1 for arrivals at random.

Arithmetic of means: a device that serves requests in another order than they came, or several at a time, is described
by the service time that its measured rate at a latency gives, not by its seek time.
"""

import math

_STEPS = 200
"""Halvings of an interval of rates: far below the last digit."""


def service_time_s(rate_per_s: float, latency_s: float) -> float:
    """Give the service time of a disk that is known to do a rate at a mean response time: 1 / (rate + 1 / R)."""
    return 1 / (rate_per_s + 1 / latency_s)


def response_s(rate_per_s: float, service_s: float, servers: int = 1, burstiness: float = 1.0) -> float:
    """Give the mean response time at an arrival rate; infinite where the queue grows without end.

    Args:
        rate_per_s: Arrivals at all servers together.
        service_s: Mean service time of a request.
        servers: That share one queue.
        burstiness: Squared coefficient of variation of the times between arrivals.
    """
    load = rate_per_s * service_s
    if load >= servers:
        return math.inf
    if load <= 0:
        return service_s
    waiting_s = _erlang_c(load, servers) * service_s / (servers - load)
    return service_s + waiting_s * (burstiness + 1) / 2


def rate_at(latency_s: float, service_s: float, servers: int = 1, burstiness: float = 1.0) -> float:
    """Give the arrival rate at which the mean response time is `latency_s`; 0 where service alone takes longer."""
    if latency_s <= service_s:
        return 0.0
    low, high = 0.0, servers / service_s
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if response_s(middle, service_s, servers, burstiness) <= latency_s:
            low = middle
        else:
            high = middle
    return low


def _erlang_c(load: float, servers: int) -> float:
    """Give the probability that an arrival waits, by the recursion of Erlang's B formula, which does not overflow."""
    blocked = 1.0
    for server in range(1, servers + 1):
        blocked = load * blocked / (server + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))
