"""What becomes of a run of many clients when one of them, its link, its disk or the leader fails.

`docs/reliability.md` says what is kept and how soon it is noticed; each line of its table is provoked here.
"""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.bundle import RunBundle
from assay.cluster.host_list import WATCH_S
from e2e.faults.load import USUAL, write_load
from e2e.faults.space import CREATING
from e2e.many_clients import ManyClients, client_set, shared_variables
from e2e.processes import WAIT_S, Running
from testbed.devices import MIB
from testbed.host import wait_until
from testbed.netlab import LabHost, net_lab

pytestmark = [pytest.mark.testbed, pytest.mark.xdist_group("mount namespaces")]

HOSTS = ("h1", "h2", "h3")
HIT = "h2"
OTHERS = ("h1", "h3")
SILENCE_S = 10.0
"""A client that says nothing is given up after that, as `docs/reliability.md` promises."""
CLOSED = "its connection closed: "
"""The reason of a loss that was noticed at once: the kernel closes the socket of a process that ends."""
KILLED = r".* was killed by signal 9 before it was done\."
"""The reason where the client itself reports its engine's end."""
SILENT = r"it was silent for (\d+\.\d) s: "
"""The reason of a loss that was noticed by silence, in seconds by the leader's clock.

Time in which the leader itself stood still is no silence, so the figure does not depend on how busy the machine is.
"""
OPS_PER_S = 500
"""What each client does while one fails: three that do what they can leave the leader no CPU."""
SHORT_PHASE, ENDLESS = "12s", "1h"
"""The short one is long enough to be hit on a busy machine, and hardly longer than silence is."""


@dataclass(frozen=True)
class Failing:
    """One way in which a client fails."""

    name: str
    provoke: Callable[[ManyClients, LabHost], None]
    mend: Callable[[ManyClients, LabHost], None]
    """What takes it away, so that nothing of it has to be left."""
    reasons: tuple[str, ...]
    """Patterns of why the leader may give the client up: what it noticed, and so how soon."""
    leaves_data: bool = False
    """Nobody is left who could remove it."""


def _kill_worker(many: ManyClients, host: LabHost) -> None:
    _each(many.workers(host), signal.SIGKILL)


def _kill_engine(many: ManyClients, host: LabHost) -> None:
    _each(many.engines(host), signal.SIGKILL)


def _stop_worker(many: ManyClients, host: LabHost) -> None:
    _each(many.workers(host), signal.SIGSTOP)


def _go_on(many: ManyClients, host: LabHost) -> None:
    _each(many.workers(host), signal.SIGCONT)


def _each(pids: list[int], number: signal.Signals) -> None:
    assert pids or number is signal.SIGCONT, "nobody to send a signal to"
    for pid in pids:
        os.kill(pid, number)


def _cut(many: ManyClients, host: LabHost) -> None:
    many.lab.cut(host)


def _mend_link(many: ManyClients, host: LabHost) -> None:
    many.lab.mend(host)


def _nothing(_many: ManyClients, _host: LabHost) -> None:
    """What is gone stays gone."""


WORKER_KILLED = Failing("worker killed", _kill_worker, _nothing, (CLOSED,))
ENGINE_KILLED = Failing("engine killed", _kill_engine, _nothing, (KILLED,), leaves_data=True)
WORKER_STOPPED = Failing("worker stopped", _stop_worker, _go_on, (SILENT,))
LINK_CUT = Failing("link cut", _cut, _mend_link, (SILENT, CLOSED))
# Each way to notice a failure once, and each policy; `make prove` tries the rest.
CASES: tuple[tuple[Failing, str], ...] = (
    (WORKER_KILLED, "stop"),
    (ENGINE_KILLED, "continue"),
    (WORKER_STOPPED, "abort"),
)
RARE = (
    (WORKER_KILLED, "continue"),
    (WORKER_KILLED, "abort"),
    (WORKER_STOPPED, "continue"),
    (WORKER_STOPPED, "stop"),
    (LINK_CUT, "continue"),
    (LINK_CUT, "abort"),
)
if os.environ.get("ASSAY_LOST") == "all":
    CASES += RARE


