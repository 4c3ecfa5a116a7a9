"""`assay capture`: read what other programs recorded of a load."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import capture_options
from assay.cli.options import Json

LEAST_INTERVAL_S = 0.1
"""The kernel's times are in milliseconds."""


def capture(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="read: show captures; record: make one of this machine.")
    ],
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE...]", help="Captures; .gz and .zst, too.")] = None,
    only: capture_options.Only = None,
    format_: capture_options.Format = None,
    timezone: capture_options.Timezone = None,
    date_order: capture_options.DateOrderAsked = None,
    begin: capture_options.Begin = None,
    interval: capture_options.Interval = None,
    host: capture_options.HostAsked = None,
    columns: capture_options.Columns = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write all samples as .csv or .parquet."),
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", metavar="T", help="Record for so long [default: until Ctrl-C].")
    ] = None,
    json: Json = False,
) -> None:
    """Read captures of other programs, or record one: what each device did, interval by interval.

    The format of a file is found by its content, and what had to be assumed is printed. `assay size` takes the same files
    and options; a table written with --output is a capture, too. `record` writes one of the disks of this machine, every
    second or as --interval says.
    """
    from assay.errors import InputError

    if action == "record":
        if files or output is None or output.suffix != ".csv":
            raise InputError("assay capture record: name one table to write: assay capture record -o FILE.csv")
        _record(output, interval, time, host)
        return
    if action != "read" or not files:
        raise InputError("write assay capture read FILE..., or assay capture record -o FILE.csv")
    if time is not None:
        raise InputError("--time is for assay capture record")
    if output is not None and output.suffix not in {".csv", ".parquet"}:
        raise InputError(f"--output {output}: write a name that ends with .csv or .parquet")
    asked = capture_options.asked_of(timezone, date_order, begin, interval, host, columns)
    from assay.captures.capture_files import read_captures
    from assay.captures.capture_summary import summary
    from assay.report.capture_table import write_table

    captures = read_captures(files, asked, format_)
    if output is not None and all(capture.inventory is not None for capture in captures):
        raise InputError(f"{files[0]}: there is no sample to write")
    found = summary(captures, only or ())
    if output is not None:
        write_table(captures, output)
    if json:
        from assay.captures.capture_summary import to_json
        from assay.cli.pipes import echo

        echo(to_json(found))
    else:
        from assay.console import console
        from assay.report.captures_text import render_captures

        render_captures(found, console())


def _record(path: Path, interval: str | None, time: str | None, host: str | None) -> None:
    import sys

    from assay.captures.disk_recording import record
    from assay.errors import INTERRUPTED, InputError, RunError, reason_of
    from assay.live.progress_line import ProgressLine
    from assay.outputs import output as opened
    from assay.running.stopping import Stops
    from assay.units import format_number, parse_seconds

    interval_s = parse_seconds(interval or "1s")
    most_s = None if time is None else parse_seconds(time)
    if interval_s < LEAST_INTERVAL_S or (most_s is not None and most_s <= 0):
        raise InputError(f"--interval is {LEAST_INTERVAL_S:g} s at least, and --time above 0")
    if path.exists():
        raise InputError(f"{path}: is there already; name another file (assay size reads several)")
    line = ProgressLine(sys.stderr)

    def progress(recorded_s: float, iops: float) -> None:
        line.show(f"{recorded_s:.0f} s recorded into {path}; {format_number(iops)} IOPS; Ctrl-C ends it")

    with Stops() as stops:
        try:
            with opened(path) as out:
                record(out, interval_s, most_s, lambda: stops.count > 0, progress=progress, host=host)
        except OSError as error:
            raise RunError(f"{path}: {reason_of(error)}") from error
        finally:
            line.clear()
    if stops.count and most_s is not None:
        raise typer.Exit(INTERRUPTED)
