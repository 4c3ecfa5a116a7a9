"""A record that cannot be worked out is a damaged one: whatever its numbers do to the arithmetic is told in one line."""

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
    """Say of what fails inside that the run at `path` is damaged.

    Tables and events have been held to what each can be; what they can be together is for the arithmetic to find out.

    Raises:
        BundleError: it fails, by whatever the numbers do; the text says where.
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
            f"{path}: what it says cannot be put together ({where}: {error}). {DAMAGED_CURE}; if nobody changed it, this is "
            "a fault of Assay: please report it"
        ) from error
