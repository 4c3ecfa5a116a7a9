"""Which runs count as earlier runs of the same Plan on this machine, and how far apart they lie."""

import math
from pathlib import Path

import msgspec
import pytest

from assay.analysis import findings
from assay.bundle import RunBundle
from assay.errors import BundleError
from assay.host.facts import Fact
from assay.report.explain.earlier_runs import earlier_rates, median_difference
from assay.results import Document
from unit.bundle_streams import begun
from unit.quick_run import quick_run


def sealed(runs: Path, machine: str = "here", name: str = "quick") -> RunBundle:
    bundle = begun(runs, name=name)
    bundle.record_facts([Fact(key="host.machine_id_hash", value=machine, source="/etc/machine-id")])
    bundle.seal(0)
    return bundle


def measured(folder: Path, iops: float, *, trusted: bool = True) -> Document:
    document = quick_run()[1]
    (first,) = [result for result in document.results if result.phase == "randread-1"]
    why = () if trusted else (findings.warning("not-steady", "text", "cure"),)
    row = msgspec.structs.replace(
        first, label="row", iops=iops, committed=None, findings=why, trust=findings.trust(why)
    )
    run = msgspec.structs.replace(document.run, bundle=str(folder), repeats=1)
    return msgspec.structs.replace(document, run=run, results=(row,))


def test_earlier_runs_are_of_the_same_plan_and_machine_and_stand(tmp_path: Path) -> None:
    rates = {}
    for iops in (100.0, 110.0, 120.0):
        rates[sealed(tmp_path).path] = measured(tmp_path, iops)
    rates[sealed(tmp_path).path] = measured(tmp_path, 1.0, trusted=False)
    rates[sealed(tmp_path, machine="there").path] = measured(tmp_path, 2.0)
    rates[sealed(tmp_path, name="other").path] = measured(tmp_path, 3.0)
    rates[begun(tmp_path).path] = measured(tmp_path, 4.0)
    unreadable = sealed(tmp_path).path
    this = sealed(tmp_path)
    rates[sealed(tmp_path).path] = measured(tmp_path, 5.0)

    def answer(folder: Path) -> Document:
        if folder == unreadable:
            raise BundleError("damaged")
        return rates[folder]

    assert earlier_rates(measured(this.path, 130.0), answer) == {"row": [120.0, 110.0, 100.0]}


def test_a_run_of_repeats_has_its_own_and_asks_for_no_earlier_ones(tmp_path: Path) -> None:
    document = measured(sealed(tmp_path).path, 100.0)
    repeated = msgspec.structs.replace(document, run=msgspec.structs.replace(document.run, repeats=3))

    assert earlier_rates(repeated, lambda folder: pytest.fail(str(folder))) == {}


def test_the_median_difference_is_that_of_all_pairs() -> None:
    # Logarithms 0, 1, 2, 3, 4: of the ten pairs four are 1 apart, three 2, two 3, one 4; the median is 2.
    assert median_difference([math.exp(n) for n in range(5)]) == pytest.approx(math.expm1(2))
    assert median_difference([1.0, 2.0, 3.0, 4.0]) is None
