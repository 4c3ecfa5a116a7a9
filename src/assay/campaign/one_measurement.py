"""Run one measurement of a campaign: the load's command line as an Assay command, and its outcome."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from assay.bundle.remarks import LONGEST_WORD
from assay.campaign.campaign_file import DIRECTORY, INPUT, CampaignLoad
from assay.campaign.design import CampaignCell, Design
from assay.campaign.journal import Journal
from assay.campaign.recorded_process import ProcessIdentity, started
from assay.confinement import ONLY_IN
from assay.errors import BAD_INPUT, MEASURED, NOT_TRUSTED, InputError, RunError
from assay.results import Document
from assay.running.stopping import Stops

_TICK_S: Final = 1.0
_LONGEST_SHOWN: Final = 500


def tags_of(name: str, design: Design, cell: CampaignCell, load: CampaignLoad, number: int) -> tuple[str, ...]:
    """Give the tags of a run: the campaign, its round, and the level of each factor."""
    levels = [f"{factor.name}-{level}" for factor, level in zip(design.factors, cell.levels, strict=True)]
    words = [name, *levels, f"load-{load.name}", f"round-{number}"]
    return tuple(dict.fromkeys(re.sub(r"[^A-Za-z0-9._-]", "_", word)[:LONGEST_WORD] for word in words))


def write_input(load: CampaignLoad, place: Path, journal: Journal) -> Path | None:
    """Write the file of a load's `input`, with the directory put in; None: it has none. Raises RunError."""
    if not load.input:
        return None
    name = f"{load.name}.input"
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=journal.place)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=journal.place), "w", encoding="utf-8") as file:
            file.write(load.input.replace(DIRECTORY, str(place)))
    except OSError as error:
        raise RunError(f"{journal.folder / name}: {error.strerror}") from error
    return journal.folder / name


def words_for(load: CampaignLoad, place: Path, written: Path | None) -> list[str]:
    """Put the directory of a cell, and the file of its input, into the words of a load."""
    return [word.replace(DIRECTORY, str(place)).replace(INPUT, str(written or "")) for word in load.words]


def measure(
    words: list[str],
    place: Path,
    mark: str,
    runs: Path,
    stops: Stops,
    *,
    record: Callable[[ProcessIdentity], None],
    tick: Callable[[float], None],
) -> Document | None:
    """Measure, in a session of its own, so that a signal reaches it from here alone.

    Args:
        words: After `assay`.
        place: The directory of the cell, which alone it may write to.
        mark: The tag of the run.
        runs: Where it is kept.
        stops: Signals that came.
        record: Called with the process before it begins.
        tick: Called with the seconds since it began, each second.

    Returns:
        What was measured; None where a signal ended it.

    Raises:
        InputError: the words are refused.
        RunError: nothing was measured; the text has why.
    """
    command = [sys.executable, "-m", "assay", *words, "--tag", mark, "--runs", str(runs)]
    command += ["--json", "--no-report", "--quiet"]
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        started(command, record, out=out, err=err, variables={ONLY_IN: str(place)}) as process,
    ):
        handed_on, begun_s = 0, time.monotonic()
        while process.poll() is None:
            tick(time.monotonic() - begun_s)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_TICK_S)
            while handed_on < stops.count:
                process.send_signal(signal.SIGTERM)
                handed_on += 1
        out.seek(0)
        err.seek(0)
        text, message = out.read(), err.read().decode(errors="replace")
    if process.returncode not in {MEASURED, NOT_TRUSTED}:
        if stops.count:
            return None
        # Its last message: earlier ones are the place of the run, or a tool's own text.
        line = " ".join(message.rpartition("assay: ")[2].split())
        if process.returncode == BAD_INPUT:
            raise InputError(f"'assay {' '.join(words)}' is refused: {line[-_LONGEST_SHOWN:]}")
        raise RunError(f"exit code {process.returncode}: {line[-_LONGEST_SHOWN:]}")
    try:
        return msgspec.json.decode(text, type=Document)
    except msgspec.MsgspecError as error:
        raise RunError(f"'assay {' '.join(words)}' printed no results: {error}") from error
