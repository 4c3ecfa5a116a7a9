"""How large may a number of a Plan be, and why not larger?

One table for whoever makes a Plan: load files, `--set`, the tools' command lines. A number's name has the same meaning
in every place, so a row is found by the name; what a distribution draws has the row of the key that the distribution is
under. The limits are where no storage and no user is hurt by them, and finite: what lies beyond is a slip or an attack.

The engine holds the same table, because a Plan may reach it by itself: `python -m bench.reference` writes
`engine/src/plan/limits.json`, and `tests/unit/test_limits.py` sends each bound, and what lies beyond it, through both.
"""

from typing import Any, Final, NamedTuple

import msgspec

from assay.errors import PlanError

_LARGEST_BYTES: Final = 1 << 62
_MOST: Final = 1 << 62
_YEAR_S: Final = 366 * 86_400
_SHOWN_LETTERS = 40


class Limit(NamedTuple):
    """What a number, or the length of a list, lies between; both bounds are allowed."""

    least: float
    most: float
    why: str
    """Why not more, in a few words."""

    def holds(self, number: float) -> bool:
        """Whether a number lies within; NaN does not."""
        return self.least <= number <= self.most

    def refusal(self, number: float) -> str:
        """Describe what is wrong with a number beyond."""
        return f"{shown(number)} is out of range: {shown(self.least)} to {shown(self.most)}; {self.why}"


_SHARE = Limit(0, 1, "a share of a whole")
_TIME = Limit(0, _YEAR_S, "a year")
_BYTES = Limit(0, _LARGEST_BYTES, "4 EiB, half of what the kernel's offsets reach")
_PIECE = Limit(0, 1 << 30, "the kernel moves less than 2 GiB in one call")
_COUNT = Limit(0, _MOST, "more than any storage does in a century")
_RATE = Limit(1e-6, 1e9, "one each nanosecond, which is what clocks tell apart")
_FILES = Limit(1, 1 << 32, "a list of operations knows files by 32 bits, and no common file system has more inodes")
_ID = Limit(0, (1 << 32) - 2, "the kernel takes the number after it for nobody at all")
_WEIGHT = Limit(0, _MOST, "bytes of a file may be weights, and files have no more")
_IN_FLIGHT = Limit(1, 32_768, "the most entries of an io_uring")

