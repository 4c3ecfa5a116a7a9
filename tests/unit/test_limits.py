"""Both twins hold a Plan's numbers against the same bounds, and a load file that passes them is refused with its line."""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay import plan
from assay.errors import FrontEndError, InputError, PlanError
from assay.loads import native
from assay.plan import Plan, limits
from unit.test_seams import Check, check, every_plan, hints_of

__all__ = ["check"]

LOAD = """
name = "small"
sample_interval = 1

[[file_set]]
name = "data"
size = "1MiB"
files = 1

[[phase]]
name = "read"
seconds = 1
[[phase.job]]
workers = 1
arrival = "closed"
op = { op = "read", set = "data", size = "4KiB" }
"""


def parse(text: str, **settings: str) -> Plan:
    return native.parse(text, "small.toml", directory=Path("/mnt/a"), settings=settings)


# -- the table ---------------------------------------------------------------------------------------------------------


def number_fields() -> set[str]:
    """Names of all fields of a Plan that hold numbers, or lists of them."""
    kinds = {int, float, int | None, float | None, tuple[int, ...], tuple[tuple[float, float, float], ...]}
    structs = [part for part in _below(plan.Value) if part not in {plan.Plan, plan.Origin}]
    found = {name for part in structs for name, kind in hints_of(part).items() if kind in kinds}
    return found | {"seed", "sample_interval_s", "reserve_bytes"}


def _below(base: type) -> Iterator[type]:
    children: list[type] = base.__subclasses__()
    for child in children:
        yield child
        yield from _below(child)


def test_every_number_of_a_plan_has_limits_and_each_row_a_number() -> None:
    drawn = {"size", "seconds", "value", "distribution", "weight"}

    assert number_fields() - limits.DRAWN - set(limits.NUMBERS) == set()
    assert set(limits.NUMBERS) - number_fields() - drawn == set()
    assert all(
        row.least < row.most < math.inf and row.why for row in (*limits.NUMBERS.values(), *limits.LISTS.values())
    )


def test_every_list_of_a_plan_has_limits() -> None:
    kinds = [(name, str(kind)) for part in _below(plan.Value) for name, kind in hints_of(part).items()]

    assert {name for name, kind in kinds if kind.startswith("tuple[")} == set(limits.LISTS)


Change = Callable[[Any], None]
Place = tuple[str | int, ...]


def places(value: Any, path: Place = (), key: str = "", holder: str = "") -> Iterator[tuple[str, Place]]:
    """Row and place of every number in a Plan's document."""
    items: Any = enumerate(value) if isinstance(value, list) else value.items()
    for step, item in items:
        if step in limits.UNBOUNDED:
            continue
        name = key if isinstance(value, list) else step
        if isinstance(item, int | float) and not isinstance(item, bool):
            is_drawn = name in limits.DRAWN and holder in limits.NUMBERS
            yield "weight" if name == "rows" and step == 0 else holder if is_drawn else name, (*path, step)
        elif isinstance(item, dict | list):
            yield from places(item, (*path, step), name, holder if isinstance(item, list) else name)


def alone(value: Any, place: Place) -> tuple[Any, Any, Any]:
    """A document without what stands beside a place, which is sooner read; the container of the place, and its key there."""
    step, *rest = place
    if not rest:
        return value, value, step
    inside, container, last = alone(value[step], tuple(rest))
    if isinstance(value, dict):
        return (
            {key: [] if isinstance(item, list) else item for key, item in value.items()} | {step: inside},
            container,
            last,
        )
    return [inside], container, last


def test_each_bound_passes_both_twins_and_what_lies_beyond_it_neither(check: Check) -> None:
    found: dict[str, Any] = {}
    for made in every_plan():
        document = json.loads(made.to_json())
        for row, place in places(document):
            if row not in found:
                found[row] = alone(document, place)

    for row, (document, container, step) in found.items():
        limit, before, kind = limits.NUMBERS[row], container[step], type(container[step])
        beyond = math.nextafter(limit.most, math.inf) if kind is float else limit.most + 1
        for number, passes in ((limit.least, True), (limit.most, True), (beyond, False), (-1, False)):
            container[step] = kind(number)
            said = [_refusal_of_python(document), _refusal_of_rust(check, document)]
            assert [not text for text in said] == [passes] * 2, (row, number, said)
        container[step] = before

    assert set(found) == set(limits.NUMBERS)


def _refusal_of_python(document: Any) -> str:
    try:
        limits.check(msgspec.convert(document, Plan))
    except PlanError as error:
        # Names that stand for nothing are another matter.
        return str(error) if "it lies between" in str(error) else ""
    return ""


