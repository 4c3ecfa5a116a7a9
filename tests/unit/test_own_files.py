"""What Assay reads back as its own, in a folder that an environment variable names, can have been written by nobody else."""

import grp
import os
import pwd
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay import config, own_files, ownership
from assay.bundle import user_key
from assay.errors import InputError
from assay.loads import own_suites
from assay.own_files import NotOwnError
from assay.report import vega
from assay.running import kept_ceilings
from unit.test_ceilings import DATE, MACHINE, MEASURED, PLAN
from unit.test_own_suites import LOAD

OTHER = 12345


def belong_to_others(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, OTHER, OTHER, follow_symlinks=False)


def writable_to_others(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o002)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in it, two levels down."""
    made = tmp_path / "above" / "own"
    made.mkdir(parents=True)
    (made / "file").write_bytes(b"mine")
    (made / "file").chmod(0o600)
    return made


def test_what_is_ones_own_is_read_up_to_its_limit(folder: Path) -> None:
    assert own_files.read_own(folder, "file", 4) == b"mine"
    assert own_files.read_own(folder, "file", 3) is None
    with pytest.raises(FileNotFoundError):
        own_files.read_own(folder, "other", 4)


def test_a_path_from_the_root_on_needs_no_current_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert own_files.read_own(folder, "file", 4) == b"mine"


@pytest.mark.parametrize("spoil", [belong_to_others, writable_to_others])
@pytest.mark.parametrize("which", ["file", "folder", "folder above"])
def test_what_others_can_have_written_is_neither_read_nor_written(
    folder: Path, spoil: Callable[[Path], None], which: str
) -> None:
    spoil({"file": folder / "file", "folder": folder, "folder above": folder.parent}[which])

    with pytest.raises(NotOwnError, match=r"belongs to user 12345|can be written by every user"):
        own_files.read_own(folder, "file", 4)
    if which != "file":
        with pytest.raises(NotOwnError):
            own_files.replace_own(folder, "file", b"new")
        with pytest.raises(NotOwnError):
            own_files.make_safe_folder(folder / "a" / "b")
        assert (folder / "file").read_bytes() == b"mine"
        assert not (folder / "a").exists()


def test_a_folder_like_tmp_may_lie_above(folder: Path) -> None:
    folder.parent.chmod(0o1777)

    assert own_files.read_own(folder, "file", 4) == b"mine"
    # What lies right in such a folder is not safe: others can put more there.
    with pytest.raises(NotOwnError):
        own_files.read_own(folder.parent, "own", 4)


def test_a_link_on_the_way_leads_to_what_is_looked_at(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert own_files.read_own(tmp_path / "link", "file", 4) == b"mine"

    folder.chmod(0o777)
    with pytest.raises(NotOwnError):
        own_files.read_own(tmp_path / "link", "file", 4)
    folder.chmod(0o700)
    (folder / "other").symlink_to("file")
    with pytest.raises(OSError, match="symbolic links"):
        own_files.read_own(folder, "other", 4)


def test_a_group_of_one_is_as_good_as_the_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, gid = pwd.getpwuid(os.geteuid()).pw_name, os.getegid() or OTHER
    members: list[str] = []
    user = pwd.struct_passwd((name, "x", os.geteuid(), gid, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((name, "x", gid, members)))
    os.chown(folder, -1, gid)
    folder.chmod(0o775)

    assert own_files.read_own(folder, "file", 4) == b"mine"
    members.append("somebody")
    with pytest.raises(NotOwnError, match=f"can be written by the group {name}; .*chmod go-w"):
        own_files.read_own(folder, "file", 4)


def refuse(folder: Path) -> None:
    ownership._users_of.cache_clear()
    with pytest.raises(NotOwnError, match="can be written by the group staff"):
        own_files.read_own(folder, "file", 4)


def test_a_group_of_the_distribution_may_write_while_nobody_is_in_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `staff` may to /usr/local on Debian."""
    if os.geteuid() != 0:
        pytest.skip("only root gives folders to groups of others")
    members, users = ["root"], [pwd.getpwuid(0)]
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(("staff", "x", gid, members)))
    monkeypatch.setattr(pwd, "getpwall", lambda: users)
    os.chown(folder.parent, 0, 50)
    folder.parent.chmod(0o2775)
    ownership._users_of.cache_clear()

    assert own_files.read_own(folder, "file", 4) == b"mine"
    members.append("nobody")
    refuse(folder)
    members.pop()
    users.append(pwd.struct_passwd(("eve", "x", OTHER, 50, "", "/", "/bin/sh")))
    refuse(folder)
    users.pop()
    # A number that the machine can have given to a group for users, of whom it may not list all.
    os.chown(folder.parent, 0, 100)
    refuse(folder)
    ownership._users_of.cache_clear()


