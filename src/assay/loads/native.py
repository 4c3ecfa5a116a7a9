"""Read the load file: TOML over the types of the Plan, friendlier and strict.

`parse` reads text, puts parameters in, reads every value as its Plan type (`toml_values.py`), checks that each name has an
object, and adds the steps that the file leaves to Assay (`sequence.py`). Whatever is wrong is a `FrontEndError` with
file and line. The keys are listed in docs/reference/load-file.md, which is made from the same types.
"""

import functools
import hashlib
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from assay import plan
from assay.errors import FrontEndError, InputError, PlanError
from assay.loads import each, impossible
from assay.loads.confirmation import confirmations
from assay.loads.further_targets import PlacedTargets, on_device, placed_targets
from assay.loads.load_file import TARGET, JobTable, LoadFile, OpTable, PhaseTable, TargetTable
from assay.loads.locate import Lines, Path, locate
from assay.loads.parameters import PHASE_SECONDS, SIZE, changed_parameters, declared, references, substitute
from assay.loads.refusals import placed
from assay.loads.scaling import check_scale, scaled
from assay.loads.sequence import lay_out_sequence
from assay.loads.text_bounds import check_document, check_text
from assay.loads.toml_values import Reader
from assay.places import DevicePlace, Place
from assay.plan import OpKind, limits
from assay.plan.durability import leaves_unflushed
from assay.plan.op_rules import MOVES_DATA
from assay.plan.phases import check_longest_time
from assay.plan.references import UnknownNameError, check_job, check_semaphores, check_shares
from assay.plan.walk import job_actions, job_ops
from assay.units import format_bytes, format_names, format_seconds

