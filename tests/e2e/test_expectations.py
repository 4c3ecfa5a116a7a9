"""`--expect` on a device of known rate: met, not met, undecided, and what becomes of the exit code."""

import json
import re
from pathlib import Path

import pytest

from e2e.command import Assay
from testbed.devices import filesystem
from testbed.nbd import nbd_rate_device

MIB = 1 << 20
RATE = 50 * MIB
STREAM = ("--read", "--bs", "256KiB", "--direct", "--size", "16MiB", "--time", "3s", "--no-report")
FIRST = ("nice", "-n", "-20")
RUNS = 3
"""Where other programs of this machine disturb one so much that its number is not to be used."""


@pytest.mark.quiet
@pytest.mark.held
def test_the_rate_of_a_device_meets_limits_below_it_and_misses_those_above(assay: Assay) -> None:
    limits = "throughput>=40MiB/s,throughput<=55MiB/s,read:throughput>=60MiB/s"
    with nbd_rate_device(RATE, 384 * MIB) as device, filesystem(device) as directory:
        for _ in range(RUNS):
            done = assay("measure", directory, *STREAM, "--expect", limits, check=1, prefix=FIRST)
            shown = json.loads(assay("show", "last", "--json").stdout)
            if shown["results"][0]["trust"]["level"] != "no":
                break
        verdicts = [one["verdict"] for one in shown["expectations"]]
        rerun = assay("rerun", "last", "--no-report", "--expect", "throughput>=60MiB/s", check=1)
        again = assay("rerun", "last", "--no-report", check=1)

    assert verdicts == ["met", "met", "not_met"]
    # No fact shows what is behind a loop device, whatever its rate.
    assert shown["results"][0]["placement"]["device_class"] is None
    assert shown["results"][0]["placement"]["text"].startswith("unknown class of device; ")
    assert "--expect: of 3 expectations 1 not met, 0 undecided" in done.stderr
    assert "read:throughput>=60MiB/s: not met" in done.stdout
    # A rerun compares with what the run before it was compared with.
    assert "throughput>=60MiB/s: " in rerun.stdout
    assert "throughput>=60MiB/s: " in again.stdout
    assert "40MiB/s" not in again.stdout.split("Expected: ")[1]


def test_what_memory_answers_is_undecided_until_that_is_accepted(assay: Assay, tmp_path: Path) -> None:
    words = ("measure", tmp_path, "--read", "--cache", "warm", "--size", "8MiB", "--time", "2s", "--no-report")

    undecided = assay(*words, "--expect", "iops>=1", check=1)

    assert "iops>=1: undecided (" in undecided.stdout
    assert "--expect: of 1 expectations 0 not met, 1 undecided" in undecided.stderr


@pytest.mark.parametrize(
    ("command", "limit", "why"),
    [
        ("measure", "p99<2", "write 2ms"),
        ("measure", "write:iops>=1", "no operation or phase 'write'; it has read"),
        ("quick", "reads:iops>=1", "no operation or phase 'reads'"),
        ("run", "reads:iops>=1", "no operation or phase 'reads'"),
    ],
)
def test_a_bad_expectation_is_refused_before_anything_is_done(
    command: str, limit: str, why: str, assay: Assay, tmp_path: Path
) -> None:
    load = ("oltp",) if command == "run" else ()

    refused = assay(command, *load, tmp_path, "--expect", limit, check=2)

    assert why in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.quiet
@pytest.mark.held
def test_what_ten_clients_get_of_a_device_is_what_it_gives(assay: Assay) -> None:
    held_back = ("--limit", "10MiB/s", "--device", "50MiB/s")
    with nbd_rate_device(RATE, 384 * MIB) as device, filesystem(device) as directory:
        for _ in range(RUNS):
            assay("measure", directory, *STREAM, *held_back, check={0, 1}, prefix=FIRST)
            told = " ".join(assay("explain", "last", "1", "--clients", "10").stdout.split())
            if "10 clients at this rate" in told:
                break
        assay("measure", directory, *STREAM, "--workers", "10", check={0, 1}, prefix=FIRST)
        all_of_them = json.loads(assay("show", "last", "--json").stdout)["results"][0]

    # The device has no class: it is a loop device.
    assert "device: 10 x" in told
    times = re.search(r"full first: the device\. All clients together get ([0-9.]+) times this rate at most", told)
    assert times is not None, told
    assert float(times[1]) == pytest.approx(5, rel=0.05)
    assert all_of_them["throughput_bytes_per_s"] == pytest.approx(float(times[1]) * 10 * MIB, rel=0.1)


@pytest.mark.parametrize("command", ["measure", "quick", "bigdir"])
def test_a_table_of_invariants_that_cannot_be_read_is_refused_before_anything_is_done(
    command: str, assay: Assay, tmp_path: Path
) -> None:
    table = tmp_path / "config" / "assay" / "invariants.toml"
    table.parent.mkdir(parents=True)
    table.write_text("[[invariant]]\nid = 5\n")
    measured = tmp_path / "measured"
    measured.mkdir()
    words = ("10", "2", "--dir", measured) if command == "bigdir" else (measured,)

    refused = assay(command, *words, env={"XDG_CONFIG_HOME": str(tmp_path / "config")}, check=2)

    assert f"{table}: " in refused.stderr
    assert "id" in refused.stderr
    assert list(measured.iterdir()) == []
