"""`assay diff`: list the facts and Plan fields that differ between two runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import RunReference, Runs

if TYPE_CHECKING:
    from assay.bundle import RunBundle
    from assay.host.facts import Fact


def diff(
    a: RunReference,
    b: RunReference,
    runs: Runs = None,
    all_: Annotated[bool, typer.Option("--all", help="Include facts that always change: load, free space.")] = False,
) -> None:
    """List facts and Plan fields that differ between two runs; exit code 1 if any."""
    from assay.bundle.catalog import open_run

    one, other = (open_run(reference, runs) for reference in (a, b))
    from assay.analysis.difference import diff_facts, diff_plans
    from assay.bundle.damage import report_damage
    from assay.bundle.scripts import name_scripts
    from assay.console import console
    from assay.report.diff_text import render

    for bundle in (one, other):
        bundle.check_contents()
    with report_damage(other.path):
        facts = diff_facts(_facts(one), _facts(other), with_volatile=all_)
        plan = diff_plans(name_scripts(one.plan), name_scripts(other.plan))
    render(one.run_id, other.run_id, facts, plan, console())
    raise typer.Exit(1 if facts or plan else 0)


def _facts(bundle: "RunBundle") -> "tuple[Fact, ...]":
    """Facts of a run, and of the run itself and its engine."""
    from assay.bundle.facts_of_set import facts_of_set
    from assay.events import Hello
    from assay.host.facts import Fact

    found = bundle.client_set()
    # Engines of one set are of one version: the leader looks before it begins.
    first = bundle.clients[0] if found else None
    hello = next((event for event in bundle.events(first) if isinstance(event, Hello)), None)
    engine = (
        {} if hello is None else {name: getattr(hello.engine, name) for name in ("version", "profile", "rustc", "uid")}
    )
    return (
        Fact(key="run.assay_version", value=bundle.info.assay_version, source="run"),
        Fact(key="run.command", value=bundle.info.command, source="run"),
        *(Fact(key=f"engine.{name}", value=value, source="hello") for name, value in engine.items()),
        *(bundle.facts if found is None else facts_of_set(found, bundle.facts)),
    )
