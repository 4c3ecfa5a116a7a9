"""In which facts, and in which fields of the Plan, do two runs differ?

Pure: two values in, a list out. Facts that move from second to second (load, free space) are left out unless asked for;
a fact that one side could not read is a difference, because nobody knows whether it is one.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from assay.bundle.scripts import name_scripts
from assay.host.facts import Fact
from assay.plan import Plan

VOLATILE = (
    "run.command",
    "host.load.*",
    "host.memory.available_bytes",
    "host.memory.swap_free_bytes",
    "*.fs.free_bytes",
    "*.fs.free_inodes",
    "*.fs.used_share",
    "*.health.*",
    "quick.size_reason",  # names the free space and the speed of the moment
    "*.pid",
    "*_utc",
)
"""Keys, as shell patterns, of facts that differ between any two moments."""

NOT_RECORDED = "(not recorded)"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not the same; of two lists only what the other has not."""

    key: str
    before: str
    after: str


def is_volatile(key: str) -> bool:
    """Whether a fact says more about the moment than about the machine."""
    return any(fnmatchcase(key, pattern) for pattern in VOLATILE)


def _text(fact: Fact | None) -> str:
    if fact is None:
        return NOT_RECORDED
    if fact.value is None:
        return f"({fact.source})"
    return _plain(fact.value)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value) or "(none)"
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return "(none)" if value is None else str(value)


def _difference(key: str, before: Fact | None, after: Fact | None) -> Difference:
    left, right = before and before.value, after and after.value
    if isinstance(left, tuple) and isinstance(right, tuple) and set(left) != set(right):
        only_left = tuple(item for item in left if item not in right)
        only_right = tuple(item for item in right if item not in left)
        return Difference(key=key, before=_plain(only_left), after=_plain(only_right))
    return Difference(key=key, before=_text(before), after=_text(after))


def diff_facts(a: Sequence[Fact], b: Sequence[Fact], *, with_volatile: bool = False) -> tuple[Difference, ...]:
    """Facts of `a` and `b` whose values differ, in the order of `a`, then what only `b` has.

    Two absent facts are equal whatever their reasons; a fact that only one side recorded differs.
    """
    before, after = {fact.key: fact for fact in a}, {fact.key: fact for fact in b}
    keys = [key for key in before | after if with_volatile or not is_volatile(key)]
    return tuple(
        _difference(key, before.get(key), after.get(key))
        for key in keys
        if key not in before or key not in after or not _same(before[key].value, after[key].value)
    )


def _same(left: object, right: object) -> bool:
    # True == 1 in Python, but a switch that became a number is another fact.
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def diff_runs(plan: Plan, facts: Sequence[Fact], other: Plan, other_facts: Sequence[Fact]) -> tuple[Difference, ...]:
    """Describe what differs between two runs that are compared: fields of their Plans, then facts, as far as both matter."""
    found = diff_plans(name_scripts(plan), name_scripts(other))
    # What is of the first repeat is of them all; the text that a Plan was made from says nothing that it does not.
    shown = [each for each in found if " repeat " not in each.key and not each.key.startswith("origin.")]
    return (*shown, *diff_facts(facts, other_facts))


def diff_plans(a: Plan, b: Plan) -> tuple[Difference, ...]:
    """Fields of two resolved Plans that differ, as `phases[read].jobs[reader].queue_depth`.

    Parts with names are matched by name, so a phase put in between shows as one difference, not as a shift of all.
    """
    return tuple(_walk("", msgspec.json.decode(a.to_json()), msgspec.json.decode(b.to_json())))


def _walk(path: str, left: object, right: object) -> Iterator[Difference]:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in left | right:
            yield from _pair(f"{path}.{name}".lstrip("."), left, right, name)
    elif isinstance(left, list) and isinstance(right, list) and _has_parts(left) and _has_parts(right):
        one, other = _by_name(left), _by_name(right)
        common = [name for name in one if name in other]
        if common != [name for name in other if name in one]:
            yield Difference(key=f"{path} (order)", before=", ".join(one), after=", ".join(other))
        for name in one | other:
            yield from _pair(f"{path}[{name}]", one, other, name)
    elif not _same(left, right):
        yield Difference(key=path, before=_plain(left), after=_plain(right))


def _pair(path: str, left: dict[str, object], right: dict[str, object], name: str) -> Iterator[Difference]:
    if name not in left:
        yield Difference(key=path, before=NOT_RECORDED, after=_plain(right[name]))
    elif name not in right:
        yield Difference(key=path, before=_plain(left[name]), after=NOT_RECORDED)
    else:
        yield from _walk(path, left[name], right[name])


def _has_parts(items: list[object]) -> bool:
    return all(isinstance(item, dict) for item in items)


def _by_name(items: list[object]) -> dict[str, object]:
    """Parts by their names, and repeats by their numbers, where these are unique; else by their places."""
    names = [_name(item) for item in items if isinstance(item, dict)]
    if len(set(names)) == len(items) and "" not in names:
        return dict(zip(names, items, strict=True))
    return {str(place): item for place, item in enumerate(items)}


def _name(part: dict[str, object]) -> str:
    name, repeat = part.get("name"), part.get("repeat")
    return f"{name or ''} repeat {repeat}" if repeat else str(name or "")
