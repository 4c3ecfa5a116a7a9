"""What a client shows at most: kept for later runs of the same machine, and the roof that numbers are drawn under."""

import math
import os
from pathlib import Path

import msgspec
import pytest

from assay import events, plan
from assay.analysis.ceilings import cached_read_bytes_per_s, ceilings_of
from assay.analysis.record import read
from assay.host.facts import DEVICE_FACT, LINK_FACT, Fact, FactValue
from assay.report.figures import roofline
from assay.results import ClientCeilings, ThreadCeiling
from assay.running import kept_ceilings
from unit.quick_run import quick_run
from unit.synthetic import SyntheticRun, one_job, one_plan

MACHINE = (
    Fact(key="host.cpu.model", value="Fast 9000", source="/proc/cpuinfo"),
    Fact(key="host.cpu.usable", value=2, source="sched_getaffinity"),
    Fact(key="host.kernel.release", value="6.18.1", source="uname"),
)
MEASURED = (
    events.Ceiling(name="system_call", block_size_bytes=None, ops_per_s=2e6, bytes_per_s=None),
    events.Ceiling(name="cached_pread", block_size_bytes=4096, ops_per_s=4e5, bytes_per_s=4096 * 4e5),
)
DATE = "2026-01-02T03:04:05Z"
PLAN = one_plan(plan.Phase(name="one", title="reads", jobs=(one_job(),)))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this user's caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "assay"


def test_what_one_run_measured_is_known_to_the_next_with_its_date(cache: Path) -> None:
    kept_ceilings.keep(MEASURED, MACHINE, DATE)

    facts = {fact.key: fact.value for fact in kept_ceilings.recalled(PLAN, MACHINE)}

    assert facts == {
        "host.ceilings.measured_utc": DATE,
        "host.ceilings.system_call.ops_per_s": 2e6,
        "host.ceilings.cached_pread.4096_bytes.ops_per_s": 4e5,
    }
    assert [path.name for path in cache.iterdir()] == ["ceilings.json"]


@pytest.mark.parametrize("changed", MACHINE, ids=lambda fact: fact.key)
def test_what_was_measured_of_another_machine_counts_for_nothing(changed: Fact) -> None:
    kept_ceilings.keep(MEASURED, MACHINE, DATE)
    other = tuple(msgspec.structs.replace(fact, value="other") if fact is changed else fact for fact in MACHINE)

    assert list(kept_ceilings.recalled(PLAN, other)) == []


def test_a_run_that_measures_takes_nothing_from_others() -> None:
    kept_ceilings.keep(MEASURED, MACHINE, DATE)
    measuring = msgspec.structs.replace(PLAN.phases[0], before=(plan.Ceilings(set="data", seconds=0.1),))

    assert list(kept_ceilings.recalled(one_plan(measuring), MACHINE)) == []


def test_a_file_that_is_not_ours_counts_for_nothing_and_is_waited_for_by_nobody(cache: Path) -> None:
    kept_ceilings.keep(MEASURED, MACHINE, DATE)
    place = cache / "ceilings.json"
    good = place.read_bytes()
    place.unlink()

    os.mkfifo(place)
    assert list(kept_ceilings.recalled(PLAN, MACHINE)) == []
    place.unlink()
    (cache / "elsewhere").write_bytes(good)
    place.symlink_to("elsewhere")
    assert list(kept_ceilings.recalled(PLAN, MACHINE)) == []
    place.unlink()
    others = (good.replace(b"400000.0", value) for value in (b"-1.0", b"1e999", b'"fast"'))
    for wrong in (b"", b"[]", good[:-1], good + b" " * (64 << 10), *others):
        place.write_bytes(wrong)
        assert list(kept_ceilings.recalled(PLAN, MACHINE)) == []
    place.write_bytes(good)
    assert list(kept_ceilings.recalled(PLAN, MACHINE)) != []


def test_without_a_folder_nothing_is_kept_and_nothing_fails(cache: Path) -> None:
    cache.write_text("a file where the folder would be")

    kept_ceilings.keep(MEASURED, MACHINE, DATE)

    assert list(kept_ceilings.recalled(PLAN, MACHINE)) == []


