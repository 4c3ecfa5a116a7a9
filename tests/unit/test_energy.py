"""What energy was taken? Against integrals known in closed form, and counters that grow evenly."""

from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

from assay import plan
from assay.analysis.document import document
from assay.analysis.energy import joules, machine_joules, metered_joules, with_meter
from assay.analysis.record import RunRecord, read
from assay.analysis.rows import Counters, HostTable, Span
from assay.errors import InputError
from assay.power_meter import PowerMeter, parse_power_meter, read_power_meter
from assay.units import format_joules
from unit.memory_run import hello
from unit.synthetic import NS, SyntheticRun, one_job, one_plan, steady_stream
from unit.synthetic import Counters as Recorded

BEGUN_S = 1_795_450_257
"""When the clock of the run began, in seconds since 1970: 2026-11-23T16:10:57Z."""


def meter(readings: list[tuple[float, float]], *, is_total: bool = False) -> PowerMeter:
    at_s, values = np.array(readings, dtype=np.float64).T
    return PowerMeter("meter.csv", at_s, values, is_total=is_total)


def refused(text: str) -> str:
    with pytest.raises(InputError) as refusal:
        parse_power_meter(text, "meter.csv")
    return str(refusal.value)


# -- the file ----------------------------------------------------------------------------------------------------------


def test_times_are_iso_with_a_zone_or_seconds_since_1970() -> None:
    iso = parse_power_meter(
        "time,watts\n2026-11-23T16:10:57Z,100\n2026-11-23T18:10:58.5+02:00,101\n\n2026-11-23 16:11:00+00:00,0\n", "m"
    )
    unix = parse_power_meter("note,Time , WATTS\na,1795450257,100\nb,1795450258.5,101\nc,1795450260,0\n", "m")

    assert iso.at_s.tolist() == unix.at_s.tolist() == [BEGUN_S, BEGUN_S + 1.5, BEGUN_S + 3]
    assert iso.readings.tolist() == unix.readings.tolist() == [100, 101, 0]
    assert not iso.is_total


def test_a_total_is_taken_before_what_it_was_made_of() -> None:
    found = parse_power_meter("time,watts,joules\n1,5,1000\n2,5,1005\n", "m")

    assert found.is_total
    assert found.readings.tolist() == [1000, 1005]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "meter.csv:1: its columns need names: 'time,watts', or 'time,joules'"),
        ("1,2\n3,4\n", "meter.csv:1: its columns need names"),
        ("time,amperes\n1,2\n", "meter.csv:1: its columns need names"),
        ("time,watts\n1,2\n", "has 1 readings"),
        ("time,watts\n1,2\n2\n", "meter.csv:3: has 1 columns"),
        ("time,watts\n1,2\n2,-1\n", "meter.csv:3: '-1' is no reading in watts"),
        ("time,watts\n1,2\n2,nan\n", "'nan' is no reading"),
        ("time,watts\n1,2\n2,1e12\n", "'1e12' is no reading"),
        ("time,watts\n2,2\n1,2\n", "meter.csv:3: is earlier"),
        ("time,joules\n1,200\n2,20\n", "meter.csv:3: the total is lower than before"),
        ("time,watts\n2026-11-23T18:50:57,1\n", "meter.csv:2: '2026-11-23T18:50:57' has no zone"),
        ("time,watts\nyesterday,1\n", "meter.csv:2: 'yesterday' is no time"),
        ("time,watts\n1795450257000,1\n", "is no time in seconds since 1970"),
        ("time,watts\ninf,1\n", "is no time in seconds"),
        ('time,watts\n"1\n' + "x" * 140_000, "is no CSV"),
    ],
)
def test_what_is_no_reading_is_refused_with_its_line(text: str, said: str) -> None:
    assert said in refused(text)


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_power_meter(str(tmp_path / "none.csv"))


# -- from readings to joules -------------------------------------------------------------------------------------------


def test_constant_power_is_power_times_time() -> None:
    found = metered_joules(meter([(float(second), 120.0) for second in range(100)]), 10.25, 30.75)

    assert found == pytest.approx(120 * 20.5)


def test_a_ramp_is_the_area_below_it() -> None:
    # P(t) = 3 t; from 10.5 to 20.5 it is 3/2 (20.5^2 - 10.5^2).
    found = metered_joules(meter([(float(second), 3.0 * second) for second in range(100)]), 10.5, 20.5)

    assert found == pytest.approx(1.5 * (20.5**2 - 10.5**2))


def test_of_a_total_it_is_the_difference_whatever_lay_between() -> None:
    total = meter([(0, 1000), (1, 1100), (2, 1900), (3, 1950), (4, 2000), (5, 2100), (6, 2200)], is_total=True)

    assert metered_joules(total, 0, 6) == 1200
    assert metered_joules(total, 0.5, 5.5) == pytest.approx(2150 - 1050)


@pytest.mark.parametrize(("begin_s", "end_s"), [(-1, 20), (50, 101), (5, 5)])
def test_nothing_is_said_of_time_that_was_not_read(begin_s: float, end_s: float) -> None:
    assert metered_joules(meter([(float(second), 120.0) for second in range(101)]), begin_s, end_s) is None


def test_readings_that_are_far_apart_say_nothing_of_what_lies_between() -> None:
    sparse = meter([(10.0 * tens, 120.0) for tens in range(11)])

    assert metered_joules(sparse, 20, 60) is None
    assert metered_joules(sparse, 20, 70) == pytest.approx(6000)


# -- the machine's own meters ------------------------------------------------------------------------------------------


