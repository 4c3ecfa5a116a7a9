"""Is the command itself quick?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.command import COMMAND, Assay

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


# -- what a refused command imports ------------------------------------------------------------------------------------

ANALYSES = {"altair", "asyncio", "assay.analysis", "assay.execution", "numpy", "polars", "rich", "vl_convert"}
"""What reads, judges and shows a run: importing it takes several times as long as any refusal."""
READS_SCRIPTS = {"lark"}
BAD_FILES = {
    "bad.toml": 'name = "bad"\n[[phase]]\nnope = 1\n',
    "bad.fio": "[job]\nrw=nonsense\nsize=1m\n",
    "bad.f": "define nonsense\n",
    "bad.pm": "set nonsense\n",
    "bad.vd": "sd=sd1,lun=/none\nwd=wd1,sd=sd2\nrd=run1,wd=wd1\n",
}
REFUSED: tuple[tuple[str, ...], ...] = (
    ("nonsense",),
    ("quick", "--nonsense"),
    ("quick", "missing"),
    ("quick", ".", "--time", "soon"),
    ("quick", ".", "--tag", "no spaces please"),
    ("measure", "--nonsense"),
    ("measure", "missing"),
    ("measure", ".", "--bs", "much"),
    ("measure", ".", "--json", "--live-json", "-"),
    ("size",),
    ("size", "--iops", "3000", "--writes", "20%", "--raid", "7"),
    ("size", "missing", "--disk", "unknown"),
    ("capture", "look"),
    ("capture", "read", "missing", "--date-order", "ymd"),
    ("run", "bad.toml", "."),
    ("run", "missing.toml", "."),
    ("run", "quick", "missing"),
    ("iozone", "-Z9"),
    ("iozone", "-i", "0", "-f", "missing/file"),
    ("bonnie", "-d", "missing"),
    ("bonnie", "-Q"),
    ("postmark", "bad.pm"),
    ("postmark", "missing.pm"),
    ("vxbench", "-Q"),
    ("vdbench", "-f", "bad.vd"),
    ("perfpl", "--nonsense"),
    ("fio", "bad.fio"),
    ("fio", "missing.fio"),
    ("fio", "--name=job", "--rw=read", "--size=1m", "--directory=missing"),
    ("bigdir", "--nonsense"),
    ("filebench", "-f", "bad.f"),
    ("filebench", "-f", "missing.f"),
    ("compare", "one"),
    ("compare", "one", "other"),
    ("compare", "one", "other", "--gate", "nonsense"),
    ("ab", "one", "other"),
    ("show", "missing"),
    ("report", "missing"),
    ("explain", "missing"),
    ("export", "missing", "--csv", "folder"),
    ("rerun", "missing"),
    ("diff", "missing", "other"),
    ("clean", "missing"),
    ("import", "missing"),
    ("decode", "missing"),
    ("workingset", "missing"),
    ("claims", "missing"),
    ("matrix", "missing.toml"),
    ("doctor", "missing"),
    ("survey", "missing"),
    ("survey", ".", "-o", "survey.txt"),
    ("survey", ".", "--resume", "missing.json"),
)


REFUSES = """
import contextlib, io, json, sys
from assay.start import main
known = set()
for words in json.load(sys.stdin):
    sys.argv = ["assay", *words]
    code, said = None, io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, sorted(set(sys.modules) - known), said.getvalue()]))
    known |= set(sys.modules)
"""
"""One process is refused everything: what a command imports, none before it did."""


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], tuple[int, set[str], str]]:
    """Exit code, imported modules and words of each refusal; those that read scripts are the last."""
    place = tmp_path_factory.mktemp("refused")
    for name, text in BAD_FILES.items():
        (place / name).write_text(text)
    in_order = sorted(REFUSED, key=lambda words: words[0] == "filebench")
    done = subprocess.run(
        [sys.executable, "-c", REFUSES],
        input=json.dumps(in_order),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ASSAY_RUNS": str(place / "runs")},
        cwd=place,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(in_order), done.stderr
    return {words: (code, set(modules), said) for words, (code, modules, said) in zip(in_order, found, strict=True)}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_a_refused_command_imports_nothing_that_analyses(
    words: tuple[str, ...], refusals: dict[tuple[str, ...], tuple[int, set[str], str]]
) -> None:
    code, modules, said = refusals[words]

    assert code == 2, said
    allowed = READS_SCRIPTS if words[0] == "filebench" else set()
    assert _among(modules, HEAVY | ANALYSES) - allowed == set(), said
    assert "pydantic" not in modules, said


def test_a_kept_answer_is_shown_without_what_worked_it_out(assay: Assay, tmp_path: Path) -> None:
    done = assay("measure", tmp_path, "--size", "1MiB", "--time", "0.2s", "--no-report")
    assert done.returncode in {0, 1}, done.stderr

    for words in (("show",), ("show", "--json"), ("ls",)):
        code, modules, said = _imported(words, assay, tmp_path)

        assert (code, _among(modules, HEAVY | {"assay.analysis.record"})) == (0, set()), said


def _imported(words: tuple[str, ...], assay: Assay, place: Path) -> tuple[int, set[str], str]:
    """Run a command in a process of its own: its exit code, every module that it imported, and what it wrote."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", COMMAND, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ASSAY_RUNS": str(assay.runs)},
        cwd=place,
    )
    lines = done.stderr.splitlines()
    imports = [line for line in lines if line.startswith("import time:")]
    said = done.stdout + "\n".join(line for line in lines if line not in imports)
    return done.returncode, {line.rpartition("|")[2].strip() for line in imports}, said


def _among(modules: set[str], packages: set[str]) -> set[str]:
    """Which of some packages are among modules: themselves, or a part of them."""
    return {package for package in packages if any(f"{name}.".startswith(f"{package}.") for name in modules)}


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
