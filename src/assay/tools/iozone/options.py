"""From an IOzone argument list to settings.

Options are short, may be bundled (`-Rab out.xls`), and come in a second alphabet after `-+`. What IOzone refuses is
refused here with the reason; what it takes and silently does otherwise (a size that is no number, an argument that is no
option, a test that it does not have) is refused too. What is not supported is refused, unless it does not change the load.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Any

from assay.errors import InputError
from assay.input_text import check_count
from assay.plan.limits import NUMBERS
from assay.tools.arguments import cut, digits
from assay.tools.iozone.clients import clients_in
from assay.tools.iozone.columns import CREATING_TESTS, EXTENSION_TESTS, LAST_TEST, MIXED_TEST, VECTORED_TESTS
from assay.tools.iozone.matrix import Matrix
from assay.tools.iozone.not_supported import NOT_SUPPORTED, NOTICES
from assay.tools.iozone.settings import DEFAULT_CHILDREN, DEFAULT_STRIDE, Settings
from assay.tools.named_files import NO_FILES, Files
from assay.tools.option_meaning import Noted, Refused
from assay.units import KIB

MOST_CHILDREN = int(NUMBERS["workers"].most)
_MOST = {
    "H": NUMBERS["queue_depth"].most,
    "k": NUMBERS["queue_depth"].most,
    "P": NUMBERS["cpus"].most,
    "J": NUMBERS["seconds"].most * 1000,
    "+q": NUMBERS["seconds"].most,
}
"""Largest value, by option; 2^31 of the others."""
_UNITS_KIB = {"k": 1, "m": 1 << 10, "g": 1 << 20}


def parse(arguments: Sequence[str], files: Files = NO_FILES) -> Settings:
    """Read an argument list, without the program's name, and the file of clients that it names.

    Raises:
        InputError: the list is not supported; the text has the fault and the cure.
    """
    check_count(arguments, "iozone")
    reader = _Reader(list(arguments))
    reader.read()
    settings = reader.settings()
    if (named := client_file(reader.taken)) is not None:
        if named not in files:
            raise InputError(f"iozone: -+m: the file of clients '{cut(named)}' does not exist")
        settings = dataclasses.replace(settings, clients=clients_in(named, files[named]))
    _check(settings, reader)
    settings.matrix.check()
    return settings


def options_of(arguments: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Take an argument list apart: each option in its order, without its sign (`a`, `+x`), with the words of its value.

    Raises:
        InputError: the list is none of IOzone.
    """
    reader = _Reader(list(arguments))
    reader.read()
    return reader.taken


def client_file(options: Sequence[tuple[str, tuple[str, ...]]]) -> str | None:
    """Name the file of clients, where options have one; the last counts."""
    return next((value for name, (value, *_) in reversed([one for one in options if one[1]]) if name == "+m"), None)


