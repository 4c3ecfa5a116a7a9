"""Write the samples of captures into one file, which is a capture again."""

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from assay.captures.capture_files import Capture
from assay.report.output import check_file, write_whole


def write_table(captures: Sequence[Capture], path: Path) -> Path:
    """Write all samples as .csv or .parquet, replacing a file of that name; raises InputError and RunError."""
    check_file(path)
    table = pl.concat([capture.table for capture in captures])
    written = io.BytesIO()
    if path.suffix == ".parquet":
        table.write_parquet(written)
    else:
        table.write_csv(written)
    return write_whole(path, written.getvalue())
