"""Open what the engine reads as another user, because a run's folder is mostly closed to others."""

import contextlib
import os
from collections.abc import Iterator

import msgspec

from assay.errors import RunError
from assay.plan import Job, Plan, Script


@contextlib.contextmanager
def scripts_by_descriptor(plan: Plan) -> Iterator[tuple[Plan, tuple[int, ...]]]:
    """Give the Plan with its scripts named by descriptors of this process, and these, for the engine to inherit.

    Raises:
        RunError: a script cannot be opened.
    """
    opened: dict[str, int] = {}
    with contextlib.ExitStack() as stack:

        def hand_over(job: Job) -> Job:
            if not isinstance(job.body, Script):
                return job
            path = job.body.path
            if path not in opened:
                try:
                    opened[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                except OSError as error:
                    raise RunError(f"{path}: cannot be read: {error.strerror}. Nothing was measured") from error
                stack.callback(os.close, opened[path])
            body = msgspec.structs.replace(job.body, path=f"/proc/self/fd/{opened[path]}")
            return msgspec.structs.replace(job, body=body)

        phases = tuple(
            msgspec.structs.replace(phase, jobs=tuple(hand_over(job) for job in phase.jobs)) for phase in plan.phases
        )
        yield msgspec.structs.replace(plan, phases=phases), tuple(opened.values())
