"""Create the folder of a new run: named by time, load and chance; only its owner can write to it."""

import contextlib
import datetime as dt
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from assay.bundle import files
from assay.bundle.durable import make_folders, names_in
from assay.bundle.opened_folder import OpenedFolder, open_folder
from assay.errors import BundleError, RunError, reason_of
from assay.outputs import way_to

_SLUG_CHARACTERS = 40
_NAME_TRIES = 8
_NAMES = 1 << 32
_NAME = re.compile(r"\d{8}T\d{6}Z-.*-[0-9a-f]{8}\Z")


def make_run_folder(runs: Path, began: dt.datetime, about: str, *, after: str = "") -> Path:
    """Make the folder of a run and give its path.

    Args:
        runs: Where runs are kept; made if it is not there.
        began: When the run begins, in UTC.
        about: What it is about, in any words.
        after: A run of the same moment that this one is listed after, as the newer of the two.

    Raises:
        InputError: a link on the way to the runs can be somebody else's.
        RunError: it cannot be made.
    """
    stem, least = f"{began:%Y%m%dT%H%M%SZ}-{_slug(about)}", 0
    if _NAME.match(after):
        stem, _, digits = after.rpartition("-")
        least = int(digits, 16) + 1
    try:
        with way_to(next(folder for folder in (runs, *runs.absolute().parents) if folder.exists())):
            make_folders(runs)
        with way_to(runs) as place:
            for _ in range(_NAME_TRIES):
                name = f"{stem}-{least + secrets.randbelow(max(1, _NAMES - least)):08x}"
                try:
                    # Whatever the umask: what others may write proves nothing (maker.py).
                    (place / name).mkdir(mode=0o755)
                except FileExistsError:
                    continue
                return runs / name
    except OSError as error:
        raise RunError(cannot_be_kept(runs, error)) from error
    raise RunError(f"{runs}: no free name after {_NAME_TRIES} tries. Nothing was measured. Check the system's clock")


@contextlib.contextmanager
def removed_on_error(path: Path) -> Iterator[None]:
    """Remove the folder of a run that was just made where something is raised; what others put in its place stays.

    Raises:
        RunError: it cannot be opened, or is behind a link.
    """
    with contextlib.ExitStack() as held:
        try:
            made = held.enter_context(open_folder(path))
        except OSError as error:
            with contextlib.suppress(OSError):
                path.rmdir()  # empty, or not what was made
            raise RunError(cannot_be_kept(path.parent, error)) from error
        try:
            yield
        except BaseException:
            _remove(made, path)
            raise


def remove_run(path: Path) -> None:
    """Remove a run that is not sealed, as far as that goes; another that was put in its place stays."""
    with contextlib.suppress(OSError, BundleError), open_folder(path) as found:
        head = files.read_head(found.place)
        if isinstance(head, files.RunFile) and head.info.run_id == path.name:
            _remove(found, path)


def _remove(opened: OpenedFolder, path: Path) -> None:
    """Remove what is in an open folder, and then the folder of that path if it is empty."""
    with contextlib.suppress(OSError):
        for name in names_in(opened.place):
            inner = opened.place / name
            if stat.S_ISDIR(inner.lstat().st_mode):
                shutil.rmtree(inner, ignore_errors=True)
            else:
                inner.unlink()
        path.rmdir()


def later_run(runs: Path) -> str | None:
    """Name the newest of the runs that began later than now, by their names: the wall clock was stepped backwards."""
    try:
        names = [path.name for path in runs.iterdir() if _NAME.match(path.name)]
    except OSError:
        return None
    newest = max(names, default="")
    return newest if newest > f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}~" else None


def cannot_be_kept(runs: Path, error: OSError) -> str:
    """Report that a run cannot be kept, and why."""
    return (
        f"{runs}: a run folder cannot be made here: {reason_of(error)}. Nothing was measured. "
        "Keep runs in another place with --runs DIR or $ASSAY_RUNS"
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_CHARACTERS].strip("-") or "run"
