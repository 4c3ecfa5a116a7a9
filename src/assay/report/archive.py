"""A run as one file to hand on."""

import tarfile
from pathlib import Path

from assay.errors import InputError, RunError
from assay.report.output import check_place


def write_archive(bundle: Path, path: Path) -> Path:
    """Pack a run bundle, as it is, into a `.tar.gz` whose only folder bears the run's id, and give the path.

    Raises:
        InputError: the name does not end in `.tar.gz`, is taken, or lies inside a run bundle.
        RunError: the file cannot be written.
    """
    if not path.name.endswith(".tar.gz"):
        raise InputError(f"export: '{path}' must end in .tar.gz, which is what is written.")
    if path.exists():
        raise InputError(f"export: '{path}' is there already and is not replaced. Remove it or choose another name.")
    check_place(path.parent)
    try:
        # "x": made anew or not at all, so that nothing of the user's is ever replaced, not even in a race.
        with tarfile.open(path, "x:gz") as archive:
            try:
                for file in sorted(bundle.rglob("*")):
                    archive.add(file, arcname=str(file.relative_to(bundle.parent)), recursive=False)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise RunError(
            f"export: cannot write '{path}': {error.strerror or error}. Name another place with -o."
        ) from error
    return path
