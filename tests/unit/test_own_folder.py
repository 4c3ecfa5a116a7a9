"""Is a folder refused that another user can exchange, or one above it, before anything is made there?"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.own_files import open_own_folder, open_safe_folder
from unit.test_own_files import let_write

CURE = "name another"
NOBODY = 65534


def own(path: Path, *, makes: bool = True) -> int:
    """Open a folder, close it, and give its mode."""
    descriptor = open_own_folder(path, cure=CURE, makes=makes)
    mode = os.fstat(descriptor).st_mode
    os.close(descriptor)
    return stat.S_IMODE(mode)


def test_a_folder_is_made_with_those_above_it_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert own(tmp_path / "a/b/c") == 0o700
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a/b").stat().st_mode) == 0o755
    assert own(tmp_path / "a/b/c") == 0o700
    with pytest.raises(FileNotFoundError):
        own(tmp_path / "none", makes=False)


def test_a_sticky_folder_may_be_on_the_way(tmp_path: Path) -> None:
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)

    assert own(sticky / "mine") == 0o700
    os.close(open_safe_folder(sticky, cure=CURE))
    with pytest.raises(InputError, match="can be written by every user"):
        own(sticky)


def give_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder to another user")
    os.chown(path, NOBODY, NOBODY)


def give_away_sticky(path: Path) -> None:
    path.chmod(0o1777)
    give_away(path)


def let_group_write(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder to a group of others")
    os.chown(path, 0, NOBODY)
    path.chmod(0o770)


def link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to(path.with_name("real"))


def replace(path: Path) -> None:
    path.rmdir()
    path.touch()


HOW: dict[str, tuple[Callable[[Path], object], str]] = {
    "anybody can write": (lambda path: path.chmod(0o777), "can be written by every user"),
    "a group can write": (let_group_write, "can be written by the group"),
    "a user can write whom an ACL names": (lambda path: let_write(path, NOBODY), "whom its ACL names"),
    "another's": (give_away, "belongs to user nobody"),
    "another's, and sticky": (give_away_sticky, "belongs to user nobody"),
    "a link": (link, "is a link or no folder"),
    "a file": (replace, "is a link or no folder"),
}


@pytest.mark.parametrize("how", HOW)
def test_a_way_that_others_can_exchange_is_refused_and_nothing_is_made(how: str, tmp_path: Path) -> None:
    change, told = HOW[how]
    way = tmp_path / "way"
    way.mkdir()
    change(way)

    for path in (way / "c", way / "b/c", way):
        with pytest.raises(InputError, match=told) as refused:
            own(path)
        assert CURE in str(refused.value)
        assert not (way / "b").exists()
        assert not (way / "c").exists()
    with pytest.raises(InputError, match=told):
        open_safe_folder(way, cure=CURE)


def test_what_another_put_into_a_sticky_folder_is_refused(tmp_path: Path) -> None:
    sticky = tmp_path / "sticky"
    (sticky / "c").mkdir(parents=True)
    sticky.chmod(0o1777)
    give_away(sticky / "c")

    for path in (sticky / "c", sticky / "c/d"):
        with pytest.raises(InputError, match="belongs to user nobody"):
            own(path)
    assert list((sticky / "c").iterdir()) == []
