"""The twins in Python and Rust read and write the same Plan, events and control lines."""

import enum
import functools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import typing
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import assay.events
import assay.plan
from assay.errors import PlanError
from assay.events import Control, Event, decode
from assay.loads.native import _usual_pick
from assay.loads.sequence import changed_sets
from assay.plan import Do, Existing, FromSet, Job, Loop, New, Next, Op, OpKind, Phase, Plan, op_rules
from unit.seam_values import classes_in, enum_values_in, examples, leaves, members_of, values

REPOSITORY = Path(__file__).parents[2]
Check = Callable[[str, bytes], bytes]
Place = tuple[str | int, ...]

FEW = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@functools.cache
def every_plan() -> list[Plan]:
    """Plans that hold every variant."""
    return [value for value in examples(Plan) if isinstance(value, Plan)]


@functools.cache
def every_line() -> list[Any]:
    """Events and control lines of every kind."""
    return examples(Event) + examples(Control)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw Plans; names that must differ do."""
    try:
        plan = draw(values(Plan))
    except PlanError:
        assume(False)  # two names alike
        raise
    assert isinstance(plan, Plan)
    return plan


def engine_path() -> Path | None:
    """Find the engine: named, built here, beside the interpreter, on PATH."""
    if named := os.environ.get("ASSAY_ENGINE"):
        return Path(named)
    places = [REPOSITORY / "target" / profile for profile in ("release", "debug")] + [Path(sys.executable).parent]
    built = [place / "assay-engine" for place in places if (place / "assay-engine").is_file()]
    if built:
        return max(built, key=lambda path: path.stat().st_mtime)
    on_path = shutil.which("assay-engine")
    return Path(on_path) if on_path else None


@pytest.fixture(scope="module")
def check() -> Check:
    engine = engine_path()
    if engine is None:
        pytest.skip("no assay-engine: build it with 'cargo build', or name it in $ASSAY_ENGINE")

    def through_rust(option: str, data: bytes) -> bytes:
        done = subprocess.run([engine, option], input=data, capture_output=True, check=False)
        if done.returncode != 0:
            raise ValueError(done.stderr.decode())
        return done.stdout

    return through_rust


def read_line(line: bytes) -> Any:
    return msgspec.json.decode(line, type=Control) if b'"control"' in line[:10] else decode(line)


def lines_of(messages: list[Any]) -> bytes:
    return b"".join(msgspec.json.encode(message) + b"\n" for message in messages)


# -- the examples themselves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "made"),
    [
        (assay.plan.Value, tuple(every_plan())),
        (assay.events.StreamPart, tuple(every_line())),
    ],
)
def test_the_examples_hold_every_type_and_every_enum_value(base: type, made: tuple[Any, ...]) -> None:
    part = base.__module__.split(".")[1]
    modules = [module for name, module in sys.modules.items() if name.split(".")[:2] == ["assay", part]]
    named = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    enums = [kind for kind in named if issubclass(kind, enum.Enum)]

    assert set(leaves(base)) - classes_in(made) == set()
    assert {value for kind in enums for value in kind} - enum_values_in(made) == set()


# -- Python alone ------------------------------------------------------------------------------------------------------


@pytest.mark.long
@FEW
@given(plans())
def test_a_plan_survives_its_own_json(plan: Plan) -> None:
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("index", range(len(every_plan())))
def test_every_variant_of_a_plan_survives_its_own_json(index: int) -> None:
    plan = every_plan()[index]

    assert Plan.from_json(plan.to_json()) == plan


@FEW
@given(st.lists(values(Event) | values(Control), max_size=5))
def test_an_event_survives_its_own_line(messages: list[Any]) -> None:
    assert [read_line(line) for line in lines_of(messages).splitlines()] == messages


# -- through Rust ------------------------------------------------------------------------------------------------------


def test_every_variant_of_a_plan_survives_rust(check: Check) -> None:
    for plan in every_plan():
        written = check("--check-plan", plan.to_json())

        assert Plan.from_json(written) == plan
        assert json.loads(written) == json.loads(plan.to_json())


@pytest.mark.long
@FEW
@given(plan=plans())
def test_a_plan_survives_rust(check: Check, plan: Plan) -> None:
    assert Plan.from_json(check("--check-plan", plan.to_json())) == plan


def test_every_event_and_control_line_survives_rust(check: Check) -> None:
    sent = every_line()

    written = check("--check-events", lines_of(sent)).splitlines()

    assert [read_line(line) for line in written] == sent
    assert [json.loads(line) for line in written] == [json.loads(line) for line in lines_of(sent).splitlines()]


@pytest.mark.long
@FEW
@given(messages=st.lists(values(Event) | values(Control), min_size=1, max_size=8))
def test_events_and_control_lines_survive_rust(check: Check, messages: list[Any]) -> None:
    written = check("--check-events", lines_of(messages)).splitlines()

    assert [read_line(line) for line in written] == messages


# -- words -----------------------------------------------------------------------------------------------------------


hints_of = functools.cache(typing.get_type_hints)


def choices(value: Any, kind: Any, path: Place = ()) -> Iterator[tuple[str, set[str], Place]]:
    """Each enum and tagged union in a value: what it is called, the words that Python has for it, and where its word is."""
    members = members_of(kind) or (kind,)
    if isinstance(value, enum.Enum):
        yield type(value).__name__, {choice.value for choice in type(value)}, path
    elif isinstance(value, msgspec.Struct):
        if tag_field := value.__struct_config__.tag_field:
            tagged = [member for member in members if isinstance(member, type) and issubclass(member, msgspec.Struct)]
            tags = {str(member.__struct_config__.tag) for member in tagged}
            yield " | ".join(member.__name__ for member in tagged), tags, (*path, tag_field)
        hints = hints_of(type(value))
        for field in msgspec.structs.fields(value):
            yield from choices(getattr(value, field.name), hints[field.name], (*path, field.encode_name))
    elif isinstance(value, tuple):
        of_tuple = next((member for member in members if typing.get_origin(member) is tuple), kind)
        inside = typing.get_args(of_tuple)
        for index, item in enumerate(value):
            yield from choices(item, inside[0 if inside[-1] is Ellipsis else index], (*path, index))


def words_of_rust(check: Check, option: str, document: Any, place: Place) -> set[str]:
    """The words that Rust would take at a place of a document: it names them where it refuses another."""
    inside = document
    for step in place[:-1]:
        outside, inside = inside, inside[step]
        if isinstance(outside, list):
            outside[:] = [inside]  # without the others it is read sooner
    inside[place[-1]] = "?"
    with pytest.raises(ValueError, match=r"unknown variant `\?`") as refused:
        check(option, json.dumps(document).encode() + b"\n")
    return set(re.findall(r"`(\w+)`", str(refused.value).partition("expected")[2]))


@pytest.mark.parametrize(
    ("option", "made"),
    [
        ("--check-plan", [(plan, Plan) for plan in every_plan()]),
        (
            "--check-events",
            [(line, Event) for line in examples(Event)] + [(line, Control) for line in examples(Control)],
        ),
    ],
    ids=["plan", "events"],
)
def test_rust_knows_the_words_of_every_choice_and_no_others(
    check: Check, option: str, made: list[tuple[Any, Any]]
) -> None:
    found = {name: (words, value, place) for value, kind in made for name, words, place in choices(value, kind)}

    in_python = {name: words for name, (words, _, _) in found.items()}
    in_rust = {
        name: words_of_rust(check, option, json.loads(msgspec.json.encode(value)), place)
        for name, (_, value, place) in found.items()
    }

    assert in_rust == in_python


def test_loads_make_of_names_what_the_engine_does(check: Check) -> None:
    lines = check("--check-kinds", "\n".join(kind.value for kind in OpKind).encode()).decode().splitlines()
    names = {line.split()[0]: line.split()[1] for line in lines}
    usual: dict[str, Any] = {"Make": New, "Take": Existing, "Move": Existing}

    for kind in OpKind:
        becomes = names[kind.value]
        file = FromSet(set="s", pick=_usual_pick(kind))
        job = Job(name="j", body=Loop(actions=(Do(op=Op(op=kind, name="o", file=file)),)))

        assert type(file.pick) is usual.get(becomes, Next), kind
        if becomes in {"Make", "Take", "Move", "Add"}:
            assert changed_sets(Phase(name="p", title="", jobs=(job,))) == {"s"}, kind


def test_sets_of_kinds_are_those_of_the_engines_rows(check: Check) -> None:
    found: dict[str, set[OpKind]] = defaultdict(set)
    for line in check("--check-kinds", "\n".join(kind.value for kind in OpKind).encode()).decode().splitlines():
        word, names, stamps, grows, request, is_of_directories = line.split()
        kind = OpKind(word)
        found[request].add(kind)
        if names in {"Make", "Take", "Move", "Add"} or stamps == "Unnoted":
            found["changes files"].add(kind)
        shortens = stamps == "Unnoted" and grows == "Never"
        if (names in {"Take", "Move"} or shortens) and is_of_directories == "false":
            found["frees"].add(kind)

    assert found["Read"] == op_rules.READS
    assert found["Write"] == op_rules.WRITES
    assert found["Fsync"] | found["Fdatasync"] == op_rules.FLUSHES
    assert found["changes files"] == op_rules.CHANGES_FILES
    assert found["frees"] == op_rules.FREES


# -- what both refuse --------------------------------------------------------------------------------------------------


def spoilt(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(every_plan()[0].to_json())
    change(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan.update(iodepth=1),
        lambda plan: plan.update(sample_interval_s=None),
        lambda plan: plan.update(seed=-1.5),
        lambda plan: plan.update(targets=[{"name": "data"}]),
    ],
    ids=["unknown field", "null for a number", "fraction", "field missing"],
)
def test_what_no_plan_can_be_is_refused_by_both(check: Check, change: Callable[[dict[str, Any]], None]) -> None:
    data = spoilt(change)

    with pytest.raises(PlanError):
        Plan.from_json(data)
    with pytest.raises(ValueError, match="plan: "):
        check("--check-plan", data)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_number_that_does_not_fit_is_refused_by_the_engine_and_never_wraps_around(check: Check, seed: int) -> None:
    data = spoilt(lambda plan: plan.update(seed=seed))

    with pytest.raises(ValueError, match="expected u64"):
        check("--check-plan", data)


def test_a_number_that_is_none_is_refused_by_both(check: Check) -> None:
    # Both writers make null of NaN; a reader that took it for a number would hide a fault of the writer.
    prepared = next(line for line in every_line() if isinstance(line, assay.events.Prepared))
    line = msgspec.json.encode(msgspec.structs.replace(prepared, seconds=math.nan))

    with pytest.raises(msgspec.ValidationError):
        decode(line)
    with pytest.raises(ValueError, match="line 1: "):
        check("--check-events", line)
