"""Workers on this machine are started and ended, and what cannot be started is refused before anything is."""

import asyncio
import itertools
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assay import __version__
from assay.bundle.client_set import Role
from assay.cluster.hosts import HostSpec, parse_hosts
from assay.cluster.launch import Launched, launch
from assay.cluster.worker_order import WorkerOrder, check_version, read_join_folder
from assay.cluster.worker_shell import HostError, ShellChannel, WorkerShell
from assay.errors import InputError, RunError
from testbed.host import wait_until
from testbed.stand_in import is_alive, stand_in

JOIN = '{"certificate": "run.crt.pem", "key": "run.key.pem", "address": "tls://127.0.0.1:1"}'


def _unheard(_line: str) -> None:
    """Take what is told, where a test does not look at it."""


@pytest.fixture
def join_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "join"
    folder.mkdir(mode=0o700)
    for name, text in {"join.json": JOIN, "run.crt.pem": "certificate", "run.key.pem": "key"}.items():
        (folder / name).write_text(text)
    return folder


def test_workers_on_this_machine_join_by_the_folder_of_the_leader_and_end_with_it(
    tmp_path: Path, join_folder: Path
) -> None:
    program = stand_in(tmp_path / "program")
    hosts = [HostSpec(name=f"local-{n}", address=None, python=str(program.python)) for n in (1, 2, 3)]

    with launch(hosts, join_folder, {"local-2": Role.OBSERVER}, _unheard) as launched:
        seen = {host.name: program.seen(host.name) for host in hosts}
        assert launched.faults() == {}

    assert {name: one["words"] for name, one in seen.items()} == {
        "local-1": ["worker", "--join", f"{join_folder}/join.json", "--name", "local-1"],
        "local-2": ["worker", "--join", f"{join_folder}/join.json", "--name", "local-2", "--observer"],
        "local-3": ["worker", "--join", f"{join_folder}/join.json", "--name", "local-3"],
    }
    assert all(program.was_asked_to_end(name) for name in seen)
    assert not any(is_alive(one["pid"]) for one in seen.values())
    assert sorted(path.name for path in join_folder.iterdir()) == ["join.json", "run.crt.pem", "run.key.pem"]


def test_a_worker_that_ends_is_told_with_its_last_words_and_leaves_the_others(
    tmp_path: Path, join_folder: Path
) -> None:
    bad, good = stand_in(tmp_path / "bad", ends_with=7), stand_in(tmp_path / "good")
    hosts = [
        HostSpec(name="a", address=None, python=str(bad.python)),
        HostSpec(name="b", address=None, python=str(good.python)),
    ]
    told: list[str] = []

    with launch(hosts, join_folder, {}, told.append) as launched:
        wait_until(lambda: "a" in launched.faults(), "the fault of a")
        assert is_alive(good.seen("b")["pid"])
        assert told == []
        launched.report_faults()

    fault = "the worker is gone: it ended with code 7: the key is not shown / no way leads to the leader"
    assert launched.faults() == {"a": fault}
    assert told == [f"a: {fault}"]


def test_a_worker_killed_by_a_signal_is_said_so(tmp_path: Path, join_folder: Path) -> None:
    program = stand_in(tmp_path / "program")
    host = HostSpec(name="a", address=None, python=str(program.python))

    with launch([host], join_folder, {}, _unheard) as launched:
        os.kill(program.seen("a")["pid"], 9)
        wait_until(lambda: "a" in launched.faults(), "the fault of a")

    assert launched.faults()["a"].startswith("the worker is gone: it was killed by signal 9")


class _SlowlyEnded:
    """A worker that is gone, and whose host takes a moment to remove what was copied to it."""

    def __init__(self) -> None:
        self.is_closing, self.is_closed = threading.Event(), False

    async def start(self, order: WorkerOrder) -> None:
        """It is there at once."""

    async def ended(self) -> str:
        """It ends at once."""
        return "the worker is gone"

    async def close(self) -> str:
        """Take that moment, and the next time none."""
        if not self.is_closing.is_set():
            self.is_closing.set()
            await asyncio.sleep(0.2)
            self.is_closed = True
        return ""