NUMBERS: Final[dict[str, Limit]] = {
    "align_bytes": _BYTES,
    "at_most_s": _TIME,
    "bound": Limit(0, _MOST, "more than any rate or latency"),
    "bytes": _BYTES,
    "bytes_per_s": Limit(1, _LARGEST_BYTES, "no storage is as fast"),
    "chunk_bytes": _PIECE,
    "churn": Limit(0, 1000, "after some rounds files and free space are as scattered as they get"),
    "compress_ratio": Limit(1, 10, "what content of 4 KiB blocks can be made to have"),
    "count": Limit(1, (1 << 32) - 1, "a semaphore counts in 32 bits"),
    "complete_max": _IN_FLIGHT,
    "complete_min": _IN_FLIGHT,
    "cpus": Limit(0, 8191, "the most CPUs that Linux is built for"),
    "create_workers": Limit(1, 1024, "more threads do not make files faster"),
    "dedupe_ratio": Limit(1, 1000, "more would be one block over and over"),
    "delay_s": _TIME,
    "depth": Limit(0, 64, "deeper paths than the kernel takes"),
    "distribution": Limit(0, 10, "a position in a whole, or a deviation of some wholes"),
    "existing_share": _SHARE,
    "extend_to_s": _TIME,
    "access_share": _SHARE,
    "jump_share": _SHARE,
    "range_share": _SHARE,
    "share": _SHARE,
    "used_share": _SHARE,
    "files": _FILES,
    "from_bytes": _BYTES,
    "gamma": Limit(0, 1e6, "the width hardly varies any more"),
    "gid": _ID,
    "h": Limit(0.5, 0.999, "beyond it a single block gets all accesses"),
    "initial": Limit(0, (1 << 32) - 1, "a semaphore counts in 32 bits"),
    "key": Limit(0, (1 << 32) - 1, "a key of System V has 32 bits"),
    "length_bytes": _BYTES,
    "mean_width": Limit(0, 1 << 32, "as many as there may be files"),
    "number": Limit(0, (1 << 32) - 1, "there are no more"),
    "numa_node": Limit(0, 1023, "the most nodes that Linux is built for"),
    "of": Limit(1, 32_000, "the kernel's most semaphores of a set (SEMMSL)"),
    "ops": _COUNT,
    "ops_per_s": _RATE,
    "part": Limit(0, 19_999, "as many clients as a run may have"),
    "parts": Limit(1, 20_000, "as many clients as a run may have"),
    "passes": _COUNT,
    "pause_s": _TIME,
    "queue_depth": _IN_FLIGHT,
    "ramp_s": _TIME,
    "rate_per_s": _RATE,
    "rate_share": Limit(1e-6, 1000, "nothing comes a thousand times as often as it could be done"),
    "repeat": Limit(0, 19_999, "as many phases as a run may have"),
    "reserve_bytes": _BYTES,
    "sample_interval_s": Limit(
        0.01, 3600, "an hour; longer ones show nothing of a run, shorter ones measure themselves"
    ),
    "seconds": _TIME,
    "seed": Limit(0, (1 << 64) - 1, "a number of 64 bits"),
    "shape": Limit(1e-6, 1e6, "the draws are all alike from there on"),
    "slope_share": _SHARE,
    "skip_s": _TIME,
    "step_s": Limit(0.01, 3600, "an hour, as for an interval"),
    "most": Limit(2, 1000, "rounds of a minute would take a day"),
    "window": Limit(2, 1000, "rounds of a minute would take a day"),
    "window_s": _TIME,
    "sigma": Limit(0, 100, "the draws span more than any number from there on"),
    "size": _BYTES,
    "slot": Limit(0, 1023, "each worker has room for every slot up to the highest"),
    "sqpoll_cpu": Limit(0, 8191, "the most CPUs that Linux is built for"),
    "stride_bytes": Limit(1, _LARGEST_BYTES, "4 EiB, half of what the kernel's offsets reach"),
    "submit": _IN_FLIGHT,
    "theta": Limit(0.01, 10, "beyond it a single block gets all accesses"),
    "times": Limit(1, _MOST, "more than any storage does in a century"),
    "uid": _ID,
    "value": Limit(0, _MOST, "more than there may be files"),
    "vectors": Limit(0, 1024, "the most pieces of one call (IOV_MAX)"),
    "weight": _WEIGHT,
    "width": Limit(1, (1 << 32) - 1, "as many as there may be files"),
    "workers": Limit(1, 16_384, "each is a thread or a process, and half as many are what a machine gives by default"),
}
"""By the name of a field of a Plan; `size`, `seconds`, `value` and `distribution` also bound what is drawn there."""

_MANY = 10_000
LISTS: Final[dict[str, Limit]] = {
    "targets": Limit(0, 1_000, "each is a directory that is held open"),
    "file_sets": Limit(0, _MANY, "each is a folder and a mark"),
    "phases": Limit(0, 2 * _MANY, "each is a row of the answer"),
    "jobs": Limit(0, _MANY, "each is a row of the answer"),
    "before": Limit(0, _MANY, "each is a step that somebody waits for"),
    "after": Limit(0, _MANY, "each is a step that somebody waits for"),
    "actions": Limit(0, _MANY, "longer ones are scripts"),
    "branches": Limit(0, 1_000, "each is looked at for every draw"),
    "changed": Limit(0, _MANY, "each is a parameter of the load"),
    "of": Limit(0, 1_000, "each is looked at before a round"),
    "groups": Limit(0, _MANY, "lines of a script refer to them, again and again"),
    "ops": Limit(0, _MANY, "lines of a script refer to them, again and again"),
    "timed": Limit(0, _MANY, "each is a histogram of every worker"),
    "rows": Limit(0, _MANY, "each is looked at for every draw"),
    "cpus": Limit(0, 8192, "the most CPUs that Linux is built for"),
    "argv": Limit(0, _MANY, "what a program takes"),
    "accept": Limit(0, 1_000, "more than there are kinds of findings"),
    "untranslated": Limit(0, _MANY, "each is shown with every result"),
}
"""By the name of the field: how many a list may hold."""

NESTING: Final = Limit(0, 16, "nobody reads deeper ones")
"""Actions inside actions."""
TEXT_BYTES: Final = Limit(0, 128 << 10, "the longest word that Linux hands to a program")
"""Any text of a Plan, in UTF-8."""
NAME_BYTES: Final = Limit(0, 1000, "it is shown in tables, and in the names of folders")
"""A `name` or `title`."""

