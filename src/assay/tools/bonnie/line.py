"""The CSV lines of bonnie++: 27 fields in 1.03, 48 in 1.96 (format 1.96), 50 in 2.00 (format 1.98).

In a line a test that was not run is empty, and one that took less than half a second is `+++++`: the format defines this,
whatever a spreadsheet makes of it. The name of the machine is the one cell that others wrote (`outward.csv_cell`).

The original's own slips are not repeated: its header of format 1.98 omits two of the fifty names, its line leaves the chunk
size out, and it writes the number of directories into the field of the chunk size of files.
"""

from collections.abc import Sequence

from assay.outward import csv_cell
from assay.tools.bonnie.measured import MeasuredPass, MeasuredTest
from assay.tools.bonnie.plan import FILE_TESTS, IO_TESTS, TESTS
from assay.tools.bonnie.settings import DEFAULT_CHUNK_BYTES, HARD_LINKS, SYMBOLIC_LINKS, Settings
from assay.units import KIB

HIDDEN = "+++++"
HIDDEN_CPU = "+++"

_FORMATS = {"1.96": ("1.96", "1.96"), "2.00": ("1.98", "2.00a")}
"""Version of the format and of the program, by the version that is followed."""
_IO_NAMES = ("putc", "put_block", "rewrite", "getc", "get_block", "seeks")
_FILE_NAMES = ("seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del")


def header(version: str) -> str:
    """Name the fields of a line of 1.96 or 2.00, as -x prints them."""
    fields = ["format_version", "bonnie_version", "name", "concurrency", "seed", "file_size", "io_chunk_size"]
    if version != "1.96":
        fields += ["seek_count", "seek_proc_count"]
    fields += _with_cpu(_IO_NAMES)
    fields += ["num_files", "max_size", "min_size", "num_dirs", "file_chunk_size"]
    fields += _with_cpu(_FILE_NAMES)
    fields += [f"{name}_latency" for name in (*_IO_NAMES, *_FILE_NAMES)]
    return ",".join(fields)


def _with_cpu(names: Sequence[str]) -> list[str]:
    return [field for name in names for field in (name, f"{name}_cpu")]


def line_of(one: MeasuredPass) -> str:
    """Write the CSV line."""
    return ",".join(_old_fields(one) if one.settings.is_old else _fields(one))


def _fields(one: MeasuredPass) -> list[str]:
    settings = one.settings
    fields = [*_FORMATS[settings.version], csv_cell(one.machine), str(settings.concurrency), str(one.seed)]
    io = [size_text(one.size_mib), chunk_text(settings.chunk_bytes)] if one.size_mib else ["", ""]
    if settings.version != "1.96":
        io += [str(settings.seeks), str(settings.seekers)] if one.size_mib else ["", ""]
    files = [""] * 5
    if settings.number:
        directories = str(settings.directories) if settings.directories > 1 else ""
        chunk = str(settings.file_chunk_bytes) if settings.file_chunk_bytes != DEFAULT_CHUNK_BYTES else ""
        files = [str(settings.number), *_sizes(settings), directories, chunk]
    fields += [*io, *_cells(one, IO_TESTS), *files, *_cells(one, FILE_TESTS)]
    return [*fields, *(latency_text(one.tests.get(test)) for test in TESTS)]


def _old_fields(one: MeasuredPass) -> list[str]:
    fields = [csv_cell(one.machine), *([""] * 13)]
    if one.size_mib:
        fields = [csv_cell(one.machine), old_size_text(one), *_cells(one, IO_TESTS)]
    if not one.settings.number:
        return [*fields, *([""] * 13)]
    return [*fields, files_text(one.settings), *_cells(one, FILE_TESTS)]


def _cells(one: MeasuredPass, tests: Sequence[str]) -> list[str]:
    cells: list[str] = []
    for name in tests:
        test = one.tests.get(name)
        if test is None:
            cells += ["", ""]
        elif test.is_hidden:
            cells += [HIDDEN, HIDDEN_CPU]
        else:
            cells += [_rate(test, is_old=one.settings.is_old), str(test.cpu_percent)]
    return cells


def _rate(test: MeasuredTest, *, is_old: bool) -> str:
    if test.name == "random_seeks":
        return f"{test.rate:.1f}" if is_old or test.rate < 1000 else f"{test.rate:.0f}"
    return str(int(test.rate))


def size_text(size_mib: int) -> str:
    """Write a size in MiB as `300M` or `4G`."""
    return f"{size_mib}M" if size_mib % KIB else f"{size_mib // KIB}G"


def chunk_text(chunk_bytes: int) -> str:
    """Write a chunk as `64k` or `512`; the usual one is left out."""
    if chunk_bytes == DEFAULT_CHUNK_BYTES:
        return ""
    return str(chunk_bytes) if chunk_bytes % KIB else f"{chunk_bytes // KIB}k"


def old_size_text(one: MeasuredPass) -> str:
    """Write size and chunk as 1.03 does: `8G:64k`."""
    chunk = chunk_text(one.settings.chunk_bytes)
    return size_text(one.size_mib) + (f":{chunk}" if chunk else "")


def files_text(settings: Settings) -> str:
    """Write the files of the file tests: `4:4096:1024/4`."""
    largest, smallest = _sizes(settings)
    text = str(settings.number) + (f":{largest}" if largest else "") + (f":{smallest}" if smallest else "")
    return text + (f"/{settings.directories}" if settings.directories > 1 else "")


def _sizes(settings: Settings) -> tuple[str, str]:
    if settings.max_bytes in {HARD_LINKS, SYMBOLIC_LINKS}:
        return ("link" if settings.max_bytes == HARD_LINKS else "symlink", "")
    if not settings.max_bytes:
        return "", ""
    return str(settings.max_bytes), str(settings.min_bytes) if settings.min_bytes else ""


def latency_text(test: MeasuredTest | None) -> str:
    """Write the slowest operation: whole microseconds, milliseconds or seconds."""
    if test is None:
        return ""
    seconds = test.slowest_ns / 1e9
    if seconds > 99.999999:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds > 0.099999 else f"{seconds * 1e6:.0f}us"
