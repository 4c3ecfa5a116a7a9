"""Load files against the Plans and the messages that they must become."""

import enum
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from assay import plan
from assay.errors import FrontEndError
from assay.loads import native
from goldens import Goldens, default_of, shown
from unit.seam_values import leaves, parts

GOLDEN = Path(__file__).parent.parent / "golden" / "native"
LOADS = sorted(GOLDEN.glob("*.toml"))
ERRORS = sorted((GOLDEN / "errors").glob("*.toml"))

SETTINGS = {"parameters": {"size": "1GiB", "files": "20", "phase_seconds": "2.5", "block": "8KiB", "direct": "false"}}
REPEATS = {"repeated": 2}


@pytest.fixture(autouse=True)
def _load_files_are_read_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a load file names lies beside it: in documents that are compared that is the same on every machine."""
    monkeypatch.chdir("/")


def parse(path: Path) -> plan.Plan:
    return native.parse(
        path.read_text(),
        path.name,
        directory=Path("/mnt/a directory"),
        settings=SETTINGS.get(path.stem, {}),
        repeat=REPEATS.get(path.stem, 1),
    )


@pytest.mark.parametrize("path", LOADS, ids=lambda path: path.stem)
def test_a_load_file_becomes_the_plan_beside_it(path: Path, goldens: Goldens) -> None:
    made = parse(path)

    goldens.check_plan(path.with_suffix(".json"), made)


def test_the_defaults_of_the_plan_are_those_kept(goldens: Goldens) -> None:
    """The other documents leave them out, and would not notice."""
    defaults = {
        part.__name__: {field.name: default_of(field) for field in msgspec.structs.fields(part) if not field.required}
        for part in sorted(leaves(plan.Value), key=lambda part: part.__name__)
    }

    goldens.check(GOLDEN.parent / "plan-defaults.json", shown({name: part for name, part in defaults.items() if part}))


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_a_faulty_load_file_is_refused_with_file_line_and_cure(path: Path, goldens: Goldens) -> None:
    with pytest.raises(FrontEndError) as caught:
        parse(path)

    goldens.check(path.with_suffix(".txt"), f"{caught.value}\n")


def test_every_kind_and_choice_of_the_plan_can_be_written() -> None:
    unions: list[Any] = [
        plan.Distribution,
        plan.Layout,
        plan.Step,
        plan.Pick,
        plan.FileRef,
        plan.Region,
        plan.Access,
        plan.Action,
        plan.Body,
        plan.Arrival,
        plan.Backend,
    ]
    wanted = {member for union in unions for member in get_args(union)}
    choices = {member for kind in vars(plan).values() if _is_enum(kind) for member in kind}

    written = [part for path in LOADS for part in parts(parse(path))]

    assert wanted - {type(part) for part in written} == set()
    assert choices - {part for part in written if isinstance(part, enum.Enum)} == set()


def test_every_field_of_the_plan_can_be_given_another_value_than_its_default() -> None:
    """A field that no load file ever changes would be one that the load file cannot reach."""
    changed = set()
    fields = set()
    for part in (part for path in LOADS for part in parts(parse(path))):
        if isinstance(part, plan.Value):
            for field in msgspec.structs.fields(type(part)):
                if not field.required:
                    fields.add((type(part).__name__, field.name))
                    if getattr(part, field.name) != default_of(field):
                        changed.add((type(part).__name__, field.name))

    # A load file has nothing that the Plan cannot express, and one schema.
    of_load_files = {("Plan", "untranslated"), ("Plan", "schema")}
    # Front ends of tools count, keep files and work as another user.
    of_tools = {("Origin", "counts"), ("Origin", "files"), ("Plan", "user")}
    # A Plan is shared out when it is known who takes part.
    of_sets = {("Plan", "among")}
    # What may be destroyed is said on the command line alone.
    of_command_lines = {("Target", "destroy_data"), ("Target", "device")}
    assert fields - changed == of_load_files | of_tools | of_sets | of_command_lines


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum) and kind is not enum.Enum
