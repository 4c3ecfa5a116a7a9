"""Many clients by one command, each a host of the lab with its own name, disk and clock."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay import events
from assay.bundle import RunBundle
from e2e.command import COMMAND
from e2e.many_clients import ManyClients, client_set, shared_variables, true_starts_ns
from testbed.netlab import S_TO_NS, net_lab

pytestmark = [pytest.mark.testbed, pytest.mark.quiet]

OFFSETS_NS = {"h2": 1000 * S_TO_NS, "h3": 300_000_000, "h4": -20 * S_TO_NS}
HOSTS = ("h1", "h2", "h3", "h4", "h5")
SHORT = ("--read", "--random", "--bs", "4k", "--size", "4MiB", "--time", "2s")
CLOSELY = ("--hosts", ",".join(HOSTS), "--echo")
WITHIN_NS = 50_000
"""Of the truth is what a run says of its skew, where nobody else was at work on the machine."""
ATTEMPTS = 4


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManyClients]:
    """Five hosts by ssh, with clocks of their own."""
    backing = tmp_path_factory.mktemp("many")
    with net_lab(5, offsets_ns=OFFSETS_NS, backing=backing, shared=shared_variables()) as lab:
        found = ManyClients(lab)
        found.make_directories()
        yield found


@pytest.fixture(scope="module")
def document(many: ManyClients) -> dict[str, Any]:
    """What one command says of all of them."""
    return many.measure(*SHORT, *CLOSELY)


def test_one_command_measures_from_five_hosts(document: dict[str, Any]) -> None:
    clients = document["clients"]

    assert [client["name"] for client in clients] == list(HOSTS)
    assert [client["hostname"] for client in clients] == list(HOSTS)
    assert all(client["role"] == "load" and client["lost_s"] is None and client["is_complete"] for client in clients)


def test_each_clock_is_found_within_the_bound_that_is_said(many: ManyClients, document: dict[str, Any]) -> None:
    for client in document["clients"]:
        truth_ns = OFFSETS_NS.get(client["name"], 0)
        clock = client["clock"]
        assert abs(clock["offset_ns"] - truth_ns) <= clock["bound_ns"], client["name"]
        # Who takes all clocks for one would be found out, and who says any bound, too.
        assert clock["bound_ns"] < 300_000_000 / 2
    for member in client_set(many.bundle()).members:
        assert len(member.clock) >= 2, "before the first phase, and after it"
        truth_ns = OFFSETS_NS.get(member.name, 0)
        assert all(abs(reading.offset_ns - truth_ns) <= reading.bound_ns for reading in member.clock)


def test_the_skew_that_is_said_is_that_of_the_machines_one_clock(many: ManyClients, document: dict[str, Any]) -> None:
    off_ns = []
    for _ in range(ATTEMPTS):
        for index, start in enumerate(document["starts"]):
            truth = true_starts_ns(many.bundle(), many.lab, index)
            assert set(truth) == set(HOSTS)
            truth_ns = max(truth.values()) - min(truth.values())
            assert abs(start["skew_ns"] - truth_ns) <= start["bound_ns"]
            late = {one["client"]: one for one in start["starts"]}
            agreed_ns = client_set(many.bundle()).starts[index].at_ns
            for name, at_ns in truth.items():
                assert abs(late[name]["late_ns"] - (at_ns - agreed_ns)) <= late[name]["bound_ns"]
            off_ns.append(abs(start["skew_ns"] - truth_ns))
        if min(off_ns) <= WITHIN_NS:
            break
        document = many.measure(*SHORT, *CLOSELY)

    assert min(off_ns) <= WITHIN_NS


def test_nobody_begins_ahead_of_time(many: ManyClients, document: dict[str, Any]) -> None:
    bundle = many.bundle()
    for start in client_set(bundle).starts:
        clocks = {member.name: member.clock for member in client_set(bundle).members}
        for name, at_ns in true_starts_ns(bundle, many.lab, start.phase_index).items():
            worst_ns = max(reading.bound_ns for reading in clocks[name])
            assert at_ns >= start.at_ns - worst_ns
    assert document["starts"]


def test_the_sum_is_that_of_the_clients(many: ManyClients, document: dict[str, Any]) -> None:
    bundle = many.bundle()
    intervals = bundle.intervals()
    (start,) = document["starts"]
    late_s = {one["client"]: (one["late_ns"] + one["bound_ns"]) / S_TO_NS for one in start["starts"]}
    for one in document["sums"]:
        total = next(result for result in document["results"] if result["label"] == one["label"])
        parts = [
            result for result in document["results"] if result["label"] in {rate["label"] for rate in one["rates"]}
        ]

        assert total["client"] is None
        assert sorted(part["client"] for part in parts) == list(HOSTS)
        # A tick reads the counters of operations and bytes one after the other.
        assert total["bytes"] == pytest.approx(total["ops"] * 4096, rel=1e-4)
        assert total["ops"] / total["seconds"] == pytest.approx(total["iops"])
        assert total["iops"] == pytest.approx(sum(rate["iops"] for rate in one["rates"]), rel=1e-4)
        assert sum(rate["share"] for rate in one["rates"]) == pytest.approx(1)
        # What each did in that time, by the intervals that its own engine told: those that touch it are the most that it
        # can have been, those inside of it the least.
        begin_s, end_s = one["window_s"]
        together_s = min(end_s, one["all_at_work_s"][1]) - max(begin_s, one["all_at_work_s"][0])
        assert together_s >= 0.999 * (end_s - begin_s)
        for rate in one["rates"]:
            own = intervals.filter(pl.col("client") == rate["client"])
            ends_s = own["t_s"] - _started_s(bundle, rate["client"])
            begins_s, off_s = ends_s - own["dt_s"], late_s[rate["client"]]
            inside = own.filter((begins_s >= begin_s + off_s) & (ends_s <= end_s - off_s))["ops"].sum()
            touching = own.filter((begins_s <= end_s + off_s) & (ends_s >= begin_s - off_s))["ops"].sum()
            assert inside <= round(rate["iops"] * (end_s - begin_s)) <= touching
    assert document["sums"]


def _started_s(bundle: RunBundle, client: str) -> float:
    """When a client's one phase began, by its own clock since its hello, as its intervals have it."""
    (start,) = (event for event in bundle.events(client) if isinstance(event, events.Started))
    return start.start_ns / S_TO_NS


