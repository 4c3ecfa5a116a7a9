"""`assay perfpl`: the small-file script perf.pl."""

import typer


def perfpl(context: typer.Context) -> None:
    """The small-file test perf.pl: the same bytes written as few or many files.

    \b
    assay perfpl BLOCKSIZE BLOCKSPERFILE TOTALFILES FILESPERDIR ITERATIONS
    BLOCKSIZE        bytes of one write
    BLOCKSPERFILE    writes of each file
    TOTALFILES       files of each iteration
    FILESPERDIR      files of each directory
    ITERATIONS       how often, each time in a fresh tree
    --mode MODE      native: create, write and close [default]; fork: a process of dd
                     for each file, as the script does
    --fsync          flush each file before its close, in the time
    --sync           flush the file system after each iteration, in the time
    --dir DIR        where [default: the working directory]
    --json  --no-report  --runs DIR   as with every command that measures

    Standard output is the script's: its clock counts whole seconds, and its last row is a mean of rates. Standard error
    says the same exactly, the warm-up apart. Numbers of the two modes do not compare. See docs/tools/perfpl.md.
    """  # noqa: D301 - click keeps the lines after this sign as they are
    from pathlib import Path

    from assay.cli.classic import check_room, take_apart
    from assay.running.session import Session
    from assay.targets import check_directory
    from assay.tools.perfpl import plan as front_end

    asked = take_apart(context.args)
    settings = front_end.parse(asked.tool)
    directory = check_directory(Path(settings.directory))
    plan = front_end.to_plan(asked.tool, directory)
    check_room(
        directory,
        reserve_bytes=plan.reserve_bytes,
        needed_bytes=settings.capacity_bytes,
        needed_inodes=settings.files + settings.directories,
    )
    Session(runs=asked.runs, json=asked.json, report=not asked.no_report).measure(plan)
