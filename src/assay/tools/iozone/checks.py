"""What must be there before an IOzone command line can run: looked at before anything is measured."""

import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from assay.errors import InputError, RunError
from assay.plan import Fixed, Phase, Plan, Prepare, Remove
from assay.targets import check_directory
from assay.tools.files import check_writable
from assay.tools.iozone.latency import NAMES
from assay.tools.iozone.options import needs_file
from assay.tools.iozone.settings import Settings
from assay.units import format_bytes

_DATA_FOLDER = "assay-data"


def check_surroundings(settings: Settings, plan: Plan) -> None:
    """Look before measuring.

    Raises:
        InputError: a directory, a file to read or an output file cannot serve.
        RunError: the files would not fit beside the reserve.
    """
    directories = {target.name: Path(unquote(urlparse(target.uri).path)) for target in plan.targets}
    for directory in directories.values():
        check_directory(directory)
    if needs_file(settings):
        for file_set in plan.file_sets:
            folder = directories[file_set.target] / _DATA_FOLDER / file_set.path
            if not folder.is_dir():
                raise InputError(
                    f"iozone: there is no file of this size to work on ({folder}); add -i 0, or run with -i 0 and -w"
                    " before, which leaves it"
                )
    else:
        _check_space(plan, directories)
    if settings.sheet:
        check_writable(Path(settings.sheet))
    if settings.latency_files:
        for column in settings.measured():
            if column.key in NAMES:
                check_writable(Path(NAMES[column.key]))


def _check_space(plan: Plan, directories: dict[str, Path]) -> None:
    """Check that what the tests write fits: the engine itself looks at the files that it lays out."""
    for target, directory in directories.items():
        need_bytes = _most_bytes(plan, target)
        numbers = os.statvfs(directory)
        free_bytes = numbers.f_bavail * numbers.f_frsize - plan.reserve_bytes
        if need_bytes > free_bytes:
            raise RunError(
                f"iozone: the files need {format_bytes(need_bytes)} in {directory}, but only"
                f" {format_bytes(max(0, free_bytes))} are free beside the reserve of"
                f" {format_bytes(plan.reserve_bytes)}; free some space, or ask for smaller files"
            )


def _most_bytes(plan: Plan, target: str) -> int:
    """Most bytes that lie on a target at one time."""
    sizes = {
        one.name: int(one.files * one.size.value)
        for one in plan.file_sets
        if one.target == target and isinstance(one.size, Fixed)
    }
    there: set[str] = set()
    most = 0
    for step in (step for phase in plan.phases for step in _steps(phase)):
        if isinstance(step, Prepare):
            there.add(step.set)
        elif isinstance(step, Remove):
            there.discard(step.set)
        most = max(most, sum(sizes.get(name, 0) for name in there))
    return most


def _steps(phase: Phase) -> tuple[object, ...]:
    return (*phase.before, *phase.after)
