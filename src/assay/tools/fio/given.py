"""The options of one job, read by name: each with its place, which an error names."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from assay.errors import InputError
from assay.tools.fio import values
from assay.tools.fio.command_line import fill_in, likely
from assay.tools.fio.job_file import Option, Section
from assay.tools.fio.option_table import ALIASES, ENGINES_REFUSED, OPTIONS
from assay.tools.option_meaning import Noted, Refused, Taken

T = TypeVar("T")


class JobOptions:
    """Options of a job after its globals; a later one replaces an earlier one of its name."""

    def __init__(self, options: Mapping[str, Option], where: str) -> None:
        """Hold options by name; `where` is the place of their job."""
        self._options = options
        self._where = where
        self.kb_base = 1024
        self.kb_base = self.whole("kb_base", 1024)

    def __contains__(self, name: str) -> bool:
        """Return whether an option is given."""
        return name in self._options

    def option(self, name: str) -> Option | None:
        """Give an option unchanged."""
        return self._options.get(name)

    def fault(self, name: str, why: str) -> InputError:
        """Make the refusal of an option."""
        return (self._options.get(name) or Option(name, None, self._where)).fault(why)

    def read(self, name: str, usual: T, reader: Callable[[str], T]) -> T:
        """Read a value; raises InputError with its place where it is none."""
        option = self._options.get(name)
        if option is None:
            return usual
        if option.value is None or not option.value:
            raise option.fault("has no value")
        try:
            return reader(option.value)
        except values.BadValueError as fault:
            raise option.fault(str(fault)) from None

    def each(self, name: str, usual: T, reader: Callable[[str], T]) -> tuple[T, T]:
        """Read a value for reads and one for writes."""

        def both(text: str) -> tuple[T, T]:
            reads, writes = values.by_direction(text)
            return reader(reads), reader(writes)

        return self.read(name, (usual, usual), both)

    def text(self, name: str, usual: str = "") -> str:
        """Read a text."""
        return self.read(name, usual, str)

    def word(self, name: str, usual: str) -> str:
        """Read a word, without the part after a colon."""
        return self.text(name, usual).partition(":")[0].strip()

    def size(self, name: str, usual: int = 0) -> int:
        """Read a size in bytes."""
        return self.read(name, usual, lambda text: values.size(text, self.kb_base))

    def whole(self, name: str, usual: int = 0, least: int = 0, most: int = values.MOST) -> int:
        """Read a whole number."""
        return self.read(name, usual, lambda text: values.whole(text, least, most))

    def seconds(self, name: str) -> float:
        """Read a time that is in seconds without a unit; 0 where it is not given."""
        return self.read(name, 0, lambda text: values.time_us(text, is_seconds=True)) / values.US_PER_S

    def microseconds(self, name: str) -> int:
        """Read a time that is in microseconds without a unit; 0 where it is not given."""
        return self.read(name, 0, lambda text: values.time_us(text, is_seconds=False))

    def flag(self, name: str, *, usual: bool = False) -> bool:
        """Read a switch."""
        option = self._options.get(name)
        if option is None:
            return usual
        try:
            return values.boolean(option.value)
        except values.BadValueError as fault:
            raise option.fault(str(fault)) from None

    def shown(self) -> dict[str, str]:
        """Give the options as fio shows them."""
        return {name: option.value or "1" for name, option in self._options.items()}


def of_section(
    where: str, options: Iterator[Option], variables: Mapping[str, str], notes: dict[str, str]
) -> JobOptions:
    """Look at the options of a job, which is all of them in order.

    Args:
        where: Its place.
        options: Its globals, then its own.
        variables: Of the environment.
        notes: Options that are left out, with why: added to.

    Raises:
        InputError: one is unknown or not supported.
    """
    found: dict[str, Option] = {}
    listed = list(options)
    _check_engine(listed)
    for given in listed:
        name = ALIASES.get(given.name, given.name)
        meaning = OPTIONS.get(name)
        if meaning is None:
            raise given.fault(f"is not an option of fio that Assay supports{likely(given.name)}")
        option = fill_in(given, variables)
        match meaning:
            case Refused(why, usual) if (option.value or "1") not in usual:
                raise option.fault(f"is not supported: {why}")
            case Noted(why, supported) if (option.value or "").partition(":")[0].strip() not in supported:
                notes[given.name] = why
                found.pop(name, None)
            case Taken() | Noted():
                found.pop(name, None)  # the order is that of the last ones
                found[name] = option
    return JobOptions(found, where)


def _check_engine(options: list[Option]) -> None:
    """Refuse an unsupported engine before the options that belong to it alone."""
    for option in options:
        engine = (option.value or "").partition(":")[0]
        if option.name == "ioengine" and engine in ENGINES_REFUSED:
            raise option.fault(f"is not supported: {ENGINES_REFUSED[engine]}")


def jobs_of(
    sections: tuple[Section, ...], overrides: tuple[Option, ...]
) -> Iterator[tuple[Section, Iterator[Option], tuple[Option, ...]]]:
    """Give each job with all of its options, and those of them that are shared."""
    shared: tuple[Option, ...] = ()
    for section in sections:
        if section.is_global:
            shared += section.options
        else:
            yield section, iter((*shared, *section.options, *overrides)), shared
