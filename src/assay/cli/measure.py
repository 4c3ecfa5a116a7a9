"""`assay measure DIR`: measure a load without a load file."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.clients import with_clients
from assay.cli.options import (
    DestroyData,
    Device,
    Directory,
    Expect,
    Json,
    Link,
    LiveJson,
    Name,
    NoReport,
    Note,
    Over,
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
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from assay.cluster.asked import ClientsAsked


def _text(*names: str, metavar: str, help: str) -> Any:  # noqa: A002 - as typer calls it
    return typer.Option(*names, metavar=metavar, help=help)


@with_clients
def measure(
    directory: Directory,
    read: Annotated[bool, typer.Option("--read", help="Read (default).")] = False,
    write: Annotated[bool, typer.Option("--write", help="Overwrite data that was laid out before.")] = False,
    mix: Annotated[
        str | None, _text("--mix", metavar="R/W", help="Mix reads and writes: 70/30 is 70 % reads, 30 % writes.")
    ] = None,
    random: Annotated[bool, typer.Option("--random", help="Access random offsets [default: sequential].")] = False,
    bs: Annotated[
        str,
        _text("--bs", "--block-size", metavar="S", help="Block size: 4k, 128KiB; a list (4k,64k) makes a row each."),
    ] = "4KiB",
    depth: Annotated[
        str,
        _text(
            "--depth",
            "--iodepth",
            "--queue-depth",
            metavar="N",
            help="I/Os in flight per worker; a list (1,4) makes a row each.",
        ),
    ] = "1",
    batch: Annotated[
        str,
        _text(
            "--batch",
            "--iodepth-batch",
            metavar="N",
            help="I/Os submitted per system call.",
        ),
    ] = "1",
    workers: Annotated[
        str, _text("--workers", "--threads", "--numjobs", metavar="N", help="Number of worker threads.")
    ] = "1",
    files: Annotated[
        str | None,
        _text("--files", metavar="N", help="Number of files [default: one per worker]."),
    ] = None,
    size: Annotated[str | None, _text("--size", metavar="S", help="Total size of the files [default: 1GiB].")] = None,
    engine: Annotated[
        str | None,
        _text(
            "--engine",
            "--ioengine",
            metavar="NAME",
            help="psync, sync, io_uring, libaio, mmap or stdio [default: psync; io_uring if the depth is above 1].",
        ),
    ] = None,
    direct: Annotated[bool, typer.Option("--direct", help="Bypass the page cache (O_DIRECT).")] = False,
    sync: Annotated[bool, typer.Option("--sync", help="Make each write durable, with metadata (O_SYNC).")] = False,
    dsync: Annotated[bool, typer.Option("--dsync", help="Make each write durable, data only (O_DSYNC).")] = False,
    fsync_every: Annotated[
        str | None, _text("--fsync-every", metavar="N", help="Call fsync after every Nth write.")
    ] = None,
    fdatasync_every: Annotated[
        str | None, _text("--fdatasync-every", metavar="N", help="Call fdatasync after every Nth write.")
    ] = None,
    rate: Annotated[
        str | None,
        _text(
            "--rate",
            metavar="N/s",
            help="Open loop: N arrivals per second; reports response times.",
        ),
    ] = None,
    spacing: Annotated[
        str | None,
        _text("--spacing", metavar="HOW", help="Spacing of arrivals: uniform or poisson [default: uniform]."),
    ] = None,
    limit: Annotated[
        str | None,
        _text(
            "--limit",
            metavar="RATE",
            help="Closed loop: limit the total rate, to 500/s or 100MiB/s.",
        ),
    ] = None,
    cache: Annotated[
        str | None,
        _text("--cache", metavar="HOW", help="Cache state at the start: cold, warm or as-is [default: cold]."),
    ] = None,
    time: Annotated[
        str | None, _text("--time", "--runtime", metavar="T", help="Measure each row for this time [default: 20s].")
    ] = None,
    extend: Annotated[
        str | None, _text("--extend", metavar="T", help="Extend a row until its rate is steady, by T at most.")
    ] = None,
    ramp: Annotated[str | None, _text("--ramp", metavar="T", help="Exclude the first T from the results.")] = None,
    seed: Annotated[str, _text("--seed", metavar="N", help="Seed of all random choices.")] = "1",
    verify: Annotated[bool, typer.Option("--verify", help="Stamp every sector, and verify what is read.")] = False,
    as_toml: Annotated[
        bool, typer.Option("--as-toml", help="Print the load file for `assay run`; measure nothing.")
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
    destroy_data: DestroyData = None,
    over: Over = None,
    clients: "ClientsAsked | None" = None,
) -> None:
    """Measure one load without a load file [default: sequential 4 KiB reads]."""
    from pathlib import Path

    from assay import config
    from assay.bundle.remarks import remarks
    from assay.loads import native
    from assay.loads.simple_load import of_device, simple_load
    from assay.loads.simple_text import SOURCE, load_text
    from assay.places import check_place
    from assay.running.destroying import DestroyAsked
    from assay.running.users import as_user
    from assay.session import Session
    from assay.targets import BLOCK

    destroy = DestroyAsked(devices=tuple(destroy_data or ()), over=tuple(over or ()))
    place = (
        Path(directory)
        if as_toml and not directory.startswith(BLOCK)
        else check_place(directory, destroy=destroy.devices)
    )
    if not isinstance(place, Path):
        size, files = of_device(place, size=size, files=files, verify=verify)
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
    plan = native.parse(text, SOURCE, directory=place, settings={}, repeat=repeat)
    facts = (*given(link, device), *expected(expect, plan))
    if as_toml:
        echo(text, end="")
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
        destroy=destroy,
    )
    raise typer.Exit(session.measure(as_user(plan, user), source_text=text, facts=facts))
