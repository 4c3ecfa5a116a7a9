"""Values of every type of the seams, read off the type hints, so that a new field or variant is covered on its own.

`examples` makes a small list that holds each member of each union, each value of each enum, and every optional field both
ways. `values` draws at random with Hypothesis. Numbers of a Plan keep to its limits (`plan/limits.py`), those of events to
what the Rust twins can hold: unsigned numbers of 32 or 64 bits, finite floats.
"""

import enum
import functools
import sys
import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st

from assay.plan import (
    Do,
    FileSet,
    FinishOn,
    Fixed,
    FromSet,
    Job,
    Loop,
    New,
    NextRound,
    Op,
    OpenShare,
    OpKind,
    Phase,
    Plan,
    Post,
    Rounds,
    Slot,
    Target,
    Token,
    Value,
    Wait,
    limits,
)
from assay.plan.walk import job_actions, job_ops, job_sets

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1
I32_MAX = 2**31 - 1

U32_FIELDS = {"cpus", "gid", "index", "next_index", "phase_index", "pid", "repeat", "uid", "worker", "workers"}
"""Numbers of events that the Rust twins hold in 32 bits; all others have 64."""
_ROW = "limits of "
"""In front of the name of a Plan's field: the row of its limits."""

_SHOWN_DEPTH = 2
"""Levels of actions inside actions that `examples` goes down."""
_DRAWN_DEPTH = 3
"""The same for `values`."""


def examples(kind: Any, field: str = "", depth: int = 0) -> list[Any]:
    """List values of a type that together show every variant below it."""
    if members := members_of(kind):
        return [value for member in members for value in examples(member, field, depth)]
    if _is_struct(kind):
        return _struct_examples(kind, field, depth)
    if typing.get_origin(kind) is tuple:
        return _tuple_examples(typing.get_args(kind), field, depth)
    return _plain_examples(kind, field)


@functools.cache
def values(kind: Any, field: str = "", depth: int = 0) -> st.SearchStrategy[Any]:
    """Draw values of a type."""
    if members := members_of(kind):
        flat = [member for member in members if depth < _DRAWN_DEPTH or not _is_nested(member)]
        return st.one_of([values(member, field, depth) for member in flat])
    if _is_struct(kind):
        return _structs(kind, field, depth)
    if typing.get_origin(kind) is tuple:
        inside = typing.get_args(kind)
        if inside[-1] is Ellipsis:
            return st.lists(values(inside[0], field, depth), max_size=2).map(tuple)
        return st.tuples(
            *(values(each, name, depth) for each, name in zip(inside, _row_names(field, inside), strict=True))
        )
    return _scalars(kind, field)


def complete_plan(**fields: Any) -> Plan:
    """Make a Plan of parts, and the objects of all names that they give."""
    phases = tuple(_complete_phase(phase) for phase in fields.pop("phases"))
    steps = [step for phase in phases for step in (*phase.before, *phase.after)]
    sets = {step.set for step in steps if hasattr(step, "set")}
    sets |= {name for phase in phases for job in phase.jobs for name in job_sets(job)}
    there: tuple[FileSet, ...] = fields.pop("file_sets")
    missing = sorted(sets - {file_set.name for file_set in there})
    file_sets = (*there, *(FileSet(name=name, target="t", path="", files=1, size=Fixed(value=1.0)) for name in missing))
    places = {file_set.target for file_set in file_sets} | {step.target for step in steps if hasattr(step, "target")}
    phases = (*_shared_with(phases), *phases)
    known: tuple[Target, ...] = fields.pop("targets")
    targets = (*known, *(Target(name=name, uri="") for name in sorted(places - {target.name for target in known})))
    phases, fields["rounds"] = _complete_rounds(phases, fields.get("rounds"))
    return Plan(targets=targets, file_sets=file_sets, phases=phases, **fields)


def _complete_rounds(phases: Sequence[Phase], rounds: Rounds | None) -> tuple[tuple[Phase, ...], Rounds | None]:
    """Let rounds be of phases with one job each; without any there are none."""
    single = [phase.name for phase in phases if len(phase.jobs) == 1]
    if rounds is not None and single:
        return tuple(phases), msgspec.structs.replace(rounds, of=tuple(single[:2]))
    ungated = (msgspec.structs.replace(one, gate=None) if isinstance(one.gate, NextRound) else one for one in phases)
    return tuple(ungated), None


