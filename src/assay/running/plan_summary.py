"""Summarise what a Plan would do, and where, for the user who is asked to confirm it."""

import os
from collections.abc import Iterator

from assay.plan import Evict, FileSet, Fill, Fixed, Plan, Prepare, Script, Step, Sync
from assay.plan.walk import commands
from assay.targets import DATA_FOLDER, directory_of
from assay.units import format_bytes

_UNTOUCHING = (Prepare, Evict, Sync)
"""Steps that every load has, and that change nothing but Assay's own files."""


def plan_summary(plan: Plan) -> Iterator[str]:
    """Describe user, actions and places, a line each; raises PlanError for a bad target address."""
    user = plan.user
    uid = os.geteuid() if user is None else user.uid
    yield f"as user {uid}{' (root)' if uid == 0 else ''}: {_phases(plan)} of the load '{plan.name}'"
    for target in plan.targets:
        directory = directory_of(target)
        if directory is None:
            yield f"{'destroys what is on' if target.destroy_data else 'reads'} {target.uri}"
            continue
        sets = [_set_words(one) for one in plan.file_sets if one.target == target.name]
        yield f"writes below {directory / DATA_FOLDER}: {'; '.join(sets) or 'nothing'}"
    for step in dict.fromkeys(_step_words(step) for phase in plan.phases for step in (*phase.before, *phase.after)):
        if step:
            yield step
    for words in dict.fromkeys(commands(plan.phases)):
        yield f"runs the program: {' '.join(words)}"
    for path in dict.fromkeys(
        job.body.path for phase in plan.phases for job in phase.jobs if isinstance(job.body, Script)
    ):
        yield f"follows the list of operations {path}"


def _phases(plan: Plan) -> str:
    return f"{len(plan.phases)} phase{'' if len(plan.phases) == 1 else 's'}"


def _set_words(one: FileSet) -> str:
    size = f" of {format_bytes(one.size.value)}" if isinstance(one.size, Fixed) else ""
    files = f"{one.files} file{'' if one.files == 1 else 's'}{size}"
    return f"{one.path} ({files}{', kept' if one.keep else ''})"


def _step_words(step: Step) -> str:
    """Describe what a step does outside Assay's own files; empty if nothing."""
    if isinstance(step, _UNTOUCHING):
        return ""
    if isinstance(step, Fill):
        return f"fills the file system of target '{step.target}' to {step.used_share:.0%}"
    name = type(step).__name__
    return {
        "DropCaches": "drops the page cache, dentries and inodes of the whole machine",
        "Remount": "unmounts a target and mounts it again",
        "Command": "runs a command",
    }.get(name, "")