@pytest.fixture
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManyClients]:
    """Three hosts by ssh; each test has its own, because what fails may not come back."""
    with net_lab(3, backing=tmp_path_factory.mktemp("many"), shared=shared_variables()) as lab:
        found = ManyClients(lab)
        found.make_directories()
        yield found


@pytest.mark.parametrize(("failing", "policy"), CASES, ids=[f"{one.name}-{policy}" for one, policy in CASES])
def test_a_client_that_fails_is_noticed_and_the_others_are_kept(
    many: ManyClients, failing: Failing, policy: str, tmp_path: Path
) -> None:
    host = many.lab[HIT]
    load = _load(many, {"seconds": SHORT_PHASE if policy == "continue" else ENDLESS})
    with many.running(*_words(many, load), "--on-lost", policy, folder=tmp_path) as led:
        _wait_until_measured(many, led)
        failed_ns = time.monotonic_ns()
        failing.provoke(many, host)
        code = led.exit_code()
    failing.mend(many, host)

    said = led.said()
    lost = {member.name: member.lost for member in client_set(many.bundle()).members}
    hit = lost[HIT]
    assert hit is not None, said
    assert hit.phase_index == 1
    assert any(re.match(pattern, hit.reason) for pattern in failing.reasons), hit.reason
    assert re.search(rf"\b{HIT}\b", said), said
    assert failed_ns < hit.noticed_ns
    if silent := re.match(SILENT, hit.reason):
        # It is looked for every `WATCH_S`, and a look may be as late as that before the rest is forgiven.
        assert SILENCE_S <= float(silent[1]) <= SILENCE_S + 2 * WATCH_S + 0.1
    document = json.loads((tmp_path / "stdout").read_text())
    _check_what_is_kept(document, many.bundle(), policy)
    assert code == (3 if policy != "continue" else 1 if document["run"]["exit_code"] == 1 else 0), said
    assert [lost[name] for name in OTHERS] == [None, None] or policy != "continue"
    _print_line(failing, policy, (hit.noticed_ns - failed_ns) / 1e9, code, hit.reason)
    _wait_until_clean(many, leaves_data=failing.leaves_data or policy == "abort")


def _check_what_is_kept(document: dict[str, Any], bundle: RunBundle, policy: str) -> None:
    assert bundle.is_sealed
    clients = {client["name"]: client for client in document["clients"]}
    assert clients[HIT]["lost_s"] is not None
    assert clients[HIT]["lost_reason"]
    rows = {(result["phase"], result["client"]): result for result in document["results"]}
    for name in HOSTS:
        assert rows["before", name]["ops"] > 0
    for name in OTHERS:
        assert rows["hit", name]["ops"] > 0
        assert ("after", name) in rows or policy != "continue"
    assert ("after", HIT) not in rows
    for one in document["sums"]:
        who = {rate["client"] for rate in one["rates"]}
        assert one["clients"] == len(who)
        if one["label"].startswith("after"):
            assert who == set(OTHERS)


def test_a_client_whose_disk_is_full_is_named_and_the_others_go_on(many: ManyClients, tmp_path: Path) -> None:
    host = many.lab[HIT]
    many.lab.mount_memory(host, "data", 24 * MIB)
    load = _load(
        many,
        {
            "seconds": SHORT_PHASE,
            "set": CREATING["set"],
            "job": "limit = { ops_per_s = 1500 }\n" + CREATING["job"],
        },
    )
    with many.running(*_words(many, load), folder=tmp_path) as led:
        code = led.exit_code()

    said = led.said()
    lost = {member.name: member.lost for member in client_set(many.bundle()).members}
    hit = lost[HIT]
    assert hit is not None, said
    assert "no space left" in hit.reason
    assert [lost[name] for name in OTHERS] == [None, None]
    document = json.loads((tmp_path / "stdout").read_text())
    rows = {(result["phase"], result["client"]): result for result in document["results"]}
    assert all(rows["after", name]["ops"] > 0 for name in OTHERS)
    assert code in {0, 1}, said
    _wait_until_clean(many, leaves_data=False)


