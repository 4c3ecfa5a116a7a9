"""Compute the n-th part of a Plan: of its files, counts and rates.

A whole number is divided with its remainder distributed: of `total`, client i of n has `total // n`, and one more where i
< total mod n, so that nothing is lost or done twice. Rates are divided by n. Workers, queue depths, sizes of files
and of operations, times and shares stay as they are: n clients have n times the workers. What all workers do together
is that of the whole Plan; a count of each worker (`of = "each"`) is divided too.
"""

from collections.abc import Iterator
from math import floor

from msgspec.structs import replace

from assay.errors import InputError
from assay.plan import (
    Action,
    Choice,
    Every,
    FileSet,
    FinishOn,
    FromSet,
    Group,
    Job,
    Loop,
    Open,
    Own,
    Phase,
    Plan,
    RateLimit,
    Repeat,
    SteadyOf,
    SteadyRule,
    Stop,
    Token,
)
from assay.plan.limits import NUMBERS
from assay.plan.walk import job_ops

_CURE = "take --share own, where each client does all of it"


def part(plan: Plan, number: int, clients: int) -> Plan:
    """Give the part of one client; raises InputError where something cannot be divided.

    Args:
        plan: The whole.
        number: Of the client, from 0.
        clients: How many there are.
    """
    of = _Part(number, clients)
    _check_own_files(plan, clients)
    return replace(
        plan,
        file_sets=tuple(of.file_set(file_set) for file_set in plan.file_sets),
        phases=tuple(of.phase(phase) for phase in plan.phases),
    )


def split(total: int, number: int, clients: int) -> int:
    """Divide a whole number with its remainder distributed over the first clients."""
    return total // clients + (number < total % clients)


def existing_files(file_set: FileSet) -> int:
    """Count the files of a set that exist after `prepare`, rounded as the engine does (`FileSetState::initial_files`)."""
    exact = file_set.files * file_set.existing_share
    whole = floor(exact)
    return min(whole + (exact - whole >= 0.5), file_set.files)


def _check_own_files(plan: Plan, clients: int) -> None:
    """Refuse where workers with a file each would then share one."""
    files = {file_set.name: file_set.files for file_set in plan.file_sets}
    for phase in plan.phases:
        for job in phase.jobs:
            for name in _own_sets(job):
                if files[name] // clients < min(job.workers, files[name]):
                    raise InputError(
                        f"--share files: the {job.workers} workers of job '{job.name}' have a file each of set '{name}', and"
                        f" {files[name]} files are too few for {clients} clients with as many workers; {_CURE}"
                    )


def _own_sets(job: Job) -> Iterator[str]:
    for op in job_ops(job):
        if isinstance(op.file, FromSet) and isinstance(op.file.pick, Own):
            yield op.file.set


class _Part:
    """Part `number` of `clients`."""

    def __init__(self, number: int, clients: int) -> None:
        self._number, self._clients = number, clients

    def file_set(self, whole: FileSet) -> FileSet:
        if whole.files < self._clients:
            number = "1 file" if whole.files == 1 else f"{whole.files} files"
            raise InputError(
                f"--share files: set '{whole.name}' has {number} for {self._clients} clients; take --share one-set, where"
                f" all work on the same, or {_CURE.removeprefix('take ')}"
            )
        files = split(whole.files, self._number, self._clients)
        existing = split(existing_files(whole), self._number, self._clients)
        return replace(whole, files=files, existing_share=existing / files)

    def phase(self, whole: Phase) -> Phase:
        where = f"phase '{whole.name}'"
        return replace(
            whole,
            jobs=tuple(self._job(job, where) for job in whole.jobs),
            stop=self._stop(whole.stop, where),
            steady=None if whole.steady is None else self._steady(whole.steady),
        )

    def _job(self, whole: Job, phase: str) -> Job:
        where = f"{phase}, job '{whole.name}'"
        arrival = whole.arrival
        if isinstance(arrival, Open):
            arrival = replace(arrival, rate_per_s=self._rate(arrival.rate_per_s, "rate_per_s", where))
        body = whole.body
        if isinstance(body, Loop):
            body = replace(body, actions=self._actions(body.actions, where))
        return replace(
            whole, body=body, arrival=arrival, limit=self._limit(whole.limit, where), stop=self._stop(whole.stop, where)
        )

    def _actions(self, actions: tuple[Action, ...], where: str) -> tuple[Action, ...]:
        return tuple(self._action(action, where) for action in actions)

    def _action(self, whole: Action, where: str) -> Action:
        match whole:
            case Group() | Repeat() | Every():
                return replace(whole, actions=self._actions(whole.actions, where))
            case Choice():
                branches = (replace(one, actions=self._actions(one.actions, where)) for one in whole.branches)
                return replace(whole, branches=tuple(branches))
            case FinishOn():
                ops, number = self._count(whole.ops, "ops", where), self._count(whole.bytes, "bytes", where)
                return replace(whole, ops=ops, bytes=number)
            case Token():
                return replace(whole, rate_per_s=self._rate(whole.rate_per_s, "rate_per_s", where))
            case _:
                return whole

    def _stop(self, whole: Stop, where: str) -> Stop:
        return replace(
            whole,
            ops=self._count(whole.ops, "ops", where),
            bytes=self._count(whole.bytes, "bytes", where),
            passes=self._count(whole.passes, "passes", where),
        )

    def _limit(self, whole: RateLimit, where: str) -> RateLimit:
        ops, data = whole.ops_per_s, whole.bytes_per_s
        return RateLimit(
            ops_per_s=None if ops is None else self._rate(ops, "ops_per_s", where),
            bytes_per_s=None if data is None else self._rate(data, "bytes_per_s", where),
        )

    def _steady(self, whole: SteadyRule) -> SteadyRule:
        """A bound that is a rate is one of all clients."""
        is_rate = not whole.is_percent and whole.of is not SteadyOf.LATENCY
        return replace(whole, bound=whole.bound / self._clients) if is_rate else whole

    def _count(self, total: int | None, what: str, where: str) -> int | None:
        if total is None or total == 0:
            return total
        if total < self._clients:
            raise InputError(
                f"--share files: {where} ends by {what} = {total}, which {self._clients} clients cannot divide; end it by"
                f" time, or {_CURE}"
            )
        return split(total, self._number, self._clients)

    def _rate(self, whole: float, name: str, where: str) -> float:
        rate = whole / self._clients
        if not NUMBERS[name].holds(rate):
            raise InputError(
                f"--share files: {where}: the {self._clients}th part of {name} = {whole:g} is below"
                f" {NUMBERS[name].least:g}; {_CURE}"
            )
        return rate
