"""Create the `rich` console for a terminal, with colours: the only place that does.

The program's own output streams let nothing through that a terminal obeys (cli/pipes.py). A console writes past that,
because its colours are such codes, and takes them out of the text that it is given instead: no text is markup, none is an
escape sequence.
"""

import sys
from collections.abc import Iterable
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from assay.outward import plain


class PlainConsole(Console):
    """A console on which text is text."""

    def __init__(self, **options: Any) -> None:
        """Take the options of a console; markup, emoji codes and guessed colours are off."""
        super().__init__(**options, markup=False, emoji=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Give the parts of what is printed; those that move the cursor are the console's own."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(plain(part.text), part.style)


class _PastTheFilter:
    """A stream of the program, written to as it is where it takes text so."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return int(getattr(self._stream, "write_as_is", self._stream.write)(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console(*, stderr: bool = False) -> PlainConsole:
    """Make a console on standard output, or on standard error."""
    return PlainConsole(file=cast("IO[str]", _PastTheFilter(sys.stderr if stderr else sys.stdout)))