def test_who_leaves_while_a_lost_worker_is_cleared_away_waits_for_it() -> None:
    worker = _SlowlyEnded()

    with Launched({"a": worker}, _unheard) as launched:
        launched.start([WorkerOrder(name="a", role=Role.LOAD, folder=Path("/here"), files={})])
        wait_until(worker.is_closing.is_set, "the end of the worker")

    assert worker.is_closed


def test_nothing_is_imported_from_the_directory_in_which_a_worker_is_started(
    tmp_path: Path, join_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile").mkdir()
    for name in ("assay", "typing", "json"):
        (tmp_path / "hostile" / f"{name}.py").write_text(f"import os; os.mkdir({str(tmp_path / 'hit')!r})")
    monkeypatch.chdir(tmp_path / "hostile")

    with launch(parse_hosts("local"), join_folder, {}, _unheard) as launched:
        wait_until(lambda: "local" in launched.faults(), "the end of a worker without a leader")

    assert not (tmp_path / "hit").exists()


def test_a_missing_engine_here_is_a_fault(tmp_path: Path, join_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_ENGINE", str(tmp_path / "nowhere"))

    with launch(parse_hosts("local"), join_folder, {}, _unheard) as launched:
        assert "there is no such file" in launched.faults()["local"]


def test_hosts_by_ssh_need_the_extra_and_it_is_said_how_to_have_it(
    join_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    monkeypatch.delitem(sys.modules, "assay.cluster.ssh", raising=False)

    with pytest.raises(InputError, match=r"^host 'b' is reached by ssh.*asyncssh.*pip install 'assay\[cluster\]'$"):
        launch(parse_hosts("local,b"), join_folder, {}, _unheard)


@pytest.mark.parametrize("where", ["home", "home/.ssh", "home/.ssh/config"])
def test_a_configuration_of_ssh_that_others_could_have_written_starts_nothing(
    tmp_path: Path, join_folder: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    pytest.importorskip("asyncssh", reason="hosts are reached by ssh with the extra 'cluster'")
    mark = tmp_path / "mark"
    folder = tmp_path / "home" / ".ssh"
    folder.mkdir(parents=True)
    (folder / "config").write_text(f"Host *\n  ProxyCommand touch {mark}\n")
    (tmp_path / where).chmod(0o777)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)

    with launch(parse_hosts("a"), join_folder, {}, _unheard) as launched:
        assert launched.faults() == {
            "a": f"ssh: {folder / 'config'} is not read, because {tmp_path / where} can be written by every user, and it "
            "can name programs to start"
        }

    assert not mark.exists()


def test_a_name_that_is_none_of_a_user_is_refused(join_folder: Path) -> None:
    with pytest.raises(InputError, match=r"^--ssh-user: '-l' is not a user name"):
        launch(parse_hosts("a"), join_folder, {}, _unheard, ssh_user="-l")


def test_what_workers_need_of_the_folder_is_read_and_nothing_else(join_folder: Path) -> None:
    (join_folder / "notes").write_text("of the user")

    assert read_join_folder(join_folder) == {
        "join.json": JOIN.encode(),
        "run.crt.pem": b"certificate",
        "run.key.pem": b"key",
    }


def test_a_run_without_keys_has_one_file_to_join_by(tmp_path: Path) -> None:
    (tmp_path / "join.json").write_text('{"certificate": null, "key": null}')

    assert list(read_join_folder(tmp_path)) == ["join.json"]


def _outside(folder: Path) -> None:
    (folder / "join.json").write_text(JOIN.replace("run.key.pem", "../key"))


def _large(folder: Path) -> None:
    (folder / "run.key.pem").write_text("k" * (1 << 17))


def _link(folder: Path) -> None:
    (folder / "run.key.pem").unlink()
    (folder / "run.key.pem").symlink_to(folder / "run.crt.pem")


def _pipe(folder: Path) -> None:
    (folder / "run.key.pem").unlink()
    os.mkfifo(folder / "run.key.pem")


def _no_json(folder: Path) -> None:
    (folder / "join.json").write_text("[")


def _no_key(folder: Path) -> None:
    (folder / "run.key.pem").unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_outside, "is not next to it"),
        (_large, "more than 64 KiB"),
        (_link, "run.key.pem: cannot be read"),
        (_pipe, "is not a regular file"),
        (_no_json, "is not a file to join by"),
        (_no_key, "run.key.pem: cannot be read: No such file"),
    ],
)
def test_a_folder_that_is_none_to_join_by_starts_nothing(
    join_folder: Path, change: Callable[[Path], None], said: str
) -> None:
    change(join_folder)

    with pytest.raises(RunError, match=said):
        launch(parse_hosts("local"), join_folder, {}, _unheard)


