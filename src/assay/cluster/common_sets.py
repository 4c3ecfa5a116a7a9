"""Let several clients use one folder, each with its own files or all on the same.

Both ways the engines hold the data folder together (`among`, engine/src/among.rs). TOGETHER: a set's folder has the
files of all clients, each named after its client, so that none uses another's; each client lays out and removes its
own. ONE_SET: the first client lays the sets out, the others wait for them, and the last to leave removes them; over all
clients the workers are numbered through, so that slices, files by number and random choices are those of one client with n
times the workers.
"""

from msgspec.structs import replace

from assay.errors import InputError
from assay.plan import Age, Among, Append, FileSet, Job, OpKind, Phase, Plan, Prepare, Remove, Reuse, Step, Untranslated
from assay.plan.op_rules import CHANGES_FILES
from assay.plan.walk import job_ops, phase_sets


def together(plan: Plan, run: str, client: str, number: int, clients: int) -> Plan:  # noqa: ARG001 - as `one_set`
    """Give a client the whole Plan with files of its own in the common folders; raises InputError where that cannot be.

    Args:
        plan: The whole.
        run: Word by which the engines of the run recognize each other.
        client: Its name.
        number: Of the client, from 0.
        clients: How many there are.
    """
    sets = tuple(_joint(file_set) for file_set in plan.file_sets)
    return replace(plan, file_sets=sets, among=Among(run=run, part=0, parts=1, owner=client))


def together_notes(plan: Plan) -> tuple[Untranslated, ...]:
    """List what the sets of a Plan lose where their folders are those of several clients."""
    where = "--share together"
    kept = [file_set.name for file_set in plan.file_sets if file_set.keep]
    reused = [file_set.name for file_set in plan.file_sets if file_set.reuse is Reuse.IF_MATCHES]
    found = []
    if kept:
        why = f"files of several clients in one folder go with the run; {', '.join(kept)} would have been kept"
        found.append(Untranslated(what=f"{where}: keep", why=why))
    if reused:
        why = f"files of several clients in one folder are laid out anew; {', '.join(reused)} might have been reused"
        found.append(Untranslated(what=f"{where}: reuse", why=why))
    return tuple(found)


def _joint(file_set: FileSet) -> FileSet:
    name = file_set.name
    if file_set.reuse is Reuse.TRUST:
        raise InputError(
            f"--share together: file set '{name}' is to be used as it is, and files of clients are named after them; take"
            " --share one-set, or own"
        )
    if file_set.content.stamped:
        raise InputError(
            f"--share together: file set '{name}' is stamped, and stamps are kept for a folder as a whole; take --share own"
        )
    return replace(file_set, keep=False, reuse=Reuse.NEVER)


def one_set(plan: Plan, run: str, client: str, number: int, clients: int) -> Plan:  # noqa: ARG001 - as `together`
    """Give a client the whole Plan on files that all have; raises InputError where they would spoil them for each other.

    Args:
        plan: The whole.
        run: Word by which the engines of the run recognize each other.
        client: Its name.
        number: Of the client, from 0: the first lays out.
        clients: How many there are.
    """
    for file_set in plan.file_sets:
        if file_set.content.stamped:
            raise InputError(
                f"--share one-set: file set '{file_set.name}' is stamped, and it is unknown which of the clients wrote"
                " a block last; take --share own"
            )
    for phase in plan.phases:
        for job in phase.jobs:
            _check_ops(phase, job)
    removed = _check_steps(plan)
    # What the load removes goes at the end, when the others have left.
    sets = tuple(replace(one, keep=False) if one.name in removed else one for one in plan.file_sets)
    phases = tuple(
        replace(phase, before=_without_removal(phase.before), after=_without_removal(phase.after))
        for phase in plan.phases
    )
    return replace(plan, file_sets=sets, phases=phases, among=Among(run=run, part=number, parts=clients, owner=""))


def _check_ops(phase: Phase, job: Job) -> None:
    for op in job_ops(job):
        if op.op in CHANGES_FILES:
            why = f"'{op.op.value}' changes names or lengths that other clients count on"
        elif op.op is OpKind.WRITE and (isinstance(op.access, Append) or job.open.append):
            why = "clients that append to one file do not share its end"
        else:
            continue
        raise InputError(
            f"--share one-set: phase '{phase.name}', job '{job.name}', operation '{op.name}': {why}; take --share together,"
            " where each has its own files in the same folder"
        )


def _check_steps(plan: Plan) -> frozenset[str]:
    """Refuse what changes a set while others work on it; gives the sets that the load removes in the end."""
    laid_out: set[str] = set()
    removed: set[str] = set()
    for phase in plan.phases:
        where = f"--share one-set: phase '{phase.name}'"
        for step in phase.before:
            _check_step(step, where, laid_out, removed)
        for name in phase_sets(phase):
            _check_there(name, where, removed)
        for step in phase.after:
            _check_step(step, where, laid_out, removed)
    return frozenset(removed)


def _check_step(step: Step, where: str, laid_out: set[str], removed: set[str]) -> None:
    name = getattr(step, "set", None)
    if isinstance(step, Age):
        raise InputError(f"{where}: ageing set '{name}' takes files away from other clients; leave it out")
    if isinstance(step, Prepare) and name in laid_out:
        raise InputError(
            f"{where} lays set '{name}' out a second time, and others may still work on it; leave repeats out, or take"
            " --share own"
        )
    if isinstance(step, Remove):
        removed.add(step.set)
    elif name is not None:
        _check_there(name, where, removed)
    if isinstance(step, Prepare):
        laid_out.add(step.set)


def _check_there(name: str, where: str, removed: set[str]) -> None:
    if name in removed:
        raise InputError(f"{where} works on set '{name}' after the load removed it, and all clients have it but once")


def _without_removal(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(step for step in steps if not isinstance(step, Remove))