def _shared_with(phases: Iterable[Phase]) -> Iterable[Phase]:
    """The earlier phases that rates are shares of."""
    jobs: dict[tuple[str, int], dict[str, Job]] = {}
    for phase in phases:
        for job in phase.jobs:
            if isinstance(job.arrival, OpenShare):
                there = jobs.setdefault((job.arrival.phase, phase.repeat), {})
                there[job.name] = Job(name=job.name, body=Loop(actions=()))
    for (name, repeat), of_phase in jobs.items():
        yield Phase(name=name, title="", jobs=tuple(of_phase.values()), repeat=repeat)


def _complete_phase(phase: Phase) -> Phase:
    waits = {action.semaphore for job in phase.jobs for action in job_actions(job) if isinstance(action, Wait)}
    poster = Job(name="poster", body=Loop(actions=tuple(Post(semaphore=name) for name in sorted(waits))))
    jobs = tuple(_complete_job(job) for job in phase.jobs)
    # A longest time is above the time that it extends; there is none above or below every number.
    longest_s = phase.extend_to_s or None
    stop = phase.stop if longest_s is None else msgspec.structs.replace(phase.stop, seconds=longest_s / 2)
    phase = msgspec.structs.replace(phase, extend_to_s=longest_s, stop=stop)
    return msgspec.structs.replace(phase, jobs=(*jobs, poster) if waits else jobs)


def _complete_job(job: Job) -> Job:
    slots = {op.file.slot for op in job_ops(job) if isinstance(op.file, Slot)}
    actions = list(job_actions(job))
    names = {action.op for action in actions if isinstance(action, FinishOn)} | set(job.timed)
    names |= {action.operation for action in actions if isinstance(action, Token) and action.operation}
    files = [FromSet(set="s", pick=New(), slot=slot) for slot in sorted(slots)]
    ops = [Op(op=OpKind.OPEN, name="fill", file=file) for file in files]
    ops += [Op(op=OpKind.OPEN, name=name, file=FromSet(set="s", pick=New())) for name in sorted(names)]
    if isinstance(job.body, Loop):
        body: Any = msgspec.structs.replace(job.body, actions=(*job.body.actions, *(Do(op=op) for op in ops)))
    else:
        body = msgspec.structs.replace(job.body, ops=(*job.body.ops, *ops))
    return msgspec.structs.replace(job, body=body)


def classes_in(value: Any) -> set[type]:
    """Collect the types of all structs and all enum values inside a value."""
    if isinstance(value, msgspec.Struct):
        return {type(value)}.union(*(classes_in(getattr(value, name)) for name in value.__struct_fields__))
    if isinstance(value, tuple):
        return set().union(*map(classes_in, value))
    return set()


def enum_values_in(value: Any) -> set[enum.Enum]:
    """Collect the enum values inside a value."""
    if isinstance(value, msgspec.Struct):
        return set().union(*(enum_values_in(getattr(value, name)) for name in value.__struct_fields__))
    if isinstance(value, tuple):
        return set().union(*map(enum_values_in, value))
    return {value} if isinstance(value, enum.Enum) else set()


def leaves(base: type) -> Iterable[type]:
    """Yield the classes below a base that have none below themselves: those that values are made of."""
    below: list[type] = base.__subclasses__()
    if not below:
        yield base
    for child in below:
        yield from leaves(child)


