"""Files that the words of a tool name: read once, and kept with the run by their names.

What a run was made of, words and files, is in its Plan (`Origin`): it can be shown and repeated without any of the
files after the run. A file may include others, where its tool supports that: files next to it or below, by a name that
is not absolute, has no `..` and leads over no link. So the author of a file cannot have other files read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assay.errors import FrontEndError, InputError
from assay.input_text import read_text
from assay.tools.arguments import cut

Files = Mapping[str, str]
"""Texts by the names of their files: as the words have them, and of what is included as `included_path` gives it."""
NO_FILES: Files = MappingProxyType({})
_MOST_FILES = 100


@dataclass(frozen=True)
class Include:
    """A line that includes a file."""

    line: int
    name: str
    """As written there."""


def nothing_included(_: str) -> Iterable[Include]:
    """Find no includes, for tools without includes."""
    return ()


def read_files(
    tool: str, names: Sequence[str], what: str, includes: Callable[[str], Iterable[Include]] = nothing_included
) -> dict[str, str]:
    """Read files, and all that they include.

    Args:
        tool: Its name, for messages.
        names: As the words have them; `-` is standard input.
        what: What such a file is to the user, such as `job file`.
        includes: Finds the lines of a text that include others.

    Raises:
        InputError: one is not there, is no text, or is none that may be included.
    """
    found: dict[str, str] = {}
    for name in names:
        found[name] = _read(tool, name, what)
        waiting = [name]
        while waiting:
            holder = waiting.pop()
            for include in includes(found[holder]):
                path = _check_include(holder, include)
                if path not in found:
                    found[path] = _read(tool, path, what, follows=False)
                    waiting.append(path)
                if len(found) > _MOST_FILES:
                    raise InputError(f"{tool}: {cut(name)}: more than {_MOST_FILES} files")
    return found


def included_path(holder: str, name: str) -> str:
    """Name a file that another one includes: next to that."""
    return str(Path(holder).parent / name)


def _check_include(holder: str, include: Include) -> str:
    folder, wanted = Path(holder).resolve().parent, Path(include.name)
    if not include.name:
        raise FrontEndError(holder, include.line, "include names no file")
    if wanted.is_absolute() or ".." in wanted.parts or "\0" in include.name:
        text = f"'{cut(include.name)}' leaves the folder of the file; put it next to that file"
        raise FrontEndError(holder, include.line, text)
    if (folder / wanted).resolve() != folder / wanted:
        text = f"'{cut(include.name)}' is reached over a link, which is not followed"
        raise FrontEndError(holder, include.line, text)
    return included_path(holder, include.name)


def _read(tool: str, name: str, what: str, *, follows: bool = True) -> str:
    try:
        return read_text("/dev/stdin" if name == "-" else name, what, follows=follows)
    except FileNotFoundError:
        raise InputError(f"{tool}: the {what} '{cut(name)}' does not exist") from None
