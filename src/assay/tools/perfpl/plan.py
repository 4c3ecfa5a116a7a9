"""The Plan of perf.pl, the small-file test that writes blocks to few or many files.

Each iteration is a phase: one worker makes every file, in order, one directory after the other. The tree is laid out anew
before each; making its directories and deleting its files is not timed.

The script runs one `dd` for each file, so its time is mostly that of making processes. Mode `fork` does the same, and
`native` the same work without them: create, N writes of a block, close, and incompressible content instead of
dd's zeros, which storage that compresses would not store. Numbers of the two do not compare, so the mode is always
printed.
"""

from pathlib import Path

from assay import plan
from assay.targets import of_directory
from assay.tools.perfpl.settings import CLOSE, CREATE, DD, FORK, FSYNC, WRITE, Settings

FILE = "file"
"""Name of the group that is one file."""
PHASE = "files"

_SET = "files"
_SLOT = 0
_SEED = 1


def to_plan(settings: Settings, origin: plan.Origin, directory: Path) -> plan.Plan:
    """Make the Plan for a directory."""
    return plan.Plan(
        name=origin.front_end,
        origin=origin,
        seed=_SEED,
        targets=(of_directory("target", directory),),
        file_sets=(_file_set(settings),),
        phases=tuple(_phase(settings, number) for number in range(settings.iterations)),
        sample_interval_s=0.2,
        untranslated=_list_deviations(settings),
    )


def _list_deviations(settings: Settings) -> tuple[plan.Untranslated, ...]:
    if settings.mode == FORK:
        return ()
    why = "files hold incompressible bytes instead of zeros, and no process is made for each of them"
    return (plan.Untranslated(what="dd if=/dev/zero", why=why),)


def _file_set(settings: Settings) -> plan.FileSet:
    return plan.FileSet(
        name=_SET,
        target="target",
        path="perfpl",
        files=settings.files,
        size=plan.Fixed(value=float(settings.file_bytes)),
        layout=plan.PerDirectory(files=min(settings.files_per_directory, settings.files)),
        file_name="file{index}",
        existing_share=0.0,
    )


def _phase(settings: Settings, number: int) -> plan.Phase:
    fresh: tuple[plan.Step, ...] = (plan.Prepare(set=_SET),)
    if number:
        fresh = (plan.Remove(set=_SET), *fresh)
    job = plan.Job(name=PHASE, body=plan.Loop(actions=(_one_file(settings),)))
    return plan.Phase(
        name=PHASE,
        title=f"{settings.files} files, {settings.files_per_directory} per directory",
        repeat=number,
        jobs=(job,),
        before=fresh,
        after=(plan.Sync(),) if settings.sync else (),
    )


def _one_file(settings: Settings) -> plan.Group:
    if settings.mode == FORK:
        return plan.Group(name=FILE, actions=(plan.Do(op=_program(settings)),))
    in_slot = plan.Slot(slot=_SLOT)
    create = plan.Op(op=plan.OpKind.CREATE, name=CREATE, file=plan.FromSet(set=_SET, pick=plan.New(), slot=_SLOT))
    write = plan.Op(
        op=plan.OpKind.WRITE,
        name=WRITE,
        file=in_slot,
        access=plan.Sequential(),
        size=plan.Fixed(value=float(settings.block_size_bytes)),
    )
    actions: list[plan.Action] = [plan.Do(op=create)]
    actions.append(plan.Repeat(times=settings.blocks_per_file, actions=(plan.Do(op=write),)))
    if settings.fsync:
        actions.append(plan.Do(op=plan.Op(op=plan.OpKind.FSYNC, name=FSYNC, file=in_slot)))
    actions.append(plan.Do(op=plan.Op(op=plan.OpKind.CLOSE, name=CLOSE, file=in_slot)))
    return plan.Group(name=FILE, actions=tuple(actions))


def _program(settings: Settings) -> plan.Op:
    return plan.Op(
        op=plan.OpKind.SPAWN,
        name=DD,
        file=plan.FromSet(set=_SET, pick=plan.New()),
        # dd ends with 0 only if it wrote all its blocks.
        size=plan.Fixed(value=float(settings.file_bytes)),
        flags=plan.OpFlags(argv=settings.dd("{path}")),
    )
