"""In which order does a worker do what: actions, loops of them, and scripts."""

import enum

from assay.plan.distributions import Distribution
from assay.plan.operations import Op
from assay.plan.values import Kind, Value


class TokenUnit(enum.Enum):
    """What a token of a rate represents."""

    EVENT = "event"
    OP = "op"
    DATA_OP = "data_op"
    MEBIBYTE = "mebibyte"


class Do(Kind, kw_only=True, tag="op"):
    """Issue an operation."""

    op: Op
    """The operation."""


class Group(Kind, kw_only=True):
    """Actions that are also timed together, under a name of their own."""

    name: str
    """Key of the group's histogram."""
    actions: tuple["Action", ...]
    """Members."""
    laps: bool = False
    """Whether each completion is also reported by itself, with its worker, end and latency (`laps` in the event stream)."""


class Branch(Value, kw_only=True):
    """One branch of a choice."""

    weight: float
    """Relative weight."""
    actions: tuple["Action", ...]
    """What it does."""


class Choice(Kind, kw_only=True):
    """One of several branches, by weight."""

    branches: tuple[Branch, ...]
    """Weights and branches."""


class Repeat(Kind, kw_only=True):
    """A number of times."""

    times: int
    """How often."""
    actions: tuple["Action", ...]
    """Members."""


class Every(Kind, kw_only=True):
    """Each so many-th time that a worker comes here, as for an fsync after each 16th write; it goes past the others."""

    times: int
    """How many times it comes here for each time that it does this; the last of them does it."""
    actions: tuple["Action", ...]
    """Members."""


class Wait(Kind, kw_only=True):
    """Take from a semaphore that all workers of the phase share; ends the worker when all of them wait."""

    semaphore: str
    """Its name."""
    count: int = 1
    """How much."""
    initial: int = 0
    """What it holds at the start of the phase; the most where waits for it differ."""


class Post(Kind, kw_only=True):
    """Give to a semaphore."""

    semaphore: str
    """Its name."""
    count: int = 1
    """How much."""


class Token(Kind, kw_only=True):
    """Take a token of a rate that workers share."""

    bucket: str
    """Its name."""
    rate_per_s: float
    """Tokens per second, over all takers."""
    unit: TokenUnit
    """What one token stands for: a pass of the loop (one is taken here), or an operation, a data operation or a MiB of
    data (what the worker did since it took last is taken)."""
    operation: str = ""
    """Name of the operation that is counted; empty: all that are of the unit."""


class Think(Kind, kw_only=True):
    """Pause, asleep or burning CPU."""

    seconds: Distribution
    """How long."""
    burn: bool = False
    """Burn CPU instead of sleeping."""


class FinishOn(Kind, kw_only=True):
    """The worker is done once an operation (empty: all of its data operations) has reached a count."""

    op: str = ""
    """Name of the operation; empty: all of the worker's data operations."""
    ops: int | None = None
    """Operations, if counted."""
    bytes: int | None = None
    """Bytes, if counted."""
    together: bool = False
    """Whether what all workers of the job did is counted together."""
    every_kind: bool = False
    """Without a name: whether operations of every kind count, not those of data alone."""


Action = Do | Group | Choice | Repeat | Every | Wait | Post | Token | Think | FinishOn


class Loop(Kind, kw_only=True):
    """Actions in order, again and again."""

    actions: tuple[Action, ...]


class ScriptGroup(Value, kw_only=True):
    """Operations that one line of a script does in order, with its file, offset and size; also timed together.

    It is broken off where one fails. Slots that it uses are filled in it. Its files are opened for what it does with
    them: to read, to write, for both, and with O_APPEND where a write's access is `append`.
    """

    name: str
    """Key of its histogram."""
    ops: tuple[Op, ...]
    """At least one."""
    chunk_bytes: int = 0
    """Longest piece in which its reads and writes move (backends psync and stdio); 0: each in one call."""
    pooled: bool = False
    """Its writes give bytes that were made before the start, from the first one on, with eight new ones in every 4 KiB of a
    file, instead of new bytes throughout: no block is like another all the same, and making them takes no time."""


class Script(Kind, kw_only=True):
    """An explicit list of operations in a file beside the Plan: NDJSON of `[op, file index, offset, size, due_ns]`.

    Lines are dealt out to the workers in turn. `due_ns` above 0 says when to begin, from the start.
    """

    ops: tuple[Op, ...] = ()
    """Operations as templates, referred to by index."""
    groups: tuple[ScriptGroup, ...] = ()
    """Several operations as one line, referred to by the indices after those of `ops`."""
    path: str
    """The NDJSON file."""


Body = Loop | Script
