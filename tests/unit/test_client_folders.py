"""Folders of clients: made where they are not there, and removed when Assay made them and they are empty."""

import errno
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.bundle.client_set import Share
from assay.cluster.shares import share_plan
from assay.errors import InputError, RunError
from assay.plan import Target, User
from assay.running.cleaning import clean, directories_of
from assay.running.client_folders import (
    FOLDER_MARK,
    folder_of,
    folders_in,
    folders_to_make,
    make_folders,
    remove_folders,
)
from unit.memory_set import Client, MemorySet, kept
from unit.synthetic import SyntheticRun, one_plan
from unit.test_shares import a_job, a_plan


def made(directory: Path, *clients: str) -> tuple[Path, ...]:
    folders = tuple(folder_of(directory, client) for client in clients)
    make_folders(folders)
    return folders


def test_a_client_makes_the_folders_of_its_plan_and_no_others(tmp_path: Path) -> None:
    whole = a_plan(a_job())
    targets = (Target(name="target", uri=tmp_path.as_uri()), Target(name="other", uri=(tmp_path / "b").as_uri()))

    own = share_plan(replace(whole, targets=targets), Share.OWN, ["a", "b"])["b"]

    assert folders_to_make(own) == (tmp_path / "assay-clients/b", tmp_path / "b/assay-clients/b")
    assert folders_to_make(whole) == ()
    assert folders_to_make(share_plan(whole, Share.TOGETHER, ["a"])["a"]) == ()


def test_what_was_made_goes_again_and_the_last_takes_the_parent(tmp_path: Path) -> None:
    one, other = made(tmp_path, "one", "other")
    assert folders_in(tmp_path) == (one, other)

    assert remove_folders((one,)) == ()
    assert folders_in(tmp_path) == (other,)
    assert remove_folders((other,)) == ()

    assert list(tmp_path.iterdir()) == []
    assert remove_folders((one, other)) == ()


def test_a_folder_with_something_in_it_stays_until_that_is_gone(tmp_path: Path) -> None:
    (folder,) = made(tmp_path, "one")
    (folder / "assay-data").mkdir()

    assert remove_folders((folder,)) == (folder,)
    assert (folder / "assay-data").is_dir()
    (folder / "assay-data").rmdir()

    # It was made by a run that has ended, and the next one knows it all the same.
    make_folders((folder,))
    assert remove_folders((folder,)) == ()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_the_user_serve_and_stay(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "one")
    folder.mkdir(parents=True)

    make_folders((folder,))

    assert remove_folders((folder,)) == (folder,)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("place", ["assay-clients", "assay-clients/one"])
def test_no_link_is_followed(tmp_path: Path, place: str) -> None:
    elsewhere, directory = tmp_path / "elsewhere", tmp_path / "directory"
    (elsewhere / "one").mkdir(parents=True)
    (directory / place).parent.mkdir(parents=True)
    (directory / place).symlink_to(elsewhere)
    folder = folder_of(directory, "one")

    with pytest.raises(RunError, match="is there and is no directory"):
        make_folders((folder,))

    assert remove_folders((folder,)) == (folder,)
    assert folders_in(directory) == ()
    assert sorted(path.name for path in elsewhere.rglob("*")) == ["one"]
    assert (directory / place).is_symlink()


def test_where_others_can_write_nothing_is_made(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(RunError, match="other users can replace folders in"):
        make_folders((folder_of(tmp_path, "one"),))
    assert list(tmp_path.iterdir()) == []

    tmp_path.chmod(0o1777)
    (folder,) = made(tmp_path, "one")
    folder.chmod(0o777)
    with pytest.raises(RunError, match="can be written to by other users"):
        make_folders((folder,))


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="could not be made: No such file or directory"):
        make_folders((folder_of(tmp_path / "gone", "one"),))


@pytest.mark.parametrize("number", [errno.EEXIST, errno.ENOENT, errno.ESTALE])
def test_what_shared_storage_remembers_wrongly_for_a_while_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    opened, faults = os.open, [number] * 3

    def stale(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None and path in {"one", FOLDER_MARK} and faults:
            raise OSError(faults.pop(), "as sshfs reports what another client has just made or removed")
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", stale)
    (folder,) = made(tmp_path, "one")

    assert (faults, folder.is_dir()) == ([], True)
    assert remove_folders((folder,)) == ()
    assert list(tmp_path.iterdir()) == []


def test_what_was_made_before_a_failure_goes_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RunError):
        make_folders((folder_of(tmp_path, "one"), folder_of(tmp_path / "file", "one")))

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_who_does_the_work_has_the_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "one")

    make_folders((folder,), user=User(uid=1234, gid=5678))

    assert (folder.stat().st_uid, folder.stat().st_gid) == (1234, 5678)
    assert folder.parent.stat().st_uid == 0
    with pytest.raises(RunError, match="belongs to user 1234"):
        make_folders((folder,))
    assert remove_folders((folder,)) == ()


def test_cleaning_a_directory_takes_what_clients_left(tmp_path: Path) -> None:
    one, other = made(tmp_path, "one", "other")
    (other / "mine").write_text("")

    lines = list(clean(tmp_path))

    assert lines == [f"{one}: removed", f"{other}: left, because Assay did not make it, or it is not empty"]
    assert (other / "mine").exists()
    assert not one.exists()


def test_cleaning_after_a_run_of_other_machines_names_them(tmp_path: Path) -> None:
    measured = SyntheticRun(one_plan()).end()

    def run_of(*hostnames: str) -> str:
        clients = [Client(name, measured, hostname=name) for name in hostnames]
        return kept(tmp_path / "runs", MemorySet(measured.plan, clients, starts_s=())).run_id

    with pytest.raises(
        InputError, match=r"was measured by h1, h2, and not by this machine: run 'assay clean /data' there"
    ):
        directories_of(run_of("h1", "h2"), tmp_path / "runs")
    assert directories_of(run_of(os.uname().nodename, "h2"), tmp_path / "runs") == [Path("/data")]
