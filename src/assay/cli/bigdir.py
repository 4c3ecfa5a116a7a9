"""`assay bigdir`: one growing directory."""

import typer


def bigdir(context: typer.Context) -> None:
    """The test of one big directory: make entries, list them all after every step.

    \b
    assay bigdir COUNT [STEP]
    COUNT            entries to make, by each client
    STEP             entries from one listing to the next [default: 1]
    --type dir|file  what an entry is: a directory (mkdir) or an empty file
    --files          the same as --type file
    --readdir-only   list names alone [default: look at each entry too]
    --clients N      so many at once, each in a directory of its own
    --dir DIR        where [default: the working directory]
    --json  --no-report  --runs DIR   as with every command that measures

    Standard output is the tool's CSV, with several clients the mean over them. The report has the curves with the
    fastest and slowest client. See docs/tools/bigdir.md.
    """  # noqa: D301 - click keeps the lines after this sign as they are
    from pathlib import Path

    from assay.cli.classic import check_room, take_apart
    from assay.running.session import Session
    from assay.targets import check_directory
    from assay.tools.bigdir import plan as front_end

    asked = take_apart(context.args)
    settings = front_end.parse(asked.tool)
    directory = check_directory(Path(settings.directory))
    plan = front_end.to_plan(asked.tool, directory)
    check_room(
        directory, reserve_bytes=plan.reserve_bytes, needed_bytes=0, needed_inodes=settings.count * settings.clients
    )
    Session(runs=asked.runs, json=asked.json, report=not asked.no_report).measure(plan)