def let_write(path: Path, uid: int) -> None:
    """Have an ACL name a user who may write; the mode then shows what the group may (acl(5))."""
    entries = ((1, 7, -1), (2, 7, uid), (4, 5, -1), (16, 7, -1), (32, 5, -1))
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", value)
    except OSError as error:
        pytest.skip(f"no ACLs here: {error.strerror}")


def test_a_user_whom_an_acl_names_is_seen(folder: Path) -> None:
    let_write(folder, OTHER)
    assert folder.stat().st_mode & 0o777 == 0o775

    for walk in (own_files.safe_folder, own_files.make_safe_folder):
        with pytest.raises(NotOwnError, match="can be written by others, whom its ACL names"):
            walk(folder)
    assert own_files.find_stranger(folder / "file") is not None
    with pytest.raises(NotOwnError, match="ACL"):
        own_files.open_own_folder(folder, cure="name another")


def test_a_file_is_replaced_as_a_whole_and_what_was_killed_meanwhile_is_used_again(folder: Path) -> None:
    (folder / ".file.part").write_bytes(b"half of what somebody wrote who was killed")
    (folder / ".file.part").chmod(0o600)

    own_files.replace_own(folder, "file", b"new")

    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("file", b"new")]


def test_a_link_in_the_place_of_the_new_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / ".file.part").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        own_files.replace_own(folder, "file", b"new")

    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("spoil", [belong_to_others, writable_to_others])
def test_a_folder_for_temporary_files_is_not_made_where_others_can_exchange_it(
    folder: Path, spoil: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with own_files.scratch_folder() as made:
        assert made.parent == folder
    assert not made.exists()
    spoil(folder)

    with own_files.scratch_folder() as made:
        assert made.parent != folder
        assert made.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o1777)
    os.chown(folder, os.geteuid(), os.getegid())
    with own_files.scratch_folder() as made:
        assert made.parent == folder, "as in /tmp"


# -- what is kept in the user's folders --------------------------------------------------------------------------------


@pytest.fixture(params=["folder", "folder above", "file"])
def theirs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let every XDG variable name a folder that another user has, or in which a file is another user's."""
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "theirs"))

    def give_away(name: str) -> None:
        place = tmp_path / "theirs" / "assay"
        belong_to_others({"folder": place, "folder above": place.parent, "file": place / name}[request.param])

    return give_away


@pytest.mark.long
def test_a_script_of_another_user_gets_into_no_report(theirs: Callable[[str], None], tmp_path: Path) -> None:
    honest = vega.javascript()
    [kept] = (tmp_path / "theirs" / "assay").iterdir()
    kept.write_text("alert('theirs');" + honest)
    theirs(kept.name)

    assert vega.javascript() == honest


def test_ceilings_of_another_user_count_for_nothing(theirs: Callable[[str], None]) -> None:
    kept_ceilings.keep(MEASURED, MACHINE, DATE)
    theirs("ceilings.json")

    assert list(kept_ceilings.recalled(PLAN, MACHINE)) == []
    kept_ceilings.keep(MEASURED, MACHINE, DATE)


def test_a_configuration_of_another_user_is_refused_in_words(theirs: Callable[[str], None], tmp_path: Path) -> None:
    place = own_files.make_safe_folder(tmp_path / "theirs" / "assay")
    (place / config.NAME).write_text(f'runs = "{tmp_path}"\n')
    assert config.load().runs == str(tmp_path)
    theirs(config.NAME)

    with pytest.raises(InputError, match=r"is not taken: .* belongs to user 12345; .*XDG_CONFIG_HOME"):
        config.load()


def test_a_suite_of_another_user_is_refused_in_words(theirs: Callable[[str], None], tmp_path: Path) -> None:
    place = own_files.make_safe_folder(tmp_path / "theirs" / "assay" / "suites")
    (place / "nightly.toml").write_text(LOAD.format(name="nightly"))
    assert own_suites.text("nightly") is not None
    theirs("suites")

    with pytest.raises(InputError, match=r"is not taken as a suite: .* belongs to user 12345"):
        own_suites.text("nightly")
    assert own_suites.names() == ()


def test_no_key_is_made_or_used_in_a_folder_of_another_user(theirs: Callable[[str], None], tmp_path: Path) -> None:
    assert user_key.user_key_or_new() is not None
    theirs("key")

    assert user_key.user_key() is None
    assert user_key.user_key_or_new() is None
    assert len(list((tmp_path / "theirs" / "assay").iterdir())) == 1
