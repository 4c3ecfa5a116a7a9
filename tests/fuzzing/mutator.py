"""Changes of valid inputs at random, of the kinds that break readers: in bytes, words, lines, and the values of JSON.

The same samples, words and generator of chance always give the same input.
"""

import copy
import json
import random
import re
from collections.abc import Iterable, Sequence
from typing import Any

NUMBERS = (
    *(b"0", b"1", b"-1", b"-0", b"-0.0", b"0.5", b"127", b"128", b"255", b"256", b"32768", b"65536"),
    *(b"2147483647", b"2147483648", b"-2147483648", b"4294967295", b"4294967296"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"-9223372036854775809"),
    *(b"18446744073709551615", b"18446744073709551616", b"9007199254740993", b"9e18", b"1e999", b"1e-400", b"5e-324"),
    *(b"1.7976931348623157e308", b"nan", b"inf", b"-inf", b"NaN", b"Infinity", b"9" * 400, b"9" * 5000),
    *(b"0x10", b"0o7", b"0b1", b"1_000", b"+1", b"01", b".5", b"5.", b"1e", b"1.", b"\xd9\xa3"),
    *(b"1KiB", b"1 EiB", b"1e30GiB", b"16EiB", b"5s", b"-5s", b"99999999h", b"1ns", b"50%", b"-1%", b"1e3%", b"4k"),
)
"""At the borders of what holds numbers, and in other writings."""
WORDS = (
    *NUMBERS,
    *(b"true", b"null", b"None", b'""', b"''", b'"""', b"'''", b"{}", b"[]", b"[[]]", b"()", b"- -", b"--", b"-"),
    *(b"[" * 300, b"{" * 300, b"(" * 300, b'{"a":' * 300, b"[[" * 60, b"a." * 60, b"{a=" * 60, b"[" * 20_000),
    *(b"\x00", b"\x1b[2J", b"\x1b]0;x\x07", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xe2\x80\xae"),
    *(b"\\ud800", b"\\u0000", b"\\U0010ffff", b"\\x", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b", b"\x0c", b"\x7f"),
    *(b"\n", b"\r\n", b"\r", b"\t", b'"', b"'", b"\\", b"`", b"/", b".", b"..", b"~", b"~root", b"*", b"?", b"!", b"&"),
    *(b"../../etc/shadow", b"/dev/zero", b"/dev/stdin", b"/proc/self/mem", b"/nonexistent/x", b"file:///", b"file://x"),
    *(b"${x}", b"${", b"$(id)", b"$HOME", b"%s", b"%n", b"{0}", b"{index}", b"{x", b"#", b"=", b";", b",", b":", b"|"),
    *(b"[/b]", b"[red]", b":smile:", b"<script>", b"=A(1)", b"__proto__", b"A" * 300, b"A" * 5000, b"A" * 70_000),
    *("ä".encode(), "日本".encode(), "\U0001f600".encode(), "e\u0301".encode(), "ﬀ".encode(), "İ".encode()),
)
"""What breaks readers elsewhere."""
_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        -0.0,
        0.5,
        2**31,
        2**32 - 1,
        2**32,
        2**53 + 1,
        2**63 - 1,
        2**63,
        -(2**63),
        2**64 - 1,
    ),
    *(2**64, 1e308, 5e-324, 9e18, float("nan"), float("inf"), float("-inf"), 10**30, 10**400),
    *(
        "",
        "\0",
        "\ud800",
        "../x",
        "/dev/zero",
        "\x1b[2J",
        "a\nb",
        "${x}",
        "x" * 300,
        "x" * 70_000,
        "\u202e",
        "file:///",
    ),
    *([], {}, [[]], [None], {"": None}, [0] * 5000),
)
_TOKEN = re.compile(
    rb'"(?:[^"\\\n]|\\.)*"|(?P<number>-?[0-9][0-9A-Za-z._]*)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|--?[A-Za-z+]+|[^\sA-Za-z0-9]'
)
_LONGEST = 1 << 16
"""Bytes beyond which an input does not grow: bounds on what is large have tests of their own, and it takes time to make."""
_MOST_TOKENS = 4000
_MOST_VALUES = 3000


