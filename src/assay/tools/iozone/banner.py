"""The lines above the numbers: program, time and options."""

import datetime as dt
from collections.abc import Iterable
from typing import TYPE_CHECKING

from assay.tools.iozone.settings import Settings

if TYPE_CHECKING:
    from assay.analysis.record import RunRecord

FORMAT_VERSION = "3.489"
"""IOzone whose output this is, line by line."""
BUILD = "assay-engine"


def text(run: "RunRecord", settings: Settings) -> str:
    """Print the head. The lines of the options are in the order of the command line."""
    began = dt.datetime.fromisoformat(run.info.started_utc).astimezone()
    lines = [
        *_head(run.info.assay_version),
        "",
        f"Run began: {began:%a %b} {began.day:2d} {began:%H:%M:%S %Y}",
        "",
        *settings.notices,
        f"Command line used: {command_line(settings)}",
        *_after(settings),
    ]
    return _indent(lines)


def version_text(version: str) -> str:
    """Print what `-v` does: the first lines of each output."""
    return _indent(_head(version))


def _head(version: str) -> list[str]:
    # Readers of this output look for a version and a build in its first lines.
    return [
        f"Assay {version}: output in the format of IOzone",
        f"{'':8}Version {FORMAT_VERSION} of the format",
        f"\tBuild: {BUILD}",
    ]


def _indent(lines: Iterable[str]) -> str:
    return "".join(f"\t{line}\n" if line else "\n" for line in lines)


def command_line(settings: Settings) -> str:
    """Give the command line as IOzone repeats it."""
    # The name of a file of clients, without its content.
    return " ".join(("iozone", *(word.split("\n", 1)[0] for word in settings.arguments)))


def unit(settings: Settings) -> str:
    """Name the unit of the throughput mode."""
    return "ops" if settings.ops_per_s else "kB"


def unit_line(settings: Settings) -> str:
    """Name the unit of the reports."""
    return "Output is in ops/sec" if settings.ops_per_s else "Output is in kBytes/sec"


def _after(settings: Settings) -> list[str]:
    compute_s = settings.compute_ms / 1000
    return [
        *([f"Compute time {compute_s:f} seconds for reads and writes."] if settings.compute_ms else []),
        *([] if settings.ops_per_s or settings.microseconds else [unit_line(settings)]),
        "Time Resolution = 0.000001 seconds.",
        f"Processor cache size set to {settings.cache_kib} kBytes.",
        f"Processor cache line size set to {settings.cache_line_bytes} bytes.",
        f"File stride size set to {settings.stride} * record size.",
    ]
