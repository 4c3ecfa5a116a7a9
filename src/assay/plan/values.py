"""What holds for everything in a Plan: immutable, keyword-only, strict."""

import msgspec

from assay.tags import snake_case


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything in a Plan: immutable, keyword-only, strict."""


class Kind(Value, kw_only=True, tag_field="kind", tag=snake_case):
    """Base of the members of a tagged union: JSON carries `kind`."""
