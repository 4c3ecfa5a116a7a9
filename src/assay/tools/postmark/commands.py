"""PostMark's command language: a line and the settings so far -> new settings, or something to do.

A command is found by its name, which the line begins with; the first of the table wins. What follows the name and one
more character is its argument. A line that cannot be followed raises InputError with PostMark's own words for it, and
with what would be right.
"""

import dataclasses
from collections.abc import Callable, Sequence

from assay.errors import InputError
from assay.tools.arguments import cut
from assay.tools.postmark.settings import NO_BIAS, Location, Settings, whole_number

LARGEST_NUMBER = (1 << 31) - 1
"""PostMark's numbers are of 32 bits."""
MOST_FILES = 10_000_000
"""A table of twice as many places is kept in memory while the operations are worked out, about 200 bytes a file."""
MOST_TRANSACTIONS = 100_000_000
"""Each is a line of a list on the disk, some 25 bytes."""
MOST_DIRECTORIES = 1_000_000
"""The files of each are counted in memory."""
MOST_WEIGHT = 10_000
"""A location is drawn from a table with as many entries."""
ALIASES = {"?": "help", "exit": "quit"}
"""Allowed at the prompt alone."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """`run`: a report goes to the end of a file where one is named."""

    report: str


@dataclasses.dataclass(frozen=True)
class LoadCommands:
    """`load`: read commands from a file."""

    file: str


@dataclasses.dataclass(frozen=True)
class Show:
    """`show`: to the end of a file where one is named."""

    file: str


@dataclasses.dataclass(frozen=True)
class Help:
    """`help`."""

    text: str


@dataclasses.dataclass(frozen=True)
class Quit:
    """`quit`."""


Request = Measure | LoadCommands | Show | Help | Quit


class UnknownCommandError(InputError):
    """A line that begins with no command."""


def follow(line: str, settings: Settings) -> Settings | Request:
    """Execute one line; raises InputError for one that cannot be followed."""
    for name, _, action in COMMANDS:
        if line.startswith(name):
            return action(line[len(name) + 1 :], settings)
    raise UnknownCommandError("Eh?")


def meant(line: str) -> str:
    """Read a line of the prompt, which has more words."""
    word, blank, rest = line.partition(" ")
    return ALIASES.get(word, word) + blank + rest


def parse(lines: Sequence[str]) -> Settings:
    """Read settings from the commands of one run, as a Plan keeps them; raises InputError."""
    settings = Settings()
    for line in lines:
        answer = follow(line, settings)
        if isinstance(answer, Measure):
            settings = dataclasses.replace(settings, report=answer.report)
        elif isinstance(answer, Settings):
            settings = answer
    return settings


def _size(argument: str, settings: Settings) -> Settings:
    words = argument.split()
    numbers = [_positive(word) for word in words]
    if not 1 <= len(words) <= 2 or None in numbers:
        raise InputError(
            f"Error: no file size low or high bounds specified ('{argument}' is not one or two whole numbers above 0)"
        )
    low, high = (number or 0 for number in (numbers * 2)[:2])
    return dataclasses.replace(settings, size_low_bytes=low, size_high_bytes=max(low, high))


def _number(field: str, refusal: str, most: int = LARGEST_NUMBER) -> Callable[[str, Settings], Settings]:
    def take(argument: str, settings: Settings) -> Settings:
        value = _positive(argument)
        if value is None:
            raise InputError(f"Error: {refusal} ('{cut(argument)}' is not a whole number above 0)")
        if value > most:
            raise InputError(f"Error: {refusal} ({value}; the limit is {most})")
        return _with(settings, field, value)

    return take


def _bias(field: str) -> Callable[[str, Settings], Settings]:
    def take(argument: str, settings: Settings) -> Settings:
        value = whole_number(argument)
        if value is None or not NO_BIAS <= value <= 10:
            raise InputError(f"Error: no bias specified (0-10 for greater chance,-1 to disable); it was '{argument}'")
        return _with(settings, field, value)

    return take


def _choice(field: str, refusal: str, meanings: dict[str, bool]) -> Callable[[str, Settings], Settings]:
    def take(argument: str, settings: Settings) -> Settings:
        if argument.strip() not in meanings:
            raise InputError(f"Error: {refusal} (it was '{argument}')")
        return _with(settings, field, meanings[argument.strip()])

    return take


def _location(argument: str, settings: Settings) -> Settings:
    sign = argument[:1] if argument[:1] in {"+", "-"} else ""
    text = argument[len(sign) :]
    if sign == "-":
        left = tuple(place for place in settings.locations if place.directory != text)
        if len(left) == len(settings.locations):
            raise InputError(f"Error: cannot find location '{text}'")
        return dataclasses.replace(settings, locations=left)
    place = _place(text)
    kept = settings.locations if sign else ()
    return dataclasses.replace(settings, locations=(*kept, place))


def _place(text: str) -> Location:
    directory, separator, last = text.rstrip().rpartition(" ")
    if not text.strip():
        raise InputError("Error: no directory name specified")
    weight = whole_number(last)
    if not separator or weight is None:
        # A directory whose name has a blank in it, not a weight.
        return Location(directory=text.rstrip())
    if not 0 < weight <= MOST_WEIGHT:
        raise InputError(
            f"Error: ignoring invalid weight '{last}' (a weight is a whole number above 0; the limit is {MOST_WEIGHT})"
        )
    return Location(directory=directory.rstrip(), weight=weight)


def _help(argument: str, _settings: Settings) -> Help:
    found = [row for row in COMMANDS if row[0].startswith(argument)] or COMMANDS
    return Help("".join(f"{name} - {what}\n" for name, what, _ in found))


def _positive(text: str) -> int | None:
    value = whole_number(text)
    return value if value is not None and 0 < value <= LARGEST_NUMBER else None


def _with(settings: Settings, field: str, value: object) -> Settings:
    changes: dict[str, object] = {field: value}
    return dataclasses.replace(settings, **changes)  # type: ignore[arg-type]  # the table below names fields and types


COMMANDS: tuple[tuple[str, str, Callable[[str, Settings], Settings | Request]], ...] = (
    ("set size", "smallest and largest size of a new file, in bytes", _size),
    ("set number", "files that exist at the same time", _number("files", "invalid number of files", MOST_FILES)),
    ("set seed", "seed of the random numbers", _number("seed", "invalid seed for random numbers")),
    (
        "set transactions",
        "transactions of a run",
        _number("transactions", "no transactions specified", MOST_TRANSACTIONS),
    ),
    ("set location", "directory of the files; +DIR [WEIGHT] adds one, -DIR takes one away", _location),
    (
        "set subdirectories",
        "directories in each location",
        _number("subdirectories", "invalid number of subdirectories", MOST_DIRECTORIES),
    ),
    ("set read", "bytes of one read", _number("read_block_bytes", "invalid read block size")),
    ("set write", "bytes of one write", _number("write_block_bytes", "invalid write block size")),
    (
        "set buffering",
        "true: through the buffer of the C library",
        _choice("is_buffered", "no buffering mode (true/false) specified", {"true": True, "false": False}),
    ),
    ("set bias read", "of ten reads and appends, how many are reads; -1: neither", _bias("bias_read")),
    ("set bias create", "of ten creations and deletions, how many are creations; -1: neither", _bias("bias_create")),
    (
        "set report",
        "verbose, or terse: one line of numbers",
        _choice("is_terse", "either 'verbose' or 'terse' required", {"terse": True, "verbose": False}),
    ),
    ("run", "measures; appends the report to a file if one is named", lambda text, _: Measure(text.strip())),
    ("load", "follows the commands of a file", lambda text, _: LoadCommands(text.strip())),
    ("show", "prints the settings; appends them to a file if one is named", lambda text, _: Show(text.strip())),
    ("help", "lists the commands with this prefix", _help),
    ("quit", "ends", lambda _text, _settings: Quit()),
)
"""Name, what it does, and how, in the order in which a line is compared with them."""
