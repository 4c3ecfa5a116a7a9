"""What a killed leader leaves with its key is found and removed; nothing of anybody who lives, and nothing of others."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cluster.join_file import JOIN, KEY, JoinFolder, new_join
from assay.cluster.keys import RunKeys
from assay.cluster.left_folders import HOLDER, LEADERS, remove_left

NAME = f"{LEADERS}0123456789abcdef"
HOST = "assay-aB3dE6gH9k"
NOBODY = 65534


def laid_out(folder: Path) -> JoinFolder:
    made = JoinFolder(folder)
    made.write_keys(RunKeys(certificate=b"certificate", key=b"key"))
    made.write_join(new_join("tls://192.0.2.1:4711", is_encrypted=True))
    return made


def grown_old(folder: Path) -> Path:
    long_ago_s = time.time() - 3600
    os.utime(folder, (long_ago_s, long_ago_s))
    return folder


def left_by_a_killed_leader(folder: Path) -> Path:
    pid = os.fork()
    if not pid:
        laid_out(folder)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    return grown_old(folder)


def on_a_host(root: Path, holder: str) -> Path:
    folder = left_by_a_killed_leader(root / HOST)
    (folder / HOLDER).write_text(holder)
    (folder / "assay-engine").write_text("an engine")
    return grown_old(folder)


def begun(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]


def test_what_a_killed_leader_left_is_removed(tmp_path: Path) -> None:
    folder = left_by_a_killed_leader(tmp_path / NAME)
    assert (folder / KEY).exists()

    assert list(remove_left(tmp_path)) == [f"{folder}: removed: the key of a run whose leader is gone"]
    assert not folder.exists()


def test_a_folder_that_the_user_named_keeps_what_is_the_users(tmp_path: Path) -> None:
    folder = left_by_a_killed_leader(tmp_path / "mine")
    (folder / "notes").write_text("mine")
    grown_old(folder)

    assert list(remove_left(tmp_path)) == []
    assert list(remove_left(tmp_path, "mine")) == [f"{folder}: removed: the key of a run whose leader is gone"]
    assert [path.name for path in folder.iterdir()] == ["notes"]


def test_a_leader_that_lives_keeps_its_folder(tmp_path: Path) -> None:
    leader = laid_out(tmp_path / NAME)
    grown_old(tmp_path / NAME)

    assert list(remove_left(tmp_path)) == []
    assert (tmp_path / NAME / KEY).exists()
    leader.remove()
    assert not (tmp_path / NAME).exists()


def _another_users(folder: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives folders away")
    os.chown(folder, NOBODY, NOBODY)


def _open_to_others(folder: Path) -> None:
    folder.chmod(0o755)


def _young(folder: Path) -> None:
    os.utime(folder)


def _no_join_file(folder: Path) -> None:
    (folder / JOIN).write_text("{}")
    grown_old(folder)


def _behind_a_link(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize("change", [_another_users, _open_to_others, _young, _no_join_file, _behind_a_link])
def test_what_is_not_surely_ones_own_is_left(tmp_path: Path, change: Callable[[Path], None]) -> None:
    folder = left_by_a_killed_leader(tmp_path / NAME)
    change(folder)

    assert list(remove_left(tmp_path)) == []
    assert (folder / KEY).exists()


def test_what_somebody_else_put_there_is_named_and_left(tmp_path: Path) -> None:
    folder = left_by_a_killed_leader(tmp_path / NAME)
    (folder / "thesis.tex").write_text("years of work")
    grown_old(folder)

    assert list(remove_left(tmp_path)) == [f"{folder}: left, because Assay did not put 'thesis.tex' there"]
    assert len(list(folder.iterdir())) == 4


def test_the_folder_of_a_worker_goes_where_its_shell_and_it_are_gone(tmp_path: Path) -> None:
    with contextlib.ExitStack() as ended:
        shell = ended.enter_context(subprocess.Popen(["sleep", "600"]))
        ended.callback(shell.kill)  # before it is waited for, whatever is raised
        folder = on_a_host(tmp_path, f"{shell.pid} {begun(shell.pid)}\n")
        assert list(remove_left(tmp_path)) == []

        (folder / HOLDER).write_text(f"{shell.pid} 1\n")  # another process has that number now
        grown_old(folder)
        # It says so once it is there: a process that begins has no words yet.
        words = [sys.executable, "-S", "-c", "print(flush=True); input()", f"{folder}/{JOIN}"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            worker.stdout.readline()
            assert list(remove_left(tmp_path)) == []
            worker.kill()
        assert list(remove_left(tmp_path)) == [f"{folder}: removed: the key of a run whose leader is gone"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_that_name_that_is_another_programs_is_left(tmp_path: Path) -> None:
    (tmp_path / HOST).mkdir(mode=0o700)
    (tmp_path / HOST / "data").write_text("x")
    grown_old(tmp_path / HOST)
    (tmp_path / "assay-AAAAAAAAAA").mkdir(mode=0o700)
    grown_old(tmp_path / "assay-AAAAAAAAAA")

    assert list(remove_left(tmp_path)) == []
    assert len(list(tmp_path.iterdir())) == 2


def test_nothing_is_written_to_what_is_put_in_the_place_of_a_join_folder(tmp_path: Path) -> None:
    """Another user swaps the folder for a link to one of root's between two files."""
    made, target = JoinFolder(tmp_path / "join"), tmp_path / "etc"
    target.mkdir()
    (tmp_path / "join").rename(tmp_path / "moved")
    (tmp_path / "join").symlink_to(target)

    made.write_keys(RunKeys(certificate=b"certificate", key=b"key"))
    made.write_join(new_join("tls://192.0.2.1:4711", is_encrypted=True))

    assert list(target.iterdir()) == []
    assert len(list((tmp_path / "moved").iterdir())) == 3
    made.remove()
    assert list((tmp_path / "moved").iterdir()) == []
