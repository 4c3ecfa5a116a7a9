"""How the tests run: three lanes, three outcomes, and gated skips.

`lanes.py` decides what runs in parallel, in pairs and alone. `outcomes.py` separates a wrong result from a disturbed test.
`skips.py` turns a skip that CI does not expect into a failure. `durations.py` records what each test takes.
`tests/conftest.py` registers these as pytest plugins; `python -m suite` (`__main__.py`) is `make test`. `prove.py` runs
everything at its full count (`make prove`).
"""

from pathlib import Path

import pytest


def kept(config: pytest.Config) -> Path:
    """Give the folder for what sessions leave to later ones and to people."""
    folder = config.rootpath / "build" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def without_group(node_id: str) -> str:
    """Take away the group that xdist appends to a node id, behind the parameters."""
    return node_id.rpartition("@")[0] if node_id.rfind("@") > node_id.rfind("]") else node_id
