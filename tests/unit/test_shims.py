from assay.cli import shims
from assay.tools.front_end import FrontEnd


def test_the_tools_have_shims_under_the_names_that_scripts_use() -> None:
    assert shims.shim_names() == {
        "iozone": "iozone",
        "bonnie++": "bonnie",
        "bonnie": "bonnie",
        "postmark": "postmark",
        "vxbench": "vxbench",
        "vdbench": "vdbench",
        "perf.pl": "perfpl",
        "perfpl": "perfpl",
        "fio": "fio",
        "bigdir": "bigdir",
        "filebench": "filebench",
    }


def test_a_tool_that_does_not_ask_for_one_has_no_shim() -> None:
    """A tool named like a program that Assay itself calls, such as dd, would be found in its place."""
    assert FrontEnd.shims == ()
