"""A run as one file to hand on."""

import tarfile
from collections.abc import Iterable
from pathlib import Path

from assay.bundle.inside import open_inside
from assay.errors import InputError, RunError
from assay.outputs import way_to
from assay.report.output import check_place


def write_archive(bundle: Path, names: Iterable[str], path: Path) -> Path:
    """Pack a run bundle, as it is, into a `.tar.gz` whose only folder bears the run's id, and give the path.

    Args:
        bundle: Its folder.
        names: Of its files: what else lies there is none of the run's, and no link or device is packed.
        path: The archive.

    Raises:
        BundleError: a file is none of a run.
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
        with way_to(path.parent) as place, tarfile.open(place / path.name, "x:gz") as archive:
            try:
                for name in names:
                    with open_inside(bundle, name) as file:
                        archive.addfile(archive.gettarinfo(arcname=f"{bundle.name}/{name}", fileobj=file), file)
            except BaseException:
                (place / path.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise RunError(
            f"export: cannot write '{path}': {error.strerror or error}. Name another place with -o."
        ) from error
    return path
