"""Filebench's personalities by name, for scripts of 1.4: `load fileserver`, some `set`, `run 60`.

The loads follow the public descriptions of those of these names; their scripts are Assay's own (`personalities/`). One
is put into the script at its `load`, on that line, so that the record of a run has all that it was made of, and
messages name lines of the script.
"""

import re
from collections.abc import Sequence
from importlib import resources

_LOAD = re.compile(r"^([ \t]*)load[ \t]+\"?(\w+)(?:\.f)?\"?[ \t]*(?=#|$)", re.MULTILINE | re.ASCII)
_COMMENT = re.compile(r"#[^\n]*")
_FOLDER = resources.files(__package__) / "personalities"


def personalities() -> Sequence[str]:
    """Name them."""
    return sorted(file.name.removesuffix(".f") for file in _FOLDER.iterdir() if file.name.endswith(".f"))


def insert_personalities(script: str) -> str:
    """Put personalities in place of each `load` that names one."""
    known = personalities()
    return _LOAD.sub(lambda found: found[1] + _in_one_line(found[2]) if found[2] in known else found[0], script)


def _in_one_line(name: str) -> str:
    text = (_FOLDER / f"{name}.f").read_text(encoding="utf-8")
    return " ".join(_COMMENT.sub("", text).split())
