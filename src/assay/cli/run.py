"""`assay run NAME|FILE.toml DIR`: run a defined load."""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.clients import with_clients
from assay.cli.options import (
    AllowCommands,
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
    Scale,
    Set,
    Size,
    Tag,
    Targets,
    Time,
    User,
    WaitQuiet,
    argv,
    check_commands,
    expected,
    given,
)
from assay.cli.pipes import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.cluster.asked import ClientsAsked
    from assay.plan import Plan


@with_clients
def run(
    load: Annotated[
        str,
        typer.Argument(metavar="NAME|FILE.toml", help="Name of a load (`assay suites` lists them), or a load file."),
    ],
    directory: Directory,
    repeat: Repeat = 1,
    set_: Set = None,
    time: Time = None,
    size: Size = None,
    scale: Scale = None,
    target: Targets = None,
    json: Json = False,
    runs: Runs = None,
    no_report: NoReport = False,
    quiet: Quiet = False,
    allow_commands: AllowCommands = False,
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
    """Run a defined load in a directory."""
    from assay.bundle.remarks import remarks
    from assay.errors import PlanError
    from assay.loads import native, suites
    from assay.loads.refusals import placed
    from assay.running.destroying import DestroyAsked
    from assay.running.users import as_user
    from assay.session import Session

    text, source = suites.read(load)
    if choice := suites.choice(load):
        echo(choice, err=True)
    if clients is not None:
        native.check_for_clients(text, source)
    destroy = DestroyAsked(devices=tuple(destroy_data or ()), over=tuple(over or ()))
    plan = plan_of_file(
        text,
        source,
        directory,
        set_=set_,
        time=time,
        size=size,
        repeat=repeat,
        scale=scale,
        target=target,
        destroy=destroy.devices,
    )
    check_commands(plan, are_allowed=allow_commands)
    facts = (*given(link, device), *expected(expect, plan))
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
    try:
        exit_code = session.measure(as_user(plan, user), source_text=text, facts=facts)
    except PlanError as refused:
        raise placed(refused, text, source) from refused
    raise typer.Exit(exit_code)


def plan_of_file(
    text: str,
    source: str,
    directory: str,
    *,
    set_: list[str] | None,
    time: str | None,
    size: str | None,
    repeat: int,
    scale: float | None,
    target: list[str] | None,
    destroy: "Sequence[str]" = (),
) -> "Plan":
    """Make the Plan of a load file by the words of the command line; raises InputError."""
    from assay.loads import native
    from assay.loads.further_targets import given_targets
    from assay.loads.settings import settings
    from assay.places import DevicePlace, check_place
    from assay.units import MIB

    place, further = check_place(directory, destroy=destroy), given_targets(target or (), destroy)
    values = settings(text, source, set_ or [], time=time, size=size, repeat=repeat, scale=scale)
    if isinstance(place, DevicePlace) and place.size_bytes is not None and native.needs_size(text, source, values):
        values["size"] = str(place.size_bytes // MIB * MIB)
    return native.parse(text, source, directory=place, settings=values, repeat=repeat, targets=further, destroy=destroy)
