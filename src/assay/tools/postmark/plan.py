"""The Plan of a PostMark run.

One job a phase, one worker, three phases as PostMark times them: `create`, `transactions`, `delete`. What each does is a
list of operations in a file next to the Plan (`sequence.py`). An operation opens its file, moves the data in blocks and
closes the file, and is timed as a whole.

PostMark writes the beginning of one pool of characters into every file, which storage that compresses or finds duplicates
makes much less of. Here the pool does not compress, and eight bytes of every 4 KiB are new with each write, so that
there are no duplicates: what is written costs storage what it should, and making it costs as little as there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from assay import plan
from assay.errors import InputError
from assay.tools.postmark.sequence import APPEND, CREATE, DELETE, READ, Emit, RunParts, directories, files_per_directory
from assay.tools.postmark.settings import NO_BIAS, Settings

FRONT_END = "postmark"
CREATING, TRANSACTIONS, DELETING = "create", "transactions", "delete"
TITLES = {CREATING: "Creating files", TRANSACTIONS: "Transactions", DELETING: "Deleting files"}
"""Names and titles of the phases, in order. One that has nothing to do is left out."""

TRANSACTIONS_DONE = "transactions"
"""Count: transactions before the files run out, all of them where they do not."""
SINGLE_BYTES_READ, SINGLE_BYTES_WRITTEN = "single_precision_bytes_read", "single_precision_bytes_written"
"""Counts: bytes as PostMark adds them up."""
APPENDS_SKIPPED, CREATES_SKIPPED = "appends_skipped", "creates_skipped"
"""Counts: transactions that do nothing to a file of full size, or because no place is free."""

_LARGEST_FILE_BYTES = 1 << 30
_MOST_INDICES = 1 << 32
_MANY_TRANSACTIONS = 50_000
"""From here on intervals are a second long: each costs most of a millisecond of CPU."""


def to_plan(settings: Settings, origin: plan.Origin, locations: Sequence[Path], scripts: Path) -> plan.Plan:
    """Make the Plan of a run.

    Args:
        settings: What was set.
        origin: Of the Plan.
        locations: Absolute directory of each location, in their order; the current directory where none is set.
        scripts: A folder for the lists of operations; they have to stay there until the run has begun.

    Raises:
        InputError: the settings ask for more than can be done.
    """
    _check(settings)
    run = RunParts(settings)
    parts = {CREATING: run.create_files, TRANSACTIONS: run.perform_transactions, DELETING: run.delete_files}
    phases: list[plan.Phase] = []
    for name, part in parts.items():
        templates = _Templates(settings, len(locations), _kinds(name, settings))
        path = scripts / f"{name}.ndjson"
        with path.open("w") as file:
            part(_writer(templates, file))
        if path.stat().st_size:
            before = () if phases else tuple(plan.Prepare(set=_set(number)) for number in range(len(locations)))
            phases.append(_phase(settings, name, templates.script(path), before))
    return plan.Plan(
        name=FRONT_END,
        origin=msgspec.structs.replace(origin, counts=_counts(run)),
        seed=settings.seed,
        targets=tuple(
            plan.Target(name=_target(locations, directory), uri=directory.as_uri())
            for directory in dict.fromkeys(locations)
        ),
        file_sets=tuple(_file_set(settings, locations, number) for number in range(len(locations))),
        phases=tuple(phases),
        sample_interval_s=0.1 if settings.transactions <= _MANY_TRANSACTIONS else 1.0,
    )


def _counts(run: RunParts) -> dict[str, float]:
    """What the lists of operations do not show."""
    counts = run.counts
    return {
        TRANSACTIONS_DONE: counts.transactions,
        SINGLE_BYTES_READ: counts.single_read,
        SINGLE_BYTES_WRITTEN: counts.single_written,
        APPENDS_SKIPPED: counts.appends_skipped,
        CREATES_SKIPPED: counts.creates_skipped,
        **{peak_bytes(_set(number)): peak for number, peak in enumerate(run.peak_bytes)},
    }


def peak_bytes(file_set: str) -> str:
    """Name the count of the most bytes that the files of a set take at a time."""
    return f"peak_bytes.{file_set}"


def _check(settings: Settings) -> None:
    if settings.size_high_bytes > _LARGEST_FILE_BYTES:
        raise InputError(
            f"set size: files of up to {settings.size_high_bytes} bytes are asked for; a file is moved as one operation, "
            "which has at most 1 GiB. Choose smaller files"
        )
    indices = directories(settings) * files_per_directory(settings)
    if indices > _MOST_INDICES:
        raise InputError(
            f"{settings.subdirectories or 1} subdirectories, {settings.files} files and {settings.transactions} "
            f"transactions may take {indices} file names; a list of operations holds 2^32. Choose fewer of one of them"
        )


# -- the lines of a list --------------------------------------------------------------------------------


class _Templates:
    """The operations that the lines of one list refer to: each kind for each location."""

    def __init__(self, settings: Settings, locations: int, kinds: Sequence[str]) -> None:
        self._ops: list[plan.Op] = []
        self._groups: list[plan.ScriptGroup] = []
        self._kinds = kinds
        pairs = [(kind, location) for kind in kinds for location in range(locations)]
        for kind, location in pairs:
            if kind == DELETE:
                self._ops.append(_delete(location))
            else:
                self._groups.append(_group(settings, kind, location))
        # Groups are numbered after the single operations.
        pairs.sort(key=lambda pair: pair[0] != DELETE)
        self.number = {pair: number for number, pair in enumerate(pairs)}

    def script(self, path: Path) -> plan.Script:
        return plan.Script(ops=tuple(self._ops), groups=tuple(self._groups), path=str(path))


def _kinds(phase: str, settings: Settings) -> tuple[str, ...]:
    if phase != TRANSACTIONS:
        return (CREATE,) if phase == CREATING else (DELETE,)
    of_data = () if settings.bias_read == NO_BIAS else (READ, APPEND)
    of_files = () if settings.bias_create == NO_BIAS else (CREATE, DELETE)
    return (*of_data, *of_files)


def _writer(templates: _Templates, file: TextIO) -> Emit:
    number, write = templates.number, file.write

    def emit(kind: str, location: int, index: int, offset: int, size: int) -> None:
        write(f"[{number[kind, location]},{index},{offset},{size},0]\n")

    return emit


def _group(settings: Settings, kind: str, location: int) -> plan.ScriptGroup:
    """Open, move, close: names of the parts are for messages, none of them is recorded."""
    opens, moves = {
        CREATE: (plan.OpKind.CREATE, plan.OpKind.WRITE),
        READ: (plan.OpKind.OPEN, plan.OpKind.READ),
        APPEND: (plan.OpKind.OPEN, plan.OpKind.WRITE),
    }[kind]
    pick: plan.Pick = plan.New() if kind == CREATE else plan.Next()
    access: plan.Access = plan.Append() if kind == APPEND else plan.Whole()
    block_bytes = settings.read_block_bytes if kind == READ else settings.write_block_bytes
    file = plan.FromSet(set=_set(location), pick=pick, slot=0)
    slot, size = plan.Slot(slot=0), plan.Fixed(value=float(min(block_bytes, settings.size_high_bytes)))
    return plan.ScriptGroup(
        name=kind,
        ops=(
            plan.Op(op=opens, name=f"{kind}: open", file=file),
            plan.Op(op=moves, name=f"{kind}: {moves.value}", file=slot, access=access, size=size),
            plan.Op(op=plan.OpKind.CLOSE, name=f"{kind}: close", file=slot),
        ),
        chunk_bytes=min(block_bytes, _LARGEST_FILE_BYTES),
        pooled=moves == plan.OpKind.WRITE,
    )


def _delete(location: int) -> plan.Op:
    return plan.Op(op=plan.OpKind.UNLINK, name=DELETE, file=plan.FromSet(set=_set(location), pick=plan.Existing()))


# -- phases, targets and sets ------------------------------------------------------------------------------------------


def _phase(settings: Settings, name: str, script: plan.Script, before: tuple[plan.Step, ...]) -> plan.Phase:
    job = plan.Job(
        name=FRONT_END,
        body=script,
        backend=plan.Stdio() if settings.is_buffered else plan.Psync(),
        timed=_kinds(name, settings),
    )
    return plan.Phase(name=name, title=TITLES[name], jobs=(job,), before=before)


def _target(locations: Sequence[Path], directory: Path) -> str:
    distinct = list(dict.fromkeys(locations))
    return f"location{distinct.index(directory) + 1}" if len(distinct) > 1 else "location"


def _set(location: int) -> str:
    return f"files{location + 1}"


def _file_set(settings: Settings, locations: Sequence[Path], number: int) -> plan.FileSet:
    low, high = float(settings.size_low_bytes), float(max(settings.size_low_bytes, settings.size_high_bytes - 1))
    most = files_per_directory(settings)
    count = directories(settings)
    return plan.FileSet(
        name=_set(number),
        target=_target(locations, locations[number]),
        path=f"postmark{number + 1}",
        files=most * count,
        size=plan.Fixed(value=low) if low == high else plan.Uniform(min=low, max=high),
        layout=plan.PerDirectory(files=most) if count > 1 else plan.Flat(),
        file_name="{index}",
        existing_share=0.0,
        create_workers=1,
    )