@pytest.mark.parametrize(
    "said", ["", "sh: 1: assay: not found", "assay", "assay 0.1.0 (of somebody)", "assay-engine 0.1.0"]
)
def test_what_is_no_assay_is_told_from_one_of_another_version(said: str) -> None:
    with pytest.raises(HostError, match="there is no assay that runs"):
        check_version(said)


def test_a_host_without_assay_is_said_with_the_words_that_help() -> None:
    beside = Path(sys.executable).with_name("assay")
    with pytest.raises(HostError, match=rf"'ln -s {beside} ~/\.local/bin/'.* HOST python={sys.executable}$"):
        check_version("none")
    with pytest.raises(HostError, match=r"^/a/assay was not run: /a can be written by every user: others could"):
        check_version("refused: /a/assay was not run: /a can be written by every user")


def test_only_the_same_version_is_taken() -> None:
    check_version(f"assay {__version__}")
    with pytest.raises(HostError, match=r"^it has assay 9\.9, and this machine assay"):
        check_version("assay 9.9")


def test_no_more_than_paths_and_names_is_on_a_command_line() -> None:
    order = WorkerOrder(name="a", role=Role.OBSERVER, folder=Path("/here"), files={"run.key.pem": b"secret"})

    assert order.arguments("/there") == ("worker", "--join", "/there/join.json", "--name", "a", "--observer")


def _heard(output: bytes, *, chunk_bytes: int) -> str:
    """What a shell that has said this is taken to have said of its end, or why not."""
    chunks = iter([output[at : at + chunk_bytes] for at in range(0, len(output), chunk_bytes)])

    async def hear() -> str:
        shell = WorkerShell()
        mark = shell.words[-1].encode()
        said = iter(b"".join(itertools.chain(chunks)).replace(b"MARK", mark).splitlines(keepends=True))

        async def read(_: int) -> bytes:
            return next(said, b"")

        async def nothing(_: int) -> bytes:
            return b""

        channel = ShellChannel(read_output=read, read_errors=nothing, write=lambda _: None, end_input=lambda: None)
        try:
            await shell.open(channel)
        except HostError as error:
            return str(error)
        look = await shell.look(None)
        return f"{look.assay} | {look.machine} | {look.engine()}"

    return asyncio.run(hear())


def test_what_a_login_shell_prints_is_not_taken_for_the_script() -> None:
    engines = f"MARK engine assay-engine 0.0.1 /old\nMARK engine assay-engine {__version__} /with a blank/e\n".encode()
    output = (
        b"Welcome!\nready\nassay 9\n" + b"x" * 100_000 + b"\nMARK ready\nMARK assay assay 1\nMARK machine Linux arm\n"
    )

    heard = _heard(output + engines + b"MARK looked\n", chunk_bytes=1000)

    assert heard == "assay 1 | Linux arm | /with a blank/e"


@pytest.mark.parametrize("output", [b"", b"no shell for you\n", b"ready\n", b"y\n" * 100_000])
def test_a_shell_that_says_other_things_is_given_up(output: bytes) -> None:
    assert _heard(output, chunk_bytes=4096) == "the shell there ended before it reported 'ready'"
