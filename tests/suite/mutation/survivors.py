"""Read the survivors that have a reason: `survivors.toml`.

A survivor is identified by its file, its line of code and the changed line, so that edits of other lines do not matter.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True)
class Change:
    """A change of a line of code."""

    file: str
    code: str
    change: str


def read_reasons(path: Path = LIST) -> dict[Change, str]:
    """Give the reason of each survivor of the list.

    Raises:
        RuntimeError: A survivor has no reason, or is listed twice.
    """
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    reasons = {Change(one["file"], one["code"], one["change"]): str(one["reason"]).strip() for one in listed}
    if len(reasons) < len(listed) or not all(reasons.values()):
        raise RuntimeError(f"{path.name}: a survivor is listed twice, or has no reason")
    return reasons