def test_a_run_has_the_ceilings_that_it_measured_or_those_that_were_kept() -> None:
    kept_ceilings.keep(MEASURED, MACHINE, DATE)
    facts = {fact.key: fact.value for fact in kept_ceilings.recalled(PLAN, MACHINE)}
    later = SyntheticRun(PLAN, facts=facts | {LINK_FACT: 1e8})
    same = SyntheticRun(PLAN)
    same.say(events.CeilingsMeasured(t_ns=2, ceilings=MEASURED))

    recalled, measured = (ceilings_of(read(run.end())) for run in (later, same))

    assert recalled is not None
    assert measured is not None
    assert recalled.of_one_thread == measured.of_one_thread
    assert [each.bytes_per_s for each in recalled.of_one_thread] == [None, 4096 * 4e5]
    assert (recalled.measured_utc, recalled.is_of_this_run, recalled.link_bytes_per_s) == (DATE, False, 1e8)
    assert measured.is_of_this_run
    assert ceilings_of(read(SyntheticRun(PLAN).end())) is None
    named = ceilings_of(read(SyntheticRun(PLAN, facts={DEVICE_FACT: 5e8}).end()))
    assert named is not None
    assert (named.of_one_thread, named.device_bytes_per_s) == ((), 5e8)


def test_so_many_kept_ceilings_are_taken_and_no_more() -> None:
    facts: dict[str, FactValue] = {
        f"host.ceilings.cached_pread.{number}_bytes.ops_per_s": 1e5 for number in range(1, 70)
    }

    found = ceilings_of(read(SyntheticRun(PLAN, facts=facts).end()))

    assert found is not None
    assert [each.block_size_bytes for each in found.of_one_thread] == list(range(1, 65))


def test_between_measured_sizes_the_page_cache_is_on_a_line_and_beyond_them_as_at_the_nearest() -> None:
    known = _ceilings(cached_pread={4096: 100_000.0, 65536: 40_000.0})

    assert cached_read_bytes_per_s(known, 4096) == pytest.approx(4096 * 100_000)
    assert cached_read_bytes_per_s(known, 65536) == pytest.approx(65536 * 40_000)
    assert cached_read_bytes_per_s(known, 16384) == pytest.approx(16384 * math.sqrt(100_000 * 40_000))
    assert cached_read_bytes_per_s(known, 512) == pytest.approx(512 * 100_000)
    assert cached_read_bytes_per_s(known, 1 << 20) == pytest.approx(65536 * 40_000)
    assert cached_read_bytes_per_s(_ceilings(), 4096) is None


def test_every_result_that_moves_data_stands_at_its_size_and_rate_under_lines_that_are_the_ceilings() -> None:
    _, document = quick_run()

    (figure,) = roofline.draw(document)

    drawn = [row for rows in figure.chart.to_dict()["datasets"].values() for row in rows]
    dots = {row["number"]: (row["size"], row["rate"]) for row in drawn if "number" in row and row["rate"]}
    moving = {str(i): result for i, result in enumerate(document.results, 1) if result.bytes}
    assert dots.keys() == moving.keys()
    link = [row["rate"] for row in drawn if row.get("line") == "the link"]
    assert link[:2] == [pytest.approx(1.2e9 / (1 << 20))] * 2
    for row in drawn:
        if row.get("line") == "an empty system call each" and row["rate"] < 9_000:
            assert row["rate"] == pytest.approx(row["size"] * 2e6 / (1 << 20), rel=0.2)
    assert len(figure.table.rows) == len(moving)
    assert not list(roofline.draw(msgspec.structs.replace(document, ceilings=None)))


def _ceilings(**rates: dict[int, float]) -> ClientCeilings:
    return ClientCeilings(
        measured_utc=None,
        is_of_this_run=False,
        of_one_thread=tuple(
            ThreadCeiling(name=name, block_size_bytes=size, ops_per_s=rate, bytes_per_s=size * rate)
            for name, sizes in rates.items()
            for size, rate in sizes.items()
        ),
        link_bytes_per_s=None,
        device_bytes_per_s=None,
    )
