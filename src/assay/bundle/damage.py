"""Report a record that cannot be computed as damaged, in one line."""

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path

from assay.bundle.inside import DAMAGED_CURE
from assay.errors import AssayError, BundleError

_PANIC = "PanicException"
"""Class of what polars raises where its own code fails, and no Exception; known by name, so that it need not be imported."""


@contextlib.contextmanager
def report_damage(path: Path) -> Iterator[None]:
    """Report failures inside as damage of the run at `path`.

    Tables and events have been held to what each can be; what they can be together is for the arithmetic to find out.

    Raises:
        BundleError: it fails; the message names where.
    """
    try:
        yield
    except (AssayError, OSError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        raise BundleError(
            f"{path}: its content is inconsistent ({where}: {error}). {DAMAGED_CURE}; if nobody changed it, this is "
            "a fault of Assay: please report it"
        ) from error
