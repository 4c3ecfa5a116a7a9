from assay.cli import shims
from assay.tools import registry


def test_the_tools_have_shims_under_the_names_that_scripts_use() -> None:
    assert shims.shim_names() == {
        "iozone": "iozone",
        "bonnie++": "bonnie",
        "bonnie": "bonnie",
        "postmark": "postmark",
        "vxbench": "vxbench",
        "perf.pl": "perfpl",
        "perfpl": "perfpl",
        "bigdir": "bigdir",
    }
    assert set(shims.shim_names().values()) == set(registry.TOOLS)
