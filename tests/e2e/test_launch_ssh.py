"""Workers are started by ssh on servers of this test's own, each for itself, and nothing of them stays."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay import __version__
from assay.bundle.client_set import Role
from assay.cluster.hosts import HostSpec, parse_hosts
from assay.cluster.launch import Launched, launch
from assay.cluster.lead import Lead
from assay.running.engine import find_engine
from testbed.host import need_tools, wait_until
from testbed.sshd import Sshd, make_key, sshd
from testbed.stand_in import StandIn, is_alive, mode_of, stand_in

PATIENCE_S = 300.0
KEY = "-----BEGIN PRIVATE KEY-----\nnot a real one\n-----END PRIVATE KEY-----\n"
JOIN = '{"address": "tls://127.0.0.1:1", "certificate": "run.crt.pem", "key": "run.key.pem"}\n'


@pytest.fixture
def join_folder(tmp_path: Path) -> Path:
    """What a leader makes for its workers; and a file beside it that is none of theirs."""
    folder = tmp_path / "join"
    folder.mkdir(mode=0o700)
    for name, text in {
        "join.json": JOIN,
        "run.crt.pem": "a certificate\n",
        "run.key.pem": KEY,
        "notes": "mine",
    }.items():
        (folder / name).write_text(text)
    return folder


@dataclass(frozen=True)
class Lab:
    """Two servers, and a home that knows both."""

    servers: Mapping[str, Sshd]
    home: Path

    def host(self, name: str, program: StandIn | None, *, server: str | None = None) -> HostSpec:
        """Give a host as a hosts file would have it."""
        python = f" python={program.python}" if program else ""
        (host,) = parse_hosts(f"{name}=127.0.0.1 port={self.servers[server or name].port}{python}")
        return host

    def know(self, text: str) -> None:
        """Have the home know these hosts, and no others."""
        (self.home / ".ssh" / "known_hosts").write_text(text)

    def left(self) -> list[str]:
        """Say what runs in sessions of the servers, and which files are left."""
        return [
            line
            for server in self.servers.values()
            for line in (*server.processes(), *(str(path) for path in server.temporary.rglob("*")))
        ]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Servers a and b."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with ExitStack() as undo:
        servers: dict[str, Sshd] = {}
        for name in "ab":
            if not servers:
                _key(home)
            servers[name] = undo.enter_context(sshd(tmp_path / f"server-{name}", home / ".ssh" / "id_ed25519"))
        found = Lab(servers=servers, home=home)
        found.know("".join(server.known for server in servers.values()))
        yield found


def _key(home: Path) -> None:
    need_tools("ssh-keygen", "sshd")
    make_key(home / ".ssh" / "id_ed25519")


def _launch(hosts: list[HostSpec], folder: Path, told: list[str] | None = None, **roles: Role) -> Launched:
    return launch(hosts, folder, roles, (told if told is not None else []).append)


def test_workers_of_two_hosts_have_their_keys_and_an_engine_and_leave_nothing(
    lab: Lab, join_folder: Path, tmp_path: Path
) -> None:
    programs = {name: stand_in(tmp_path / name) for name in "ab"}
    (programs["a"].folder / "assay-engine").symlink_to(find_engine())  # b has none
    hosts = [lab.host(name, programs[name]) for name in "ab"]

    with _launch(hosts, join_folder, b=Role.OBSERVER) as launched:
        seen = {name: programs[name].seen(name) for name in "ab"}

        assert launched.faults() == {}
    folders = {name: seen[name]["folder"] for name in "ab"}
    for name in "ab":
        assert seen[name]["words"][:3] == ["worker", "--join", f"{folders[name]}/join.json"]
        assert Path(folders[name]).parent == lab.servers[name].temporary
        assert mode_of(seen[name]["folder_mode"]) == 0o700
        assert {file: mode_of(mode) for file, (mode, _) in seen[name]["files"].items()} == {
            "join.json": 0o600,
            "run.crt.pem": 0o600,
            "run.key.pem": 0o600,
        }
        assert seen[name]["files"]["run.key.pem"][1] == KEY
        assert seen[name]["engine_said"] == f"assay-engine {__version__}"
        assert programs[name].was_asked_to_end(name)
        assert not is_alive(seen[name]["pid"])
    assert seen["a"]["words"][3:] == ["--name", "a"]
    assert seen["b"]["words"][3:] == ["--name", "b", "--observer"]
    assert seen["a"]["engine"] == str(programs["a"].folder / "assay-engine")
    assert seen["b"]["engine"] == f"{folders['b']}/assay-engine"
    assert lab.left() == []


def test_a_bad_host_is_a_fault_for_who_asks_and_does_not_stop_the_others(
    lab: Lab, join_folder: Path, tmp_path: Path
) -> None:
    good, other = stand_in(tmp_path / "good"), stand_in(tmp_path / "other", says="assay 0.0.9")
    nobody = HostSpec(name="closed", address="127.0.0.1", port=1)
    missing = HostSpec(name="missing", address="127.0.0.1", port=lab.servers["b"].port, python="/nowhere/python")
    hosts = [nobody, missing, lab.host("other", other, server="b"), lab.host("a", good)]
    told: list[str] = []

    with _launch(hosts, join_folder, told) as launched:
        assert good.seen("a")["pid"]
        faults = launched.faults()

    assert set(faults) == {"closed", "missing", "other"}
    assert "Connect call failed" in faults["closed"] or "refused" in faults["closed"]
    assert faults["missing"].startswith("there is no assay that runs (")
    assert f"Install assay {__version__} there" in faults["missing"]
    assert faults["other"] == (
        f"it has assay 0.0.9, and this machine assay {__version__}: install the same version on both"
    )
    assert told == []  # whoever asks prints them, once
    assert not other.has_begun("other")
    assert lab.left() == []


@pytest.mark.parametrize("config", ["", "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile none\n"])
@pytest.mark.parametrize("known", ["nothing", "another key"])
def test_a_host_whose_key_is_not_known_is_refused_whatever_a_configuration_says(
    lab: Lab, join_folder: Path, tmp_path: Path, config: str, known: str
) -> None:
    program = stand_in(tmp_path / "program")
    (lab.home / ".ssh" / "config").write_text(config)
    a, b = lab.servers["a"], lab.servers["b"]
    lab.know("" if known == "nothing" else b.known.replace(f":{b.port} ", f":{a.port} "))

    with _launch([lab.host("a", program)], join_folder) as launched:
        fault = launched.faults()["a"]

    assert fault.startswith("ssh: Host key is not trusted for host 127.0.0.1. Connect once by hand ('ssh -p ")
    assert not program.has_begun("a")


def test_a_line_of_known_hosts_that_is_none_does_not_hide_the_others(
    lab: Lab, join_folder: Path, tmp_path: Path
) -> None:
    program = stand_in(tmp_path / "program")
    lab.know(f"garbage\n@what * ssh-ed25519 AAAA\n|1|x|y ssh-ed25519 AAAA\n{lab.servers['a'].known}")

    with _launch([lab.host("a", program)], join_folder) as launched:
        assert program.seen("a")["pid"]
        assert launched.faults() == {}


def test_a_host_that_no_key_opens_is_said_and_no_password_is_asked_for(
    lab: Lab, join_folder: Path, tmp_path: Path
) -> None:
    program = stand_in(tmp_path / "program")
    for path in (lab.home / ".ssh").glob("id_*"):
        path.rename(path.with_name(f"old-{path.name}"))
    make_key(lab.home / ".ssh" / "id_ed25519")
    (lab.home / ".ssh" / "id_ed25519.pub").write_text("")

    with _launch([lab.host("a", program)], join_folder) as launched:
        fault = launched.faults()["a"]

    assert "Permission denied for user" in fault
    assert "passwords are not asked for" in fault


def test_hosts_are_called_as_in_the_configuration_of_ssh(lab: Lab, join_folder: Path, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "program")
    (lab.home / ".ssh" / "config").write_text(
        f"Host disks\n  HostName 127.0.0.1\n  Port {lab.servers['a'].port}\n  RemoteCommand false\n  RequestTTY force\n"
    )

    with _launch([HostSpec(name="a", address="disks", python=str(program.python))], join_folder) as launched:
        assert program.seen("a")["pid"]
        assert launched.faults() == {}
    assert lab.left() == []


def test_an_engine_that_does_not_run_there_is_refused(
    lab: Lab, join_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(tmp_path / "program")
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\necho 'version GLIBC_2.99 not found' >&2\nexit 1\n")
    engine.chmod(0o755)
    monkeypatch.setenv("ASSAY_ENGINE", str(engine))

    with _launch([lab.host("a", program)], join_folder) as launched:
        fault = launched.faults()["a"]

    assert fault == (
        f"there is no assay-engine {__version__}, and this machine's does not run there (version GLIBC_2.99 not found). "
        "Install the wheel 'assay-engine' there"
    )
    assert not program.has_begun("a")
    assert lab.left() == []


def test_a_worker_that_ends_early_is_a_fault_with_its_last_words(lab: Lab, join_folder: Path, tmp_path: Path) -> None:
    program, good = stand_in(tmp_path / "program", ends_with=3), stand_in(tmp_path / "good")

    with _launch([lab.host("a", program), lab.host("b", good)], join_folder) as launched:
        wait_until(lambda: "a" in launched.faults(), "the fault of a")
        good.seen("b")
        # Its keys do not wait for the others.
        wait_until(lambda: not list(lab.servers["a"].temporary.iterdir()), "the end of the folder of a")

        assert launched.faults() == {
            "a": "the worker is gone: it ended with code 3: the key is not shown / no way leads to the leader"
        }
    assert lab.left() == []


def test_a_worker_that_does_not_listen_is_killed_with_its_children(lab: Lab, join_folder: Path, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "program", is_deaf=True)

    with _launch([lab.host("a", program)], join_folder):
        seen = program.seen("a")
        assert is_alive(seen["child"])

    assert not is_alive(seen["pid"])
    assert not is_alive(seen["child"])
    assert lab.left() == []


def test_workers_and_keys_do_not_outlive_a_leader_that_is_killed(lab: Lab, join_folder: Path, tmp_path: Path) -> None:
    far, near = stand_in(tmp_path / "far"), stand_in(tmp_path / "near")
    text = f"""
