"""Find the line of a key in a TOML text.

`tomllib` gives values without positions. This scanner walks a text that `tomllib` has already accepted and notes the
line of every table, key and array element, under the path by which the value is reached in the result:
`("phase", 0, "job", 1, "workers")`. Because the text is known to be valid, it looks only for structure.
Grammar: TOML 1.0.0 (toml.io).
"""

import bisect
import re
import tomllib
from collections.abc import Sequence

Path = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]+")
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BLANK_OR_COMMA = re.compile(r"(?:[ \t\r\n,]+|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)


class Lines:
    """Line numbers, from 1, by path."""

    def __init__(self, lines: dict[Path, int]) -> None:
        self._lines = lines

    def line_of(self, path: Path) -> int | None:
        """Find the line of a path, else of the nearest enclosing table; None for the text as a whole."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:
                return self._lines[path[:length]]
        return None

    def repeated(self, key: str, origins: Sequence[int], *, is_list: bool) -> "Lines":
        """Give the lines of a document whose tables `key` were repeated.

        Args:
            key: Of the array of tables, or of the one table.
            origins: By place in the new array: the place in the text's.
            is_list: Whether the text has an array.
        """
        by_origin: dict[int, dict[Path, int]] = {}
        kept = {}
        for path, line in self._lines.items():
            if path[:1] != (key,) or path == (key,):
                kept[path] = line
            elif not is_list:
                by_origin.setdefault(0, {})[path[1:]] = line
            elif isinstance(path[1], int):
                by_origin.setdefault(path[1], {})[path[2:]] = line
        repeated = {
            (key, place, *rest): line
            for place, origin in enumerate(origins)
            for rest, line in by_origin.get(origin, {}).items()
        }
        return Lines({**kept, **repeated})


def locate(text: str) -> Lines:
    """Map every path of a TOML text that `tomllib.loads` accepts to its line."""
    return Lines(_Scanner(text).scan())


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line_starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self._lines: dict[Path, int] = {}
        self._last_index: dict[Path, int] = {}
        """Index of the newest element of each array of tables."""

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._peek("["):
                table = self._header()
            else:
                self._key_and_value(table)
            self._skip(_BLANK)
        return self._lines

    def _header(self) -> Path:
        line = self._line()
        is_array = self._peek("[[")
        self._at += 2 if is_array else 1
        *parents, last = self._key()
        self._at += 2 if is_array else 1
        table: Path = ()
        for part in parents:
            table = self._newest((*table, part))
            self._lines.setdefault(table, line)
        table = (*table, last)
        if is_array:
            self._lines.setdefault(table, line)
            self._last_index[table] = self._last_index.get(table, -1) + 1
            table = (*table, self._last_index[table])
        # A table that dotted headers below it implied earlier gets the line of its own header.
        self._lines[table] = line
        return table

    def _newest(self, table: Path) -> Path:
        return (*table, self._last_index[table]) if table in self._last_index else table

    def _key_and_value(self, table: Path) -> None:
        line = self._line()
        path = table
        for part in self._key():
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._at += 1
        self._skip(_BLANK)
        self._value(path)

    def _key(self) -> list[str]:
        """Read `a."b c".d`, up to but without what follows it."""
        parts: list[str] = []
        while True:
            self._skip(_BLANK)
            if self._peek('"') or self._peek("'"):
                parts.append(tomllib.loads(f"key = {self._take(_STRING)}")["key"])
            else:
                parts.append(self._take(_BARE_KEY))
            self._skip(_BLANK)
            if not self._peek("."):
                return parts
            self._at += 1

    def _value(self, path: Path) -> None:
        if self._peek('"') or self._peek("'"):
            self._take(_STRING)
        elif self._peek("["):
            self._array(path)
        elif self._peek("{"):
            self._inline_table(path)
        else:
            self._take(_SCALAR)

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        self._skip(_BLANK)
        while not self._peek("]"):
            self._lines[(*path, index)] = self._line()
            self._value((*path, index))
            index += 1
            self._skip(_BLANK_OR_COMMA)
        self._at += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        self._skip(_BLANK)
        while not self._peek("}"):
            self._key_and_value(path)
            self._skip(_BLANK_OR_COMMA)
        self._at += 1

    def _line(self) -> int:
        return bisect.bisect_right(self._line_starts, self._at)

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError(f"no key or value at offset {self._at}; the text is not the TOML that was accepted")
        self._at = match.end()
        return match[0]
