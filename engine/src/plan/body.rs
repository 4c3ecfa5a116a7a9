//! What a worker does: actions in order, or a list of operations.

use crate::plan::distribution::Distribution;
use crate::plan::op::Op;
use serde::{Deserialize, Serialize};

/// What a worker does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// Actions in order, again and again.
    Loop {
        /// At least one.
        actions: Vec<Action>,
    },
    /// An explicit list of operations in a file beside the Plan.
    Script {
        /// Operations as templates, referred to by index.
        ops: Vec<Op>,
        /// Several operations as one line, referred to by the indices after those of `ops`.
        groups: Vec<ScriptGroup>,
        /// NDJSON file of `[op, file index, offset, size, due_ns]`, one operation a line, dealt out to the workers in
        /// turn. `due_ns` above 0: when it is to begin, from the start. For rename, link, symlink, clone and copy, `offset`
        /// is the file index that they go to. A script names its files itself: `pick` does not matter.
        path: String,
    },
}

/// Operations that one line of a script does in order, with its file, offset and size; also timed together. It is broken
/// off where one fails. Slots that it uses are filled in it. Its files are opened for what it does with them: to read, to
/// write, for both, and with O_APPEND where a write's access is `append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptGroup {
    /// Key of its histogram.
    pub name: String,
    /// At least one.
    pub ops: Vec<Op>,
    /// Longest piece in which its reads and writes move (backends psync and stdio); 0: each in one call.
    pub chunk_bytes: u64,
    /// Its writes give bytes that were made before the start, from the first one on, with eight new ones in every 4 KiB of a
    /// file, instead of new bytes throughout: no block is like another all the same, and making them takes no time.
    pub pooled: bool,
}

/// One step of an op loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "a Plan has few actions, and most of them are operations")]
pub enum Action {
    /// Issue an operation.
    Op {
        /// The operation.
        op: Op,
    },
    /// Actions that are also timed together, under a name of their own.
    Group {
        /// Key of the group's histogram.
        name: String,
        /// Members.
        actions: Vec<Action>,
        /// Whether each completion is also reported by itself, with its worker, end and latency (`laps` in the event stream),
        /// timed or not.
        laps: bool,
    },
    /// One of several branches, by weight.
    Choice {
        /// Weights and branches.
        branches: Vec<Branch>,
    },
    /// A number of times.
    Repeat {
        /// How often.
        times: u64,
        /// Members.
        actions: Vec<Action>,
    },
    /// Every N-th time: the worker skips it the other times.
    Every {
        /// How many times a worker comes here for each time that it does this; the last of them does it.
        times: u64,
        /// Members.
        actions: Vec<Action>,
    },
    /// Take from a semaphore that all workers of the phase share. Ends the worker when all of them wait.
    Wait {
        /// Its name.
        semaphore: String,
        /// How much.
        count: u64,
        /// What it holds at the start of the phase; the most where waits for it differ.
        initial: u64,
    },
    /// Give to a semaphore.
    Post {
        /// Its name.
        semaphore: String,
        /// How much.
        count: u64,
    },
    /// Take a token of a rate that workers share.
    Token {
        /// Its name.
        bucket: String,
        /// Tokens per second, over all takers.
        rate_per_s: f64,
        /// What one token is for. Events: one is taken here; else what the worker did since it paid last is paid for.
        unit: TokenUnit,
        /// Name of the operation that is counted; empty: all that are of the unit.
        operation: String,
    },
    /// Pause.
    Think {
        /// Seconds.
        seconds: Distribution,
        /// Burn CPU instead of sleeping.
        burn: bool,
    },
    /// The worker is done once an operation has reached a count.
    FinishOn {
        /// Name of the operation; empty: all of the worker's data operations.
        op: String,
        /// Operations, if counted.
        ops: Option<u64>,
        /// Bytes, if counted.
        bytes: Option<u64>,
        /// Whether what all workers of the job did is counted together.
        together: bool,
        /// Without a name: whether operations of every kind count, not those of data alone.
        every_kind: bool,
    },
}

/// One branch of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Relative weight.
    pub weight: f64,
    /// What it does.
    pub actions: Vec<Action>,
}

/// What a token of a rate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenUnit {
    /// One pass of the loop.
    Event,
    /// One operation of any kind.
    Op,
    /// One data operation.
    DataOp,
    /// One MiB of data.
    Mebibyte,
}
