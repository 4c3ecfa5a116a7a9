from assay.cli import CLASSIC, shims
from assay.tools import registry as classic


def test_every_classic_command_has_a_shim_under_the_names_that_scripts_use() -> None:
    names = shims.shim_names()

    assert set(names.values()) == {command.__name__ for command in CLASSIC}
    known = {"bonnie": {"bonnie++", "bonnie"}, "perfpl": {"perf.pl", "perfpl"}}
    for command in CLASSIC:
        tool = command.__name__
        assert {name for name, stands_for in names.items() if stands_for == tool} == known.get(tool, {tool})


def test_every_classic_command_has_an_output_of_its_own() -> None:
    assert {command.__name__ for command in CLASSIC} == set(classic.TOOLS)
