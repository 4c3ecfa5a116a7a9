"""Find the jobs of fio that end with another.

With `exitall`, which is for all jobs where one gives it, a job that is done ends others: those of its group, all that run,
or all of the run. What fio ends it also keeps from starting, which a Plan cannot express: refused where jobs come later.
"""

from collections.abc import Sequence
from typing import Any

from assay import plan
from assay.errors import InputError
from assay.tools.fio.instances import JobInstance, groups
from assay.tools.fio.job_settings import JobSettings

_WIDEST = ("group", "stonewall", "all")


class Together:
    """The groups of a run."""

    def __init__(self, jobs: Sequence[JobSettings], members: Sequence[JobInstance]) -> None:
        """Look at all jobs; raises InputError where one would keep others from starting."""
        self._group = {id(job): group for job, group in zip(jobs, groups(jobs), strict=True)}
        self._members = members
        for member in members:
            job = member.settings
            if job.exits not in {"group", "all"}:
                continue
            later = [other for other in members if other.phase > member.phase]
            if job.exits == "group":
                later = [other for other in later if self._of(other) == self._of(member)]
            if later:
                raise InputError(
                    f"fio: {job.where}: 'exit_what={job.exits}' would keep job '{later[0].settings.name}' from starting,"
                    " which is not supported; use exit_what=stonewall, or leave that job out"
                )

    def of(self, member: JobInstance) -> dict[str, Any]:
        """Give the fields of its job of the Plan that set what ends with it."""
        if not member.settings.exits:
            return {}
        group = self._of(member)
        same_group = [other for other in self._members if other.phase == member.phase and self._of(other) == group]
        # Whoever is ended ends others in turn.
        widest = max((other.settings.exits for other in same_group), key=_WIDEST.index)
        ends = plan.Ends.TEAM if widest == "group" else plan.Ends.PHASE
        if member.settings.exits != "group":
            ends = plan.Ends.PHASE
        return {"ends": ends, "team": f"group {group}"}

    def are_one_group(self, members: Sequence[JobInstance]) -> bool:
        """Return whether all of them are of one."""
        return len({self._of(member) for member in members}) == 1

    def _of(self, member: JobInstance) -> int:
        return self._group[id(member.settings)]
