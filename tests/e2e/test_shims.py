"""Do scripts that call the classic tools by name get Assay's?"""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from assay.cli.shims import shim_names
from e2e.command import COMMAND, MEASURED, Assay
from testbed.devices import mounted


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_shim_runs_the_tool_with_its_arguments_as_they_are(assay: Assay, tmp_path: Path) -> None:
    folder, storage = tmp_path / "a bin", tmp_path / "some storage"
    storage.mkdir()
    done = assay("shims", folder, check=0)

    ran = subprocess.run(
        ["vxbench", "-w", "read", "-i", "iocount=20", "--no-report", storage / "it's $one"],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "ASSAY_RUNS": str(assay.runs)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode in MEASURED, ran.stderr
    assert ran.stdout.startswith("user 1:")
    command = shlex.split(json.loads(assay("show", "last", "--json", check=0).stdout)["run"]["command"])
    assert command[-1] == str(storage / "it's $one")
    assert done.stdout.splitlines() == [str(folder / name) for name in shim_names()]
    assert f"PATH='{folder}'" in done.stderr


def test_every_shim_names_the_assay_that_wrote_it(assay: Assay, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    assay("shims", folder, check=0)

    for name, tool in shim_names().items():
        lines = (folder / name).read_text().splitlines()
        assert lines[-1] == f'exec {COMMAND} {tool} "$@"'
        assert os.access(folder / name, os.X_OK)


def test_a_file_that_is_not_a_shim_is_not_replaced_and_nothing_else_is_written(assay: Assay, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "vxbench").write_text("#!/bin/sh\necho mine\n")

    done = assay("shims", folder, check=2)

    assert str(folder / "vxbench") in done.stderr
    assert "not written by Assay" in done.stderr
    assert done.stdout == ""
    assert files_in(folder) == {"vxbench"}
    assert "mine" in (folder / "vxbench").read_text()


@pytest.mark.parametrize("points_to", ["a shim", "nothing"])
def test_a_link_is_never_written_through(points_to: str, assay: Assay, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "bin", tmp_path / "elsewhere"
    folder.mkdir()
    if points_to == "a shim":
        assay("shims", elsewhere, check=0)
    (folder / "vxbench").symlink_to(elsewhere / "vxbench")

    assay("shims", folder, check=2)

    assert (folder / "vxbench").is_symlink()
    assert assay("shims", folder, "--remove", check=0).stdout == ""
    assert files_in(folder) == {"vxbench"}


def test_shims_are_written_anew_and_removed_and_nothing_else_is(assay: Assay, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    assay("shims", folder, check=0)
    (folder / "vxbench").write_text("#!/bin/sh\n# Written by 'assay shims'; of an older Assay\nexec /gone vxbench\n")
    (folder / "tar").write_text("mine")

    again = assay("shims", folder, check=0)
    removed = assay("shims", folder, "--remove", check=0)

    assert sorted(removed.stdout.splitlines()) == sorted(again.stdout.splitlines())
    assert files_in(folder) == {"tar"}


def test_a_folder_that_may_not_be_written_is_said(unprivileged: Assay) -> None:
    assert "Permission denied" in unprivileged("shims", "/usr/local/bin", check=3).stderr


@pytest.mark.testbed
def test_a_full_disk_leaves_no_folder_behind(assay: Assay) -> None:
    # An inode for its root and one for the folder.
    with mounted("-t", "tmpfs", "-o", "nr_inodes=2", "tmpfs") as full:
        done = assay("shims", full / "bin", check=3)

        assert "No space left on device" in done.stderr
        assert list(full.iterdir()) == []


def test_a_folder_that_is_none_is_said(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert "is not a folder" in assay("shims", tmp_path / "file", check=2).stderr
    assert "does not exist" in assay("shims", tmp_path / "no" / "such", check=2).stderr
    assert "is not a folder" in assay("shims", tmp_path / "none", "--remove", check=2).stderr
