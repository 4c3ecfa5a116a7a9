"""A vdbench parameter file as definitions: comments, continued lines, quotes, variables, defaults and places.

A line ends at its first blank outside of quotes; what follows is a comment. One that ends with a comma goes on in the next.
A parameter is `name=value` or `name=(value,...)`. Parameters belong to the definition that was begun last: `sd=`, `wd=`,
`rd=`, `fsd=`, `fwd=`, `hd=` begin one, in this order of kinds; before the first of them they are of the whole file.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.errors import FrontEndError
from assay.tools.arguments import cut

COMMAND_LINE = "command line"
"""The file name for text that is in no file."""
MOST_LINES = 100_000
MOST_PARAMETERS = 50_000
MOST_DEFINITIONS = 4_000
_VARIABLE = re.compile(r"[$!]([A-Za-z_][A-Za-z0-9_]{0,63})|#host\b", re.ASCII)
_KINDS = ("hd", "sd", "wd", "fsd", "fwd", "rd")
_BEGINS = {
    "": frozenset(_KINDS),
    "hd": frozenset({"hd", "sd", "fsd", "wd", "fwd", "rd"}),
    "sd": frozenset({"sd", "wd", "fsd", "fwd", "rd"}),
    "wd": frozenset({"wd", "rd"}),
    "fsd": frozenset({"fsd", "fwd", "rd"}),
    "fwd": frozenset({"fwd", "rd"}),
    "rd": frozenset({"rd"}),
}
"""By the kind of the definition at hand: which words begin another. The others are parameters of it: `sd=` of a wd."""


@dataclasses.dataclass(frozen=True)
class SourceLine:
    """A position in a file."""

    file: str
    line: int

    def error(self, text: str) -> FrontEndError:
        """Make the error `file:line: text`."""
        return FrontEndError(self.file, self.line, text)


@dataclasses.dataclass(frozen=True)
class GivenParameter:
    """A parameter with its values as written."""

    name: str
    values: tuple[str, ...]
    place: SourceLine
    is_list: bool = False
    """Whether it was in parentheses."""

    @property
    def written(self) -> str:
        """The text there."""
        value = ",".join(self.values)
        return cut(f"{self.name}=({value})" if self.is_list else f"{self.name}={value}")

    def error(self, why: str) -> FrontEndError:
        """Refuse it."""
        return self.place.error(f"'{self.written}': {why}")

    @property
    def single(self) -> str:
        """Its only value; raises FrontEndError where it has more."""
        if len(self.values) != 1:
            raise self.error("it takes one value here")
        return self.values[0]


@dataclasses.dataclass(frozen=True)
class Definition:
    """A definition: its kind, its name, and its parameters by the word as written, in order."""

    kind: str
    name: str
    place: SourceLine
    parameters: tuple[GivenParameter, ...]

    def error(self, why: str) -> FrontEndError:
        """Refuse it."""
        return self.place.error(f"{self.kind}={cut(self.name)}: {why}")


Lines = Iterable[tuple[SourceLine, str]]


def logical_lines(texts: Sequence[tuple[str, str]], variables: Mapping[str, str]) -> Lines:
    """Give the lines of files that have content, comments off, continued ones joined, variables put in.

    Args:
        texts: Name and text of each file, includes put in already (`words.py`).
        variables: By their names.

    Raises:
        FrontEndError: a variable without a value, or too many lines.
    """
    for file, text in texts:
        begun: tuple[SourceLine, str] | None = None
        lines = text.splitlines()
        if len(lines) > MOST_LINES:
            raise FrontEndError(file, MOST_LINES, f"the file goes on; the limit is {MOST_LINES} lines")
        for number, line in enumerate(lines, start=1):
            if line.strip().startswith("eof"):
                break
            if not line.strip() or line.strip()[0] in "/#*":
                continue
            place = SourceLine(file, number)
            statement = _before_comment(_with_variables(line.strip(), variables, place), place)
            begun = (begun[0], begun[1] + statement) if begun else (place, statement)
            if not statement.endswith(","):
                yield begun
                begun = None
        if begun:
            yield begun


def _with_variables(line: str, variables: Mapping[str, str], place: SourceLine) -> str:
    def value(match: re.Match[str]) -> str:
        word, name = match[0], match[1]
        if word == "#host" or name == "host":
            return "0" if word == "#host" else "localhost"
        if name in variables:
            return variables[name]
        if word[0] == "!":
            return word
        raise place.error(f"variable '{cut(word)}' has no value; give it behind the file names as {name}=VALUE")

    return _VARIABLE.sub(value, line) if "$" in line or "!" in line or "#host" in line else line


def _before_comment(line: str, place: SourceLine) -> str:
    """Cut a line at its first blank outside of quotes."""
    is_quoted = False
    for at, character in enumerate(line):
        if character == '"':
            is_quoted = not is_quoted
        elif character in " \t" and not is_quoted:
            statement, rest = line[:at], line[at:].strip()
            if statement.endswith(",") and "=" in rest.split(" ")[0]:
                raise place.error(f"'{cut(rest)}' follows a blank, where a comment begins; remove the blank")
            return statement
    if is_quoted:
        raise place.error("a quotation mark has no second one")
    return line


def parameters_in(lines: Lines) -> Iterator[GivenParameter]:
    """Take lines apart; raises FrontEndError where one cannot be."""
    for place, line in lines:
        for item in _items(line, place):
            yield _parameter(item, place)


def _items(line: str, place: SourceLine) -> Iterator[str]:
    """Cut at the commas outside of parentheses and quotes."""
    depth, begin, is_quoted = 0, 0, False
    for at, character in enumerate(line):
        if character == '"':
            is_quoted = not is_quoted
        elif not is_quoted and character in "()":
            depth += 1 if character == "(" else -1
            if depth not in (0, 1):
                raise place.error("parentheses inside parentheses" if depth > 1 else "')' without '('")
        elif character == "," and not depth and not is_quoted:
            if at > begin:
                yield line[begin:at]
            begin = at + 1
    if depth:
        raise place.error("'(' without ')'")
    if begin < len(line):
        yield line[begin:]


def _parameter(item: str, place: SourceLine) -> GivenParameter:
    name, separator, value = item.partition("=")
    if not separator or not name or not value:
        raise place.error(f"'{cut(item)}' is not a parameter; write name=value, or * in front of a comment")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,31}", name, re.ASCII):
        raise place.error(f"'{cut(name)}' is not a parameter name")
    is_list = value.startswith("(")
    if (is_list and not value.endswith(")")) or (not is_list and ("(" in value or ")" in value) and '"' not in value):
        raise place.error(f"'{cut(item)}': write the values as (a,b,c)")
    inside = value[1:-1] if is_list else value
    values = tuple(part.replace('"', "") for part in _values(inside)) if is_list else (inside.replace('"', ""),)
    if not all(values):
        raise place.error(f"'{cut(item)}': a value is empty")
    return GivenParameter(name.lower(), values, place, is_list)


def _values(inside: str) -> list[str]:
    return re.findall(r'(?:"[^"]*"|[^,"])+|(?<=,)(?=,)|^(?=,)|(?<=,)$|^$', inside)


def definitions(parameters: Iterable[GivenParameter]) -> tuple[tuple[GivenParameter, ...], tuple[Definition, ...]]:
    """Gather parameters into definitions: those of the whole file, and the definitions in order.

    Raises:
        FrontEndError: too many of them, or an empty name.
    """
    general: list[GivenParameter] = []
    found: list[tuple[GivenParameter, list[GivenParameter]]] = []
    kind = ""
    for count, parameter in enumerate(parameters):
        if count >= MOST_PARAMETERS:
            raise parameter.place.error(f"more than {MOST_PARAMETERS} parameters")
        if parameter.name in _BEGINS[kind]:
            kind = parameter.name
            found.append((parameter, []))
            if len(found) > MOST_DEFINITIONS:
                raise parameter.place.error(f"more than {MOST_DEFINITIONS} definitions")
        elif found:
            found[-1][1].append(parameter)
        else:
            general.append(parameter)
    return tuple(general), tuple(
        Definition(begin.name, begin.single, begin.place, tuple(rest)) for begin, rest in found
    )
