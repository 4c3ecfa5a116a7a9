"""What must be there before an IOzone command line can run: looked at before anything is measured."""

from collections.abc import Iterator

from assay.errors import InputError
from assay.plan import Fixed, Plan, Prepare, Remove
from assay.targets import Need, check_directory, directories, set_folder
from assay.tools.iozone.options import needs_file
from assay.tools.iozone.settings import Settings


def check_surroundings(settings: Settings, plan: Plan) -> None:
    """Look before measuring; raises InputError where a directory or a file to read cannot serve."""
    for directory in directories(plan).values():
        check_directory(directory)
    # What lies on clients they look for themselves.
    if needs_file(settings) and settings.clients is None:
        for file_set in plan.file_sets:
            folder = set_folder(plan, file_set)
            if not folder.is_dir():
                raise InputError(
                    f"iozone: no file of this size exists ({folder}); add -i 0, or run with -i 0 and -w"
                    " before, which leaves it"
                )


def needs(settings: Settings, plan: Plan) -> Iterator[Need]:
    """List what the tests write: the engine itself checks the files that it lays out."""
    if not needs_file(settings) and settings.clients is None:
        for target, directory in directories(plan).items():
            yield Need(directory, _most_bytes(plan, target))


def _most_bytes(plan: Plan, target: str) -> int:
    """Compute the most bytes that lie on a target at one time."""
    sizes = {
        one.name: int(one.files * one.size.value)
        for one in plan.file_sets
        if one.target == target and isinstance(one.size, Fixed)
    }
    there: set[str] = set()
    most = 0
    for step in (step for phase in plan.phases for step in (*phase.before, *phase.after)):
        if isinstance(step, Prepare):
            there.add(step.set)
        elif isinstance(step, Remove):
            there.discard(step.set)
        most = max(most, sum(sizes.get(name, 0) for name in there))
    return most