def _refusal_of_rust(check: Check, document: Any) -> str:
    try:
        check("--check-plan", json.dumps(document).encode())
    except ValueError as error:
        return str(error)
    return ""


def spoilt(change: Change) -> Any:
    document = json.loads(parse(LOAD).to_json())
    change(document)
    return document


def job_of(document: Any) -> Any:
    return document["phases"][0]["jobs"][0]


def nested(depth: int) -> dict[str, Any]:
    action: dict[str, Any] = {"kind": "wait", "semaphore": "s", "count": 1, "initial": 0}
    for _ in range(depth):
        action = {"kind": "repeat", "times": 1, "actions": [action]}
    return action


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: job_of(p).update(queue_depth=4294967295), "phase 'read', job 'read': queue_depth is 4294967295"),
        (lambda p: p["file_sets"][0].update(files=0), "file set 'data': files is 0; it lies between 1 and 4294967296"),
        (lambda p: p["file_sets"][0]["size"].update(value=5e18), "file set 'data': size.value is 5e+18"),
        (lambda p: p["phases"][0].update(name="p" * 1001), "name has 1001 bytes"),
        (lambda p: p.update(targets=p["targets"] * 1001), "targets has 1001 entries"),
        (lambda p: job_of(p)["body"].update(actions=[nested(16)]), "nested 17 deep"),
        (lambda p: p["phases"][0]["before"].append({"kind": "sleep", "seconds": 9e18}), "phase 'read': seconds is 9e+18"),
        (lambda p: p.update(sample_interval_s=1e18), "sample_interval_s is 1e+18; it lies between 0.01 and 3600"),
    ],
)  # fmt: skip
def test_both_twins_say_what_is_beyond_its_bounds_and_where(check: Check, change: Change, said: str) -> None:
    document = spoilt(change)

    assert said in _refusal_of_python(document)
    assert said in _refusal_of_rust(check, document)


@pytest.mark.parametrize(
    "opening", [b"[", b'{"a":', b'{"name":[', b'{"phases":[{"jobs":[{"body":{"kind":"loop","actions":[']
)
@pytest.mark.parametrize("depth", [200, 100_000])
def test_a_plan_that_is_nested_deep_is_refused_by_both(check: Check, opening: bytes, depth: int) -> None:
    data = opening * depth

    with pytest.raises(PlanError, match="plan: "):
        Plan.from_json(data)
    with pytest.raises(ValueError, match="plan: "):
        check("--check-plan", data)


def test_actions_that_are_nested_as_deep_as_json_goes_are_refused_by_both(check: Check) -> None:
    for depth in (40, 5_000):
        inside = b'{"kind":"repeat","times":1,"actions":[' * depth + b"]}" * depth
        plain = json.dumps(spoilt(lambda p: p["phases"][0]["jobs"][0]["body"].update(actions=["HERE"]))).encode()
        data = plain.replace(b'"HERE"', inside)

        with pytest.raises(PlanError, match="nested"):
            Plan.from_json(data)
        with pytest.raises(ValueError, match=r"nested|recursion limit"):
            check("--check-plan", data)


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "-" + "9" * 400, "1e400", "NaN", "Infinity", "1" + "0" * 25])
def test_numbers_that_no_number_holds_are_refused_by_both(check: Check, number: str) -> None:
    for field in ("seed", "sample_interval_s"):
        document = spoilt(lambda _: None) | {field: "HERE"}
        data = json.dumps(document).encode().replace(b'"HERE"', number.encode())

        with pytest.raises(PlanError):
            Plan.from_json(data)
        with pytest.raises(ValueError, match=r"plan: |it lies between"):
            check("--check-plan", data)


