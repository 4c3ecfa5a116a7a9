"""Clients that read from one server over its narrow link, with the server observed: what they had went over its wire."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.bundle import RunBundle
from assay.bundle.client_set import Role
from e2e.many_clients import ManyClients, client_set, shared_variables
from testbed.devices import FORCE, MIB, need_fuse
from testbed.host import command, need_tools, wait_until
from testbed.leaks import loops_of_machine, made
from testbed.netlab import LabHost, NetLab, net_lab

pytestmark = [pytest.mark.testbed, pytest.mark.quiet]

SERVER = "h4"
CLIENTS = ("h1", "h2", "h3")
LINK_BITS_PER_S = 100_000_000
BLOCK_BYTES = 64 << 10
FIRST_PORT = 10809
FRAME_BYTES, CARRIED_BYTES = 1514, 1448
"""Of a full frame on the wire, and what TCP with time stamps carries in it."""
REPLY_BYTES = 16
"""In front of the data of each read, of the protocol (NBD, simple replies)."""
WITHIN = 0.005


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManyClients]:
    """Three hosts, each with a disk that a fourth serves over its one narrow link."""
    need_tools("nbdkit", "nbdfuse", "losetup", "mkfs.ext4", "fusermount3")
    need_fuse()
    backing = tmp_path_factory.mktemp("many")
    with net_lab(4, backing=backing, shared=shared_variables()) as lab, ExitStack() as disks:
        for number, name in enumerate(CLIENTS):
            disks.enter_context(_disk_over_the_link(lab, lab[name], FIRST_PORT + number))
        lab.limit(lab[SERVER], LINK_BITS_PER_S)
        yield ManyClients(lab)
        lab.limit(lab[SERVER], None)


@pytest.fixture(scope="module")
def document(many: ManyClients) -> dict[str, Any]:
    """What is said of reading past all caches, with the server observed."""
    words = ("--read", "--random", "--bs", str(BLOCK_BYTES), "--direct", "--size", "8MiB", "--time", "8s")
    clients = ("--hosts", ",".join(CLIENTS), "--observe", SERVER)
    return many.measure(*words, *clients, "--link", f"{LINK_BITS_PER_S // 1_000_000}Mbit")


def test_what_the_clients_had_went_over_the_wire_of_the_server(many: ManyClients, document: dict[str, Any]) -> None:
    bundle = many.bundle()
    intervals = bundle.intervals()
    had = {
        name: sum(intervals.filter(pl.col("client") == name)["bytes"].to_list())
        for name in (*CLIENTS, SERVER)
        if name in bundle.clients
    }
    sent = _delta(bundle, SERVER, "tx_bytes")
    received = {name: _delta(bundle, name, "rx_bytes") for name in CLIENTS}

    assert all(had[name] > 0 for name in CLIENTS)
    assert not had.get(SERVER)
    payload = sum(had[name] for name in CLIENTS)
    on_the_wire = payload * (1 + REPLY_BYTES / BLOCK_BYTES) * FRAME_BYTES / CARRIED_BYTES
    assert sent == pytest.approx(on_the_wire, rel=WITHIN)
    assert sum(received.values()) == pytest.approx(on_the_wire, rel=WITHIN)
    assert {result["client"] for result in document["results"]} == {None, *CLIENTS}


def test_the_server_is_on_record_as_one_that_makes_no_load(many: ManyClients, document: dict[str, Any]) -> None:
    roles = {client["name"]: client["role"] for client in document["clients"]}

    assert roles == {**dict.fromkeys(CLIENTS, "load"), SERVER: "observer"}
    assert [member.name for member in client_set(many.bundle()).observers] == [SERVER]
    assert client_set(many.bundle()).members[-1].role is Role.OBSERVER
    many.wait_until_nothing_is_left(but=(many.lab[SERVER], *(many.lab[name] for name in CLIENTS)))


def test_the_link_is_what_limits_the_set(document: dict[str, Any]) -> None:
    for one in document["sums"]:
        total = next(result for result in document["results"] if result["label"] == one["label"])
        assert total["limiter"]["verdict"] == "network_bandwidth", total["limiter"]
        # The bucket lets no more through, and 16 KiB at once.
        assert total["throughput_bytes_per_s"] * FRAME_BYTES / CARRIED_BYTES * 8 <= LINK_BITS_PER_S * 1.01
    assert document["sums"]


def _delta(bundle: RunBundle, client: str, name: str) -> float:
    """What a counter of a client's link gained from the start of the phase to the end of its last interval."""
    rows = (
        bundle.host()
        .filter(
            (pl.col("client") == client)
            & (pl.col("source") == "net")
            & (pl.col("instance") == "eth0")
            & (pl.col("name") == name)
        )
        .sort("t_s")
    )
    return float(rows["value"][-1] - rows["value"][0])


@contextmanager
def _disk_over_the_link(lab: NetLab, host: LabHost, port: int) -> Iterator[None]:
    """Give a host a disk in the server's memory, with a file system, where its data is to be."""
    server = lab[SERVER]
    folder, file = host.folder, lab.place / "disk.img"
    (folder / "data").mkdir()
    (folder / "disk.img").touch()
    served = ["nbdkit", "--foreground", "-i", server.address, "-p", str(port), "memory", str(512 * MIB)]
    shown: list[str | Path] = ["nbdfuse", file, f"nbd://{server.address}:{port}"]
    log = folder / "disk.log"
    with lab.popen(server, served, output=log, errors=log), ExitStack() as undo:
        wait_until(lambda: _listens(lab, server, port), "nbdkit listening")
        undo.enter_context(lab.popen(host, shown, output=log, errors=log))
        wait_until(lambda: str(file) in lab.run(host, ["cat", "/proc/self/mountinfo"]).stdout, "a disk")
        undo.callback(lab.run, host, ["fusermount3", "-u", file])
        # The host's own mounts hide the file from this process: the loop is made where it is seen.
        device = _succeed(lab.run(host, ["losetup", "--find", "--show", "--direct-io=on", file]))
        made.loops[device] = file
        undo.callback(_detach, device, file)
        _succeed(lab.run(host, ["mkfs.ext4", *FORCE["ext4"], "-E", "lazy_itable_init=0,lazy_journal_init=0", device]))
        _succeed(lab.run(host, ["mount", "-o", "noatime", device, lab.place / "data"]))
        undo.callback(lab.run, host, ["umount", lab.place / "data"])
        yield


def _listens(lab: NetLab, host: LabHost, port: int) -> bool:
    """Whether somebody on a host waits for connections; state 0A of /proc/net/tcp is LISTEN."""
    lines = lab.run(host, ["cat", "/proc/net/tcp"]).stdout.splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in lines)


def _succeed(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        raise RuntimeError(f"{done.args}: {done.stderr.strip()}")
    return done.stdout.strip()


def _detach(device: str, file: Path) -> None:
    command("losetup", "--detach", device)
    wait_until(lambda: loops_of_machine().get(device) != file, f"{device} detached")
