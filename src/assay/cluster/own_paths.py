"""Find who else could change what a path leads to; `hold_worker.sh` has the same rule for other machines.

A path is one's own where every folder and link on the way, and what it leads to, belongs to the user or to root and nobody
else may write to it. A folder with the sticky bit, such as /tmp, is no hole: others cannot replace what is in it.
"""

import grp
import os
import pwd
import stat
from pathlib import Path
from typing import Final

_MOST_STEPS: Final = 200
_ROOT: Final = 0


def find_stranger(path: Path) -> str | None:
    """Name the first part of a path that somebody else could change, with the reason; None: nobody could.

    Raises:
        OSError: it is not there, or cannot be looked at.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links that are to be looked at
    seen, left = Path(whole.anchor), list(reversed(whole.parts[1:]))
    if (why := stranger_of(seen.lstat())) is not None:
        return f"{seen} {why}"
    for _ in range(_MOST_STEPS):
        if not left:
            return None
        part = left.pop()
        if part == "..":
            seen = seen.parent
            continue
        step = seen / part
        facts = step.lstat()
        if (why := stranger_of(facts)) is not None:
            return f"{step} {why}"
        if stat.S_ISLNK(facts.st_mode):
            target = step.readlink()
            if target.is_absolute():
                seen = Path(target.anchor)
            left += reversed([part for part in target.parts if part != target.anchor])
        else:
            seen = step
    return f"{whole} has more than {_MOST_STEPS} parts and links on the way"


def stranger_of(facts: os.stat_result) -> str | None:
    """Say who else owns a file or may write to it; None: nobody."""
    if facts.st_uid not in {os.geteuid(), _ROOT}:
        return f"belongs to {_user(facts.st_uid)}"
    is_link, is_sticky = stat.S_ISLNK(facts.st_mode), stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX
    if is_link or is_sticky:
        return None
    if facts.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    if facts.st_mode & stat.S_IWGRP and not _is_private(facts.st_gid):
        return f"can be written by the group {_group(facts.st_gid)}"
    return None


def _is_private(gid: int) -> bool:
    """Whether a group is root's, or the one that a user has for itself, by which many systems make files group-writable."""
    if gid == _ROOT:
        return True
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and not {*group.gr_mem} - {user.pw_name}


def _user(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
