"""Choose the user who does the work: by name or number, for `--user` and for tools with such an option."""

import grp
import pwd
import re
from typing import Final

import msgspec

from assay.errors import InputError
from assay.plan import Plan, User
from assay.plan.limits import NUMBERS

NO_GROUP: Final = 65534
"""Group of a user that nothing is known of but a number."""

_LARGEST_ID: Final = int(NUMBERS["uid"].most)
"""The kernel takes the number after it for "leave it as it is": who asked for that would stay root."""
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)


def user_id(name: str, *, asked_by: str) -> tuple[int, int]:
    """Give the number and the group of a user.

    Args:
        name: A user name of this machine, or a number.
        asked_by: The option, for errors.

    Raises:
        InputError: there is no such user, or there can be no such number.
    """
    if _NUMBER.fullmatch(name):
        return _checked(name, asked_by), NO_GROUP
    try:
        found = pwd.getpwnam(name)
    except (KeyError, ValueError):  # ValueError: a NUL in it
        raise InputError(f"{asked_by} {name!r}: there is no user of that name") from None
    return found.pw_uid, found.pw_gid


def group_id(name: str, *, asked_by: str) -> int:
    """Give the number of a group; raises InputError as `user_id` does."""
    if _NUMBER.fullmatch(name):
        return _checked(name, asked_by)
    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        raise InputError(f"{asked_by} {name!r}: there is no group of that name") from None


def _checked(number: str, asked_by: str) -> int:
    if int(number) > _LARGEST_ID:
        raise InputError(f"{asked_by} {number}: numbers of users and groups end at {_LARGEST_ID}")
    return int(number)


def as_user(plan: Plan, asked: str | None) -> Plan:
    """Have a Plan executed by the user of `--user NAME` or `--user NAME:GROUP`; by nobody else where that is None.

    Raises:
        InputError: there is no such user, or the Plan names another.
    """
    if asked is None:
        return plan
    name, separator, group = asked.partition(":")
    uid, gid = user_id(name, asked_by="--user")
    wanted = User(uid=uid, gid=group_id(group, asked_by="--user") if separator else gid)
    if plan.user not in {None, wanted}:
        raise InputError(f"--user {asked}: the command line itself names another user; leave one of the two out")
    return msgspec.structs.replace(plan, user=wanted)
