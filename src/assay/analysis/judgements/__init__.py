"""Every judgement: what there is to know about a number, or about the run.

A judgement is a function of one `Case`, or of the whole run, that gives findings. A new one is a file here and its line
below. Every number that one turns on is in `analysis/thresholds.py`.
"""

from collections.abc import Callable, Iterable, Sequence

from assay.analysis.case import Case
from assay.analysis.judgements import (
    cache,
    client,
    clients_lost,
    clients_start,
    conservation,
    corruption,
    counters,
    cpu_time,
    data,
    device_cache,
    device_throttled,
    discards,
    ending,
    energy,
    engine_warnings,
    errors,
    execution,
    foreign,
    invariants,
    other_programs,
    pauses,
    percentiles,
    refaults,
    remote_cache,
    repeats,
    rounds,
    sample,
    server_moved,
    shared_machine,
    steady,
    uneven_clients,
    wall_clock,
    whole_run,
    window,
    zero_blocks,
)
from assay.analysis.record import RunRecord
from assay.analysis.sum_case import SumCase
from assay.results import Finding, Result

OF_RESULT: tuple[Callable[[Case], Iterable[Finding]], ...] = (
    conservation.judge,
    window.judge,
    steady.judge,
    cache.judge,
    refaults.judge,
    remote_cache.judge,
    device_cache.judge,
    foreign.judge,
    other_programs.judge,
    discards.judge,
    device_throttled.judge,
    counters.judge,
    invariants.judge,
    client.judge,
    shared_machine.judge,
    pauses.judge,
    engine_warnings.judge,
    errors.judge,
    corruption.judge,
    ending.judge,
    execution.judge,
    cpu_time.judge,
    sample.judge,
    percentiles.judge,
    data.judge,
    zero_blocks.judge,
    energy.judge,
)
"""In the order in which findings of the same severity and effect stand."""

OF_MACHINE: frozenset[Callable[[Case], Iterable[Finding]]] = frozenset(
    {
        cache.judge,
        refaults.judge,
        remote_cache.judge,
        device_cache.judge,
        foreign.judge,
        other_programs.judge,
        discards.judge,
        device_throttled.judge,
        counters.judge,
        invariants.judge,
        client.judge,
        shared_machine.judge,
        data.judge,
        zero_blocks.judge,
    }
)
"""Those that hold a number against its own machine: of several clients each has its own, and a sum has none."""

OF_SUM: tuple[Callable[[Case], Iterable[Finding]], ...] = (
    conservation.judge,
    window.judge,
    steady.judge,
    engine_warnings.judge,
    errors.judge,
    corruption.judge,
    ending.of_rule,
    execution.judge,
    cpu_time.judge,
    sample.judge,
    percentiles.judge,
    energy.judge,
)
"""What is asked of the sum over several clients as it is of one; `OF_SET` is what only they have."""

OF_SET: tuple[Callable[[SumCase], Iterable[Finding]], ...] = (
    clients_lost.judge,
    clients_start.judge,
    pauses.of_sum,
    uneven_clients.judge,
    server_moved.judge,
)

OF_RUN_OF_OBSERVER: tuple[Callable[[RunRecord], Iterable[Finding]], ...] = (
    whole_run.engine_errors,
    whole_run.ending,
    whole_run.engine_warnings,
)
OF_RUN_OF_CLIENT: tuple[Callable[[RunRecord], Iterable[Finding]], ...] = (
    *OF_RUN_OF_OBSERVER,
    corruption.of_run,
    whole_run.missing_counters,
)
"""Of a run of several clients, the findings of each client; the others of `OF_RUN` are of the run."""

OF_RUN: tuple[Callable[[RunRecord], Iterable[Finding]], ...] = (
    whole_run.engine_errors,
    whole_run.reason,
    corruption.of_run,
    whole_run.ending,
    whole_run.engine_warnings,
    whole_run.untranslated,
    whole_run.missing_counters,
    wall_clock.judge,
)

OF_RESULTS: tuple[Callable[[RunRecord, Sequence[Result]], Iterable[Finding]], ...] = (
    whole_run.from_memory,
    whole_run.accepted_in_vain,
    repeats.judge,
    rounds.judge,
)
"""Findings that need all results together."""
