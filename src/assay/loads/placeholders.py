"""Find and replace the `${name}` in the values of a load file; `$${name}` is a literal `${name}`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.loads.locate import Path

Scalar = str | int | float | bool

REFERENCE = re.compile(r"\$(\$)?\{([^}]*)\}")


def find_references(value: object, path: Path = ()) -> Iterator[tuple[str, Path]]:
    """Yield the name and the place of each reference in a value."""
    if isinstance(value, str):
        yield from ((match[2], path) for match in REFERENCE.finditer(value) if not match[1])
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from find_references(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_references(item, (*path, index))


def replace_references(value: Any, values: Mapping[str, Scalar], *, is_last: bool) -> Any:
    """Replace the references to some names: a text that is one reference becomes the value, with its type.

    Args:
        value: As in the load file.
        values: By name; other references stay.
        is_last: Whether no other names are replaced later, so that `$${` becomes `${`.
    """
    if isinstance(value, dict):
        return {key: replace_references(item, values, is_last=is_last) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_references(item, values, is_last=is_last) for item in value]
    if not isinstance(value, str):
        return value
    match = REFERENCE.fullmatch(value)
    if match and not match[1] and match[2] in values:
        return values[match[2]]

    def replacement(found: "re.Match[str]") -> str:
        if found[1]:
            return found[0][1:] if is_last else found[0]
        return str(values[found[2]]) if found[2] in values else found[0]

    return REFERENCE.sub(replacement, value)
