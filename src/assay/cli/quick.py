"""`assay quick DIR`: the main job."""

from assay.cli.options import Directory, Json, NoReport, Runs, Size, Time


def quick(
    directory: Directory,
    time: Time = None,
    size: Size = None,
    json: Json = False,
    runs: Runs = None,
    no_report: NoReport = False,
) -> None:
    """Say what a directory's storage is like: under two minutes, one table, one report."""
    from assay.loads import quick as job
    from assay.running.session import Session
    from assay.units import parse_bytes, parse_seconds

    session = Session(runs=runs, json=json, report=not no_report)
    seconds = parse_seconds(time) if time else job.DEFAULT_SECONDS
    plan, facts = job.plan(directory, seconds=seconds, size_bytes=parse_bytes(size) if size else None)
    session.measure(plan, source_text=job.source_text(), facts=facts)
