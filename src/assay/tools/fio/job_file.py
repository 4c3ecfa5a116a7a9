"""fio's job files: sections of options, line by line.

    [global]            options for all sections behind it
    rw=randread         an option; from ';' or '#' to the end of the line is comment
    [name]              a job
    include other.fio   the lines of another file, which has no sections of its own

`${NAME}` in an option is a variable of the environment; what it holds is the text of that one option and is not looked at
for lines, sections or options. `$ncpus`, `$pagesize` and `$mb_memory` are the machine's.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.errors import InputError
from assay.tools.arguments import cut
from assay.tools.named_files import Files, Include, included_path

GLOBAL = "global"
VARIABLE = re.compile(r"\$\{([^}]*)\}")
MACHINE = re.compile(r"\$(?:ncpus|pagesize|mb_memory)")
"""Words that stand for numbers of the machine, wherever they are in an option."""

_MOST_CHARACTERS = 4096
"""Of a line: fio's own limit."""
_DEEPEST = 8
"""Files included in each other."""
_MOST_SECTIONS = 2000


@dataclass(frozen=True)
class Option:
    """An option as it was given; `value` is None where it has none."""

    name: str
    value: str | None
    where: str
    """`file:line`, or the word of the command line."""

    def fault(self, why: str) -> InputError:
        """Make the refusal of it."""
        given = self.name if self.value is None else f"{self.name}={cut(self.value)}"
        return InputError(f"fio: {self.where}: '{given}' {why}")


@dataclass(frozen=True)
class Section:
    """A job, or what all jobs behind it begin with."""

    name: str
    where: str
    options: tuple[Option, ...] = field(default=())
    is_global: bool = False


def split(word: str, where: str) -> Option:
    """Read `name=value` or `name`."""
    name, separator, value = word.partition("=")
    return Option(name.strip(), value.strip() if separator else None, where)


def includes(text: str) -> Iterator[Include]:
    """Find the lines of a text that include files."""
    for number, line in enumerate(text.split("\n"), start=1):
        if (name := _included(_bare(line))) is not None:
            yield Include(number, name)


def sections(path: str, texts: Files) -> list[Section]:
    """Read a job file.

    Args:
        path: Its name, as given.
        texts: Texts of it and of all that it includes.

    Raises:
        InputError: a line is none of a job file.
    """
    found: list[tuple[str, str, list[Option]]] = []
    for where, line in _lines(path, texts, 0):
        if line.startswith("["):
            if not line.endswith("]") or not line[1:-1].strip():
                raise InputError(f"fio: {where}: '{cut(line)}' opens a section and has no ']' behind a name")
            found.append((line[1:-1], where, []))
            if len(found) > _MOST_SECTIONS:
                raise InputError(f"fio: {where}: this is section {len(found)}; {_MOST_SECTIONS} are the most")
        elif not found:
            raise InputError(f"fio: {where}: '{cut(line)}' stands before the first section; put it under [global]")
        else:
            found[-1][2].append(split(line, where))
    # As fio: whatever begins like it is global.
    return [Section(name, where, tuple(options), name.startswith(GLOBAL)) for name, where, options in found]


def _lines(path: str, texts: Files, depth: int) -> Iterator[tuple[str, str]]:
    """Give the lines that say something, each with where it is."""
    if depth > _DEEPEST:
        raise InputError(f"fio: {path}: files include each other more than {_DEEPEST} deep")
    for number, raw in enumerate(texts[path].split("\n"), start=1):
        line, where = _bare(raw), f"{path}:{number}"
        if not line:
            continue
        if len(line) > _MOST_CHARACTERS or not line.replace("\t", " ").isprintable():
            raise InputError(
                f"fio: {where}: a line has at most {_MOST_CHARACTERS} letters, and no signs that steer a terminal"
            )
        name = _included(line)
        if name is None:
            if depth and line.startswith("["):
                raise InputError(f"fio: {where}: '{cut(line)}': a file that is included has no sections of its own")
            yield where, line
        elif (included := included_path(path, name)) not in texts:
            raise InputError(f"fio: {where}: '{cut(name)}' is not there to be included")
        else:
            yield from _lines(included, texts, depth + 1)


def _bare(line: str) -> str:
    return re.split("[;#]", line, maxsplit=1)[0].strip()


def _included(line: str) -> str | None:
    found = re.fullmatch(r"include[\s=]+(\S.*)", line)
    return found[1] if found else None
