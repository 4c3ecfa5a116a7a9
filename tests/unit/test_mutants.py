import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from suite.mutation import __main__ as runner
from suite.mutation import coverage_map, trial
from suite.mutation.mutants import Mutant, list_mutants, sample
from suite.mutation.survivors import Change, read_reasons

CODE = """
    SHARE = 0.5
    LEAST = 20


    class Case:
        name: str | None = None

        def is_large(self, value: float | None = None) -> bool | None:
            if value is None or value < LEAST:
                return None
            return (
                value * 2
                > SHARE
            )


    def other(case: Case, *, rest: tuple[float, ...] = ()) -> float:
        return 1 / max(*rest, case.is_large())
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "code.py").write_text(textwrap.dedent(CODE).lstrip())
    return tmp_path


def changes(tree: Path, mutants: list[Mutant]) -> set[str]:
    return {mutant.describe(tree).change for mutant in mutants}


def test_constants_and_conditions_are_changed_and_type_hints_are_not(tree: Path) -> None:
    found = list_mutants(tree, ["code.py"])

    assert {"SHARE = 0.4", "SHARE = 0.625", "LEAST = 21", "LEAST = 19"} <= {
        change.replace("  ", " ") for change in changes(tree, found)
    }
    assert "if value is None or value <= LEAST:" in changes(tree, found)
    assert "if value is None and value < LEAST:" in changes(tree, found)
    assert not any(mutant.code.startswith(("name:", "def ")) for mutant in found)
    assert {"return 1 * max(*rest, case.is_large())"} <= changes(tree, found)
    assert all(compile(mutant.apply((tree / "code.py").read_text()), mutant.file, "exec") for mutant in found)
    assert not any("1.5" in change or " << " in change or "value is LEAST" in change for change in changes(tree, found))


def test_a_sample_has_places_once_and_a_larger_one_has_all_of_a_smaller_one(tree: Path) -> None:
    mutants = list_mutants(tree, ["code.py"])

    small, large = sample(mutants, 4, 1), sample(mutants, 8, 1)

    assert large[:4] == small
    assert len({(mutant.line, mutant.column) for mutant in large}) == 8
    assert sample(mutants, 4, 2) != small
    assert sample(mutants, 0, 1) == mutants


def test_an_edit_leaves_the_sample_of_other_lines_as_it_is(tree: Path) -> None:
    before = sample(list_mutants(tree, ["code.py"]), 6, 1)
    code = (tree / "code.py").read_text()
    (tree / "code.py").write_text('"""A docstring."""\n\n' + code)

    after = sample(list_mutants(tree, ["code.py"]), 6, 1)

    assert [(mutant.code, mutant.operator) for mutant in after] == [(mutant.code, mutant.operator) for mutant in before]
    assert [mutant.line for mutant in after] == [mutant.line + 2 for mutant in before]


def test_the_lines_of_a_statement_are_those_that_run_with_it(tree: Path) -> None:
    module = coverage_map._Module(tree / "code.py")

    assert module.run_lines(9) == range(9, 10)  # the condition, without what depends on it
    assert module.run_lines(12) == range(11, 15)  # a statement of four lines
    assert module.run_lines(8) == range(9, 15)  # a header: all of its function
    assert module.run_lines(1) is None
    assert module.names(1) == {"SHARE"}
    assert module.names(6) == {"name"}
    assert [*module.uses({"LEAST"})] == [range(9, 10)]
    assert [*module.uses({"is_large"})] == [range(18, 19)]


def test_each_survivor_of_the_list_has_a_reason_and_a_line_of_its_file() -> None:
    root = Path(__file__).parents[2]

    for change in read_reasons():
        assert change.code in {line.strip() for line in (root / change.file).read_text().splitlines()}, change


NUMBERS = """
    import itertools
    import time


    def numbers():
        for number in itertools.count():
            yield number
            time.sleep(0.1)
"""
CHOICES = """
    from assay.numbers import numbers


    def first_number() -> int:
        for number in numbers():
            break
        return number


    def has_either(first: bool, second: bool) -> bool:
        return first or second


    def has_any(first: bool, last: bool) -> bool:
        return first or last
"""
TESTS_OF_CHOICES = """
    from assay.analysis.choices import first_number, has_either


    def test_first_number() -> None:
        assert first_number() == 0


    def test_has_either() -> None:
        assert has_either(True, True)
"""
CHANGED = {
    "killed": ("for number in numbers():", "for number in []:"),
    "timed out": ("break", "continue"),
    "survived": ("return first or second", "return first and second"),
    "excused": ("return first or last", "return first and last"),
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one module that is mutated, and its tests."""
    root = Path(__file__).parents[2]
    packages = ("src/assay", "src/assay/analysis", "src/assay/compare", "tests/suite", "tests/suite/mutation")
    for package in packages:
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
    shutil.copy2(root / "tests/suite/mutation/pytest_lines.py", tmp_path / "tests/suite/mutation")
    (tmp_path / "src/assay/analysis/choices.py").write_text(textwrap.dedent(CHOICES).lstrip())
    (tmp_path / "src/assay/numbers.py").write_text(textwrap.dedent(NUMBERS).lstrip())
    (tmp_path / "tests/unit").mkdir()
    (tmp_path / "tests/unit/test_choices.py").write_text(textwrap.dedent(TESTS_OF_CHOICES).lstrip())
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


@pytest.mark.long
def test_mutants_are_killed_by_tests_or_survive_and_each_is_tested_once(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = repository / "src/assay/analysis/choices.py"
    code = source.read_text()
    known = Change("src/assay/analysis/choices.py", *CHANGED["excused"])
    monkeypatch.setattr(runner, "read_reasons", lambda: {known: "No program asks."})
    monkeypatch.setattr(trial, "FIXTURES_S", 5.0)
    monkeypatch.setenv("ASSAY_MUTANTS", "0")

    status = runner.main(repository)

    printed = capsys.readouterr().out
    for outcome, (line, change) in CHANGED.items():
        assert re.search(rf"^{outcome} .*: {re.escape(line)}  =>  {re.escape(change)}$", printed, re.MULTILINE)
    assert "1 killed, 1 timed out, 1 survived with a reason, 1 without" in printed
    assert status == 1  # two of three, without the one that has a reason
    assert source.read_text() == code

    monkeypatch.setattr(runner, "test_mutant", None)  # a second run has the outcomes

    assert runner.main(repository) == 1
    assert capsys.readouterr().out == printed
