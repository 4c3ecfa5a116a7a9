"""What `assay doctor` says of a directory, whatever file system it is on."""

import fcntl
import os
from pathlib import Path

import pytest

from assay.doctor.check import Check, State
from assay.doctor.directory_checks import directory_checks
from assay.host.storage import StoragePath, storage_path

RAM_BYTES = 2**30


def checks_of(directory: Path) -> dict[str, Check]:
    return {check.subject: check for check in directory_checks(storage_path(directory), RAM_BYTES)}


def test_a_run_that_holds_the_lock_is_named_and_a_dead_one_is_not(tmp_path: Path) -> None:
    lock = tmp_path / "assay-data" / ".assay-lock"
    lock.parent.mkdir()
    lock.write_text("assay-lock 1 made 4711 here\n")
    assert checks_of(tmp_path)["other runs"].state is State.OK

    with lock.open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        check = checks_of(tmp_path)["other runs"]

    assert check.state is State.CANNOT
    assert "process 4711" in check.text


def test_data_left_by_an_earlier_run_is_named_and_nothing_else_is_taken_for_it(tmp_path: Path) -> None:
    for name, file in (("read", ".assay-set.json"), ("mine", "thesis.tex")):
        folder = tmp_path / "assay-data" / name
        folder.mkdir(parents=True)
        (folder / file).write_text("{}")

    check = checks_of(tmp_path)["left-over data"]

    assert "read" in check.text
    assert "mine" not in check.text


def _sees_a_closed_directory(path: StoragePath) -> bool:
    checks = {check.subject: check for check in directory_checks(path, RAM_BYTES)}
    return (checks["writing"].state, checks["other runs"].state) == (State.CANNOT, State.LIMITED)


def test_a_directory_that_is_closed_to_this_user_is_a_finding_not_a_crash(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: becomes another user in a child")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    path = storage_path(closed)

    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setresuid(65534, 65534, 65534)
            code = 0 if _sees_a_closed_directory(path) else 1
        finally:
            # Whatever happens, the child must not go on as a second pytest.
            os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nothing_stays_in_the_directory(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("data")

    checks_of(tmp_path)

    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("mine", "data")]
