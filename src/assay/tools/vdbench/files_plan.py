"""A run of workloads on file systems as phases.

A workload is a job for each of its FSDs and operations, and its threads are divided up between them. To read or write, a
thread opens a file, goes through it (in order to its end, or `stopafter` times at random) and closes it. An FSD is a file
set with a tree of its shape; `format=` sets when it is laid out. As fast as it goes, the opens and closes are timed too; at
a rate, which counts the operation that was asked for, they are not.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

from assay import plan
from assay.plan import Untranslated
from assay.plan.walk import job_sets
from assay.tools.vdbench.definitions import MAX
from assay.tools.vdbench.file_loops import Body, mean_size
from assay.tools.vdbench.filesystems import Fsd, Fwd
from assay.tools.vdbench.load import Load
from assay.tools.vdbench.runs import OneRun
from assay.tools.vdbench.storage_plan import open_flags, size_of
from assay.tools.vdbench.values import Transfer

_MOST_FILES = 1 << 32
_SHAPE = ("depth", "width", "files", "sizes")
_FORMATTED = frozenset({"yes", "restart", "only", "once"})


@dataclasses.dataclass(frozen=True)
class Made:
    """Phases of a run, and what they need."""

    phases: tuple[plan.Phase, ...]
    sets: tuple[tuple[Fsd, plan.FileSet], ...]
    """File sets, without a target; their path distinguishes those of one anchor."""
    anew: frozenset[str]
    """Names of those that are laid out even where they are already."""
    notes: tuple[Untranslated, ...]


def make(run: OneRun, load: Load, *, is_first: bool) -> Made:
    """Make the phases of a run.

    Args:
        run: What is asked for.
        load: The file that it is of.
        is_first: Whether it is the first run of its rd, which is what `format=once` is for.

    Raises:
        FrontEndError: what has no exact equal here.
    """
    return _Maker(run, load, is_first=is_first).made()


class _Maker:
    def __init__(self, run: OneRun, load: Load, *, is_first: bool) -> None:
        self._run = run
        self._rd = run.rd
        self._load = load
        self._sets: dict[str, tuple[Fsd, plan.FileSet]] = {}
        self._anew: set[str] = set()
        self._notes: dict[Untranslated, None] = {}
        self._lays_out = bool(_FORMATTED & self._rd.format) and (is_first or "once" not in self._rd.format)

    def made(self) -> Made:
        phases = tuple(self._phases())
        return Made(phases, tuple(self._sets.values()), frozenset(self._anew), tuple(self._notes))

    def _phases(self) -> Iterator[plan.Phase]:
        run, rd = self._run, self._rd
        for key in ("seekpct", "hitarea", "rhpct", "whpct"):
            if key in run.values:
                raise rd.place.error(f"rd={rd.name}: {key}= is of SDs, and this run is of file systems")
        shares = _shares(rd.fwds)
        if run.rate == MAX and not run.of and any(fwd.skew is not None for fwd in rd.fwds) and len(rd.fwds) > 1:
            raise rd.place.error(
                f"rd={rd.name}: skew= with fwdrate=max would need one workload to wait for another; give a fwdrate, of which"
                " skew= gives each its share"
            )
        if "clean" in rd.format:
            yield plan.Phase(
                name=run.name,
                title=f"{run.name}: files removed",
                jobs=(),
                before=tuple(
                    step for name in self._plain_sets() for step in (plan.Prepare(set=name), plan.Remove(set=name))
                ),
            )
            return
        if "only" in rd.format:
            before = tuple(plan.Prepare(set=name) for name in self._plain_sets())
            yield plan.Phase(name=run.name, title=f"{run.name}: files laid out", jobs=(), before=before)
            return
        made = [self._jobs(fwd, shares[fwd.name]) for fwd in rd.fwds]
        directories = tuple(job for _, makers in made for job in makers)
        if directories:
            name = f"format_for_{run.name}"
            sets = dict.fromkeys(_sets_of(directories))
            yield plan.Phase(
                name=name, title=name, jobs=directories, before=tuple(plan.Prepare(set=each) for each in sets)
            )
        jobs = tuple(job for each, _ in made for job in each)
        yield plan.Phase(
            name=run.name,
            title=run.name,
            jobs=jobs,
            before=tuple(
                plan.Prepare(set=name) for name in dict.fromkeys(_sets_of(jobs)) if name not in _sets_of(directories)
            ),
            stop=plan.Stop(seconds=float(rd.warmup + rd.elapsed)),
            ramp_s=float(run.ramp_s),
            after=(plan.Sleep(seconds=float(rd.pause)),) if rd.pause else (),
        )

    # -- file sets -----------------------------------------------------------------------------------------------------

    def _plain_sets(self) -> list[str]:
        return list(dict.fromkeys(self._set(self._shape(name)) for fwd in self._rd.fwds for name in fwd.fsds))

    def _shape(self, name: str) -> Fsd:
        """The FSD as the loops of the rd need it."""
        values: dict[str, Any] = {key: self._run.values[key] for key in _SHAPE if key in self._run.values}
        return dataclasses.replace(self._load.fsds[name], **values)

    def _set(self, fsd: Fsd, *, existing: float = 1.0, suffix: str = "") -> str:
        directories = fsd.width**fsd.depth
        if fsd.is_everywhere and fsd.depth > 1:
            raise fsd.place.error(
                f"fsd={fsd.name}: distribution=all puts files into the upper directories too, and a tree here has them in"
                " the lowest alone; use distribution=bottom, or depth=1"
            )
        files = self._files(fsd, directories)
        # What makes a difference to what lies there is in the name: another shape is another set.
        name = "-".join(
            filter(
                None,
                (fsd.name, suffix, f"d{fsd.depth}w{fsd.width}f{files}s{_sizes_word(fsd)}" if self._varies() else ""),
            )
        )
        anew = existing < 1 or ("restart" not in self._rd.format and bool(_FORMATTED & self._rd.format))
        made = plan.FileSet(
            name=name,
            target="target",
            path="-".join(filter(None, (suffix, f"d{fsd.depth}w{fsd.width}f{files}s{_sizes_word(fsd)}"))),
            files=files,
            size=size_of(Transfer(fsd.sizes)),
            layout=plan.Tree(width=fsd.width, depth=fsd.depth),
            existing_share=existing,
            reuse=plan.Reuse.NEVER if anew else plan.Reuse.IF_MATCHES,
            content=plan.Content(compress_ratio=self._load.compress_ratio),
            create_workers=self._load.format_threads,
            keep=existing == 1.0 and not self._is_emptied(fsd.name),
        )
        self._sets[name] = (fsd, made)
        if anew and (existing < 1 or self._lays_out):
            self._anew.add(name)
        return name

    def _is_emptied(self, name: str) -> bool:
        """Return whether a run removes files, after which what lies there is not what was laid out."""
        asked = [
            operation for rd in self._load.rds for key, each in rd.loops if key == "operation" for operation in each
        ]
        looped = any("delete" in operations for operations in asked if isinstance(operations, tuple))
        fwds = [fwd for rd in self._load.rds for fwd in rd.fwds if name in fwd.fsds]
        return bool(fwds) and (looped or any("delete" in fwd.operations for fwd in fwds))

    def _varies(self) -> bool:
        return bool({*_SHAPE} & self._run.values.keys())

    def _files(self, fsd: Fsd, directories: int) -> int:
        files = fsd.files * directories
        if files > _MOST_FILES:
            raise fsd.place.error(f"fsd={fsd.name}: {files} files (files x width^depth); the limit is {_MOST_FILES}")
        if fsd.totalsize is None:
            return files
        wanted = max(1, math.ceil(fsd.totalsize / max(1.0, mean_size(fsd))))
        if wanted < files:
            note = "as many files as make it up on average, over all directories"
            self._notes[Untranslated(what=f"fsd={fsd.name},totalsize={fsd.totalsize}", why=note)] = None
        return min(files, wanted)

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def _jobs(self, fwd: Fwd, share: float) -> tuple[list[plan.Job], list[plan.Job]]:
        """Give the jobs of a workload, and those that make before what it removes."""
        fwd = self._override(fwd)
        parts = [(name, operation) for name in fwd.fsds for operation in self._operations(fwd)]
        jobs, before = [], []
        for name, operation in parts:
            fsd = self._shape(name)
            body = Body(fwd, fsd, operation, self)
            label = fwd.name if len(parts) == 1 else f"{fwd.name} {name} {operation}"
            threads = -(-fwd.threads // len(parts))
            arrival = self._arrival(share / len(parts))
            flags = self._rd.flags if self._rd.flags is not None else fwd.flags | fsd.flags
            jobs.append(
                plan.Job(
                    name=label,
                    body=plan.Loop(actions=tuple(body.actions(flushes="fsync" in flags))),
                    workers=threads,
                    arrival=arrival,
                    open=open_flags(flags),
                    # A point's rate is a share of what is counted here: of what was asked for.
                    timed=() if isinstance(arrival, plan.Closed) and not self._run.leads else body.asked,
                )
            )
            if operation == "rmdir":
                op = plan.Op(op=plan.OpKind.MKDIR, name="mkdir", file=plan.FromSet(set=body.set, pick=plan.New()))
                before.append(plan.Job(name=label, body=plan.Loop(actions=(plan.Do(op=op),)), workers=threads))
        return jobs, before

    def _override(self, fwd: Fwd) -> Fwd:
        keys = {"xfersize": "transfer", "threads": "threads", "rdpct": "rdpct", "operation": "operations"}
        values: dict[str, Any] = {
            meant: self._run.values[key] for key, meant in keys.items() if key in self._run.values
        }
        return dataclasses.replace(fwd, **values)

    def _operations(self, fwd: Fwd) -> tuple[str, ...]:
        found = dict.fromkeys(fwd.operations)
        if len({"open", "close"} & found.keys()) == 1:
            raise fwd.place.error(
                f"fwd={fwd.name}: files that are only opened, or only closed, are not supported; use operations=(open,close)"
            )
        if "open" in found:
            del found["close"]
        return tuple(found)

    def _arrival(self, share: float) -> plan.Arrival:
        spacing = plan.Spacing.UNIFORM if self._rd.is_even else plan.Spacing.POISSON
        if self._run.of:
            return plan.OpenShare(phase=self._run.of, rate_share=self._run.share / 100, spacing=spacing)
        if self._run.rate == MAX:
            return plan.Closed()
        return plan.Open(rate_per_s=self._run.rate * share / 100, spacing=spacing)

    def set_of(self, fsd: Fsd, *, existing: float = 1.0, suffix: str = "") -> str:
        return self._set(fsd, existing=existing, suffix=suffix)

    def note(self, what: str, why: str) -> None:
        self._notes[Untranslated(what=what, why=why)] = None


def _sets_of(jobs: Sequence[plan.Job]) -> list[str]:
    return [name for job in jobs for name in job_sets(job)]


def _shares(fwds: Sequence[Fwd]) -> dict[str, float]:
    """Give each workload's share of the rate, in per cent."""
    given = sum(fwd.skew for fwd in fwds if fwd.skew is not None)
    others = [fwd for fwd in fwds if fwd.skew is None]
    if given > 100.01 or (not others and round(given, 1) != 100.0):
        raise fwds[0].place.error(f"the skews of the workloads of a run add up to {given:g} per cent, not to 100")
    return {fwd.name: (100 - given) / len(others) if fwd.skew is None else fwd.skew for fwd in fwds}


def _sizes_word(fsd: Fsd) -> str:
    return "_".join(str(size) if len(fsd.sizes) == 1 else f"{size}x{share:g}" for size, share in fsd.sizes)[:60]