SAMPLE_INTERVALS_S = (1.0, 0.5, 0.2, 0.1, 0.05, 0.025)
"""Interval lengths to choose from: a person can read a grid of them."""
LONG_INTERVALS_S = (2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
"""As above, for runs of hours."""
INTERVALS_PER_PHASE = 30
"""Intervals that the shortest phase should have to assess its steadiness."""
USUAL_INTERVALS, MOST_INTERVALS = 10_000, 100_000
"""What a run has at most by itself, and where its load file asks for more: each takes kilobytes of storage and memory."""

T = TypeVar("T", bound=plan.Value)

_SAME_IN_A_JOB = (
    "workers",
    "kind",
    "arrival",
    "backend",
    "queue_depth",
    "batch",
    "huge_pages",
    "limit",
    "delay_s",
    "ends",
    "team",
    "timed",
)
_NEEDS_NO_SIZE = plan.Fixed(value=0.0)


def parse(
    text: str,
    source: str,
    *,
    directory: Place,
    settings: Mapping[str, str],
    repeat: int = 1,
    targets: Mapping[str, Place] = MappingProxyType({}),
    destroy: Collection[str] = (),
) -> plan.Plan:
    """Read a load file.

    Args:
        text: The TOML text.
        source: Its name, for messages and for the Plan's origin.
        directory: Where the load goes, or a block device; the target `target` of the Plan.
        settings: Values of parameters by name, as text; each must be declared, or a built-in one that the text uses.
        repeat: Times that the whole sequence of phases is measured.
        targets: Directories of further targets by their names, instead of those in the text.
        destroy: Names of block devices whose data may be destroyed.

    Raises:
        FrontEndError: anything in the text or the settings that cannot be read as intended.
        InputError: `repeat` is below 1, or the text has no target of a name.
    """
    if repeat < 1:
        raise InputError(f"repeat is {repeat}; measuring takes 1 or more")
    document, lines = read_toml(text, source)
    if repeat > 1 and "rounds" in document:
        why = f"--repeat {repeat}: this load repeats its phases in rounds, until they are steady; run it again instead"
        raise FrontEndError(source, lines.line_of(("rounds",)), why)
    check_scale(document, source, lines)
    values = substitute(document, settings, source, lines)
    try:
        changed = changed_parameters(document, settings, source, lines)
        unit = directory.logical_block_bytes if isinstance(directory, DevicePlace) else None
        made = _Translation(values, Reader(source, lines), source, changed, unit).to_plan(
            text, source, functools.partial(placed_targets, directory, given=targets, destroy=destroy), repeat
        )
        impossible.check(made)
    except PlanError as error:
        raise placed(error, text, source) from error
    return made


def phase_count(text: str, source: str) -> int:
    """Count the phases whose length `${phase_seconds}` sets: each gets an equal part of a time for the whole.

    Raises:
        FrontEndError: there is none, so that no time can be set.
    """
    document, _ = read_toml(text, source)
    phases = document.get("phase", [])
    phases = phases if isinstance(phases, list) else [phases]
    count = sum(_times_done(phase, document) for phase in phases if PHASE_SECONDS in references(phase))
    if not count:
        cure = 'its phases end by themselves; write seconds = "${phase_seconds}" in a phase to bound it'
        if times := sorted(
            {name for phase in phases if isinstance(phase, dict) for name in references(phase.get("seconds"))}
        ):
            cure = f"its times are set one by one: {', '.join(f'--set {name}=T' for name in times)}"
        raise FrontEndError(source, None, f"--time has nothing to set: no phase uses ${{phase_seconds}}; {cure}")
    return count


def _times_done(phase: object, document: Mapping[str, Any]) -> int:
    """How often a phase is done at most."""
    rounds = document.get("rounds")
    if not isinstance(rounds, dict) or (isinstance(phase, dict) and phase.get("once") is True):
        return 1
    most = rounds.get("most", plan.Rounds(of=()).most)
    return most if isinstance(most, int) and most > 0 else 1


def check_for_clients(text: str, source: str) -> None:
    """Refuse a load that clients cannot execute together, before anybody connects; raises FrontEndError."""
    document, lines = read_toml(text, source)
    if "rounds" in document:
        raise FrontEndError(source, lines.line_of(("rounds",)), plan.ROUNDS_OF_CLIENTS)


def needs_size(text: str, source: str, given: Collection[str]) -> bool:
    """Whether the caller has to give the parameter `size`; raises FrontEndError."""
    document, lines = read_toml(text, source)
    size = declared(document, source, lines).get(SIZE)
    return size is not None and size.default is None and SIZE not in given


def scaled_parameters(text: str, source: str, factor: float, *, given: Collection[str]) -> dict[str, str]:
    """Give the parameters that `--scale` changes, but those that the caller sets himself, as text.

    Raises:
        InputError: a factor beyond its limits.
        FrontEndError: the load scales no parameter, or declares it wrongly.
    """
    document, lines = read_toml(text, source)
    return scaled(document, source, lines, factor, given=given)


class LoadDescription(NamedTuple):
    """Description of a load in its file; empty if absent."""

    description: str
    answers: str
    void_if: str
    parameters: dict[str, object]
    """Declared, with their defaults."""
    scale: dict[str, object]
    """Those that `--scale` changes, each with the least that it becomes."""


def describe(text: str, source: str) -> LoadDescription:
    """Read the description of a load from its file."""
    document, _ = read_toml(text, source)
    tables = {name: document.get(name) for name in ("parameters", "scale")}
    return LoadDescription(
        description=str(document.get("description", "")),
        answers=str(document.get("answers", "")),
        void_if=str(document.get("void_if", "")),
        **{name: table if isinstance(table, dict) else {} for name, table in tables.items()},
    )


def read_toml(text: str, source: str) -> tuple[dict[str, Any], Lines]:
    """Read a text of bounded nesting as TOML, with the lines of its keys; raises FrontEndError."""
    check_text(text, source)
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and dates and numbers that Python does not take
        # The message ends in "(at line 3, column 7)" or "(at end of document)".
        place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
        reason = str(error)[: place.start()] if place else str(error)
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        if place and reason == "Invalid initial character for a key part":
            reason += "; an inline table {...} is on one line and has no comma at its end"
        column = f" in column {place[2]}" if place and place[2] else " at the end of the text"
        raise FrontEndError(source, line, f"this is not TOML{column}: {reason}") from error
    check_document(document, source)
    return each.expand(document, source, locate(text))


class _Translation:
    """One load file on its way to a Plan."""

    def __init__(
        self,
        values: dict[str, Any],
        reader: Reader,
        source: str,
        changed: tuple[str, ...],
        logical_block_bytes: int | None,
    ) -> None:
        self._values = values
        self._logical_block_bytes = logical_block_bytes
        self._changed = changed
        self._reader = reader
        self._source = source
        self._targets = {TARGET} | _names(values.get("target"))
        self._sets = _names(values.get("file_set"))
        self._phase = ""
        self._jobs_of_phase = 1
        self._drop_caches: set[str] = set()
        self._ends_open: set[str] = set()
        self._confirmed: set[str] = set()
        self._once: set[str] = set()
        self._skipped_if_unaligned: set[str] = set()
        reader.translate |= {
            plan.Target: self._target,
            plan.FileSet: self._file_set,
            plan.Phase: self._read_phase,
            plan.Job: self._job,
            plan.Op: self._op,
        }

    def to_plan(
        self, text: str, source: str, place: Callable[[Sequence[plan.Target]], PlacedTargets], repeat: int
    ) -> plan.Plan:
        top = self._reader.table(LoadFile, self._values, ())
        if not top.phase:
            raise self._reader.error(("phase",), "the load has no phase; add a [[phase]]")
        self._check_named((), top.name, "load")
        for index, further in enumerate(top.target):
            self._check_named(("target", index), further.name, "target")
        self._unique("target", "target", [TARGET, *(item.name for item in top.target)], first=-1)
        placed_on = place(top.target)
        file_sets = tuple(on_device(placed_on.of_set(one), placed_on.targets) for one in top.file_set)
        self._unique("file_set", "file set", [item.name for item in file_sets])
        self._unique("file_set", "folder", [f"{item.target}:{item.path}" for item in file_sets])
        self._unique("phase", "phase", [item.name for item in top.phase])
        top, untranslated = self._without_unaligned(top)
        self._check_shares(top)
        self._check_rounds(top)
        repeat = top.rounds.most if top.rounds else repeat
        drop_caches = frozenset(self._drop_caches)
        most = int(limits.LISTS["phases"].most)
        if len(top.phase) * repeat > most:
            raise FrontEndError(source, None, f"{len(top.phase)} phases {repeat} times: a run has at most {most}")
        return plan.Plan(
            name=top.name,
            answers=top.answers,
            void_if=top.void_if,
            origin=plan.Origin(
                front_end="native",
                source=source,
                sha256=hashlib.sha256(text.encode()).hexdigest(),
                changed=self._changed,
            ),
            seed=top.seed,
            targets=placed_on.targets,
            file_sets=file_sets,
            phases=lay_out_sequence(
                tuple(map(placed_on.of_phase, self._with_what_follows(top))),
                file_sets,
                drop_caches=drop_caches,
                repeat=repeat,
                once=frozenset(self._once),
                decided_from=top.rounds.window if top.rounds else None,
            ),
            rounds=top.rounds,
            sample_interval_s=self._sample_interval_s(top, repeat),
            reserve_bytes=top.reserve_bytes,
            accept=top.accept,
            untranslated=untranslated,
        )

    def _without_unaligned(self, top: LoadFile) -> tuple[LoadFile, tuple[plan.Untranslated, ...]]:
        """Leave out the phases whose direct I/O the device cannot do, where they ask for that."""
        unit = self._logical_block_bytes
        if unit is None:
            return top, ()
        named = self._skipped_if_unaligned
        left_out = [phase for phase in top.phase if phase.name in named and not _are_sizes_aligned(phase, unit)]
        if not left_out:
            return top, ()
        what = format_names([phase.title for phase in left_out])
        why = f"logical blocks of the device have {format_bytes(unit)}"
        kept = tuple(phase for phase in top.phase if phase not in left_out)
        return msgspec.structs.replace(top, phase=kept), (plan.Untranslated(what=what, why=why),)

    def _check_rounds(self, top: LoadFile) -> None:
        once = [phase.name in self._once for phase in top.phase]
        if top.rounds is None:
            if any(once):
                place = ("phase", once.index(True), "once")
                raise self._reader.error(place, "without [rounds] every phase is done once; take it away")
            return
        if top.rounds.most < top.rounds.window:
            text = f"{top.rounds.most} rounds are fewer than the window, {top.rounds.window}"
            raise self._reader.error(("rounds", "most"), text)
        first = once.index(False) if False in once else len(once)
        if True in once[first:]:
            place = ("phase", first + once[first:].index(True), "once")
            raise self._reader.error(place, "the rounds come last: put the phases that are done once before the others")
        repeated = [phase.name for phase in top.phase[first:]]
        for index, name in enumerate(top.rounds.of):
            if name not in repeated:
                raise self._reader.unknown(("rounds", "of", index), "repeated phase", name, repeated)

    def _check_shares(self, top: LoadFile) -> None:
        try:
            check_shares(top.phase)
        except UnknownNameError as error:
            raise self._reader.unknown(error.place, error.what, error.name, error.known) from error

    def _with_what_follows(self, top: LoadFile) -> tuple[plan.Phase, ...]:
        """Add flushes after changes without one, unless the file defines what follows, and the confirmations."""
        single_files = {file_set.name for file_set in top.file_set if file_set.files == 1}
        phases: list[plan.Phase] = []
        for phase in top.phase:
            ends_open = phase.name in self._ends_open and leaves_unflushed(phase, single_files)
            phases.append(msgspec.structs.replace(phase, after=(plan.Sync(),)) if ends_open else phase)
            if phase.name in self._confirmed:
                phases += confirmations(phases[-1])
        return tuple(phases)

    def _sample_interval_s(self, top: LoadFile, repeat: int) -> float:
        if top.sample_interval_s is None:
            return sample_interval_s(top.phase, repeat)
        intervals = sum(_longest(top.phase)) * repeat / top.sample_interval_s
        if intervals > MOST_INTERVALS:
            text = (
                f"the timed phases would have {intervals:,.0f} intervals; a run has at most {MOST_INTERVALS:,}."
                f" Take {format_seconds(intervals / MOST_INTERVALS * top.sample_interval_s)} or more, or leave it out"
            )
            raise self._reader.error(("sample_interval",), text)
        return top.sample_interval_s

    def _target(self, value: object, path: Path) -> plan.Target:
        table = self._reader.table(TargetTable, value, path)
        return plan.Target(name=table.name, uri=table.uri)

    def _file_set(self, value: object, path: Path) -> plan.FileSet:
        table = self._reader.table(plan.FileSet, value, path)
        self._check_named(path, table.name, "file set")
        self._known(path, "target", "target", table.target, self._targets)
        folder = PurePosixPath(table.path or table.name)
        if folder.is_absolute() or ".." in folder.parts or folder == PurePosixPath():
            raise self._reader.error(
                (*path, "path"), f"'{folder}' leaves the target's data folder; name a folder in it"
            )
        if table.files > 1 and "{index}" not in table.file_name:
            raise self._reader.error((*path, "file_name"), f"'{table.file_name}' names one file; put {{index}} into it")
        return msgspec.structs.replace(table, path=str(folder))

    def _read_phase(self, value: object, path: Path) -> plan.Phase:
        if isinstance(value, dict):
            # Jobs are read inside the phase's table and need these two for the name that they have by default.
            self._phase = str(value.get("name", ""))
            self._jobs_of_phase = len(value["job"]) if isinstance(value.get("job"), list) else 1
        table = self._reader.table(PhaseTable, value, path)
        self._check_named(path, table.name, "phase")
        if not table.job:
            raise self._reader.error((*path, "job"), f"phase '{table.name}' has no job; add a [[phase.job]]")
        if table.drop_caches:
            if table.cache is not plan.CacheCondition.COLD:
                raise self._reader.error(
                    (*path, "drop_caches"), 'dropping caches is part of cache = "cold"; ask for both'
                )
            self._drop_caches.add(table.name)
        if table.once:
            self._once.add(table.name)
        if table.skip_if_unaligned:
            self._skipped_if_unaligned.add(table.name)
        for key, steps in (("before", table.before), ("after", table.after or ())):
            for index, step in enumerate(steps):
                place = (*path, key, index)
                self._known(place, "set", "file set", getattr(step, "set", None), self._sets)
                self._known(place, "target", "target", getattr(step, "target", None), self._targets)
        self._note_what_follows(table, path)
        self._unique((*path, "job"), "job", [job.name for job in table.job])
        phase = plan.Phase(
            name=table.name,
            title=table.title or table.name,
            stands_for=table.stands_for,
            cell=table.cell,
            jobs=table.job,
            cache=table.cache,
            before=table.before,
            stop=self._stop(table, path),
            extend_to_s=table.extend_to_s,
            steady=table.steady,
            ramp_s=table.ramp_s,
            after=table.after or (),
        )
        self._check_longest_time(phase, path)
        try:
            check_semaphores(phase)
        except PlanError as error:
            raise self._reader.error((*path, "job"), str(error)) from error
        return phase

    def _note_what_follows(self, table: PhaseTable, path: Path) -> None:
        if table.after is None:
            self._ends_open.add(table.name)
        if table.confirm:
            if len(table.job) > 1:
                raise self._reader.error(
                    (*path, "confirm"), "with several jobs it is ambiguous which to double; keep one"
                )
            self._confirmed.add(table.name)

    def _check_longest_time(self, phase: plan.Phase, path: Path) -> None:
        try:
            check_longest_time(phase)
        except PlanError:
            why = (
                "a longest time extends a phase's time, and this phase has none: give it seconds"
                if phase.stop.seconds is None
                else f"a longest time lies above the phase's seconds, {format_seconds(phase.stop.seconds)}"
            )
            raise self._reader.error((*path, "extend_to"), why) from None

    def _job(self, value: object, path: Path) -> plan.Job:
        table = self._reader.table(JobTable, value, path)
        if not table.name and self._jobs_of_phase > 1:
            raise self._reader.error(path, "key 'name' is missing; the jobs of a phase with several need names")
        if isinstance(table.backend, plan.Psync | plan.ReadWrite | plan.Mmap | plan.Stdio) and table.queue_depth > 1:
            raise self._reader.error(
                (*path, "queue_depth"),
                f"a worker of this backend keeps one I/O in flight, not {table.queue_depth}; "
                f'use backend = "io_uring", or workers = {table.queue_depth}',
            )
        body = self._body(table, path)
        same = {name: getattr(table, name) for name in _SAME_IN_A_JOB}
        try:
            job = plan.Job(
                name=table.name or self._phase,
                body=body,
                open=_part(plan.OpenFlags, table),
                affinity=_part(plan.Affinity, table),
                stop=self._stop(table, path),
                **same,
            )
            self._check_names(job, path)
            check_job(job)
        except UnknownNameError as error:
            if not error.place:
                raise self._reader.error(path, str(error)) from error
            raise self._reader.unknown((*path, *error.place), error.what, error.name, error.known) from error
        except PlanError as error:
            raise self._reader.error(path, str(error)) from error
        return job

    def _body(self, table: JobTable, path: Path) -> plan.Body:
        bodies = [body for body in (table.op, table.loop, table.script) if body]
        if len(bodies) != 1:
            raise self._reader.error(
                path, f"a job has one of op, loop and script; this one has {len(bodies) or 'none'}"
            )
        if table.script:
            return msgspec.structs.replace(
                table.script, path=self._sibling(table.script.path, (*path, "script", "path"))
            )
        return plan.Loop(actions=(plan.Do(op=table.op),) if table.op else tuple(map(_possible, table.loop)))

    def _sibling(self, name: str, path: Path) -> str:
        """Return the path of a file that the load file names: in its folder or below, never outside."""
        named = PurePosixPath(name)
        if named.is_absolute() or ".." in named.parts or named == PurePosixPath() or "\0" in name:
            raise self._reader.error(path, f"'{name}' leaves the folder of the load file; put the file next to it")
        # Links on the way to the load file are the user's; on the way on there must be none (bundle/scripts.py).
        return str(FilePath(self._source).absolute().parent.resolve() / named)

    def _op(self, value: object, path: Path) -> plan.Op:
        table = self._reader.table(OpTable, value, path)
        if table.set:
            self._known(path, "set", "file set", table.set, self._sets)
            file: plan.FileRef = plan.FromSet(set=table.set, pick=table.pick or _usual_pick(table.op), slot=table.slot)
        elif table.slot is None:
            raise self._reader.error(
                path, "which file? write set = the name of a file set, or slot = that of an earlier op"
            )
        elif table.pick is not None:
            raise self._reader.error((*path, "pick"), "a slot holds one file; pick goes with set")
        else:
            file = plan.Slot(slot=table.slot)
        if bool(table.argv) != (table.op is OpKind.SPAWN):
            cure = "write argv = [program, arguments]" if table.op is OpKind.SPAWN else "take argv away"
            raise self._reader.error((*path, "argv"), f"spawn runs a program, and nothing else does: {cure}")
        if table.argv and "/" in table.argv[0] and not PurePosixPath(table.argv[0]).is_absolute():
            cure = "write its absolute path, or a name alone, which is looked for in PATH"
            raise self._reader.error((*path, "argv"), f"'{table.argv[0]}' depends on the current directory; {cure}")
        if table.size is None and table.op in MOVES_DATA:
            raise self._reader.error(path, f'{table.op.value} needs a size; write size = "4KiB"')
        if table.op in MOVES_DATA and table.size == plan.Fixed(value=0.0):
            raise self._reader.error(
                (*path, "size"), f"a {table.op.value} of 0 bytes moves nothing; write a size above 0"
            )
        return plan.Op(
            op=table.op,
            name=table.name or table.op.value,
            file=file,
            access=table.access,
            size=table.size or _NEEDS_NO_SIZE,
            flags=_part(plan.OpFlags, table),
        )

    def _stop(self, table: PhaseTable | JobTable, path: Path) -> plan.Stop:
        if table.seconds is None:
            return table.stop or plan.Stop()
        if table.stop is None:
            return plan.Stop(seconds=table.seconds)
        if table.stop.seconds is not None:
            raise self._reader.error((*path, "seconds"), "seconds is given twice, here and in stop; keep one")
        return msgspec.structs.replace(table.stop, seconds=table.seconds)

    def _check_named(self, path: Path, name: str, what: str) -> None:
        if not name.strip():
            raise self._reader.error((*path, "name"), f"the {what}'s name is empty; give it one")

    def _check_names(self, job: plan.Job, path: Path) -> None:
        """Check that a name represents one kind of thing, because results are kept by name."""
        kinds: dict[str, str] = {}
        for action in job_actions(job):
            if isinstance(action, plan.Do):
                name, kind = action.op.name, action.op.op.value
            elif isinstance(action, plan.Wait | plan.Post | plan.Token):
                of_action = action.bucket if isinstance(action, plan.Token) else action.semaphore
                self._check_named((*path, "loop"), of_action, "semaphore or token bucket")
                continue
            elif isinstance(action, plan.Group):
                self._check_named((*path, "loop"), action.name, "group")
                name, kind = action.name, "group"
            else:
                continue
            if kinds.setdefault(name, kind) != kind:
                text = (
                    f"'{name}' names a {kinds[name]} and a {kind}; their times would be mixed: rename one (name = ...)"
                )
                raise self._reader.error(path, text)

    def _known(self, path: Path, key: str, what: str, name: str | None, known: set[str]) -> None:
        if name is not None and name not in known:
            raise self._reader.unknown(path, what, name, known, at=(*path, key))

    def _unique(self, place: str | Path, what: str, names: list[str], first: int = 0) -> None:
        path = (place,) if isinstance(place, str) else place
        seen: set[str] = set()
        for index, name in enumerate(names):
            if name in seen:
                raise self._reader.error((*path, index + first), f"{what} '{name}' is defined twice; names are unique")
            seen.add(name)


def sample_interval_s(phases: Collection[plan.Phase], repeat: int = 1) -> float:
    """Choose the length of an interval, for phases that are executed `repeat` times.

    A thirtieth of the shortest timed phase at most, within 25 ms and 1 s; longer where the run would have more than
    `USUAL_INTERVALS`, as far as the shortest phase still has its thirty; `MOST_INTERVALS` are never exceeded.
    """
    seconds = _seconds(phases)
    if not seconds:
        return SAMPLE_INTERVALS_S[0]
    wanted = min(seconds) / INTERVALS_PER_PHASE
    usual = next((interval for interval in SAMPLE_INTERVALS_S if interval <= wanted), SAMPLE_INTERVALS_S[-1])
    needed = sum(_longest(phases)) * repeat / USUAL_INTERVALS
    longer = [interval for interval in LONG_INTERVALS_S if interval <= min(seconds) / INTERVALS_PER_PHASE]
    chosen = next((interval for interval in (usual, *longer) if interval >= needed), max((usual, *longer)))
    least = needed * USUAL_INTERVALS / MOST_INTERVALS
    lengths = (chosen, *reversed(SAMPLE_INTERVALS_S), *LONG_INTERVALS_S)
    return next((interval for interval in lengths if interval >= least), LONG_INTERVALS_S[-1])


def _seconds(phases: Iterable[plan.Phase]) -> list[float]:
    """Lengths of those phases that are timed."""
    return [phase.stop.seconds for phase in phases if phase.stop.seconds]


def _longest(phases: Iterable[plan.Phase]) -> list[float]:
    """How long each of them can last."""
    return [longest_s for phase in phases if (longest_s := phase.longest_s)]


def _names(tables: object) -> set[str]:
    """Names that an array of tables defines; what is wrong with it is reported when it is read."""
    entries = [tables] if isinstance(tables, dict) else tables if isinstance(tables, list) else []
    return {entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)}