def test_nothing_is_left_on_any_host(many: ManyClients, document: dict[str, Any]) -> None:
    assert document["run"]["exit_code"] in {0, 1}
    many.wait_until_nothing_is_left()


def test_a_link_that_is_longer_one_way_is_covered_by_the_bound(many: ManyClients) -> None:
    held_ms = 10.0
    with many.lab.held(many.lab["h5"], from_host_ms=held_ms):
        many.measure(*SHORT, "--hosts", "h1,h5")

    readings = {member.name: member.clock for member in client_set(many.bundle()).members}
    for reading in readings["h5"]:
        # The truth is 0: what it is off by is half of what the way back takes longer, and half of what came on top.
        assert abs(reading.offset_ns) <= reading.bound_ns
        assert reading.bound_ns >= held_ms / 2 * 1e6
        assert abs(reading.offset_ns + held_ms / 2 * 1e6) <= reading.bound_ns - held_ms / 2 * 1e6
    assert all(abs(reading.offset_ns) <= reading.bound_ns for reading in readings["h1"])


def test_workers_that_somebody_else_starts_join_by_a_file(many: ManyClients, tmp_path: Path) -> None:
    # As on a file system that all hosts have: this folder is the same for all of them.
    folder = tmp_path / "join"
    folder.mkdir(mode=0o700)
    join = folder / "join.json"
    words = (
        "measure",
        many.directory,
        *SHORT,
        "--join",
        join,
        "--clients",
        "2",
        "--interface",
        many.lab.leader.address,
    )
    with many.running(*words, "--json", "--no-report", folder=tmp_path) as led, ExitStack() as workers:
        led.wait_for_file(lambda: join.exists() or led.process.poll() is not None, "the file to join by")
        joined = [
            workers.enter_context(
                many.lab.popen(
                    many.lab[name],
                    [COMMAND, "worker", "--join", join, "--name", name],
                    output=tmp_path / f"{name}-output",
                    errors=tmp_path / f"{name}-errors",
                )
            )
            for name in ("h2", "h3")
        ]
        code = led.exit_code()
        ends = [process.wait(300) for process in joined]

    said = led.said() + "".join((tmp_path / f"{name}-errors").read_text() for name in ("h2", "h3"))
    assert (code in {0, 1}, ends) == (True, [0, 0]), said
    document = json.loads((tmp_path / "stdout").read_text())
    assert [client["name"] for client in document["clients"]] == ["h2", "h3"]
    assert all(
        abs(one["clock"]["offset_ns"] - OFFSETS_NS[one["name"]]) <= one["clock"]["bound_ns"]
        for one in document["clients"]
    )
    assert list(folder.iterdir()) == [], "neither the file nor a key"
    many.wait_until_nothing_is_left()
