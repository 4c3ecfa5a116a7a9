"""Targets of a load beside the directory of the command line: where they lie, and what is refused."""

from pathlib import Path

import pytest

from assay import plan
from assay.errors import FrontEndError, InputError
from assay.loads import native, suites
from assay.loads.further_targets import given_targets

LOAD = """
name = "two"

[[target]]
name = "other"
{uri}
[[file_set]]
name = "here"
size = "1MiB"

[[file_set]]
name = "there"
target = "other"
size = "1MiB"

[[phase]]
name = "fill"
before = [{{ fill = "other", used_share = 0.5 }}, "sync"]
seconds = 1
[[phase.job]]
name = "a"
op = {{ op = "read", set = "here", size = "4KiB" }}
[[phase.job]]
name = "b"
op = {{ op = "read", set = "there", size = "4KiB" }}
"""


def made(directory: Path, uri: str = "", **given: Path) -> plan.Plan:
    text = LOAD.format(uri=f'uri = "{uri}"\n' if uri else "")
    return native.parse(text, "two.toml", directory=directory, settings={}, targets=given)


def lies(found: plan.Plan) -> dict[str, str]:
    """Give where each set lies, and each step that names a target."""
    where = {target.name: target.uri for target in found.targets}
    steps = {
        step.__class__.__name__: where[step.target]
        for phase in found.phases
        for step in phase.before
        if isinstance(step, plan.Fill)
    }
    return {file_set.name: where[file_set.target] for file_set in found.file_sets} | steps


def test_a_target_without_an_address_is_the_directory_of_the_command_line(tmp_path: Path) -> None:
    found = made(tmp_path)

    assert [target.name for target in found.targets] == ["target"]
    assert set(lies(found).values()) == {tmp_path.as_uri()}


def test_a_target_that_is_given_lies_there_with_its_sets_and_steps(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    for uri in ("", "file:///nowhere/else"):
        found = made(tmp_path, uri, other=other)

        assert [target.name for target in found.targets] == ["target", "other"]
        assert lies(found) == {"here": tmp_path.as_uri(), "there": other.as_uri(), "Fill": other.as_uri()}


def test_a_target_that_is_given_where_another_lies_is_that_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    found = made(tmp_path, other=tmp_path / "link")

    assert [target.name for target in found.targets] == ["target"]
    assert set(lies(found).values()) == {tmp_path.as_uri()}


def test_an_address_in_the_file_stays_as_it_was_written(tmp_path: Path) -> None:
    found = made(tmp_path, "file:///mnt/mirror")

    assert [target.uri for target in found.targets] == [tmp_path.as_uri(), "file:///mnt/mirror"]


def test_sets_of_one_folder_on_targets_that_are_one_are_refused(tmp_path: Path) -> None:
    text = LOAD.format(uri="").replace('name = "there"', 'name = "there"\npath = "here"')

    with pytest.raises(FrontEndError, match="folder"):
        native.parse(text, "two.toml", directory=tmp_path, settings={})
    (tmp_path / "other").mkdir()
    found = native.parse(text, "two.toml", directory=tmp_path, settings={}, targets={"other": tmp_path / "other"})
    assert len({(one.target, one.path) for one in found.file_sets}) == 2


def test_a_name_that_the_load_has_not_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--target more: the load has no .* of that name; it has other"):
        made(tmp_path, more=tmp_path)
    with pytest.raises(InputError, match="it has none"):
        native.parse(suites.text("zeros"), "zeros", directory=tmp_path, settings={}, targets={"other": tmp_path})


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["other"], "NAME=DIR"),
        (["=/"], "NAME=DIR"),
        (["target=/"], "is the directory on the command line"),
        (["a=/", "a=/"], "given twice"),
        (["a=/nowhere/at/all"], "does not exist"),
        (["a="], "name is empty"),
    ],
)
def test_what_is_no_target_is_refused(pairs: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        given_targets(pairs)


def test_targets_are_read_by_name(tmp_path: Path) -> None:
    assert given_targets([f"a={tmp_path}", "b=/"]) == {"a": tmp_path.resolve(), "b": Path("/")}


def test_the_suite_of_interference_has_one_target_or_two(tmp_path: Path) -> None:
    text = suites.text("interference")
    (tmp_path / "b").mkdir()

    one = native.parse(text, "i", directory=tmp_path, settings={})
    two = native.parse(text, "i", directory=tmp_path, settings={}, targets={"other": tmp_path / "b"})

    assert [target.name for target in one.targets] == ["target"]
    assert {each.name: each.target for each in two.file_sets} == {
        "stream-1": "target",
        "stream-2": "other",
        "database": "other",
    }
    assert [phase.name for phase in one.phases] == [phase.name for phase in two.phases]