def test_a_client_without_the_directory_ends_it_before_anything_is_measured(many: ManyClients, tmp_path: Path) -> None:
    (many.lab[HIT].folder / "data").rmdir()
    load = _load(many, {"seconds": SHORT_PHASE})
    with many.running(*_words(many, load), folder=tmp_path) as led:
        code = led.exit_code()

    assert code in {2, 3}
    assert HIT in led.said()
    assert str(many.directory) in led.said()
    assert "Traceback" not in led.said()
    for name in OTHERS:
        assert list((many.lab[name].folder / "data").iterdir()) == []
    many.wait_until_nothing_is_left()


def test_nothing_runs_on_without_the_leader(many: ManyClients, tmp_path: Path) -> None:
    load = _load(many, {"seconds": ENDLESS})
    with many.running(*_words(many, load), folder=tmp_path) as led:
        _wait_until_measured(many, led)
        led.process.kill()
        led.exit_code()

    many.wait_until_nothing_is_left()
    assert not many.bundle().is_sealed
    for host in many.lab.hosts:
        streams = [path for path in host.folder.rglob("*.ndjson") if '"interval"' in path.read_text()]
        assert streams, f"{host.name} keeps what it measured"


def test_a_stop_by_the_user_ends_all(many: ManyClients, tmp_path: Path) -> None:
    load = _load(many, {"seconds": ENDLESS})
    with many.running(*_words(many, load), folder=tmp_path) as led:
        _wait_until_measured(many, led)
        led.stop(signal.SIGINT)
        code = led.exit_code()

    assert code == 130, led.said()
    document = json.loads((tmp_path / "stdout").read_text())
    rows = {(result["phase"], result["client"]): result for result in document["results"]}
    assert all(rows["before", name]["ops"] > 0 and rows["hit", name]["ops"] > 0 for name in HOSTS)
    many.wait_until_nothing_is_left()


def _load(many: ManyClients, parts: dict[str, str]) -> Path:
    write_load(many.lab.leader.folder, {"job": f"limit = {{ ops_per_s = {OPS_PER_S} }}\n{USUAL['job']}"} | parts)
    return many.lab.place / "faulty.toml"


def _words(many: ManyClients, load: Path) -> tuple[str | Path, ...]:
    return ("run", load, many.directory, "--hosts", ",".join(HOSTS), "--json", "--no-report")


def _wait_until_measured(many: ManyClients, led: Running) -> None:
    """Wait until the leader has intervals of all clients in the phase that is to be hit."""

    def is_measured() -> bool:
        if led.process.poll() is not None:
            return True
        streams = [path.read_text().splitlines() for path in many.runs.glob("*/events/*.ndjson")]
        return len(streams) == len(HOSTS) and all(sum(_is_hit(line) for line in lines) >= 3 for lines in streams)

    wait_until(is_measured, "intervals of all clients", WAIT_S)
    assert led.process.poll() is None, led.said()


def _is_hit(line: str) -> bool:
    return '"interval"' in line and '"phase_index":1' in line.replace(" ", "")


def _wait_until_clean(many: ManyClients, *, leaves_data: bool) -> None:
    def left() -> list[str]:
        found = [f"{host.name}: {what}" for host in many.lab.all for what in many.left(host)]
        return [what for what in found if not (leaves_data and ": data " in what)]

    try:
        wait_until(lambda: not left(), "nothing left", WAIT_S)
    except TimeoutError:
        pytest.fail(f"left behind: {left()}")


def _print_line(failing: Failing, policy: str, noticed_s: float, code: int, reason: str) -> None:
    """What the documentation has of it; `pytest -s` shows it."""
    print(f"\n{failing.name} | {policy} | noticed after {noticed_s:.2f} s | exit code {code} | {reason}")  # noqa: T201