def _possible(action: plan.Action) -> plan.Action:
    """Leave out branches of weight 0 beside others: they are never taken, and would be rows without a result."""
    match action:
        case plan.Choice():
            weighted = [branch for branch in action.branches if branch.weight > 0] or list(action.branches)
            branches = (
                msgspec.structs.replace(branch, actions=tuple(map(_possible, branch.actions))) for branch in weighted
            )
            return msgspec.structs.replace(action, branches=tuple(branches))
        case plan.Group() | plan.Repeat() | plan.Every():
            return msgspec.structs.replace(action, actions=tuple(map(_possible, action.actions)))
    return action


def _are_sizes_aligned(phase: plan.Phase, unit_bytes: int) -> bool:
    """Whether direct I/O of a phase moves whole blocks of a size; sizes that are drawn are not looked at."""
    direct = (job for job in phase.jobs if job.open.direct is not plan.Direct.OFF)
    sizes = (op.size for job in direct for op in job_ops(job) if op.op in MOVES_DATA)
    return all(size.value % unit_bytes == 0 for size in sizes if isinstance(size, plan.Fixed))


def _part(shape: type[T], table: msgspec.Struct) -> T:
    """Take the fields of a Plan type out of a flatter table that has all of them."""
    return shape(**{name: getattr(table, name) for name in shape.__struct_fields__})


def _usual_pick(op: OpKind) -> plan.Pick:
    if op in {OpKind.CREATE, OpKind.MKDIR}:
        return plan.New()
    return plan.Existing() if op in {OpKind.UNLINK, OpKind.RMDIR, OpKind.RENAME} else plan.Next()
