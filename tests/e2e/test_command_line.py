"""Is the command itself quick?"""

import os
import subprocess
import sys

HEAVY = {"altair", "lark", "numpy", "polars", "vl_convert", "xlsxwriter"}
COUNTED = """
import sys
calls = 0
def called(frame, event, arg):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(called)
try:
    {what}
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    print(calls, *sys.modules, file=sys.stderr)
"""
HELP = "sys.argv = ['assay', '--help']; from assay.cli import main; main()"
WHAT_PRINTS_IT = "import typer, rich.console"


def test_help_costs_little_more_than_what_prints_it() -> None:
    """By calls of functions, not by time: what they take differs from processor to processor."""
    of_help, _, _ = _counted(HELP)
    of_printing, _, _ = _counted(WHAT_PRINTS_IT)

    assert of_help < 2 * of_printing


def test_help_loads_nothing_that_measures_or_draws() -> None:
    _, modules, said = _counted(HELP)

    assert "quick" in said
    assert HEAVY & {module.split(".")[0] for module in modules} == set()


def _counted(what: str) -> tuple[int, list[str], str]:
    """How many functions it calls, which modules are loaded then, and what it says."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTED.format(what=what)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    )
    calls, *modules = done.stderr.split()
    return int(calls), modules, done.stdout