class Mutator:
    """Makes changed inputs from samples."""

    def __init__(self, samples: Sequence[bytes], words: Iterable[bytes] = ()) -> None:
        """Learn the words of a language.

        Args:
            samples: Valid inputs.
            words: More words of the language than the samples have.
        """
        self.samples = samples
        self._tokens = [[found.span() for found in _TOKEN.finditer(sample[: 1 << 16])] for sample in samples]
        self._tokens = [tokens[:_MOST_TOKENS] for tokens in self._tokens]
        told = {sample[slice(*span)] for sample, tokens in zip(samples, self._tokens, strict=True) for span in tokens}
        self._own_words = sorted(told | set(words)) or [b""]
        self._documents = [_document(sample) for sample in samples]
        self._keys = sorted({key for document in self._documents for key in _keys(document)}) or [""]

    def changed(self, chance: random.Random) -> bytes:
        """Give a sample with one to six changes."""
        at = chance.randrange(len(self.samples))
        if self._documents[at] is not None and chance.random() < 0.5:
            return self._changed_document(at, chance)
        data = self._changed_token(at, chance) if chance.random() < 0.5 else bytearray(self.samples[at])
        for _ in range(chance.choice((0, 1, 1, 1, 2, 5))):
            (self._changed_bytes if chance.random() < 0.7 else self._changed_lines)(data, chance)
            del data[_LONGEST:]
        return bytes(data)

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _changed_bytes(self, data: bytearray, chance: random.Random) -> None:
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 2, 8, 40, 400)))
        match chance.randrange(8):
            case 0:
                data[at:end] = b""
            case 1:
                data[at:at] = data[at:end] * chance.choice((1, 2, 50))
            case 2:
                data[at:end] = chance.randbytes(end - at)
            case 3:
                data[at : at if chance.random() < 0.5 else end] = chance.choice(WORDS)
            case 4:
                data[at:at] = chance.choice(self._own_words)
            case 5:  # goes on as another sample does
                other = chance.choice(self.samples)
                begin = chance.randrange(len(other) + 1)
                data[at : chance.choice((end, len(data)))] = other[
                    begin : begin + chance.choice((1, 8, 40, 400, _LONGEST))
                ]
            case 6:
                del data[at:]
            case _:
                for place in range(at, end):
                    data[place] ^= 1 << chance.randrange(8)

    # -- words ---------------------------------------------------------------------------------------------------------

    def _changed_token(self, at: int, chance: random.Random) -> bytearray:
        """Change one word of a sample: left out, doubled, nested, or another one."""
        data, tokens = bytearray(self.samples[at]), self._tokens[at]
        if not tokens:
            return data
        begin, end = chance.choice(tokens)
        token = bytes(data[begin:end])
        match chance.randrange(8):
            case 0:
                data[begin:end] = b""
            case 1:
                data[begin:end] = token + chance.choice((b"", b" ", b",", b"\n")) + token
            case 2:
                depth = chance.choice((1, 2, 39, 45, 101, 300, 3000))
                before, after = chance.choice(((b"[", b"]"), (b"{a=", b"}"), (b'{"a":', b"}"), (b"(", b")")))
                data[begin:end] = before * depth + token + after * depth
            case 3:
                other_begin, other_end = chance.choice(tokens)
                if end <= other_begin:
                    data[other_begin:other_end], data[begin:end] = token, data[other_begin:other_end]
            case 4 | 5:
                data[begin:end] = chance.choice(self._own_words)
            case 6 if token[:1] == b'"':
                data[begin + 1 : end - 1] = chance.choice(WORDS)
            case _:
                data[begin:end] = chance.choice(NUMBERS if token[:1].isdigit() else WORDS)
        return data

    # -- lines ---------------------------------------------------------------------------------------------------------

    def _changed_lines(self, data: bytearray, chance: random.Random) -> None:
        """Change a line, or how all of them end and begin."""
        lines: list[bytes | bytearray] = [*data.split(b"\n")]
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(9):
            case 0:
                del lines[at]
            case 1:
                lines.insert(other, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at:at] = chance.choice(self.samples).split(b"\n")[other : other + chance.choice((1, 3, 20))]
            case 4:
                lines[at] *= min(chance.choice((2, 30, 300)), _LONGEST // (len(lines[at]) + 1) + 1)
            case 5:
                lines = [line + b"\r" for line in lines]
            case 6:
                lines[0] = bytearray(b"\xef\xbb\xbf" + lines[0])
            case 7:
                lines[at] = bytearray(chance.choice((b"", b" ", b"\t", b"#")) + lines[at] + chance.choice(WORDS))
            case _:
                lines[at : at + 2] = [bytearray(chance.choice((b"", b" ", b"\\")).join(lines[at : at + 2]))]
        data[:] = b"\n".join(lines)

    # -- JSON ----------------------------------------------------------------------------------------------------------

    def _changed_document(self, at: int, chance: random.Random) -> bytes:
        """Change one to three values of a document, and how it is written."""
        document = json.loads(self.samples[at])
        for _ in range(chance.choice((1, 1, 2, 3))):
            document = self._with_another_value(document, chance)
        text = json.dumps(document, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, None, None, 1)))
        return text.encode(errors="surrogatepass")

    def _with_another_value(self, document: Any, chance: random.Random) -> Any:
        places = _places(document)
        if not places:
            return _odd(chance)
        inside, key = chance.choice(places)
        value = inside[key]
        match chance.randrange(10):
            case 0:
                del inside[key]
            case 1 if isinstance(inside, dict):
                inside[chance.choice(self._keys)] = value
            case 1:
                inside *= chance.choice((2, 3, 100)) if len(inside) < 100 else 1
            case 2 if isinstance(inside, dict):
                inside[_Again(key)] = chance.choice((value, _odd(chance)))
            case 3:
                for _ in range(chance.choice((1, 2, 30, 99, 200))):
                    value = [value] if isinstance(inside, list) else {key: value}
                inside[key] = value
            case 4 if isinstance(value, int | float) and abs(value) < 2**64:
                inside[key] = chance.choice((value + 1, value - 1, -value, value * 2**32, value // 2, str(value)[:40]))
            case 5 | 6:  # a value of the same document, or of another
                found = places if chance.random() < 0.5 else _places(chance.choice(self._documents))
                other, other_key = chance.choice(found or places)
                inside[key] = json.loads(json.dumps(other[other_key]))
            case _:
                inside[key] = _odd(chance)
        return document


class _Again(str):
    """A key that a dictionary takes beside one of the same letters."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return 1


def _odd(chance: random.Random) -> Any:
    return copy.deepcopy(chance.choice(_VALUES))


def _document(sample: bytes) -> Any:
    """Give a sample as JSON; None where it is none with values inside."""
    try:
        found = json.loads(sample)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every value of a document, by what it is in and its key there."""
    found: list[tuple[Any, Any]] = []
    level = [document] if isinstance(document, dict | list) else []
    while level and len(found) < _MOST_VALUES:
        inside = level.pop()
        items = inside.items() if isinstance(inside, dict) else enumerate(inside)
        for key, value in items:
            found.append((inside, key))
            if isinstance(value, dict | list):
                level.append(value)
    return found


def _keys(document: Any) -> set[str]:
    return (
        {str(key) for inside, key in _places(document) if isinstance(inside, dict)} if document is not None else set()
    )
