"""The fault matrix: each row really provoked in a run of the installed command, and docs/reliability.md held to it."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from e2e.command import Assay, need_command
from e2e.faults.carrying_out import carry_out
from e2e.faults.fault import Fault
from e2e.faults.load import write_load
from e2e.faults.page import PAGE, rows, with_row
from e2e.faults.table import FAULTS
from goldens import Goldens


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed run, which stays readable whatever becomes of the next."""
    need_command()
    folder = tmp_path_factory.mktemp("earlier")
    directory = folder / "measured"
    directory.mkdir()
    Assay(runs=folder / "runs")("run", write_load(folder, {"seconds": "0.2s"}), directory, "--no-report")
    (run,) = (path for path in (folder / "runs").iterdir() if path.is_dir())
    return run


def _rows() -> Iterator[ParameterSet]:
    """The rows; those that are rare are for `make faults`."""
    for fault in FAULTS:
        is_left_out = fault.is_rare and os.environ.get("ASSAY_FAULTS") != "all"
        why = pytest.mark.skipif(is_left_out, reason="another test goes the same way; make faults provokes it")
        yield pytest.param(fault, id=fault.id, marks=why)


@pytest.mark.testbed
@pytest.mark.parametrize("fault", list(_rows()))
def test_what_becomes_of_a_run_is_as_the_page_says(
    fault: Fault, goldens: Goldens, tmp_path: Path, earlier: Path
) -> None:
    made = carry_out(fault, tmp_path, earlier)
    told = [f"tried: {fault.id}", *(f"{name}: {text}" for name, text in made._asdict().items())]
    sys.stdout.write("\n" + "\n  ".join(told) + "\n")

    page = goldens.kept(PAGE, with_row(PAGE.read_text(), fault, made, FAULTS))
    assert rows(page)[fault.id] == made, "if that is how it is to be: make faults"


def test_the_page_has_every_row_of_the_matrix_and_no_other() -> None:
    assert Counter(rows(PAGE.read_text())) == Counter(fault.id for fault in FAULTS)