# -- load files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("workers = 1", 'backend = "io_uring"\nqueue_depth = 4294967295', 15, "phase.job.queue_depth: 4294967295 is out"),
        ("workers = 1", "workers = 16385", 14, "from 1 to 16384 is wanted (each is a thread or a process"),
        ('set = "data", size', 'set = "data", slot = 2147483648, size', 16, "phase.job.op.slot: 2147483648 is out of range"),
        ("seconds = 1", "before = [{ sleep = 9e18 }]", 12, "phase.before.sleep: 9e+18 is out of range"),
        ("sample_interval = 1", "sample_interval = 1e18", 3, "from 10.0 ms to 3600 is wanted"),
        ('arrival = "closed"', "arrival = { open = 1e12 }", 15, "phase.job.arrival.open: 1000000000000.0 is out of range"),
        ('arrival = "closed"', "arrival = { open = 1e18 }", 15, "phase.job.arrival.open: 1e+18 is out of range"),
        ("files = 1", f"files = {'9' * 400}", 8, "a word of 400 characters; 200 are the most"),
        ("files = 1", f"files = {'9' * 5000}", 8, "a word of 5000 characters; 200 are the most"),
        ('size = "1MiB"', f'size = "{"9" * 400}KiB"', 7, "has 403 characters; write a size such as"),
        ('size = "1MiB"', 'size = "5EiB"', 7, "5EiB is out of range; a size such as"),
        ('size = "1MiB"', "size = nan", 7, "nan is out of range"),
        ('size = "1MiB"', "size = -inf", 7, "-inf is out of range"),
        ('size = "1MiB"', "size = { uniform = 0, max = 1e300 }", 7, "file_set.size.max: 1e+300 is out of range"),
        ("seconds = 1", f'seconds = "{"9" * 5000}s"', 12, "has 5001 characters; write a time such as"),
        ('name = "read"', f'name = "{"r" * 1001}"', 11, "phase.name: has 1001 bytes"),
        ("workers = 1", f"cpus = [{'1, ' * 8193}]", 14, "phase.job.cpus: 8193 entries are too many; 8192 are the most"),
        ("workers = 1", "cpus = [8192]", 14, "phase.job.cpus: 8192 is out of range"),
        ("files = 1", "files = 2024-02-30", 8, "this is not TOML"),
    ],
)  # fmt: skip
def test_what_lies_beyond_a_bound_is_refused_with_file_and_line(before: str, after: str, line: int, said: str) -> None:
    assert before in LOAD

    with pytest.raises(FrontEndError) as refused:
        parse(LOAD.replace(before, after, 1))

    assert str(refused.value).startswith(f"small.toml:{line}: ")
    assert said in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "value", ["9" * 400, "9" * 5000, "nan", "inf", "-inf", "1e400", "-1", "4294967297", "[" * 3000]
)
def test_a_setting_beyond_the_bounds_is_refused_where_it_is_used(value: str) -> None:
    text = LOAD.replace("files = 1", 'files = "${count}"\n[parameters]\ncount = 1')

    with pytest.raises(FrontEndError, match=r"^small\.toml:8: file_set\.files: "):
        parse(text.replace("[parameters]\ncount = 1", "") + "[parameters]\ncount = 1\n", count=value)


def test_zero_has_no_sign() -> None:
    made = parse(LOAD.replace("seconds = 1", "ramp = -0.0"))

    assert math.copysign(1, made.phases[0].ramp_s) == 1


@pytest.mark.parametrize(
    "value",
    [
        "[" * 3000 + "]" * 3000,
        "{a = " * 3000 + "1" + "}" * 3000,
        "[" * 3000,
        "1\n" + ".".join("a" * 3000) + " = 1",
        '1\n"a"' + '."a"' * 3000 + " = 1",
        "{a.a.a.a.a.a.a.a = " * 30 + "1" + "}" * 30,
        "1\n[" + ".".join("a" * 3000) + "]",
    ],
)
def test_values_that_are_nested_deep_are_refused_with_their_line(value: str) -> None:
    with pytest.raises(FrontEndError, match="nested more than 40 deep") as refused:
        parse(f'name = "x"\n\ndeep = {value}\n')

    assert re.match(r"small\.toml(:[34])?: ", str(refused.value))


def test_brackets_in_texts_and_notes_are_not_counted() -> None:
    text = "[" * 50

    made = parse(LOAD.replace('name = "small"', f'name = "{text}" # {text}\ndescription = """\n{text}"""'))

    assert made.name == text


def test_more_phases_than_a_run_may_have_are_refused_before_they_are_made() -> None:
    with pytest.raises(InputError, match="a run has at most 20000"):
        native.parse(LOAD, "small.toml", directory=Path("/mnt/a"), settings={}, repeat=10**12)


def test_actions_that_are_nested_deep_are_refused_with_their_job() -> None:
    loop = "{ repeat = 1, actions = [" * 17 + '{ op = "read", set = "data", size = "4KiB" }' + "] }" * 17

    with pytest.raises(FrontEndError, match=r"nested 1[78] deep") as refused:
        parse(LOAD.replace('op = { op = "read", set = "data", size = "4KiB" }', f"loop = [{loop}]"))

    assert str(refused.value).startswith("small.toml:16: phase 'read', job 'read'")
