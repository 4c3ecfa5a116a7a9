"""The Plan as a whole: where it comes from, and what it consists of."""

from collections.abc import Sequence

import msgspec

from assay.errors import PlanError
from assay.plan import limits
from assay.plan.file_sets import BLOCK_SCHEME, FileSet, Target
from assay.plan.phases import NextRound, Phase, Rounds, check_longest_time
from assay.plan.references import check_plan
from assay.plan.values import Value

SCHEMA = "assay.plan/1"
RESERVE_BYTES = 256 << 20
"""What stays free on every target if nobody says otherwise."""


class Origin(Value, kw_only=True):
    """The front end and the text that the Plan was made from."""

    front_end: str
    source: str
    sha256: str
    counts: dict[str, float] = msgspec.field(default_factory=dict)
    """What the front end counted while it made the Plan, for reports on the run; part of no operation."""
    changed: tuple[str, ...] = ()
    """Parameters with another value than the source gives them, in words."""
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """Texts of the files that the source names, and of what they include, by name."""


class User(Value, kw_only=True):
    """Who does the work."""

    uid: int
    """Number of the user."""
    gid: int
    """Number of the group; no other groups are kept."""


class Among(Value, kw_only=True):
    """Which of several engines this one is, as a rule on as many machines, that use the data folders at once.

    Whoever is of another run is kept out, as ever. Without an `owner` the sets are there once: the engine of part 0 lays
    them out, the others wait for them, and the last to leave removes them.
    """

    run: str
    """Word that the engines of the run have in common, and no other run has: letters, digits, `-` and `_`."""
    part: int
    """Which part of the workers this engine has: worker i of n is worker `part * n + i` of `parts * n` for slices, files by
    number, scripts and random choices."""
    parts: int
    """How many parts there are."""
    owner: str
    """Client whose files these are, in folders in which the other clients have theirs: the names of its files begin with it
    and a dot. Empty: all clients work on the same files."""


class Untranslated(Value, kw_only=True):
    """Something of the source that has no equal in the Plan."""

    what: str
    why: str


class Plan(Value, kw_only=True):
    """A whole run."""

    name: str
    origin: Origin
    seed: int
    targets: tuple[Target, ...]
    file_sets: tuple[FileSet, ...]
    phases: tuple[Phase, ...]
    answers: str = ""
    """The question that the run answers, in a line."""
    void_if: str = ""
    """What would make that answer void, in a line."""
    rounds: Rounds | None = None
    """What ends the rounds of phases that are repeated."""
    user: User | None = None
    """Who the engine runs as; None: who starts the run."""
    among: Among | None = None
    """Which of several engines this one is, where they use the same data folders; None: those are its alone."""
    sample_interval_s: float = 1.0
    reserve_bytes: int = RESERVE_BYTES
    accept: tuple[str, ...] = ()
    """Ids of findings that the user knows of: they are notes, and cost no trust, unless they make a number unusable."""
    untranslated: tuple[Untranslated, ...] = ()
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        """Check that numbers are within their limits, that names are unique, and that every reference has an object."""
        limits.check(self)
        if self.schema != SCHEMA:
            raise PlanError(f"plan '{self.name}': schema is {self.schema}; this Assay reads {SCHEMA}")
        _unique("target", [t.name for t in self.targets])
        _unique("file set", [s.name for s in self.file_sets])
        _unique("phase", [f"{p.name} (repeat {p.repeat})" for p in self.phases])
        for phase in self.phases:
            check_longest_time(phase)
        check_plan(self.targets, self.file_sets, self.phases)
        _check_rounds(self.rounds, self.phases)

    def to_json(self) -> bytes:
        """Encode for the engine and for `resolved.json`."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> "Plan":
        """Decode; raises PlanError with the place of the first fault."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise PlanError(f"plan: {error}") from error
        except RecursionError:
            raise PlanError("plan: its values are nested too deep to be read") from None

    def file_set(self, name: str) -> FileSet:
        """Look a file set up; raises PlanError if there is none of that name."""
        for candidate in self.file_sets:
            if candidate.name == name:
                return candidate
        raise PlanError(f"plan '{self.name}': no file set '{name}'")

    def is_on_device(self, name: str) -> bool:
        """Return whether a file set is a block device; raises PlanError if there is none of that name."""
        target = self.file_set(name).target
        return any(one.name == target and one.uri.startswith(BLOCK_SCHEME) for one in self.targets)


def _check_rounds(rounds: Rounds | None, phases: Sequence[Phase]) -> None:
    if rounds is None:
        if any(isinstance(phase.gate, NextRound) for phase in phases):
            raise PlanError("a phase begins another round, and the plan does not define what ends them (rounds)")
        return
    jobs = {phase.name: len(phase.jobs) for phase in phases}
    for name in rounds.of:
        if name not in jobs:
            raise PlanError(f"rounds: there is no phase '{name}'; known here: {', '.join(jobs)}")
        if jobs[name] > 1:
            raise PlanError(
                f"rounds: phase '{name}' has several jobs, so it is ambiguous whose result counts; keep one"
            )
    if not rounds.of:
        raise PlanError("rounds: of names no phase; name those whose results have to be steady")


def _unique(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PlanError(f"{what} '{name}' is defined twice; names are unique")
        seen.add(name)
