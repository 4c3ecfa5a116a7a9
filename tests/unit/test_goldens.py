"""The kept documents of Plans leave defaults out, and hold a Plan to every field all the same."""

from pathlib import Path

import msgspec
import pytest

from assay import plan
from goldens import Goldens, shown, without_defaults

SET = plan.FileSet(name="data", target="t", path="data", files=2, size=plan.Uniform(min=1.0, max=2.0), keep=True)
PLAN = plan.Plan(
    name="p",
    origin=plan.Origin(front_end="native", source="", sha256=""),
    seed=1,
    targets=(plan.Target(name="t", uri="file:///data"),),
    file_sets=(SET,),
    phases=(),
)


def test_a_document_holds_what_is_required_and_what_is_not_as_by_default() -> None:
    assert without_defaults(SET) == {
        "name": "data",
        "target": "t",
        "path": "data",
        "files": 2,
        "size": {"kind": "uniform", "min": 1.0, "max": 2.0},
        "keep": True,
    }


@pytest.mark.parametrize("text", [shown(PLAN), shown(without_defaults(PLAN))])
def test_a_document_means_the_same_with_its_defaults_and_without(text: str, tmp_path: Path) -> None:
    document = tmp_path / "plan.json"
    document.write_text(text)

    Goldens(update=False).check_plan(document, PLAN)


@pytest.mark.parametrize("changes", [{"create_workers": 3}, {"keep": False}, {"files": 3}])
def test_a_plan_that_differs_in_any_field_is_seen(changes: dict[str, object], tmp_path: Path) -> None:
    document = tmp_path / "plan.json"
    document.write_text(shown(without_defaults(PLAN)))
    other = msgspec.structs.replace(PLAN, file_sets=(msgspec.structs.replace(SET, **changes),))

    with pytest.raises(AssertionError):
        Goldens(update=False).check_plan(document, other)
