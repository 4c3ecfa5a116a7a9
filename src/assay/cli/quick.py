"""`assay quick DIR`: measure a directory with a fixed set of loads."""

from typing import TYPE_CHECKING

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
    Size,
    Tag,
    Time,
    User,
    WaitQuiet,
    argv,
    expected,
    given,
)
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from pathlib import Path

    from assay.cluster.asked import ClientsAsked
    from assay.cluster.connection import Connection
    from assay.loads.sizing import Sizing
    from assay.places import DevicePlace
    from assay.plan import Plan


@with_clients
def quick(
    directory: Directory,
    time: Time = None,
    size: Size = None,
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
    """Measure a directory's storage in under two minutes: one table, one report."""
    from pathlib import Path

    from assay import config
    from assay.bundle.remarks import remarks
    from assay.confinement import check_action, check_output
    from assay.errors import InputError
    from assay.host.facts import Fact
    from assay.loads import quick as load
    from assay.loads.sizing import phase_lengths
    from assay.places import DevicePlace, check_place
    from assay.plan.limits import NUMBERS
    from assay.running.destroying import DestroyAsked
    from assay.running.users import as_user
    from assay.session import Session
    from assay.units import parse_bytes, parse_seconds

    destroy = DestroyAsked(devices=tuple(destroy_data or ()), over=tuple(over or ()))
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
    place = check_place(directory, destroy=destroy.devices)
    if isinstance(place, DevicePlace):
        check_action(f"measuring {place.path}")
    else:
        check_output(str(place))  # before the probe writes there
    wanted = time or config.usual_time()
    default = load.default_plan(place)
    # A time that is asked for is that of the whole run, as for any other load.
    seconds = load.default_seconds(default, place) * repeat if wanted is None else parse_seconds(wanted)
    if wanted is not None and not NUMBERS["seconds"].holds(seconds):
        raise InputError(f"--time {wanted}: {NUMBERS['seconds'].refusal(seconds)}")
    limits = expected(expect, default)
    asked = parse_bytes(size) if size else None
    if isinstance(place, Path):
        phase_lengths(seconds, repeat)  # refused before clients are asked to join
    if clients is None:
        _look_first(place if isinstance(place, Path) else place.path, has_to_wait=wait_quiet is not None)
    with session.connection() as connection:
        if isinstance(place, DevicePlace):
            sizing = _size_of_device(place, default, seconds, asked=asked, repeats=repeat)
        elif connection is None:
            sizing = _size(place, seconds, asked=asked, user=user, repeats=repeat)
        else:
            sizing = _size_of_each(connection, place, seconds, asked=asked, repeats=repeat)
        facts = (
            Fact(key="quick.size_bytes", value=sizing.size_bytes, source=sizing.reason),
            Fact(key="quick.size_reason", value=sizing.reason, source="assay"),
            *given(link, device),
            *limits,
        )
        plan = as_user(load.plan(place, sizing, repeat), user)
        exit_code = session.measure(plan, source_text=load.source_text(), facts=facts)
    raise typer.Exit(exit_code)


def _look_first(directory: "Path", *, has_to_wait: bool) -> None:
    """Print in one line what will be in every number: a busy machine, unsafe mount options, a full file system."""
    from assay.doctor.at_start import at_start
    from assay.running.quiet import busy_words

    busy = () if has_to_wait else busy_words(directory)
    if words := (*busy, *at_start(directory)):
        echo(f"before it starts: {'; '.join(words)}", err=True)


def _size_of_device(
    device: "DevicePlace", plan: "Plan", seconds: float, *, asked: int | None, repeats: int
) -> "Sizing":
    """Choose the size of the data on a block device."""
    import os

    from assay.errors import InputError
    from assay.loads.sizing import device_sizing

    size_bytes = device.size_bytes if device.size_bytes is not None else asked
    if size_bytes is None:
        raise InputError(f"how large {device.path} is on the clients is unknown here; give --size")
    return device_sizing(
        device=str(device.path),
        device_bytes=size_bytes,
        cpus=len(os.sched_getaffinity(0)),
        total_seconds=seconds,
        asked=asked,
        phases=len(plan.phases),
        is_written=device.destroy_data,
        repeats=repeats,
    )


def _size(directory: "Path", seconds: float, *, asked: int | None, user: str | None, repeats: int) -> "Sizing":
    """Look at the machine and choose the size of the data, `asked` bytes where the user names it."""
    from assay.loads.sizing import choose_size
    from assay.plan import RESERVE_BYTES
    from assay.running.engine import capabilities
    from assay.running.probe import PROBE_SECONDS, write_bytes_per_s
    from assay.targets import of_directory, room

    hello = capabilities(of_directory("target", directory))
    there = room(directory, reserve_bytes=RESERVE_BYTES)
    return choose_size(
        ram_bytes=hello.machine.ram_bytes,
        cpus=hello.machine.cpus,
        room=there,
        probe_write_bytes_per_s=write_bytes_per_s(there, user) if asked is None else 0.0,
        probe_seconds=PROBE_SECONDS,
        total_seconds=seconds,
        asked=asked,
        repeats=repeats,
    )


def _size_of_each(
    connection: "Connection", directory: "Path", seconds: float, *, asked: int | None, repeats: int
) -> "Sizing":
    """Choose the size of the data of each client: what is asked, or what a client usually has; nobody probes."""
    import msgspec

    from assay.bundle.client_set import Role
    from assay.loads.sizing import EACH_CLIENT_BYTES, choose_size
    from assay.targets import room
    from assay.units import format_bytes

    machines = [joined.hello.machine for joined in connection.clients.values() if joined.role is Role.LOAD]
    sizing = choose_size(
        ram_bytes=min(machine.ram_bytes for machine in machines),
        cpus=min(machine.cpus for machine in machines),
        room=room(directory, reserve_bytes=0),
        probe_write_bytes_per_s=0.0,
        probe_seconds=0.0,
        total_seconds=seconds,
        asked=EACH_CLIENT_BYTES if asked is None else asked,
        repeats=repeats,
    )
    how = "as asked" if asked is not None else "for each client, unless --size is given"
    return msgspec.structs.replace(sizing, reason=f"{format_bytes(sizing.size_bytes)}: {how}")
