"""`assay rerun RUN`: the same resolved Plan with the same seed."""

import typer

from assay.cli.options import AllowCommands, Json, NoReport, RunReference, Runs, argv, check_commands


def rerun(
    run: RunReference = "last",
    json: Json = False,
    runs: Runs = None,
    no_report: NoReport = False,
    allow_commands: AllowCommands = False,
) -> None:
    """Run the same resolved Plan again, with the same seed."""
    from assay.bundle.catalog import open_run
    from assay.session import Session

    bundle = open_run(run, runs)
    check_commands(bundle.plan, are_allowed=allow_commands)
    text = bundle.path / "plan.toml"
    source = text.read_text() if text.exists() else None
    session = Session(argv(), runs=runs, json=json, report=not no_report)
    raise typer.Exit(session.measure(bundle.plan, source_text=source))