def counters(**grown_uj: float) -> Counters:
    """Counters that stand at 7 J at 10 s, and have grown at 20 s."""
    rows = [
        {"phase_index": 0, "t_s": at_s, "source": "energy", "instance": zone, "name": "energy_uj", "value": value}
        for zone, grown in grown_uj.items()
        for at_s, value in ((10.0, 7e6), (20.0, 7e6 + grown))
    ]
    none = {"phase_index": 0, "t_s": 10.0, "source": "load", "instance": "", "name": "load1", "value": 0.0}
    return HostTable(pl.DataFrame([*rows, none])).of_phase(0)


WHOLE = Span(10 * NS, 20 * NS)


def test_packages_and_their_memory_are_added_and_what_lies_within_them_is_not() -> None:
    zones = {"package-0": 500e6, "package-0/core": 300e6, "package-0/dram": 50e6, "package-1": 200e6}

    assert machine_joules(counters(**zones), WHOLE) == 750
    assert machine_joules(counters(**zones, psys=900e6), WHOLE) == 900
    assert machine_joules(counters(), WHOLE) is None


# -- of a run ----------------------------------------------------------------------------------------------------------


def made(*jobs: plan.Job, energy_uj: dict[str, int] | None = None) -> SyntheticRun:
    """A phase from 10 s after the run's clock began to 20 s after, 1,000 reads a second of 4 KiB."""
    first = hello()
    first = msgspec.structs.replace(first, clock=msgspec.structs.replace(first.clock, realtime_at_zero_ns=BEGUN_S * NS))
    jobs = jobs or (one_job(),)
    begun = SyntheticRun(one_plan(plan.Phase(name="p", title="a phase", jobs=jobs)), first=first)
    streams = [
        steady_stream(per_s=1000, seconds=10, latency_ns=1_000_000, bytes_each=4096, job=job.name, worker=worker)
        for worker, job in enumerate(jobs)
    ]
    return begun.phase(streams, seconds=10, counters=Recorded(energy_uj=energy_uj or {})).end()


def run() -> RunRecord:
    return read(made())


def readings(*, begin_s: float, end_s: float) -> PowerMeter:
    """150 W all the time, read each second; seconds of the run's clock."""
    return meter([(BEGUN_S + at_s, 150.0) for at_s in np.arange(begin_s, end_s + 1, 1.0).tolist()])


def test_a_meter_is_read_where_the_phase_lies_on_the_wall_clock() -> None:
    ramp = meter([(BEGUN_S + second, 10.0 * second) for second in range(40)])

    found = with_meter(run(), ramp)
    (record,) = found.phases

    # 10 t from 10 s to 20 s.
    assert joules(found, record.counters, record.whole, record.whole) == pytest.approx(5 * (20**2 - 10**2))


@pytest.mark.parametrize(
    ("begin_s", "end_s", "way"), [(-100, 5, "5 s or more before the run began"), (3620, 3700, "3600 s or more after")]
)
def test_readings_of_another_time_are_refused(begin_s: float, end_s: float, way: str) -> None:
    with pytest.raises(InputError, match=way):
        with_meter(run(), readings(begin_s=begin_s, end_s=end_s))


def test_a_meter_is_believed_before_the_machine() -> None:
    found = with_meter(run(), readings(begin_s=0, end_s=15))
    (record,) = found.phases

    assert joules(found, counters(psys=900e6), record.whole, record.whole) is None
    assert joules(run(), counters(psys=900e6), record.whole, record.whole) == 900


def test_a_result_has_what_each_operation_and_each_gib_took() -> None:
    (found,) = document(with_meter(run(), readings(begin_s=0, end_s=30))).results

    # 150 W for 10 s: 1,500 J for 10,000 operations of 4 KiB.
    assert found.efficiency.joules_per_op == pytest.approx(0.15)
    assert found.efficiency.joules_per_gib == pytest.approx(1500 / (40_960_000 / (1 << 30)))


def test_without_a_meter_it_is_from_the_processors_own() -> None:
    (found,) = document(read(made(energy_uj={"package-0": 600_000_000, "package-0/core": 9}))).results
    (nothing,) = document(run()).results

    assert found.efficiency.joules_per_op == pytest.approx(0.06)
    assert (nothing.efficiency.joules_per_op, nothing.efficiency.joules_per_gib) == (None, None)


def test_of_several_jobs_at_a_time_none_has_an_energy_of_its_own() -> None:
    several = read(made(one_job(name="a"), one_job(name="b")))

    found = document(with_meter(several, readings(begin_s=0, end_s=30))).results

    assert [result.efficiency.joules_per_op for result in found] == [None, None]
    texts = [finding.text for result in found for finding in result.findings if finding.id == "energy-unknown"]
    assert [text.startswith("The meter read all that ran at the time") for text in texts] == [True, True]


def test_a_window_that_was_not_read_is_said_to_be_so() -> None:
    (found,) = document(with_meter(run(), readings(begin_s=0, end_s=15))).results

    assert found.efficiency.joules_per_op is None
    (said,) = [finding for finding in found.findings if finding.id == "energy-unknown"]
    assert (said.severity, "do not cover this window" in said.text) == ("note", True)


@pytest.mark.parametrize(
    ("joules", "printed"),
    [(0.00015, "150 µJ"), (0.15, "150 mJ"), (1.5, "1.50 J"), (39_322, "39.3 kJ"), (2e6, "2.00 MJ")],
)
def test_energies_are_printed_in_the_unit_that_they_fill(joules: float, printed: str) -> None:
    assert format_joules(joules) == printed
