"""Is the command itself quick?"""

import os
import resource
import subprocess
import sys
from pathlib import Path

from e2e.command import COMMAND, need_command

WHAT_IT_PRINTS_WITH = "import typer, rich.console"
HEAVY = {"altair", "lark", "numpy", "polars", "vl_convert", "xlsxwriter"}
LOADED = """
import sys
from assay.cli import main
sys.argv = ["assay", "--help"]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def test_help_costs_little_more_than_what_prints_it() -> None:
    need_command()
    # A neighbour in the CPU's caches costs CPU time as well: the best of five, taken by turns.
    of_help, of_printing = zip(
        *((_cpu_s(COMMAND, "--help"), _cpu_s(sys.executable, "-c", WHAT_IT_PRINTS_WITH)) for _ in range(5)), strict=True
    )

    assert min(of_help) < 1.5 * min(of_printing)


def test_help_loads_nothing_that_measures_or_draws() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)

    assert "quick" in done.stdout
    assert HEAVY & {module.split(".")[0] for module in done.stderr.split()} == set()


def _cpu_s(*words: str | os.PathLike[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=Path("/"), capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
