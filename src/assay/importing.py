"""Convert what another tool printed to foreign runs: one per machine in the text."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assay.bundle.original import FOREIGN, Original
from assay.bundle.remarks import NOTHING, Remarks
from assay.decode.readers import read, result_table
from assay.errors import InputError
from assay.input_text import read_text
from assay.plan import Origin, Plan

if TYPE_CHECKING:
    from assay.bundle import RunBundle

MOST_BYTES: Final = 32 << 20
"""Of a file: a day of vdbench's flatfile has less."""
MOST_MACHINES: Final = 100
MOST_KEPT_BYTES: Final = 512 << 20
"""Of all runs of a file, each of which keeps the whole of it."""


def originals(file: str, tool: str | None = None, timezone: str | None = None) -> list[Original]:
    """Read a file, and return the sources of its results.

    Args:
        file: Its path.
        tool: Name of the format; None: it is found out.
        timezone: Name of the zone of times that are given without one; None: not given.

    Raises:
        InputError: it is not there, cannot be read, or is in no format that is known.
    """
    try:
        text = read_text(file, "output of a tool", MOST_BYTES)
    except FileNotFoundError:
        raise InputError(f"there is no file '{file}'") from None
    found, figures = read(text, file, tool)
    machines = list(dict.fromkeys(figure.during.machine for figure in figures))
    if len(machines) > MOST_MACHINES:
        raise InputError(
            f"{file}: has figures of {len(machines)} machines; {MOST_MACHINES} are the most. Take it apart"
        )
    if len(machines) * len(text) > MOST_KEPT_BYTES:
        raise InputError(
            f"{file}: each of its {len(machines)} machines becomes a run that keeps the file, and these would have more than"
            f" {MOST_KEPT_BYTES >> 20} MiB. Take it apart"
        )
    return [
        Original(tool=found, machine=machine, file_name=Path(file).name, text=text, timezone=timezone)
        for machine in machines
    ]


def keep(original: Original, runs: Path, argv: Sequence[str], remarks: Remarks = NOTHING) -> "RunBundle":
    """Make a sealed run of a tool's output.

    Args:
        original: What it printed.
        runs: Where runs are kept.
        argv: The command line that asked for it.
        remarks: What the user calls it.

    Raises:
        RunError: it cannot be written; nothing is left of it.
    """
    name = original.tool
    if original.tool == result_table.NAME:
        name = result_table.tool_of(original.text) or name
    plan = Plan(
        name=name,
        origin=Origin(
            front_end=FOREIGN,
            source=original.file_name,
            sha256=hashlib.sha256(original.text.encode()).hexdigest(),
        ),
        seed=0,
        targets=(),
        file_sets=(),
        phases=(),
    )
    from assay.bundle import RunBundle  # noqa: PLC0415 - only now: a file that is refused needs no tables
    from assay.bundle.run_folder import remove_run  # noqa: PLC0415
    from assay.bundle.run_place import open_in_run  # noqa: PLC0415

    bundle = RunBundle.create(runs, f"foreign {name} {original.machine or ''}", plan=plan, argv=argv, remarks=remarks)
    try:
        bundle.keep_original(original)
        os.close(open_in_run(bundle.events_path, os.O_WRONLY | os.O_CREAT))
        bundle.seal()
    except BaseException:
        remove_run(bundle.path)
        raise
    return bundle