class _Reader:
    """One argument list on its way to settings."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = tuple(arguments)
        self._rest = arguments
        self.values: dict[str, Any] = {}
        self.sizes: dict[str, Any] = {}
        self._files: list[int] = []
        self._records: list[int] = []
        self._tests: set[int] = set()
        self._counts: list[int] = []
        self._notices: list[str] = []
        self._left_out: list[tuple[str, str]] = []
        self.seen: set[str] = set()
        self.taken: list[tuple[str, tuple[str, ...]]] = []
        """Options in their order, with the words of their values."""

    def read(self) -> None:
        while self._rest:
            word = self._rest.pop(0)
            if not word.startswith("-") or word == "-":
                raise InputError(
                    f"iozone: '{word}' is not an option; every argument begins with '-' or follows its option"
                )
            characters = word[1:]
            while characters:
                character, characters = characters[0], characters[1:]
                name = "+" + characters[:1] if character == "+" else character
                characters = characters[1:] if character == "+" else characters
                characters = self._option(name, characters)

    def _option(self, name: str, attached: str) -> str:
        """Apply one option; returns the rest of its word."""
        self.seen.add(name)
        self.taken.append((name, ()))
        match NOT_SUPPORTED.get(name):
            case Refused(why):
                raise InputError(f"iozone: -{name} {why}")
            case Noted(why):
                self._add_notice(NOTICES.get(name, ""))
                self._left_out.append((f"-{name}", why))
                return attached
        if name in _FLAGS:
            field, value, notice = _FLAGS[name]
            self.values[field] = value
            self._add_notice(notice)
            return attached
        if name == "F":
            self._child_files()
            return attached
        if name not in _VALUED:
            shown = name + attached if name == "-" else name
            raise InputError(f"iozone: -{shown} is not an option of IOzone; 'assay iozone --help' lists them")
        value, attached = self._argument(name, attached)
        _VALUED[name](self, value)
        return attached

    def _argument(self, name: str, attached: str) -> tuple[str, str]:
        if not attached and not self._rest:
            raise InputError(f"iozone: -{name} needs a value after it")
        value = attached or self._rest.pop(0)
        self.taken[-1] = (name, (value,))
        return value, ""

    def _add_notice(self, notice: str) -> None:
        if notice:
            self._notices.append(notice)

    # -- options with a value ------------------------------------------------------------------------------------------

    def file_size(self, text: str) -> None:
        size_kib = _kib("s", text) or 512
        self._files.append(size_kib)
        self._add_notice(f"File size set to {size_kib} kB")

    def record_size(self, text: str) -> None:
        size_kib = _kib("r", text) or 4
        self._records.append(size_kib)
        self._add_notice(f"Record Size {size_kib} kB")

    def bound(self, name: str, text: str, field: str, notice: str) -> None:
        self.sizes[field] = _kib(name, text)
        self._add_notice(notice.format(self.sizes[field]))

    def test(self, text: str) -> None:
        number = _number("i", text)
        if number > LAST_TEST:
            raise InputError(f"iozone: -i {number}: there is no such test; tests are 0 to {LAST_TEST}")
        self._tests.add(number)

    def children(self, text: str) -> None:
        self._counts.append(_children("t", text))

    def bound_of_children(self, name: str, text: str, field: str) -> None:
        self.values[field] = _children(name, text)

    def number(self, name: str, text: str, field: str, notice: str = "", default: int = 0) -> None:
        self.values[field] = _number(name, text) or default
        self._add_notice(notice.format(self.values[field]))

    def depth(self, name: str, text: str, notice: str) -> None:
        depth = _number(name, text)
        if depth < 1:
            raise InputError(f"iozone: -{name} {text}: at least 1 record is in flight")
        self.values["depth"] = depth
        self._add_notice(notice.format(depth))

    def file(self, text: str) -> None:
        if "F" in self.seen:
            raise InputError("iozone: -f and -F exclude each other: -F names the files of the children, -f that of one")
        self.values["file"] = PurePosixPath(text)

    def sheet(self, text: str) -> None:
        self.values |= {"sheet": text, "report": True}

    def verify(self, text: str) -> None:
        _number("V", text)
        self.values["verify"] = True
        self._add_notice("Verify Mode. Every block is stamped and compared; the pattern byte is not used.")

    def factor(self, text: str) -> None:
        self.sizes["factor"] = _number("+x", text)
        if self.sizes["factor"] < 2:
            raise InputError(f"iozone: -+x {text}: sizes grow by a factor of 2 or more")

    def percent(self, text: str) -> None:
        percent = _number("+p", text)
        if not 1 <= percent <= 100:
            raise InputError(f"iozone: -+p {text}: a share in per cent lies between 1 and 100")
        self.values["mix_readers_percent"] = percent
        self._add_notice(f"Percent read in mix test is {percent}")

    def _child_files(self) -> None:
        if "f" in self.seen:
            raise InputError("iozone: -f and -F exclude each other: -F names the files of the children, -f that of one")
        if not self._counts:
            raise InputError("iozone: -F takes as many files as there are children: write -t N before it")
        most = max(self._counts)
        files, self._rest = self._rest[:most], self._rest[most:]
        named = [name for name in files if not name.startswith("-")]
        if len(named) < most:
            raise InputError(f"iozone: -F names {len(named)} files for {most} children; name one for each")
        self.taken[-1] = ("F", tuple(files))
        self.values["files"] = tuple(PurePosixPath(name) for name in files)

    # -- the result ----------------------------------------------------------------------------------------------------

    def settings(self) -> Settings:
        many = len(self._files) > 1 or len(self._records) > 1
        is_all = bool(self.seen & {"z", "A"}) or many
        tests = self._tests | ({0, 1} if "A" in self.seen else set())
        matrix = Matrix(
            is_auto=bool(self.seen & {"a", "A"}),
            all_records=is_all,
            files_kib=tuple(dict.fromkeys(self._files)),
            records_kib=tuple(dict.fromkeys(self._records)),
            **self.sizes,
        )
        counts = tuple(self._counts)
        least, most = self.values.get("least", 0), self.values.get("most", 0)
        if least or most:
            least, most = least or most, most or least
            if least > most:
                raise InputError(f"iozone: -l {least} is more than -u {most}; give the smaller number to -l")
            counts = tuple(range(least, most + 1))
            self.values |= {"least": least, "most": most}
        return Settings(
            arguments=self._arguments,
            matrix=matrix,
            asked_tests=frozenset(tests),
            counts=counts,
            notices=tuple(self._notices),
            left_out=tuple(self._left_out),
            **{name: value for name, value in self.values.items() if name},
        )


def _number(name: str, text: str) -> int:
    number = digits(text)
    most = _MOST.get(name, 1 << 31)
    if number is None or number > most:
        raise InputError(f"iozone: -{name} {cut(text)}: write a whole number from 0 to {most:.0f}")
    return number


def _kib(name: str, text: str) -> int:
    """Read a size: a number of KiB, or with k, m or g after it."""
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].lower() in _UNITS_KIB else (text, "k")
    count = digits(number)
    if count is None:
        raise InputError(
            f"iozone: -{name} {cut(text)}: write a number of KiB, or one with k, m or g after it, such as 64k or 1g"
        )
    if count * _UNITS_KIB[unit] * KIB > NUMBERS["size"].most:
        raise InputError(f"iozone: -{name} {text}: the limit is 4 EiB")
    return count * _UNITS_KIB[unit]


def _children(name: str, text: str) -> int:
    number = _number(name, text) or DEFAULT_CHILDREN
    if number > MOST_CHILDREN:
        raise InputError(f"iozone: -{name} {number}: at most {MOST_CHILDREN} children run at once")
    return number


_FLAGS: dict[str, tuple[str, Any, str]] = {
    "a": ("", True, "Auto Mode"),
    "A": ("is_obsolete_auto", True, "Auto Mode 2. This option is obsolete. Use -az -i0 -i1 "),
    "z": ("", True, "Cross over of record size disabled."),
    "R": ("report", True, "Excel chart generation enabled"),
    "E": ("extensions", True, ""),
    "T": ("threads", True, ""),
    "x": ("stonewall", False, "Stonewall disabled"),
    "C": ("show_children", True, ""),
    "c": ("close_in_time", True, "Include close in write timing"),
    "e": ("flush_in_time", True, "Include fsync in write timing"),
    "o": ("sync", True, "SYNC Mode. "),
    "I": ("direct", True, "O_DIRECT feature enabled"),
    "B": ("mmap", True, "Using mmap files"),
    "G": ("mmap_flushes", True, "Using msync(MS_SYNC) on mmap files"),
    "K": ("jitter", True, "Disrupted read patterns selected."),
    "w": ("keep", True, "Setting no_unlink"),
    "W": ("lock", True, "Lock file when reading/writing."),
    "p": ("purge", True, "Purge Mode On"),
    "O": ("ops_per_s", True, "OPS Mode. Output is in operations per second."),
    "N": ("microseconds", True, "Microseconds/op Mode. Output is in microseconds per operation."),
    "Q": ("latency_files", True, "Offset/latency files enabled."),
    "+n": ("retest", False, "No retest option selected"),
    "+d": ("verify", True, ">>> I/O Diagnostic mode enabled. <<<"),
    "+D": ("dsync", True, ">>> O_DSYNC mode enabled. <<<"),
    "+r": ("sync", True, "Read & Write sync mode active."),
    "+J": ("compute_counts", True, ">>> Think time is included in throughput cal. <<<"),
    "+B": ("mix_sequential", True, ">>> Sequential Mixed workload. <<<"),
    "+k": ("constant_total", True, ""),
}
"""Options without a value: field, value, and the line that IOzone prints."""

_VALUED: dict[str, Callable[[_Reader, str], None]] = {
    "s": _Reader.file_size,
    "r": _Reader.record_size,
    "n": lambda r, v: r.bound("n", v, "smallest_file_kib", "Using minimum file size of {} kilobytes."),
    "g": lambda r, v: r.bound("g", v, "largest_file_kib", "Using maximum file size of {} kilobytes."),
    "y": lambda r, v: r.bound("y", v, "smallest_record_kib", "Using Minimum Record Size {} kB"),
    "q": lambda r, v: r.bound("q", v, "largest_record_kib", "Using Maximum Record Size {} kB"),
    "i": _Reader.test,
    "b": _Reader.sheet,
    "f": _Reader.file,
    "t": _Reader.children,
    "l": lambda r, v: r.bound_of_children("l", v, "least"),
    "u": lambda r, v: r.bound_of_children("u", v, "most"),
    "H": lambda r, v: r.depth("H", v, "POSIX async I/O (with bcopy). Depth {}"),
    "k": lambda r, v: r.depth("k", v, "POSIX Async I/O (no bcopy). Depth {} "),
    "j": lambda r, v: r.number("j", v, "stride", default=DEFAULT_STRIDE),
    "J": lambda r, v: r.number("J", v, "compute_ms"),
    "P": lambda r, v: r.number("P", v, "first_cpu", "Binding of processors beginning with {} "),
    "S": lambda r, v: r.number("S", v, "cache_kib", default=1024),
    "L": lambda r, v: r.number("L", v, "cache_line_bytes", default=32),
    "V": _Reader.verify,
    "+q": lambda r, v: r.number("+q", v, "pause_s", "Delay {} seconds between tests enabled."),
    "+m": lambda _r, _v: None,
    "+x": _Reader.factor,
    "+p": _Reader.percent,
}
"""Options with a value."""


def _check(settings: Settings, reader: _Reader) -> None:
    """Refuse what does not go together."""
    seen = reader.seen
    if settings.is_throughput:
        _check_throughput(settings, seen)
    elif settings.files:
        raise InputError("iozone: -F names the files of several children; give their number with -t before it")
    _check_modes(settings, seen)
    _check_tests(settings)
    if settings.clients is not None:
        _check_clients(settings)


def _check_clients(settings: Settings) -> None:
    """Refuse what children on several machines do not go with."""
    if len(settings.counts) != 1:
        raise InputError("iozone: -+m spreads one number of children over its clients: give one with -t")
    if settings.files:
        raise InputError("iozone: -F names files of this machine's children; with -+m leave it out")
    (count,) = settings.counts
    each = settings.children_of_each(count)
    readers = [sum(reads_in_mix(settings, child, of) for child in range(of)) for of in (count, each)]
    if MIXED_TEST in settings.tests and readers[0] * each != readers[1] * count:
        raise InputError(
            f"iozone: test 8 divides {count} children otherwise than {each} on each client; give each an even number"
        )


def reads_in_mix(settings: Settings, child: int, count: int) -> bool:
    """Return whether child `child` of `count` reads in the mixed test."""
    if settings.mix_readers_percent is not None:
        return child < count * settings.mix_readers_percent / 100
    return child % 2 == 0


def _check_tests(settings: Settings) -> None:
    extensions = settings.asked_tests & (EXTENSION_TESTS | VECTORED_TESTS)
    if extensions and not settings.extensions and not settings.is_throughput:
        raise InputError(f"iozone: test {min(extensions)} is one of the extensions: add -E")
    if settings.is_throughput and settings.asked_tests & VECTORED_TESTS:
        raise InputError("iozone: tests 11 and 12 have no throughput form; leave -t, -l and -u out")
    if not settings.is_throughput and settings.asked_tests == {MIXED_TEST}:
        raise InputError("iozone: test 8 mixes the work of several children: give their number with -t")
    if not (settings.loads() if settings.is_throughput else settings.columns()):
        raise InputError("iozone: none of the tests asked for is possible with the other options; look at -i")


def _check_modes(settings: Settings, seen: set[str]) -> None:
    """Refuse ways of I/O that exclude each other."""
    if {"H", "k"} <= seen:
        raise InputError("iozone: -H and -k are two ways of asynchronous I/O; choose one")
    if settings.mmap and settings.direct:
        raise InputError("iozone: -B goes through the page cache and -I around it; choose one")
    if settings.mmap and settings.depth:
        raise InputError("iozone: -B has no I/O that could be in flight, which -H and -k ask for; choose one")
    if settings.mmap and (settings.sync or settings.dsync):
        raise InputError("iozone: -o, -+D and -+r do nothing for a mapping (-B); use -G, which flushes each record")
    if settings.depth > 1 and (settings.compute_ms or settings.jitter):
        raise InputError("iozone: -J and -K act between records, and -H or -k keeps several in flight; choose one")
    if settings.depth > 1 and (settings.flush_in_time or settings.close_in_time):
        raise InputError("iozone: -e and -c end a test, which -H and -k cannot time in one; leave them out")
    if settings.depth > 1 and settings.lock:
        raise InputError("iozone: -W locks a file for one test, which -H and -k have no place for; leave it out")


def _check_throughput(settings: Settings, seen: set[str]) -> None:
    if settings.matrix.is_auto:
        raise InputError("iozone: the automatic mode (-a) and the throughput mode (-t, -l, -u) exclude each other")
    if "f" in seen:
        raise InputError("iozone: -f names one file and -t asks for several children: name one file for each with -F")
    if settings.files and len(settings.files) < max(settings.counts):
        raise InputError(f"iozone: -F names {len(settings.files)} files for {max(settings.counts)} children")
    if settings.microseconds:
        raise InputError("iozone: -N (microseconds per operation) has no meaning with -t; use -O or neither")
    if len(settings.matrix.files_kib) > 1 or len(settings.matrix.records_kib) > 1:
        raise InputError("iozone: the throughput mode takes one -s and one -r")
    if settings.latency_files:
        raise InputError("iozone: -Q follows one stream; leave -t out")
    if settings.matrix.smallest_file_kib or settings.matrix.largest_file_kib:
        raise InputError("iozone: -n and -g bound the automatic mode (-a); the throughput mode takes -s")


def needs_file(settings: Settings) -> bool:
    """Return whether the first test needs a file that an earlier run left (-w)."""
    if settings.is_throughput:
        return 0 not in settings.tests
    return settings.measured()[0].test not in CREATING_TESTS
