//! What a phase came to.

use serde::{Deserialize, Serialize};

/// A finished phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseFinished {
    /// When.
    pub t_ns: u64,
    /// Phase.
    pub phase_index: u32,
    /// The agreed start.
    pub start_ns: u64,
    /// What ended it.
    pub stopped_by: StoppedBy,
    /// First and last operation of every worker.
    pub workers: Vec<WorkerWindow>,
    /// What really happened below the workers.
    pub jobs: Vec<JobFacts>,
    /// Errors by operation and number.
    pub errors: Vec<ErrorCount>,
    /// Blocks of stamped sets that reads found not to be what was written.
    pub corruption: Vec<Corruption>,
}

/// What ended a phase or a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Its time.
    Time,
    /// An order to end the phase before its longest time, because the rate was steady.
    Steady,
    /// Its number of operations.
    Ops,
    /// Its number of bytes.
    Bytes,
    /// Its number of passes.
    Passes,
    /// Nothing left to do.
    Exhausted,
    /// Another worker was done (stonewall).
    Stonewall,
    /// A stop from outside.
    Control,
    /// An error that leaves nothing to go on with, such as a full file system.
    Error,
}

/// When one worker was at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerWindow {
    /// Job.
    pub job: String,
    /// Worker.
    pub worker: u32,
    /// Issue of its first operation; null when it did none.
    pub first_op_ns: Option<u64>,
    /// Completion of its last.
    pub last_op_ns: Option<u64>,
    /// Operations started, of all kinds.
    pub started: u64,
    /// Of these, completed without error.
    pub completed: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Of these, given up at the stop without a result.
    pub abandoned: u64,
    /// What ended it.
    pub stopped_by: StoppedBy,
}

/// What really happened below the workers of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobFacts {
    /// Job.
    pub job: String,
    /// `psync`, `io_uring`, ...: what was used, not what was asked for.
    pub backend: String,
    /// What the kernel granted every worker of what makes requests cheaper: IORING_SETUP_ flags, `registered buffers`, ...
    pub features: Vec<String>,
    /// Whether the files were open with O_DIRECT.
    pub direct: bool,
    /// Mean number of I/Os in flight when one came back, itself included.
    pub mean_queue_depth: f64,
    /// Mean completions of one reap.
    pub mean_reap_batch: f64,
    /// Operations that moved fewer bytes than asked for.
    pub short_transfers: u64,
    /// Requests that the kernel handed to worker threads; null where it is not known.
    pub punted: Option<u64>,
    /// What reads with `cached_first` found in the page cache; null: nothing is known of it.
    pub cached_first: Option<CachedFirst>,
    /// What became of the schedule; null: closed loop.
    pub arrivals: Option<Arrivals>,
}

/// What reads that asked the page cache alone first got from it, and what only by waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachedFirst {
    /// Bytes that were at hand.
    pub hit_bytes: u64,
    /// Bytes that were not.
    pub missed_bytes: u64,
}

/// What became of the arrivals of an open loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Due before the workers stopped.
    pub scheduled: u64,
    /// Issued when the same worker's next one was due already.
    pub missed: u64,
    /// Never issued: they are in no histogram.
    pub unissued: u64,
    /// Arrivals per second over all workers, as they were scheduled; null: an engine that did not report it.
    pub rate_per_s: Option<f64>,
}

/// Errors of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorCount {
    /// Job.
    pub job: String,
    /// Operation.
    pub operation: String,
    /// Error number; from 65536 on a program's exit status as a shell gives it (128 + n for signal n) plus 65536.
    pub errno: i32,
    /// How often.
    pub count: u64,
}

/// Blocks that are not what was written, of one operation and kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corruption {
    /// Job.
    pub job: String,
    /// Operation.
    pub operation: String,
    /// What happened to them.
    pub kind: CorruptionKind,
    /// How many were found; one that was read twice counts twice.
    pub blocks: u64,
    /// File of the first.
    pub path: String,
    /// Offset of the first in its file.
    pub offset_bytes: u64,
}

/// What happened to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorruptionKind {
    /// Its bytes are none that were ever written.
    WrongData,
    /// It is whole, but older than the last write that was done.
    Stale,
    /// Parts of it are from different writes.
    Torn,
    /// It is the block of another offset, file or set.
    Misplaced,
    /// It is zeros, although it was written.
    NeverWritten,
}
