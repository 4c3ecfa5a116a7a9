"""The Plan: what to do, complete and explicit.

A front end makes one, the engine carries it out, the bundle keeps it. The Rust twin with the same fields is
`engine/src/plan/`; `tests/unit/test_seams.py` sends every variant through both. Units are in the names: `_s` seconds,
`_bytes` bytes, `_per_s` rates. Shares lie between 0 and 1.

A file answers one question, and everything is to be had from here.
"""

from assay.plan.access import (
    Access,
    Append,
    Backward,
    Coverage,
    RandomAccess,
    Range,
    Region,
    Sequential,
    SharedStream,
    Slice,
    Stride,
    Whole,
    WholeFile,
)
from assay.plan.actions import (
    Action,
    Body,
    Branch,
    Choice,
    Do,
    Every,
    FinishOn,
    Group,
    Loop,
    Post,
    Repeat,
    Script,
    ScriptGroup,
    Think,
    Token,
    TokenUnit,
    Wait,
)
from assay.plan.backends import Aio, Backend, Direct, Fallback, IoUring, Mmap, Null, OpenFlags, Psync, ReadWrite, Stdio
from assay.plan.distributions import (
    ANYWHERE,
    Distribution,
    Exponential,
    Fixed,
    Gamma,
    HotSpot,
    Lognormal,
    Normal,
    Pareto,
    Tabular,
    Uniform,
    Zipf,
)
from assay.plan.file_sets import Allocate, Content, FileSet, Flat, Layout, PerDirectory, Reuse, Target, Tree, TreeGamma
from assay.plan.jobs import (
    Affinity,
    Arrival,
    Balanced,
    Batch,
    Closed,
    Ends,
    Job,
    Open,
    OpenShare,
    RateLimit,
    Spacing,
    Stop,
    StopOf,
    WorkerKind,
)
from assay.plan.operations import (
    Existing,
    FileRef,
    FromSet,
    Indexed,
    InTurn,
    Listed,
    New,
    Next,
    Op,
    OpFlags,
    OpKind,
    Own,
    Pick,
    RandomFile,
    Shuffled,
    Slot,
)
from assay.plan.phases import (
    ROUNDS_OF_CLIENTS,
    CacheCondition,
    Gate,
    InputLine,
    NextRound,
    Phase,
    Rounds,
    Semaphore,
    SteadyBy,
    SteadyOf,
    SteadyRule,
    TableCell,
)
from assay.plan.steps import (
    Age,
    Ceilings,
    Command,
    Discard,
    DropCaches,
    Evict,
    Fill,
    Place,
    Prepare,
    Remount,
    Remove,
    Settle,
    Sleep,
    Step,
    Sync,
    Verify,
    Warm,
)
from assay.plan.values import Value
from assay.plan.whole import RESERVE_BYTES, SCHEMA, Among, Origin, Plan, Untranslated, User
