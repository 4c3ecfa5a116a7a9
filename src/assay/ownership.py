"""Find who except this user and root owns a file or folder, or may write to it.

A group may write where it adds nobody: root's own, the private one of a user (a umask of 002), and one of the distribution
that nobody is in, such as `staff`, which writes to /usr/local on Debian. An ACL can name more, and its mask is shown as the
group's bits (acl(5)): where there is one, these are the bits of others. Of ACLs on a server (NFSv4) nothing is known here.

`cluster/hold_worker.sh` has the same rule for other machines.
"""

import contextlib
import errno
import functools
import grp
import os
import pwd
import stat
from pathlib import Path
from typing import Final

_ROOT: Final = 0
_LAST_FIXED_GROUP: Final = 99
"""Groups up to here are given out by the distribution, and to no users."""
_ACL: Final = "system.posix_acl_access"


def is_own_folder(facts: os.stat_result, at: Path) -> bool:
    """Whether what was looked at is a folder of this user's that nobody else can write to."""
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and not can_others_write(facts, at)


def stranger_of(facts: os.stat_result, at: str | Path) -> str | None:
    """Describe who else owns what is there, or may write to it; None: nobody."""
    return foreign_owner(facts) or _foreign_writer(facts, at)


def can_others_write(facts: os.stat_result, at: str | Path) -> bool:
    """Whether somebody but its owner, root and this user may write to what is there."""
    return _foreign_writer(facts, at) is not None


def stranger(uid: int) -> str | None:
    """Name a user who is not this one; None: it is this one."""
    return None if uid == os.geteuid() else user_name(uid)


def foreign_owner(facts: os.stat_result) -> str | None:
    """Describe whose it is, if it is neither this user's nor root's."""
    if facts.st_uid in {os.geteuid(), _ROOT}:
        return None
    return f"belongs to user {user_name(facts.st_uid)}"


def _foreign_writer(facts: os.stat_result, at: str | Path) -> str | None:
    if stat.S_ISLNK(facts.st_mode):  # nobody writes to a link
        return None
    if facts.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    if facts.st_mode & stat.S_IWGRP:
        if _has_acl(at):
            return "can be written by others, whom its ACL names"
        if not _is_closed(facts.st_gid, {_ROOT, os.geteuid(), facts.st_uid}):
            return f"can be written by the group {_group_name(facts.st_gid)}"
    return None


def _has_acl(at: str | Path) -> bool:
    try:
        os.getxattr(at, _ACL)
    except OSError as error:
        return error.errno not in {errno.ENODATA, errno.ENOTSUP}
    return True


def _is_closed(gid: int, users: set[int]) -> bool:
    """Whether a group is root's, or has nobody in it but these users."""
    if gid == _ROOT:
        return True
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    members = {_user_id(name) for name in group.gr_mem}
    if gid <= _LAST_FIXED_GROUP:
        members |= _users_of(gid)
    elif not any(_is_private(group, uid) for uid in users):
        return False
    return members <= users


@functools.cache
def _users_of(gid: int) -> frozenset[int]:
    """Give the users whose first group it is; asked once, because a directory of users can take seconds to list them."""
    return frozenset(user.pw_uid for user in pwd.getpwall() if user.pw_gid == gid)


def _is_private(group: grp.struct_group, uid: int) -> bool:
    """Whether a group is the one that a user has alone: many systems make one for each, of the same name."""
    with contextlib.suppress(KeyError):
        user = pwd.getpwuid(uid)
        return user.pw_gid == group.gr_gid and user.pw_name == group.gr_name
    return False


def _user_id(name: str) -> int:
    """Give a user's number; -1: there is none of that name."""
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return -1


def user_name(uid: int) -> str:
    """Name a user, by number where there is no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
