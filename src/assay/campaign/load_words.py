"""Check the command line of a campaign's load: it is read as the command itself reads it, and nothing is measured.

A campaign's file may be a stranger's, and is executed by root: a load measures the directory of its cell, and writes
there alone. What a tool's own words name - clients, files next to its text, further directories - is what its front end
reports.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay.confinement import check_inside
from assay.errors import AssayError, InputError
from assay.own_files import scratch_folder
from assay.tools.named_files import NO_FILES, Files
from assay.tools.registry import TOOLS, front_end

if TYPE_CHECKING:
    from assay.tools.front_end import FrontEnd

FOR_ALL: Final = frozenset({"--json", "--live-json", "--runs", "--name", "--tag", "--no-report", "--quiet"})
"""Options that the campaign gives each load itself."""
NOT_ITS_OWN: Final = frozenset({"--target", "--allow-commands", "--destroy-data", "--over"})
"""Options by which a load would do more than measure the directory of its cell."""
OF_CLIENTS: Final = frozenset({
    "--hosts", "--observe", "--join", "--clients", "--join-wait", "--share", "--on-lost", "--interface", "--ssh-user",
    "--echo", "--insecure", "--insecure-as-root",
})  # fmt: skip
"""As `cli/clients.py` has them."""
_CELL: Final = "cell"
"""Name of an empty folder that replaces the directory of a cell while a command line is checked."""
_STANDARD_INPUT: Final = 0


def check_words(words: Sequence[str], place: str, text: str, text_place: str) -> None:
    """Refuse words that ask for more than a measurement of a directory.

    Args:
        words: Of the load, as its file has them.
        place: Placeholder of the directory of a cell in them, and in the text.
        text: Of the load's input; empty: it has none.
        text_place: Placeholder of its file in the command line.

    Raises:
        InputError: with the word, or what it asks for.
    """
    own = front_end(words[0]).own_options if words[0] in TOOLS else frozenset()
    for word in words[1:]:
        option = word.partition("=")[0]
        if option in own:
            continue
        if option in FOR_ALL:
            raise InputError(f"{option} is for the whole campaign")
        if option in OF_CLIENTS:
            raise InputError(f"{option}: a campaign measures its own device from this machine alone, without clients")
        if option in NOT_ITS_OWN:
            raise InputError(f"{option}: a load of a campaign measures {place} alone, and runs no programs")
    if words[0] in TOOLS:
        with scratch_folder() as folder, _in_memory(text.replace(place, str(folder / _CELL))) as given:
            cell = folder / _CELL
            cell.mkdir()
            put_in = [word.replace(place, str(cell)).replace(text_place, given) for word in words[1:]]
            try:
                _look(front_end(words[0]), put_in, cell)
            except AssayError as error:
                message = str(error).replace(str(cell), place).replace(given, text_place)
                raise InputError(message) from error


@contextlib.contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """Have a text in a file that lies in no folder; gives its path."""
    descriptor = os.memfd_create("assay-input", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _look(tool: "FrontEnd[Any]", words: Sequence[str], cell: Path) -> None:
    looking = _Looking(tool, cell)
    with _nothing_typed():
        tool.follow(words, looking)
    if not looking.runs:
        raise InputError(f"{tool.name}: these words measure nothing")


class _Looking:
    """The run context of a tool whose command line is only checked."""

    def __init__(self, tool: "FrontEnd[Any]", cell: Path) -> None:
        self._tool, self._cell = tool, cell
        self.runs = 0

    def measure(self, words: Sequence[str], files: Files = NO_FILES) -> int:
        """Look at one run."""
        self.runs += 1
        settings = self._tool.parse(words, files)
        if (hosts := self._tool.hosts(settings)) is not None:
            raise InputError(f"{hosts.by} names clients; a campaign measures its own device from this machine alone")
        measured = map(str, self._tool.measured_places(settings, self._cell.parent))
        for name in (*measured, *self._tool.output_names(settings)):
            check_inside(name, self._cell)
        return 0

    def may_write(self, name: str) -> bool:
        """Look at a file that the words have written; nothing is written now."""
        check_inside(name, self._cell)
        return False

    def check_action(self, what: str) -> None:
        """Refuse it."""
        raise InputError(f"{what} is no measurement")

    def write(self, text: str) -> None:
        """Print nothing."""


@contextlib.contextmanager
def _nothing_typed() -> Iterator[None]:
    """Have nobody at standard input, as a load has."""
    before, sys.stdin = sys.stdin, io.StringIO()
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    kept = os.dup(_STANDARD_INPUT)
    try:
        os.dup2(nothing, _STANDARD_INPUT)
        yield
    finally:
        os.dup2(kept, _STANDARD_INPUT)
        for descriptor in (kept, nothing):
            os.close(descriptor)
        sys.stdin = before
