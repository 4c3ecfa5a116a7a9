"""The Plan of bigdir, the test of one growing directory.

One worker makes COUNT sub-directories (or empty files) in one directory and lists all of it after every STEP entries.
Both are groups with laps, so that the time of each step and of each listing is in the bundle by itself. Clients are jobs of
one worker, each in a directory of its own, started together.
"""

from pathlib import Path

from assay import plan
from assay.targets import of_directory
from assay.tools.bigdir.settings import FILES, Settings

MAKING = "making a step"
"""Group of the creates of one step."""
LISTING = "listing all"
"""Group of one enumeration."""
PHASE = "growing"

_SEED = 1
_FINE_INTERVAL_UP_TO = 50_000


def to_plan(settings: Settings, origin: plan.Origin, directory: Path) -> plan.Plan:
    """Make the Plan for a directory."""
    names = [f"client{number:04d}" for number in range(1, settings.clients + 1)]
    phase = plan.Phase(
        name=PHASE,
        title=f"{settings.count} {'files' if settings.kind == FILES else 'directories'}, step {settings.step}",
        jobs=tuple(_job(settings, name) for name in names),
        before=tuple(plan.Prepare(set=name) for name in names),
    )
    return plan.Plan(
        name=origin.front_end,
        origin=origin,
        seed=_SEED,
        targets=(of_directory("target", directory),),
        file_sets=tuple(_file_set(settings, name) for name in names),
        phases=(phase,),
        sample_interval_s=0.1 if settings.count * settings.clients <= _FINE_INTERVAL_UP_TO else 1.0,
    )


def _file_set(settings: Settings, name: str) -> plan.FileSet:
    return plan.FileSet(
        name=name,
        target="target",
        path=f"bigdir-{name}",
        files=settings.count,
        size=plan.Fixed(value=0.0),
        file_name="f{index}" if settings.kind == FILES else "d{index}",
        existing_share=0.0,
    )


def _job(settings: Settings, name: str) -> plan.Job:
    create = plan.Op(
        op=plan.OpKind.CREATE if settings.kind == FILES else plan.OpKind.MKDIR,
        name=settings.create,
        file=plan.FromSet(set=name, pick=plan.New()),
    )
    enumerate_all = plan.Op(
        op=plan.OpKind.READDIR if settings.readdir_only else plan.OpKind.READDIR_STAT,
        name=settings.enumerate,
        file=plan.FromSet(set=name, pick=plan.Next()),
    )
    step: tuple[plan.Action, ...] = (
        plan.Group(name=MAKING, actions=(plan.Repeat(times=settings.step, actions=(plan.Do(op=create),)),), laps=True),
        plan.Group(name=LISTING, actions=(plan.Do(op=enumerate_all),), laps=True),
    )
    actions: tuple[plan.Action, ...] = (plan.Repeat(times=settings.steps, actions=step),)
    if settings.entries_left:
        actions += (plan.Repeat(times=settings.entries_left, actions=(plan.Do(op=create),)),)
    return plan.Job(
        name=name,
        body=plan.Loop(actions=actions),
        stop=plan.Stop(passes=1),
        timed=(settings.create, settings.enumerate),
    )
