"""`assay tag RUN`: name, tag or annotate a run."""

from typing import Annotated

import typer

from assay.cli.options import Json, RunReference, Runs
from assay.cli.pipes import echo


def tag(
    run: RunReference = "last",
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name the run; an earlier run loses the name. '' removes it."),
    ] = None,
    tag_: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Add a tag to the run. Repeatable.")
    ] = None,
    untag: Annotated[list[str] | None, typer.Option("--untag", metavar="TAG", help="Remove a tag. Repeatable.")] = None,
    note: Annotated[
        str | None,
        typer.Option("--note", metavar="TEXT", help="Attach a note of up to 1000 characters. '' removes it."),
    ] = None,
    json: Json = False,
    runs: Runs = None,
) -> None:
    """Name, tag or annotate a run; without options, show its name, tags and note.

    The results do not change. A name is unique in its runs directory, and can be used wherever RUN is expected.
    """
    import msgspec

    from assay.bundle.catalog import check_free, resolve, runs_directory, take_name
    from assay.bundle.remarks import change_remarks, changed, read_remarks
    from assay.outward import json_text, one_line

    folder = resolve(run, runs_directory(runs))
    if name:
        check_free(name, folder.parent)
    if (name, tag_, untag, note) == (None, None, None, None):
        text = read_remarks(folder)
    else:
        text = change_remarks(folder, lambda before: changed(before, name, tag_ or (), untag or (), note))
        for before in take_name(text.name, folder) if name and text.name else ():
            echo(f"'{name}' was the name of the run {before}, and is that of {folder.name} now", err=True)
    if json:
        shown = {"run_id": folder.name, "name": text.name, "tags": text.tags, "note": text.note}
        echo(json_text(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode()))
        return
    for what, words in (("run", folder.name), ("name", text.name), ("tags", " ".join(text.tags)), ("note", text.note)):
        echo(f"{what:<5} {one_line(words)}" if words else f"{what:<5} -")
