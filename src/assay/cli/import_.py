"""`assay import`: keep results of other tools as foreign runs."""

from typing import Annotated

import typer

from assay.cli.options import Json, Name, Note, Runs, Tag, argv
from assay.cli.pipes import echo


def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Output files of other tools.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Format of the files [default: detected]."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(
            "--timezone",
            metavar="ZONE",
            help="Zone of times without one: Europe/Berlin, +02:00 or local [default: UTC].",
        ),
    ] = None,
    json: Json = False,
    name: Name = None,
    tag: Tag = None,
    note: Note = None,
    runs: Runs = None,
) -> None:
    """Keep results of other tools as foreign runs; prints their ids.

    Formats: fio (JSON), iozone, bonnie++, postmark, elbencho (CSV, JSON), vdbench, phoronix, io500, dd, and table, which is
    a plain CSV of labels, units and values. Each machine in each file becomes a run; repetitions in a file become
    repeats. Assay did not measure these results, so none is trusted; what the tool does not report is null.
    """
    import msgspec

    from assay.bundle.catalog import check_free, runs_directory, take_name
    from assay.bundle.remarks import remarks
    from assay.errors import InputError
    from assay.importing import keep, originals
    from assay.outward import json_text
    from assay.time_zone import zone_name

    place, text = runs_directory(runs), remarks(name, tag, note)
    zone = None if timezone is None else zone_name(timezone)
    found = [original for file in files for original in originals(file, format_, zone)]
    if text.name is not None:
        check_free(text.name, place)
        if len(found) > 1:
            raise InputError(
                f"--name {text.name}: these are {len(found)} runs, and a name is of one; --tag tags them all"
            )
    kept = []
    for original in found:
        bundle = keep(original, place, argv(), text)
        if text.name is not None:
            take_name(text.name, bundle.path)
        of = f" of {original.machine}" if original.machine else ""
        kept.append(
            {"run_id": bundle.run_id, "tool": original.tool, "machine": original.machine, "file": original.file_name}
        )
        if not json:
            echo(bundle.run_id)
            echo(f"{original.file_name}: {original.tool}{of}, kept as {bundle.run_id}", err=True)
    if json:
        echo(json_text(msgspec.json.format(msgspec.json.encode(kept), indent=2).decode()))
