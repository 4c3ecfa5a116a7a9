"""Find the runs of a side of a comparison: one, several with commas between them, or all with a tag."""

from pathlib import Path

from assay.bundle.catalog import list_runs, runs_directory
from assay.errors import InputError

_TAG = "tag:"


def run_set(side: str, runs: Path | None) -> list[str]:
    """Name the runs of a side; those with a tag in the order in which they began.

    Args:
        side: As the user names it: `last`, `last,last~1` or `tag:NAME`.
        runs: Where runs are kept; None: the usual place.

    Raises:
        InputError: no run has the tag.
        BundleError: the folder of the runs cannot be read.
    """
    if not side.startswith(_TAG):
        return [part.strip() for part in side.split(",")]
    tag, place = side.removeprefix(_TAG), runs_directory(runs)
    tagged = [run for run in list_runs(place) if tag in run.tags]
    if not tagged:
        raise InputError(f"compare: no run in {place} has the tag '{tag}'; 'assay tag RUN --tag {tag}' gives it")
    return [run.run_id for run in sorted(tagged, key=lambda run: run.started_utc)]
