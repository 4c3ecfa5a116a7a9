"""Documents under tests/golden: what a text must become, kept beside it.

`make goldens` writes them anew; read the difference before you commit it.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Goldens:
    """The kept documents, or what writes them anew."""

    update: bool

    def kept(self, path: Path, made: str) -> str:
        """Read a document, for a test that allows for differences; `made` is what it becomes when written anew."""
        if self.update:
            path.write_text(made)
        return path.read_text()

    def check(self, path: Path, made: str) -> None:
        """Hold what was made to the document, letter by letter."""
        assert made == self.kept(path, made)

    def check_plan(self, path: Path, made: Plan, *, leave_out: str = "") -> None:
        """Hold a Plan to the document; `leave_out` is the part of its paths that differs from run to run."""
        text = msgspec.json.format(made.to_json(), indent=1).decode() + "\n"
        self.check(path, text.replace(leave_out, "") if leave_out else text)
