"""List what clients of this user still keep on this machine, and remove what is old and may never be fetched."""

import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from assay.bundle.client_set import is_client_name
from assay.bundle.inside import is_plain
from assay.cluster.kept_runs import KeptRun
from assay.errors import InputError, reason_of
from assay.units import format_bytes, format_names, format_seconds

LEAST_AGE_S: Final = 3600.0
"""Younger ones may be about to be fetched by their leader."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptStream:
    """One client's part of one run."""

    run_id: str
    client: str
    kept: KeptRun
    bytes: int
    age_s: float
    """Since its engine wrote last, by the clock of the day."""
    is_being_written: bool

    def __str__(self) -> str:
        """Name it."""
        return f"{self.run_id}, client {self.client} ({format_bytes(self.bytes)}, {format_seconds(self.age_s)} old)"


def list_kept(root: Path) -> Iterator[KeptStream]:
    """Give all that is kept in a folder, by run and client; what does not look like it is passed over."""
    for run in _folders(root):
        for client in _folders(run) if is_plain(run.name) else ():
            kept = KeptRun.find(root, run.name, client.name) if is_client_name(client.name) else None
            try:
                found = kept.stream.lstat() if kept is not None else None
                is_being_written = kept is not None and kept.is_being_written()
            except OSError:
                continue
            if kept is None or found is None:
                continue
            yield KeptStream(
                run_id=run.name,
                client=client.name,
                kept=kept,
                bytes=found.st_size,
                age_s=max(0.0, time.time() - found.st_mtime),
                is_being_written=is_being_written,
            )


def _folders(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            return sorted(Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def summarize_kept(root: Path) -> str:
    """Describe in a line what is kept; empty where nothing is."""
    found = list(list_kept(root))
    if not found:
        return ""
    runs = list(dict.fromkeys(one.run_id for one in found))
    size = format_bytes(sum(one.bytes for one in found))
    return (
        f"{root}: clients keep {size} of {len(runs)} run{'s' if len(runs) > 1 else ''} ({format_names(runs)}), which "
        "'assay collect RUN' fetches to the machine that led, and 'assay clean --kept 720h' removes once it is older"
    )


def remove_older(root: Path, age_s: float) -> Iterator[tuple[str, bool]]:
    """Remove what is older, and report for each the outcome, and whether that is a failure.

    Raises:
        InputError: it may be about to be fetched at such an age.
    """
    if age_s < LEAST_AGE_S:
        raise InputError(f"--kept: what is younger than {format_seconds(LEAST_AGE_S)} may be about to be fetched")
    for one in list_kept(root):
        if one.age_s < age_s:
            yield f"{one}: left, because it is younger", False
        elif one.is_being_written:
            yield f"{one}: left, because its engine is still at work", False
        else:
            try:
                one.kept.remove()
            except OSError as error:
                yield f"{one}: not removed: {reason_of(error)}", True
            else:
                yield f"{one}: removed", False