import pathlib, time
from assay.cluster.hosts import parse_hosts
from assay.cluster.launch import launch
hosts = parse_hosts("a=127.0.0.1 port={lab.servers["a"].port} python={far.python},local python={near.python}")
launch(hosts, pathlib.Path({str(join_folder)!r}), {{}}, print)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", text]) as leader:
        seen = [far.seen("a"), near.seen("local")]
        os.kill(leader.pid, signal.SIGKILL)
        leader.wait()

        wait_until(lambda: not any(is_alive(one["pid"]) for one in seen), "the end of the workers")
    wait_until(lambda: lab.left() == [], f"the end of {lab.left()}")
    assert far.was_asked_to_end("a")
    assert near.was_asked_to_end("local")


def test_a_killed_shell_there_leaves_neither_keys_nor_a_worker(lab: Lab, join_folder: Path, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "program")

    with _launch([lab.host("a", program)], join_folder):
        worker = program.seen("a")
        holder = int(Path(f"/proc/{worker['pid']}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(holder, signal.SIGKILL)
        wait_until(lambda: not is_alive(holder), "the end of the shell")

    wait_until(lambda: not is_alive(worker["pid"]), "the end of the worker")
    assert lab.left() == []


def test_real_workers_join_their_leader_and_leave_when_they_are_let_go(lab: Lab, tmp_path: Path) -> None:
    (host,) = parse_hosts(f"a=127.0.0.1 port={lab.servers['a'].port} python={sys.executable}")
    (here,) = parse_hosts("local")
    roles = {"a": Role.LOAD, "local": Role.OBSERVER}
    told: list[str] = []

    with (
        Lead("127.0.0.1", tmp_path / "real") as lead,
        launch([host, here], lead.join_file.parent, roles, told.append) as launched,
    ):
        connection = lead.gather(roles, PATIENCE_S, told.append)
        try:
            assert {name: joined.role for name, joined in connection.clients.items()} == roles
            assert {joined.hello.engine.version for joined in connection.clients.values()} == {__version__}
            assert launched.faults() == {}
        finally:
            connection.close()
        wait_until(lambda: lab.left() == [], f"the end of {lab.left()}")

    assert not (tmp_path / "real").exists()