DRAWN: Final = frozenset({"value", "min", "max", "mean", "deviation", "median", "rows"})
"""Numbers of a distribution that are of the kind of what is drawn: the row is that of the key that it is under."""
UNBOUNDED: Final = frozenset({"origin", "schema"})
"""Where a Plan comes from is kept and shown, and nothing is done with it."""

_WORDS = {"phases": "phase", "jobs": "job", "file_sets": "file set", "op": "operation", "ops": "operation"}


def shown(value: float | str) -> str:
    """Write a number or a name so that a line can hold it."""
    text = str(value)
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}... ({len(text)} letters)"


def row_of(key: str, holder: str = "") -> Limit:
    """Find the limit of a number; `holder` is the key that the object around it is under."""
    return NUMBERS[holder if key in DRAWN and holder in NUMBERS else key]


def check(plan: msgspec.Struct) -> None:
    """Hold a Plan, or a part of one, against the table; raises PlanError with the place of the first that is beyond."""
    _check(plan, "", "", (), 0)


def _check(value: Any, key: str, holder: str, place: tuple[str, ...], depth: int) -> None:
    """Hold a value against the table.

    Args:
        value: In a Plan.
        key: Name of the field, or of the list, that it is in.
        holder: Key that the object around it is under.
        place: Words that lead to it.
        depth: Actions around it: nothing else of a Plan nests without end, so this bounds the descent too.
    """
    kind = type(value)
    if kind is int or kind is float:
        _check_number(value, key, holder, place)
    elif kind is str:
        if why := wrong_text(key, value):
            raise _refusal(place, f"{key} {why}")
    elif kind is tuple:
        _check_list(value, key, place, depth)
        is_row = key == "rows" and len(value) == 3 and type(value[0]) is not tuple
        for at, item in enumerate(value):
            _check(item, "weight" if is_row and not at else key, holder, place, depth)
    elif isinstance(value, msgspec.Struct):
        if key in _WORDS and (name := getattr(value, "name", None)) is not None:
            place = (*place, f"{_WORDS[key]} '{shown(name)}'")
        for field in value.__struct_fields__:
            if field not in UNBOUNDED:
                _check(getattr(value, field), field, key, place, depth + (field == "actions"))


def _check_number(value: float, key: str, holder: str, place: tuple[str, ...]) -> None:
    limit = row_of(key, holder)
    if not limit.least <= value <= limit.most:
        name = f"{holder}.{key}" if key in DRAWN and holder in NUMBERS else key
        raise _refusal(place, f"{name} is {shown(value)}; {_between(limit)}")


def _check_list(value: tuple[Any, ...], key: str, place: tuple[str, ...], depth: int) -> None:
    if key in LISTS and not LISTS[key].holds(len(value)):
        raise _refusal(place, f"{key} has {len(value)} entries; {_between(LISTS[key])}")
    if depth > NESTING.most:
        raise _refusal(place, f"{key} are nested {depth} deep; {_between(NESTING)}")


def _refusal(place: tuple[str, ...], why: str) -> PlanError:
    return PlanError(": ".join(filter(None, (", ".join(place), why))))


def wrong_text(key: str, text: str) -> str:
    """Describe what is wrong with a text of the field `key`; empty: nothing."""
    limit = NAME_BYTES if key in {"name", "title"} else TEXT_BYTES
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return f"is {shown(ascii(text))}, which is no text of UTF-8"
    return "" if limit.holds(size) else f"has {size} bytes; {_between(limit)}"


def _between(limit: Limit) -> str:
    return f"it lies between {shown(limit.least)} and {shown(limit.most)} ({limit.why})"


def for_engine() -> bytes:
    """Write the table as the engine reads it, a row a line."""
    numbers = {name: (limit.least, limit.most) for name, limit in sorted(NUMBERS.items())}
    lists = {name: limit.most for name, limit in sorted(LISTS.items())}
    most = {"nesting": NESTING.most, "text_bytes": TEXT_BYTES.most, "name_bytes": NAME_BYTES.most}
    rows = [f'"{key}": {msgspec.json.encode(value).decode()}' for key, value in most.items()]
    for name, table in (("numbers", numbers), ("lists", lists)):
        inside = ",\n".join(f'  "{key}": {msgspec.json.encode(value).decode()}' for key, value in table.items())
        rows.append(f'"{name}": {{\n{inside}\n}}')
    return ("{" + ",\n".join(rows) + "}\n").encode()
