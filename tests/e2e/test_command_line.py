"""Is the command itself quick?"""

import resource

from e2e.command import Assay


def test_help_costs_less_than_a_fifth_of_a_second_of_cpu(assay: Assay) -> None:
    # A neighbour in the CPU's caches costs CPU time as well: the best of five is the command's own.
    assert min(_cpu_s_of_help(assay) for _ in range(5)) < 0.2


def _cpu_s_of_help(assay: Assay) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assay("--help", check=0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
