"""Is the lab of many hosts what it says? The kernel's counters, clocks and sockets are the outside truth."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed.devices import MIB
from testbed.host import need_tools, wait_until
from testbed.leaks import left_over, made
from testbed.netlab import S_TO_NS, LabHost, NetLab, net_lab

pytestmark = [pytest.mark.testbed, pytest.mark.quiet]

OFFSETS_NS = {"h1": 1000 * S_TO_NS, "h2": 300_000_000, "h3": -5 * S_TO_NS - 1}
READ_CLOCK = "import time; print(time.monotonic_ns())"
ASK = "-o BatchMode=yes -o UserKnownHostsFile={known} -o IdentitiesOnly=yes -o IdentityFile={key} -o ConnectTimeout=30"
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000)) as to:
    to.sendall(bytes(int(sys.argv[2])))
    to.shutdown(socket.SHUT_WR)
    to.recv(1)
"""
RECEIVE = """
import socket
with socket.create_server(("0.0.0.0", 7000)) as server:
    print("ready", flush=True)
    there, _ = server.accept()
    count = 0
    while data := there.recv(1 << 16):
        count += len(data)
    print(count, flush=True)
"""
# A client that says something each 20 ms, and a server that answers: until an error, which is said.
TALK = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 7001)) as to:
    while True:
        to.sendall(b"x")
        assert to.recv(1) == b"x"
        print("answered", flush=True)
        time.sleep(0.02)
"""
ANSWER = """
import socket
with socket.create_server(("0.0.0.0", 7001)) as server:
    print("ready", flush=True)
    there, _ = server.accept()
    while data := there.recv(1):
        there.sendall(data)
