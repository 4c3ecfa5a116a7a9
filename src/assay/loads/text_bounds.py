"""Is the text of a load file one that can be read without harm?

`tomllib` descends into nested values, and so does whoever walks through what it gives; Python's whole numbers take the
longer the more digits they have. Both are bounded here, before the text is parsed, with the line on which the bound is
passed.
"""

import re
from typing import Any

from assay.errors import FrontEndError

NESTING = 40
"""Tables and lists inside each other; the deepest load that means anything has half of it."""
WORD_LETTERS = 200
"""Of a number, or of a key without quotes."""

_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|(?P<word>[A-Za-z0-9_+-]+)"
    r"|(?P<open>[\[{])"
    r"|(?P<close>[\]}])"
    r"|(?P<dot>\.)"
    r"|(?P<end>[\n=,])",
    re.DOTALL,
)


def check_text(text: str, source: str) -> None:
    """Raise FrontEndError where words are too long, or brackets or dots of keys too many inside each other."""
    depth = dots = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "word":
            if len(token[0]) > WORD_LETTERS:
                raise _error(text, source, token, f"a word of {len(token[0])} letters; {WORD_LETTERS} are the most")
        elif kind == "open":
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
