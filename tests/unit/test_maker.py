"""What proves that a run is this user's own."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.bundle import RunBundle
from assay.bundle.maker import MAKER
from unit.bundle_streams import begun
from unit.forged_bundles import change_json, forge


@pytest.fixture(autouse=True)
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the place of a key that is made with the first run."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "assay" / "key"


def is_own(folder: Path, library: Path) -> bool:
    return RunBundle.open(folder).is_own(library)


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_run_is_its_makers_own_in_the_library_where_it_was_made(tmp_path: Path, key: Path, is_sealed: bool) -> None:
    bundle = begun(tmp_path / "runs")
    if is_sealed:
        bundle.seal()

    assert is_own(bundle.path, tmp_path / "runs")
    assert not is_own(bundle.path, tmp_path / "other")
    assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, 32)


def test_a_run_stays_ones_own_under_another_name_and_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        bundle = begun(tmp_path / "runs")
        bundle.seal()
    finally:
        os.umask(before)

    assert is_own(bundle.path.rename(tmp_path / "runs" / "baseline"), tmp_path / "runs")


def link_the_proof(folder: Path) -> None:
    (folder / MAKER).rename(folder / "elsewhere")
    (folder / MAKER).symlink_to("elsewhere")


STRANGE: dict[str, Callable[[Path], object]] = {
    "another Plan": lambda folder: change_json(folder, "resolved.json", lambda plan: plan.update(seed=7)),
    "another Plan with a proof of its own": lambda folder: forge(folder, MAKER, b"0" * 64 + b"\n"),
    "no proof": lambda folder: (folder / MAKER).unlink(),
    "a link for a proof": link_the_proof,
    "a load file beside the Plan": lambda folder: forge(folder, "plan.toml", b"name = 'x'"),
    "a Plan that others may write": lambda folder: (folder / "resolved.json").chmod(0o664),
    "a folder that others may write": lambda folder: folder.chmod(0o777),
}


@pytest.mark.parametrize("how", STRANGE)
def test_a_run_that_others_can_have_changed_is_not_ones_own(tmp_path: Path, how: str) -> None:
    bundle = begun(tmp_path / "runs")
    bundle.seal()
    STRANGE[how](bundle.path)

    assert not is_own(bundle.path, tmp_path / "runs")


def test_a_strangers_run_unpacked_into_the_own_library_is_not_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "stranger"))
    theirs = begun(tmp_path / "theirs")
    theirs.seal()
    packed = tmp_path / "run.tar"
    subprocess.run(["tar", "-cf", packed, "-C", theirs.path.parent, theirs.run_id], check=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    begun(tmp_path / "runs")
    subprocess.run(["tar", "-xf", packed, "-C", tmp_path / "runs"], check=True)

    unpacked = tmp_path / "runs" / theirs.run_id

    assert unpacked.stat().st_uid == os.geteuid()
    assert not is_own(unpacked, tmp_path / "runs")


@pytest.mark.parametrize("fault", ["readable", "short", "link", "gone"])
def test_a_key_that_others_can_know_proves_nothing(tmp_path: Path, key: Path, fault: str) -> None:
    bundle = begun(tmp_path / "runs")
    match fault:
        case "readable":
            key.chmod(0o644)
        case "short":
            key.write_bytes(b"0" * 8)
        case "link":
            shutil.move(key, key.with_name("elsewhere"))
            key.symlink_to("elsewhere")
        case "gone":
            key.unlink()

    assert not is_own(bundle.path, tmp_path / "runs")


def test_where_no_key_can_be_kept_a_run_is_made_all_the_same(tmp_path: Path, key: Path) -> None:
    key.parent.parent.mkdir()
    key.parent.write_text("a file in the way")

    bundle = begun(tmp_path / "runs")

    assert not (bundle.path / MAKER).exists()
    assert not is_own(bundle.path, tmp_path / "runs")


def test_a_plan_that_was_read_of_another_folder_in_the_place_is_not_proved_by_the_own_run(tmp_path: Path) -> None:
    mine = begun(tmp_path / "runs")
    mine.seal()
    away = mine.path.rename(tmp_path / "away")
    theirs = begun(tmp_path / "theirs", name="theirs")
    theirs.seal()
    theirs.path.rename(mine.path)
    opened = RunBundle.open(mine.path)
    mine.path.rename(tmp_path / "again")
    away.rename(mine.path)

    assert not opened.is_own(tmp_path / "runs")
    assert RunBundle.open(mine.path).is_own(tmp_path / "runs")


def test_a_run_of_ones_own_stays_so_in_a_folder_of_several_users(tmp_path: Path) -> None:
    bundle = begun(tmp_path / "runs")
    (tmp_path / "runs").chmod(0o777)

    assert is_own(bundle.path, tmp_path / "runs")
