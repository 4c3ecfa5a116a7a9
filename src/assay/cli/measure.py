"""`assay measure DIR`: a load without a file."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.clients import with_clients
from assay.cli.options import (
    Device,
    Directory,
    Expect,
    Json,
    Link,
    LiveJson,
    Name,
    NoReport,
    Note,
    Quiet,
    Repeat,
    RequireTrust,
    Runs,
    Tag,
    User,
    WaitQuiet,
    argv,
    expected,
    given,
)
from assay.cli.pipes import say

if TYPE_CHECKING:
    from assay.cluster.asked import ClientsAsked


def _text(*names: str, metavar: str, help: str) -> Any:  # noqa: A002 - as typer calls it
    return typer.Option(*names, metavar=metavar, help=help)


@with_clients
def measure(
    directory: Directory,
    read: Annotated[bool, typer.Option("--read", help="Read; so it is where nothing else is said.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write, over data that was laid out before.")] = False,
    mix: Annotated[str | None, _text("--mix", metavar="R/W", help="Both: 70/30 is 70 % reads, 30 % writes.")] = None,
    random: Annotated[bool, typer.Option("--random", help="At random offsets, not in order.")] = False,
    bs: Annotated[
        str,
        _text("--bs", "--block-size", metavar="S", help="Bytes of one I/O: 4k, 128KiB; 4k,64k is a row for each."),
    ] = "4KiB",
    depth: Annotated[
        str,
        _text(
            "--depth",
            "--iodepth",
            "--queue-depth",
            metavar="N",
            help="I/Os in flight for each worker; above 1 io_uring keeps them. 1,4,16,32 is a row for each.",
        ),
    ] = "1",
    batch: Annotated[
        str,
        _text(
            "--batch",
            "--iodepth-batch",
            metavar="N",
            help="I/Os handed to the kernel in one call: more take less CPU time, and let storage wait.",
        ),
    ] = "1",
    workers: Annotated[
        str, _text("--workers", "--threads", "--numjobs", metavar="N", help="Threads that do the same.")
    ] = "1",
    files: Annotated[
        str | None,
        _text("--files", metavar="N", help="Files that hold the data [default: one for each worker]."),
    ] = None,
    size: Annotated[
        str | None, _text("--size", metavar="S", help="Size of the data, all files together [default: 1GiB].")
    ] = None,
    engine: Annotated[
        str | None,
        _text(
            "--engine",
            "--ioengine",
            metavar="NAME",
            help="psync, sync, io_uring, libaio, mmap or stdio [default: psync, from depth 2 on io_uring].",
        ),
    ] = None,
    direct: Annotated[bool, typer.Option("--direct", help="O_DIRECT: past the page cache.")] = False,
    sync: Annotated[bool, typer.Option("--sync", help="O_SYNC: each write is on storage when it is done.")] = False,
    dsync: Annotated[bool, typer.Option("--dsync", help="O_DSYNC: the same for data alone.")] = False,
    fsync_every: Annotated[str | None, _text("--fsync-every", metavar="N", help="fsync after each Nth write.")] = None,
    fdatasync_every: Annotated[
        str | None, _text("--fdatasync-every", metavar="N", help="fdatasync after each Nth write.")
    ] = None,
    rate: Annotated[
        str | None,
        _text(
            "--rate",
            metavar="N/s",
            help="Open loop: so many come each second, whether the one before is done or not; gives the response time.",
        ),
    ] = None,
    spacing: Annotated[
        str | None,
        _text("--spacing", metavar="HOW", help="They come 'uniform' (even) or 'poisson' [default: uniform]."),
    ] = None,
    limit: Annotated[
        str | None,
        _text(
            "--limit",
            metavar="RATE",
            help="Closed loop, held back to 500/s or 100MiB/s over all workers; what a stall took is not caught up.",
        ),
    ] = None,
    cache: Annotated[
        str | None,
        _text("--cache", metavar="HOW", help="cold, warm or as-is at the start [default: cold]."),
    ] = None,
    time: Annotated[str | None, _text("--time", "--runtime", metavar="T", help="Of each row [default: 20s].")] = None,
    extend: Annotated[
        str | None, _text("--extend", metavar="T", help="Go on until the rate is steady, so long at most.")
    ] = None,
    ramp: Annotated[
        str | None, _text("--ramp", metavar="T", help="The first so long is recorded, and kept out of the rate.")
    ] = None,
    seed: Annotated[str, _text("--seed", metavar="N", help="Of every random choice.")] = "1",
    verify: Annotated[bool, typer.Option("--verify", help="Stamp every sector, and check what is read.")] = False,
    as_toml: Annotated[
        bool, typer.Option("--as-toml", help="Print the load file for `assay run`, and measure nothing.")
    ] = False,
    repeat: Repeat = 1,
    json: Json = False,
    runs: Runs = None,
    no_report: NoReport = False,
    quiet: Quiet = False,
    user: User = None,
    link: Link = None,
    device: Device = None,
    name: Name = None,
    tag: Tag = None,
    note: Note = None,
    live_json: LiveJson = None,
    require_trust: RequireTrust = None,
    expect: Expect = None,
    wait_quiet: WaitQuiet = None,
    clients: "ClientsAsked | None" = None,
) -> None:
    """Measure one kind of load, without a load file; sequential reads of 4 KiB if nothing else is said."""
    from pathlib import Path

    from assay import config
    from assay.bundle.remarks import remarks
    from assay.loads import native
    from assay.loads.simple_load import simple_load
    from assay.loads.simple_text import SOURCE, load_text
    from assay.running.users import as_user
    from assay.session import Session
    from assay.targets import check_directory

    text = load_text(
        simple_load(
            read=read,
            write=write,
            mix=mix,
            random=random,
            bs=bs,
            depth=depth,
            batch=batch,
            workers=workers,
            files=files,
            size=size,
            engine=engine,
            direct=direct,
            sync=sync,
            dsync=dsync,
            fsync_every=fsync_every,
            fdatasync_every=fdatasync_every,
            rate=rate,
            spacing=spacing,
            limit=limit,
            cache=cache,
            time=time or config.usual_time(),
            extend=extend,
            ramp=ramp,
            seed=seed,
            verify=verify,
        )
    )
    place = Path(directory) if as_toml else check_directory(directory)
    plan = native.parse(text, SOURCE, directory=place, settings={}, repeat=repeat)
    facts = (*given(link, device), *expected(expect, plan))
    if as_toml:
        say(text, end="")
        return
    session = Session(
        argv(),
        runs=runs,
        json=json,
        report=not no_report,
        quiet=quiet,
        remarks=remarks(name, tag, note),
        live_json=live_json,
        require_trust=require_trust,
        wait_quiet=wait_quiet,
        clients=clients,
    )
    raise typer.Exit(session.measure(as_user(plan, user), source_text=text, facts=facts))