def parts(value: object) -> Iterable[object]:
    """Yield a part of a Plan and, in turn, all that it holds."""
    yield value
    if isinstance(value, Value):
        for name in value.__struct_fields__:
            yield from parts(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from parts(item)


def members_of(kind: Any) -> tuple[Any, ...]:
    """The types of a union; none where the type is no union."""
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return typing.get_args(kind) if is_union else ()


def _plain_examples(kind: Any, field: str) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return list(kind)
    if field.startswith(_ROW) and kind in (int, float):
        limit = limits.NUMBERS[field.removeprefix(_ROW)]
        return [kind(limit.least), kind(limit.most)] + [0.1] * (kind is float and limit.holds(0.1))
    plain: dict[Any, list[Any]] = {
        int: [0, U32_MAX if field in U32_FIELDS else U64_MAX] if field != "errno" else [-1, I32_MAX],
        float: [0.1, 1e22, 5e-324, -1.0, 2.0**53 + 2],
        str: ["", 'tab\t"quote" \\ ümläut \U0001f4be'],
        bool: [False, True],
        type(None): [None],
        dict[str, float]: [{}, {"reads": 1.5, "sectors read": 2.0**60}],
        dict[str, str]: [{}, {"dir/a\nb": 'one\ntwo\t"\\'}],
    }
    return plain[kind]


def _scalars(kind: Any, field: str) -> st.SearchStrategy[Any]:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return st.sampled_from(kind)
    if field.startswith(_ROW) and kind in (int, float):
        limit = limits.NUMBERS[field.removeprefix(_ROW)]
        return st.integers(*map(int, limit[:2])) if kind is int else st.floats(float(limit.least), float(limit.most))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    of_32_bits = st.integers(-I32_MAX, I32_MAX) if field == "errno" else st.integers(0, U32_MAX)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: of_32_bits if field in {*U32_FIELDS, "errno"} else st.integers(0, U64_MAX),
        float: numbers,
        str: st.text(max_size=12),
        bool: st.booleans(),
        type(None): st.none(),
        dict[str, float]: st.dictionaries(st.text(max_size=5), numbers, max_size=3),
        dict[str, str]: st.dictionaries(st.text(max_size=5), st.text(max_size=12), max_size=3),
    }
    return plain[kind]


def _structs(kind: Any, field: str, depth: int) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind)
    inner = depth + _is_nested(kind)
    fields = {
        name: st.just(_schema_of(kind)) if name == "schema" else values(hints[name], _inside(kind, name, field), inner)
        for name in kind.__struct_fields__
    }
    return st.builds(complete_plan if kind is Plan else kind, **fields)


def _inside(kind: Any, name: str, field: str) -> str:
    """What a field of a struct that stands in `field` is drawn by: its name, or the row of its limits."""
    if not issubclass(kind, Value):
        return name
    return field if name in limits.DRAWN and field.removeprefix(_ROW) in limits.NUMBERS else f"{_ROW}{name}"


def _row_names(field: str, inside: tuple[Any, ...]) -> list[str]:
    """The same of the numbers of a tuple, in a Plan a row of a distribution, whose first is a weight."""
    return [f"{_ROW}weight" if field.startswith(_ROW) else field, *[field] * (len(inside) - 1)]


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_nested(kind: Any) -> bool:
    """Whether a struct holds actions, and so may hold its own kind."""
    return _is_struct(kind) and bool({"actions", "branches"} & set(kind.__struct_fields__))


def _schema_of(kind: Any) -> str:
    schema = vars(sys.modules[kind.__module__])["SCHEMA"]
    assert isinstance(schema, str)
    return schema


def _struct_examples(kind: Any, field: str, depth: int) -> list[Any]:
    """As many values as its richest field needs, the other fields taking turns."""
    hints = typing.get_type_hints(kind)
    inner = depth + _is_nested(kind)
    fields = {
        name: [_schema_of(kind)] if name == "schema" else examples(hints[name], _inside(kind, name, field), inner)
        for name in kind.__struct_fields__
    }
    count = max((len(column) for column in fields.values()), default=1)
    make = complete_plan if kind is Plan else kind
    return [make(**{name: column[i % len(column)] for name, column in fields.items()}) for i in range(count)]


def _tuple_examples(inside: tuple[Any, ...], field: str, depth: int) -> list[Any]:
    if inside[-1] is not Ellipsis:
        columns = [examples(each, name, depth) for each, name in zip(inside, _row_names(field, inside), strict=True)]
        return [tuple(column[i % len(column)] for i, column in enumerate(columns))]
    is_too_deep = depth >= _SHOWN_DEPTH and any(map(_is_nested, members_of(inside[0])))
    return [()] if is_too_deep else [(), tuple(_distinct(examples(inside[0], field, depth)))]


def _distinct(found: list[Any]) -> list[Any]:
    """Keep names apart that a Plan wants unique."""
    if not found or not hasattr(found[0], "name") or not isinstance(found[0], msgspec.Struct):
        return found
    return [msgspec.structs.replace(value, name=f"{value.name}{i}") for i, value in enumerate(found)]
