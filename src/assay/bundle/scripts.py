"""Keep the lists of operations that a Plan refers to in its bundle, so that a run can be repeated anywhere.

In `resolved.json` a script's path is the name of a file of the bundle, which has a part of its SHA-256 in it: Plans with
the same hash do the same. A Plan in memory has absolute paths. A bundle names no script but its own: whoever made it might
else have any file of this machine copied, or a device read without end.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from assay.bundle import files
from assay.bundle.inside import DAMAGED_CURE, NotRegularError, limit_bytes, open_below
from assay.bundle.run_place import open_in_run
from assay.closing import close
from assay.errors import BundleError, InputError, RunError
from assay.plan import Plan, Script
from assay.units import format_bytes

_HASH_CHARACTERS = 16
_KEPT = re.compile(rf"script-[0-9a-f]{{{_HASH_CHARACTERS}}}\.ndjson", re.ASCII)
_CHUNK_BYTES = 1 << 20

Opened = Mapping[str, BinaryIO]
"""Scripts by the path that the Plan gives."""


@contextlib.contextmanager
def opened_scripts(plan: Plan) -> Iterator[Opened]:
    """Open the scripts of a Plan in memory, before anything is made for its run.

    No link is followed on the way: whoever handed on a load or a bundle may have put one there.

    Raises:
        InputError: one is not there, is behind a link, is no regular file, or is larger than a bundle keeps.
    """
    with contextlib.ExitStack() as stack:
        yield {path: stack.enter_context(_opened(path)) for path in _paths(plan)}


def keep_scripts(plan: Plan, scripts: Opened, folder: Path) -> Plan:
    """Copy opened scripts into a bundle and return the Plan that names them there.

    Raises:
        RunError: a copy cannot be written.
    """
    names = {}
    for path, script in scripts.items():
        try:
            name = f"script-{files.entry_of(script).sha256[:_HASH_CHARACTERS]}.ndjson"
            script.seek(0)
            if not (folder / name).exists():
                _copy(script, folder / name, limit_bytes(name))
        except OSError as error:
            raise RunError(
                f"{path}: could not be kept in {folder}: {error.strerror}. Nothing was measured; make room there or "
                "keep runs in another place with --runs DIR"
            ) from error
        names[path] = name
    return _with_paths(plan, names.__getitem__)


def find_scripts(plan: Plan, folder: Path) -> Plan:
    """Return the Plan of a bundle with the absolute paths of its scripts; raises BundleError where one is not its own."""
    for path in _paths(plan):
        if not _KEPT.fullmatch(path):
            raise BundleError(
                f"{folder / files.PLAN}: names the script {path!r}, which is none inside a run. {DAMAGED_CURE}"
            )
    return _with_paths(plan, lambda path: str(folder.resolve() / path))


def name_scripts(plan: Plan) -> Plan:
    """Return the Plan with the scripts' bare names, which identify their content: to compare it with another run's."""
    return _with_paths(plan, lambda path: Path(path).name)


def script_names(plan: Plan) -> tuple[str, ...]:
    """Name the files that the scripts of a bundle's Plan are in."""
    return tuple(Path(path).name for path in _paths(plan))


def _opened(path: str) -> BinaryIO:
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    cure = "Name a file next to the load file; nothing was measured"
    try:
        script = open_below(root, os.path.normpath(path).lstrip("/"))
    except NotRegularError as error:
        raise InputError(f"script {path}: is {error}, not a file. {cure}") from error
    except OSError as error:
        raise InputError(f"script {path}: cannot be read: {error.strerror}. {cure}") from error
    finally:
        close(root)
    size_bytes, most = os.fstat(script.fileno()).st_size, limit_bytes("script")
    if size_bytes > most:
        script.close()
        raise InputError(
            f"script {path}: has {format_bytes(size_bytes)}, more than the {format_bytes(most)} of any. {cure}"
        )
    return script


def _copy(script: BinaryIO, path: Path, at_most: int) -> None:
    """Copy an open script; not more than it may have, whatever becomes of it meanwhile; raises OSError."""
    # For the owner to write, whatever the umask: what others may write proves nothing.
    descriptor = open_in_run(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        with open(descriptor, "wb", closefd=False) as copy:
            while at_most > 0 and (chunk := script.read(min(_CHUNK_BYTES, at_most))):
                copy.write(chunk)
                at_most -= len(chunk)
    finally:
        close(descriptor)


def _paths(plan: Plan) -> tuple[str, ...]:
    bodies = (job.body for phase in plan.phases for job in phase.jobs)
    return tuple(dict.fromkeys(body.path for body in bodies if isinstance(body, Script)))


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
