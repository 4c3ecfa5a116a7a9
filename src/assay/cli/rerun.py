"""`assay rerun RUN`: run the same resolved Plan with the same seed."""

import dataclasses
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.clients import with_clients
from assay.cli.options import (
    AllowCommands,
    DestroyData,
    Expect,
    Json,
    LiveJson,
    Name,
    NoReport,
    Note,
    Over,
    Quiet,
    RequireTrust,
    RunReference,
    Runs,
    Tag,
    WaitQuiet,
    argv,
    check_commands,
    expected,
)
from assay.errors import InputError
from assay.outward import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from assay.bundle import RunBundle
    from assay.cluster.asked import ClientsAsked
    from assay.plan import Plan

Yes = Annotated[bool, typer.Option("--yes", help="Run another user's Plan without asking; its steps are shown.")]


@with_clients
def rerun(
    run: RunReference = "last",
    json: Json = False,
    runs: Runs = None,
    no_report: NoReport = False,
    quiet: Quiet = False,
    allow_commands: AllowCommands = False,
    yes: Yes = False,
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
    """Run a Plan again with the same seed; another user's Plan needs a confirmation."""
    from assay.bundle.catalog import open_run, runs_directory
    from assay.bundle.remarks import remarks
    from assay.host.facts import EXPECT_FACT
    from assay.running.destroying import DestroyAsked
    from assay.session import Session

    text = remarks(name, tag, note)
    destroy = DestroyAsked(devices=tuple(destroy_data or ()), over=tuple(over or ()))
    bundle = open_run(run, runs)
    if bundle.is_foreign:
        raise InputError(
            f"rerun: {bundle.run_id} is a foreign run: another tool measured it, so Assay cannot repeat it"
        )
    bundle.check_contents()
    before = bundle.client_set()
    if before is not None and clients is None:
        raise InputError(
            f"rerun: {bundle.run_id} was measured by several clients ({before.named}): name them, or others, with"
            " --hosts or --join; --hosts local is this machine alone"
        )
    if before is not None and clients is not None:
        clients = dataclasses.replace(
            clients,
            share=clients.share or before.share,
            on_lost=clients.on_lost or before.on_lost,
            directories=_directories(bundle.plan, clients),
        )
    source = bundle.source_text()
    facts = expected(expect, bundle.plan) or tuple(fact for fact in bundle.facts if fact.key == EXPECT_FACT)
    check_commands(bundle.plan, are_allowed=allow_commands)
    if not bundle.is_own(runs_directory(runs)):
        _ask(bundle, clients, is_answered=yes)
    session = Session(
        argv(),
        runs=runs,
        json=json,
        report=not no_report,
        quiet=quiet,
        remarks=text,
        live_json=live_json,
        require_trust=require_trust,
        wait_quiet=wait_quiet,
        clients=clients,
        destroy=destroy,
    )
    raise typer.Exit(session.measure(bundle.plan, source_text=source, facts=facts, has_outputs=False))


def _directories(plan: "Plan", clients: "ClientsAsked") -> "Mapping[str, Path] | None":
    """Give the directory of each client, where the words of a tool gave each its own; None: all have those of the Plan."""
    from assay.tools import registry

    tool = registry.maker(plan)
    named = tool.hosts(tool.settings_of(plan)) if tool else None
    if named is None or named.directories is None:
        return None
    if missing := [host.name for host in clients.hosts if host.name not in named.directories]:
        raise InputError(
            f"rerun: {named.by} gave each client a directory of its own, and {missing[0]} none: name with --hosts"
            f" {', '.join(named.directories)}"
        )
    if not clients.hosts:
        raise InputError(f"rerun: {named.by} gave each client a directory of its own: name them with --hosts")
    return named.directories


def _ask(bundle: "RunBundle", clients: "ClientsAsked | None", *, is_answered: bool) -> None:
    """Show what a run would do, and ask whether it may; raises InputError unless it may."""
    from assay.running.plan_summary import plan_summary
    from assay.tools import registry

    plan = bundle.plan
    lines = list(plan_summary(plan))
    if tool := registry.maker(plan):
        settings = tool.settings_of(plan)
        lines.append(f"works by the words: assay {tool.name} {plan.origin.source}")
        if clients is not None and clients.directories is not None:
            lines += [f"works in {directory} on {name}" for name, directory in clients.directories.items()]
        lines += [f"does not write the file {name}" for name in tool.output_names(settings)]
    sys.stderr.write(f"{bundle.path}: you did not make this run in this library. It\n")
    sys.stderr.write("".join(f"  {one_line(line)}\n" for line in lines))
    if is_answered:
        return
    if not sys.stdin.isatty():
        raise InputError("rerun: there is nobody to ask. Nothing was done; if it may do all this, add --yes")
    sys.stderr.write("May it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise InputError("rerun: nothing was done")
