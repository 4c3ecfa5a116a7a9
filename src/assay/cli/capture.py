"""`assay capture`: read what other programs recorded of a load."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import capture_options
from assay.cli.options import Json


def capture(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="read: show what captures have.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Captures; .gz and .zst, too.")],
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
    json: Json = False,
) -> None:
    """Read captures: what was recorded of each device, by which program, and what had to be assumed.

    The format of a file is found by its content. `assay size` takes the same files and options; a table written with
    --output is a capture, too.
    """
    from assay.errors import InputError

    if action != "read":
        raise InputError(f"assay capture {action[:20]}: the only action is read")
    if output is not None and output.suffix not in {".csv", ".parquet"}:
        raise InputError(f"--output {output}: write a name that ends with .csv or .parquet")
    asked = capture_options.asked_of(timezone, date_order, begin, interval, host, columns)
    from assay.captures.reading import read_captures
    from assay.captures.capture_summary import summary
    from assay.report.capture_table import write_table

    captures = read_captures(files, asked, format_)
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
