"""`assay export`: write figures, tables, or the run as one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from assay.cli.options import RunReference, Runs, refuse_foreign
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.record import RunRecord
    from assay.bundle import RunBundle
    from assay.tools.output_files import OutputFile


def export(
    run: RunReference = "last",
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="DIR", help="Write each figure as a picture into this directory.")
    ] = None,
    picture_format: Annotated[Literal["png", "svg"], typer.Option("--format", help="Format of pictures.")] = "png",
    files: Annotated[
        Path | None,
        typer.Option("--files", metavar="DIR", help="Write the classic tool's output files into this directory."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="DIR",
            help="Write results, intervals, marks as CSV into this directory.",
        ),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="DIR", help="Write the same tables as Parquet.")
    ] = None,
    xlsx: Annotated[
        Path | None,
        typer.Option("--xlsx", metavar="FILE", help="Write one workbook with tables, findings and facts."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Pack the whole run into this .tar.gz.")
    ] = None,
    runs: Runs = None,
) -> None:
    """Write a run's figures, tables, tool output, or the run as one archive.

    Prints the paths. The tables: results has a row per result, over_time a row per result and interval, marks a row per mark
    and result, and summaries, for a run with repeats, a row per result over its repeats.
    """
    from assay.bundle.catalog import open_run
    from assay.bundle.damage import report_damage
    from assay.errors import InputError

    if all(wanted is None for wanted in (charts, files, csv, parquet, xlsx, output)):
        raise InputError(
            "export: nothing to write. Give --csv DIR, --parquet DIR or --xlsx FILE for its numbers, --charts DIR for "
            "pictures, --files DIR for a tool's files, or -o FILE.tar.gz for the run."
        )
    bundle = open_run(run, runs)
    if output is not None:
        from assay.report.archive import write_archive

        echo(write_archive(bundle.path, bundle.file_names(), output))
    if files is not None:
        from assay.analysis.record import read
        from assay.tools.output_files import write_into

        with report_damage(bundle.path):
            made = _files(read(bundle))
        for path in write_into(made, files):
            echo(path)
    if csv is not None or parquet is not None:
        _tables(bundle, csv, parquet)
    if xlsx is not None:
        _workbook(bundle, xlsx)
    if charts is not None:
        refuse_foreign("export --charts", bundle)
        from assay.analysis.record import read
        from assay.live.analysis_progress import document_with_progress
        from assay.report.export import PictureFormat, write_charts
        from assay.tools import registry

        with report_damage(bundle.path):
            recorded = read(bundle)
            document, pictures = document_with_progress(recorded), PictureFormat(picture_format)
            of_tool = registry.figures(recorded, document)
            for path in write_charts(recorded, document, charts, pictures, of_tool=of_tool):
                echo(path)


def _tables(bundle: "RunBundle", csv: Path | None, parquet: Path | None) -> None:
    from assay.analysis.record import read
    from assay.bundle.damage import report_damage
    from assay.live.analysis_progress import document_with_progress
    from assay.report.spreadsheets import tables, write_csv, write_parquet

    with report_damage(bundle.path):
        recorded = read(bundle)
        sheets = tables(recorded, document_with_progress(recorded))
    for folder, write in ((csv, write_csv), (parquet, write_parquet)):
        for path in write(sheets, folder) if folder is not None else ():
            echo(path)


def _workbook(bundle: "RunBundle", xlsx: Path) -> None:
    from assay.analysis.record import read
    from assay.bundle.damage import report_damage
    from assay.live.analysis_progress import document_with_progress
    from assay.report.output import check_file
    from assay.report.run_workbook import write_run_workbook

    check_file(xlsx)
    with report_damage(bundle.path):
        recorded = read(bundle)
        echo(write_run_workbook(recorded, document_with_progress(recorded), xlsx))


def _files(recorded: "RunRecord") -> "Sequence[OutputFile]":
    """Give the files of a classic tool's output; of a foreign run the one that it was imported from."""
    from assay.tools import registry
    from assay.tools.output_files import OutputFile

    if (original := recorded.original) is not None:
        return (OutputFile(path=Path(original.file_name), content=original.text.encode()),)
    return registry.output_of(recorded).files()
