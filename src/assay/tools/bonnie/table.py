"""The text table of bonnie++: eighty columns, one block for the file's tests, one for those of small files."""

from collections.abc import Callable, Sequence

from assay.tools.bonnie.line import HIDDEN, HIDDEN_CPU, chunk_text, files_text, latency_text, old_size_text, size_text
from assay.tools.bonnie.measured import MeasuredPass, MeasuredTest
from assay.tools.bonnie.plan import FILE_TESTS, IO_TESTS
from assay.tools.bonnie.settings import DEFAULT_SEEKS, SEEKERS

_NAME_WIDTH = 19
_TITLES = {"1.03": "Version 1.03d", "1.96": "Version  1.96", "2.00": "Version 2.00a"}
_IO_GROUPS = "------Sequential Output------ --Sequential Input- --Random-"
_IO_HEADS = "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--"
_FILE_GROUPS = "------Sequential Create------ --------Random Create--------"
_FILE_HEADS = "-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--"
_PER_SECOND = " ".join([" /sec %CP"] * 6)
_KIB_PER_SECOND = " ".join(["K/sec %CP"] * 5) + "  /sec %CP"


def table(one: MeasuredPass) -> str:
    """Write the table; what was not measured is blank."""
    blocks = [*(_io_block(one) if one.size_mib else ()), *(_file_block(one) if one.settings.number else ("",))]
    return "".join(f"{line}\n" for line in blocks)


def _io_block(one: MeasuredPass) -> list[str]:
    version = one.settings.version
    second, third, size = "", "Name:Size etc", _size_text(one)
    if version == "1.03":
        size = old_size_text(one)
        third = "Machine   Size:chnk" if ":" in size else "Machine        Size"
    elif version == "1.96":
        second, third = f"Concurrency {one.settings.concurrency:3d}", "Machine        Size"
        size = old_size_text(one)
    lines = [
        _line(_TITLES[version], _IO_GROUPS),
        _line(second, _IO_HEADS),
        _line(third, _PER_SECOND if version == "2.00" else _KIB_PER_SECOND),
        _line(_machine_columns(one.machine, size), _cells(one, IO_TESTS, _io_rate(version))),
    ]
    return [*lines, *_latencies(one, IO_TESTS)]


def _file_block(one: MeasuredPass) -> list[str]:
    version, files = one.settings.version, files_text(one.settings)
    title = "" if version == "1.03" and one.size_mib else _TITLES[version]
    name = "" if version == "1.03" and one.size_mib else one.machine[:_NAME_WIDTH]
    head = "files:max:min" if any(separator in files for separator in ":/") else f"{'files':>{_NAME_WIDTH}}"
    lines = [
        _line(title, _FILE_GROUPS),
        _line(name, _FILE_HEADS),
        _line(head, _PER_SECOND),
        _line(f"{files:>{_NAME_WIDTH}}", _cells(one, FILE_TESTS, _file_rate)),
    ]
    return [*lines, *_latencies(one, FILE_TESTS)]


def _line(left: str, right: str) -> str:
    return f"{left:<{_NAME_WIDTH}} {right}".rstrip()


def _machine_columns(name: str, size: str) -> str:
    """Put the name at the left and the size at the right; the size wins."""
    room = _NAME_WIDTH - len(size)
    return f"{name[: max(room - 1, 0)]:<{room}}{size}"


def _size_text(one: MeasuredPass) -> str:
    """Print size, chunk, concurrency, seeks and seekers of 2.00; usual ones are empty, and colons at the end left out."""
    settings = one.settings
    parts = [size_text(one.size_mib), chunk_text(settings.chunk_bytes)]
    parts.append(str(settings.concurrency) if settings.concurrency > 1 else "")
    parts.append(str(settings.seeks) if settings.seeks != DEFAULT_SEEKS else "")
    parts.append(str(settings.seekers) if settings.seekers != SEEKERS[settings.version] else "")
    return ":".join(parts).rstrip(":")


def _cells(one: MeasuredPass, tests: Sequence[str], rate: Callable[[MeasuredTest], str]) -> str:
    cells = []
    for name in tests:
        test = one.tests.get(name)
        if test is None:
            cells.append(" " * 9)
        elif test.is_hidden:
            cells.append(f"{HIDDEN} {HIDDEN_CPU}")
        else:
            cells.append(f"{rate(test):>5} {test.cpu_percent:3d}")
    return " ".join(cells)


def _io_rate(version: str) -> Callable[[MeasuredTest], str]:
    def rate(test: MeasuredTest) -> str:
        if test.name == "random_seeks":
            return f"{test.rate:5.1f}" if test.rate < 1000 else f"{test.rate:5.0f}"
        return _short_rate(test.rate) if version == "2.00" else f"{int(test.rate):5d}"

    return rate


def _short_rate(kib_per_s: float) -> str:
    """Print five characters for any rate, as 2.00 has them."""
    if kib_per_s < 10_000:
        return f"{int(kib_per_s):4d}k"
    mib_per_s = kib_per_s / 1024
    if mib_per_s < 1000:
        return f"{mib_per_s:4.1f}m" if mib_per_s < 100 else f"{mib_per_s:4.0f}m"
    return f"{mib_per_s / 1024:4.1f}g"


def _file_rate(test: MeasuredTest) -> str:
    return f"{int(test.rate):5d}"


def _latencies(one: MeasuredPass, tests: Sequence[str]) -> list[str]:
    if one.settings.is_old:
        return []
    # Two columns left of the rates' ends.
    cells = "".join(f"{latency_text(one.tests.get(test)):>10}" for test in tests)
    return [f"{'Latency':<17}{cells}".rstrip()]
