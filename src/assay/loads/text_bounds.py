"""Check that the text of a load file can be read without harm.

`tomllib` descends into nested values, and so does whoever walks through what it gives; Python's whole numbers take the
longer the more digits they have. Both are bounded here, before the text is parsed, with the line on which the bound is
passed.
"""

import re
from typing import Any

from assay.errors import FrontEndError

NESTING = 40
"""Tables and lists inside each other; the deepest load that means anything has half of it."""
WORD_CHARACTERS = 200
"""Of a number, or of a key without quotes."""

_TOKENS = (
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    rf"|(?P<word>[A-Za-z0-9_+-]{{{WORD_CHARACTERS + 1},}})"
    r"|(?P<open>[\[{])"
    r"|(?P<close>[\]}])"
)
_TOKEN = re.compile(_TOKENS, re.DOTALL)
_TOKEN_OR_DOT = re.compile(rf"{_TOKENS}|(?P<dot>\.)|(?P<end>[\n=,])", re.DOTALL)


def check_text(text: str, source: str) -> None:
    """Raise FrontEndError where words are too long, or brackets or dots of keys too many inside each other."""
    depth = dots = 0
    # A key ends with its line: where no line has more than NESTING dots, they need no count, and most of a load is
    # dots and ends.
    has_dots = any(line.count(".") > NESTING for line in text.split("\n"))
    for token in (_TOKEN_OR_DOT if has_dots else _TOKEN).finditer(text):
        kind = token.lastgroup
        if kind == "word":
            raise _error(text, source, token, f"a word of {len(token[0])} characters; {WORD_CHARACTERS} are the most")
        if kind == "open":
            depth, dots = depth + 1, 0
        elif kind == "close":
            depth, dots = max(depth - 1, 0), 0
        elif kind == "dot":
            dots += 1
        elif kind == "end":
            dots = 0
        if max(depth, dots) > NESTING:
            raise _error(text, source, token, f"values are nested more than {NESTING} deep; no load needs that")


def _error(text: str, source: str, token: "re.Match[str]", why: str) -> FrontEndError:
    return FrontEndError(source, text.count("\n", 0, token.start()) + 1, why)


def check_document(document: dict[str, Any], source: str) -> None:
    """Raise FrontEndError where values are nested too deep all the same, by dotted keys inside each other."""
    level: list[Any] = [document]
    for _ in range(NESTING + 1):
        inner = [value.values() if isinstance(value, dict) else value for value in level]
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise FrontEndError(source, None, f"values are nested more than {NESTING} deep; no load needs that")