"""
STAMPS = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 7002)) as to:
    to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(10):
        sent = time.monotonic_ns()
        to.sendall(b"?")
        there = int.from_bytes(to.recv(8, socket.MSG_WAITALL))
        print(sent, there, time.monotonic_ns(), flush=True)
"""
STAMP = """
import socket, time
with socket.create_server(("0.0.0.0", 7002)) as server:
    print("ready", flush=True)
    there, _ = server.accept()
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while there.recv(1):
        there.sendall(time.monotonic_ns().to_bytes(8))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetLab]:
    """Three hosts, each with a clock of its own."""
    with net_lab(3, offsets_ns=OFFSETS_NS, backing=tmp_path_factory.mktemp("lab")) as made_lab:
        yield made_lab


def test_each_host_has_its_name_its_address_and_its_folder(lab: NetLab) -> None:
    for number, host in enumerate(lab.hosts, start=1):
        (host.folder / "mine").write_text(f"{host.name}\n")
        said = lab.run(host, ["sh", "-c", f"hostname; cat {lab.place}/mine; echo $HOME; ip -4 -o addr show eth0"])
        name, mine, home, addresses = said.stdout.splitlines()

        assert (name, mine, home) == (f"h{number}", f"h{number}", str(lab.place / "home"))
        assert f"inet 198.51.100.{10 + number}/24" in addresses
    assert socket.gethostname() not in {host.name for host in lab.all}
    assert not list(lab.place.iterdir()), "the machine's own folder is nobody's"


def test_nothing_leads_out(lab: NetLab) -> None:
    for host in lab.all:
        assert "default" not in lab.run(host, ["ip", "route"]).stdout
        refused = lab.run(host, [sys.executable, "-c", "import socket; socket.create_connection(('192.0.2.1', 9))"])
        assert "Network is unreachable" in refused.stderr


def test_clocks_differ_by_exactly_what_was_asked_for(lab: NetLab) -> None:
    for host in lab.all:
        before_ns = time.monotonic_ns()
        there_ns = int(lab.run(host, [sys.executable, "-c", READ_CLOCK]).stdout)
        after_ns = time.monotonic_ns()

        assert host.offset_ns == OFFSETS_NS.get(host.name, 0)
        assert before_ns < there_ns - host.offset_ns < after_ns


def test_ssh_lets_the_leader_in_with_its_key_and_nobody_without(lab: NetLab, tmp_path: Path) -> None:
    need_tools("ssh")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
    keys = lab.place / "home" / ".ssh"
    for host in lab.hosts:
        options = ASK.format(known=keys / "known_hosts", key=keys / "id_ed25519").split()
        inside = [f"root@{host.name}", "hostname; echo $TMPDIR; python3 -c 'import time; print(time.monotonic_ns())'"]

        before_ns = time.monotonic_ns()
        entered = lab.run(lab.leader, ["ssh", *options, *inside])
        after_ns = time.monotonic_ns()
        wrong = lab.run(
            lab.leader, ["ssh", *ASK.format(known=keys / "known_hosts", key=tmp_path / "other").split(), *inside]
        )

        assert entered.returncode == 0, entered.stderr
        name, temporary, there_ns = entered.stdout.split()
        assert (name, temporary) == (host.name, str(lab.place / "tmp"))
        assert before_ns < int(there_ns) - host.offset_ns < after_ns
        assert wrong.returncode == 255
        assert "Permission denied" in wrong.stderr


def test_counters_of_both_ends_agree_in_frames_of_a_wire(lab: NetLab, tmp_path: Path) -> None:
    size_bytes = 8 * MIB
    one, other = lab.hosts[:2]
    before = {host.name: lab.counters(host) for host in (one, other)}
    again_before = _sent_again(lab, one)

    received_bytes = _send(lab, one, other, size_bytes, tmp_path)

    sent, received = (lab.counters(host).since(before[host.name]) for host in (one, other))
    assert received_bytes == size_bytes
    # Broadcasts of anybody go to everybody.
    assert sent.sent_bytes == pytest.approx(received.received_bytes, rel=1e-3)
    assert sent.sent_bytes <= sent.sent_packets * 1514
    # 66 bytes of Ethernet, IP and TCP a frame, full or not, and some more in those that open the connection; on a busy
    # machine some are sent again.
    again = _sent_again(lab, one) - again_before
    surplus = sent.sent_bytes - (size_bytes + 66 * sent.sent_packets)
    assert -size_bytes * 1e-4 <= surplus <= again * 1448 + size_bytes * 1e-4


def _sent_again(lab: NetLab, host: LabHost) -> int:
    """Segments of TCP that a host has sent more than once."""
    names, numbers = (
        line.split() for line in lab.run(host, ["cat", "/proc/net/snmp"]).stdout.splitlines() if line.startswith("Tcp:")
    )
    return int(numbers[names.index("RetransSegs")])


def test_a_limit_holds_the_bytes_of_the_wire(lab: NetLab, tmp_path: Path) -> None:
    one, other = lab.hosts[:2]
    bits_per_s = 20_000_000
    lab.limit(one, bits_per_s)
    before, before_s = lab.counters(other), time.monotonic()
    _send(lab, one, other, 4 * MIB, tmp_path)
    lasted_s = time.monotonic() - before_s
    moved = lab.counters(other).since(before)
    lab.limit(one, None)

    # The bucket holds 16 KiB: more than that and its rate cannot have come through, however slow the machine.
    assert moved.received_bytes > 4 * MIB
    assert moved.received_bytes * 8 <= bits_per_s * lasted_s + 16384 * 8


def test_a_cut_link_is_silent_and_a_mended_one_goes_on(lab: NetLab, tmp_path: Path) -> None:
    one, other = lab.hosts[:2]
    output = tmp_path / "talk"
    with (
        _serving(lab, other, ANSWER, tmp_path),
        lab.popen(one, [sys.executable, "-c", TALK, other.address], output=output, errors=tmp_path / "e") as talker,
    ):
        wait_until(lambda: output.stat().st_size > 0, "an answer")
        lab.cut(other)
        at_cut = {host.name: lab.counters(host) for host in (one, other)}
        wait_until(lambda: lab.counters(one).since(at_cut["h1"]).sent_packets >= 4, "the same once more")
        silent = output.read_text()
        # It goes on trying, and nothing tells it that this is in vain: no reset, no carrier lost.
        assert talker.poll() is None
        assert (tmp_path / "e").read_text() == ""
        assert lab.run(one, ["cat", "/sys/class/net/eth0/carrier"]).stdout == "1\n"
        assert lab.run(other, ["cat", "/sys/class/net/eth0/carrier"]).stdout == "1\n"
        assert [lab.counters(host).since(at_cut[host.name]).received_packets for host in (one, other)] == [0, 0]

        lab.mend(other)
        wait_until(lambda: len(output.read_text()) > len(silent), "answers again")
        assert talker.poll() is None


def test_a_link_that_holds_one_direction_shifts_a_clock_by_half_of_it(lab: NetLab, tmp_path: Path) -> None:
    there, held_ms = lab.hosts[2], 20.0
    output = tmp_path / "stamps"
    with (
        lab.held(there, from_host_ms=held_ms),
        _serving(lab, there, STAMP, tmp_path),
        lab.popen(
            lab.leader, [sys.executable, "-c", STAMPS, there.address], output=output, errors=tmp_path / "e"
        ) as asker,
    ):
        asker.wait(300)
    exchanges = [tuple(map(int, line.split())) for line in output.read_text().splitlines()]
    sent_ns, there_ns, received_ns = min(exchanges, key=lambda one: one[2] - one[0])
    error_ns = there_ns - (sent_ns + received_ns) // 2 - there.offset_ns

    assert len(exchanges) == 10
    assert received_ns - sent_ns >= held_ms * 1e6
    # Half of what is held, and at most half of what the rest of the round trip took beside it.
    rest_ns = received_ns - sent_ns - held_ms * 1e6
    assert error_ns == pytest.approx(-held_ms / 2 * 1e6, abs=rest_ns / 2 + 1)


def test_nothing_is_left_of_a_lab_whose_processes_were_stopped(tmp_path: Path) -> None:
    with net_lab(2, backing=tmp_path) as short:
        names = {short.hub, *(host.namespace for host in short.all)}
        host = short.hosts[0]
        short.mount_memory(host, "small", MIB)
        orphan = short.run(host, ["sh", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!"])
        pid = int(orphan.stdout)
        wait_until(lambda: short.processes(host) == {pid: "sleep 1000"}, "one process")
        os.kill(pid, signal.SIGSTOP)

    assert names <= made.namespaces
    assert not [line for line in left_over("none") if any(name in line for name in names)]
    assert not Path(f"/proc/{pid}/cwd").exists()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def _serving(lab: NetLab, host: LabHost, program: str, folder: Path) -> Iterator[Path]:
    """Run a server on a host beside the test; yields its output, once it listens."""
    output = folder / "server"
    words = [sys.executable, "-c", program]
    with lab.popen(host, words, output=output, errors=folder / "server-errors") as process:
        wait_until(lambda: process.poll() is not None or output.read_text().startswith("ready\n"), "a server")
        yield output


def _send(lab: NetLab, one: LabHost, other: LabHost, size_bytes: int, folder: Path) -> int:
    """Send bytes over a connection; give how many came."""
    with _serving(lab, other, RECEIVE, folder) as output:
        sent = lab.run(one, [sys.executable, "-c", SEND, other.address, str(size_bytes)])
        assert sent.returncode == 0, sent.stderr
        wait_until(lambda: len(output.read_text().splitlines()) == 2, "what was received")
    return int(output.read_text().splitlines()[1])
