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
        """Hold a Plan with all its fields to the document, which leaves out what is as by default.

        `leave_out` is the part of its paths that differs from run to run.
        """
        made = Plan.from_json(made.to_json().replace(leave_out.encode(), b""))
        kept = Plan.from_json(self.kept(path, shown(without_defaults(made))).encode())
        assert shown(kept) == shown(made)


def shown(value: object) -> str:
    """Write a value as JSON for people, with all its fields."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n"


def without_defaults(value: object) -> object:
    """Take out of a part of a Plan what is as by default: a field that the Plan gets one day changes no document."""
    if isinstance(value, tuple):
        return tuple(map(without_defaults, value))
    if not isinstance(value, msgspec.Struct):
        return value
    config = value.__struct_config__
    given: dict[str, object] = {str(config.tag_field): config.tag} if config.tag is not None else {}
    for field in msgspec.structs.fields(value):
        content = getattr(value, field.name)
        if field.required or content != default_of(field):
            given[field.encode_name] = without_defaults(content)
    return given


def default_of(field: msgspec.structs.FieldInfo) -> object:
    """Give what a field that is not required holds if nobody says otherwise."""
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
