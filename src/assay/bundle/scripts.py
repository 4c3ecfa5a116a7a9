"""The lists of operations that a Plan refers to, kept in its bundle: a run can be repeated wherever the bundle is.

In `resolved.json` a script's path is the name of a file of the bundle, which has a part of its SHA-256 in it: Plans with
the same hash do the same. A Plan in memory has absolute paths.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.bundle import files
from assay.errors import RunError
from assay.plan import Plan, Script

_HASH_CHARACTERS = 16


def keep_scripts(plan: Plan, folder: Path) -> Plan:
    """Copy the scripts of a Plan into its bundle and return the Plan that names them there.

    A script that cannot be read is left as it is: the engine says so, with its path.

    Raises:
        RunError: the copy cannot be written.
    """

    def keep(path: str) -> str:
        try:
            name = f"script-{files.entry_of(Path(path)).sha256[:_HASH_CHARACTERS]}.ndjson"
        except OSError:
            return path
        try:
            if not (folder / name).exists():
                shutil.copyfile(path, folder / name)
        except OSError as error:
            raise RunError(
                f"{folder / name}: could not be written: {error.strerror}. Nothing was measured; make room there or "
                "keep runs elsewhere with --runs DIR"
            ) from error
        return name

    return _with_paths(plan, keep)


def find_scripts(plan: Plan, folder: Path) -> Plan:
    """Return the Plan with the absolute paths of the scripts in its bundle."""
    # An absolute path stays what it is.
    return _with_paths(plan, lambda path: str(folder.absolute() / path))


def name_scripts(plan: Plan) -> Plan:
    """Return the Plan with the scripts' bare names, which tell their content: to compare it with another run's."""
    return _with_paths(plan, lambda path: Path(path).name)


def _with_paths(plan: Plan, change: Callable[[str], str]) -> Plan:
    replace = msgspec.structs.replace
    phases = []
    for phase in plan.phases:
        jobs = tuple(
            replace(job, body=replace(job.body, path=change(job.body.path))) if isinstance(job.body, Script) else job
            for job in phase.jobs
        )
        phases.append(replace(phase, jobs=jobs) if jobs != phase.jobs else phase)
    # Without a change no new Plan, whose every name would be looked up again.
    return replace(plan, phases=tuple(phases)) if tuple(phases) != plan.phases else plan
