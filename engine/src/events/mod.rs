//! The event stream: what happened. Second of the engine's two seams.
//!
//! One JSON object a line on standard output, appended and never changed, so that a stream cut anywhere is still true up
//! to the cut. Its Python twin is `src/assay/events.py`.
//!
//! `t_ns` is nanoseconds of CLOCK_MONOTONIC since `hello`, the same zero for every event of a run. Counters of host and
//! workers are running totals as the kernel gives them: a lost interval loses resolution, not work. Operations, bytes
//! and histograms of an interval are that interval's own, and their sum over a phase is the phase's total, exactly.

mod control;
mod hello;
mod interval;
mod phase;

pub use control::Control;
pub use hello::{Capabilities, ClockFacts, EngineFacts, MachineFacts};
pub use interval::{Buckets, HostSample, Interval, OperationInterval, WorkerSample};
pub use phase::{
    Arrivals, CachedFirst, Corruption, CorruptionKind, ErrorCount, JobFacts, PhaseFinished, StoppedBy, WorkerWindow,
};
use serde::{Deserialize, Serialize};

/// Version of the stream, in `hello`.
pub const SCHEMA: &str = "assay.events/1";

/// One line of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// First line: who speaks, on what, by which clock.
    Hello {
        /// Always [`SCHEMA`].
        schema: String,
        /// The engine.
        engine: EngineFacts,
        /// Where it runs.
        machine: MachineFacts,
        /// What `t_ns` means.
        clock: ClockFacts,
        /// What the kernel and the privileges allow.
        capabilities: Capabilities,
    },
    /// Work outside the timed part that may take long.
    Progress {
        /// When.
        t_ns: u64,
        /// What is being done, for a person.
        activity: String,
        /// Done so far.
        done: u64,
        /// All of it.
        total: u64,
        /// `bytes`, `files`, `s`.
        unit: String,
    },
    /// A file set is in place.
    Prepared {
        /// When.
        t_ns: u64,
        /// The set.
        set: String,
        /// Absolute path of its folder.
        path: String,
        /// Existing files.
        files: u64,
        /// Directories below the folder.
        directories: u64,
        /// Bytes of all existing files.
        bytes: u64,
        /// Time it took.
        seconds: f64,
        /// Whether a set from before was used.
        reused: bool,
        /// Blocks at random places that were read to see what they hold, on a device that this run did not write.
        #[serde(default)]
        sampled_blocks: u64,
        /// Those of them that hold only zeros.
        #[serde(default)]
        zero_blocks: u64,
    },
    /// A step was done, or could not be.
    StepDone {
        /// When.
        t_ns: u64,
        /// Phase it belongs to.
        phase_index: u32,
        /// Kind of step as in the Plan.
        step: String,
        /// File set or target, if it has one.
        subject: Option<String>,
        /// Whether it did what was asked.
        achieved: bool,
        /// How, or why not.
        detail: String,
        /// Time it took.
        seconds: f64,
    },
    /// A stamped file set was read as a whole and compared with what was written.
    Verified {
        /// When.
        t_ns: u64,
        /// Phase that the step belongs to.
        phase_index: u32,
        /// File set.
        set: String,
        /// Blocks of 4 KiB that were looked at.
        blocks: u64,
        /// Bytes of them.
        bytes: u64,
        /// Whether it was known how often each block had been written; without, no block is called stale.
        generations_known: bool,
        /// Share of its pages that were in memory all the same when looked at; None: the kernel does not report it.
        resident_share: Option<f64>,
        /// Blocks that are not what was written; `operation` is `verify`, `job` is empty.
        corruption: Vec<Corruption>,
    },
    /// What this client could ever show.
    Ceilings {
        /// When.
        t_ns: u64,
        /// Each ceiling by name.
        ceilings: Vec<Ceiling>,
    },
    /// How much of a file set is in the page cache, by cachestat(2) or mincore(2).
    Residency {
        /// When.
        t_ns: u64,
        /// Phase.
        phase_index: u32,
        /// Before the start or after the stop.
        moment: Moment,
        /// File set.
        set: String,
        /// Files looked at; fewer than the set has when it has many.
        files_sampled: u64,
        /// Existing files of the set.
        files: u64,
        /// Pages that the files looked at span.
        pages: u64,
        /// Of these, resident.
        resident_pages: u64,
        /// Of these, dirty or under write-back (0 without cachestat).
        dirty_pages: u64,
        /// `cachestat` or `mincore`.
        method: String,
    },
    /// All workers hold their files and wait for the start.
    Ready {
        /// When.
        t_ns: u64,
        /// Phase.
        phase_index: u32,
        /// Workers that wait.
        workers: u32,
    },
    /// The start was ordered.
    Started {
        /// When it was ordered.
        t_ns: u64,
        /// Phase.
        phase_index: u32,
        /// The start.
        start_ns: u64,
        /// By how much it is later than what was agreed with others; None: nobody agreed, or an older engine.
        #[serde(default)]
        late_ns: Option<u64>,
    },
    /// A phase that was ready was left out by an order, and those that follow it up to another.
    Skipped {
        /// When.
        t_ns: u64,
        /// The phase that was ready.
        phase_index: u32,
        /// The next phase to execute; the number of phases: none.
        next_index: u32,
    },
    /// What happened in one interval of a phase.
    Interval(Interval),
    /// The client was paused: it was suspended, frozen or stopped, and measured nothing meanwhile.
    Paused {
        /// When it went on.
        t_ns: u64,
        /// Phase.
        phase_index: u32,
        /// When it was last seen at work. This clock does not run while a machine is suspended.
        begun_ns: u64,
        /// For how long at least; waits for a busy CPU are not in it.
        paused_ns: u64,
    },
    /// What has gone wrong in a phase so far, reported with the first tick after there was more of it.
    WentWrong {
        /// When it was reported.
        t_ns: u64,
        /// Phase.
        phase_index: u32,
        /// Operations that failed.
        errors: Vec<ErrorCount>,
        /// Blocks that were not what was written.
        corruption: Vec<Corruption>,
    },
    /// Single completions of a group with laps, by one worker, since the tick before.
    Laps {
        /// When they were reported.
        t_ns: u64,
        /// Phase.
        phase_index: u32,
        /// Job.
        job: String,
        /// Its worker.
        worker: u32,
        /// Name of the group.
        group: String,
        /// How many completions of the group the worker had before each; a number that is missing was not kept, because
        /// too many came between two ticks.
        number: Vec<u64>,
        /// End of each.
        end_ns: Vec<u64>,
        /// Sum of the members' latencies; null where one of them failed.
        latency_ns: Vec<Option<u64>>,
    },
    /// A moment worth remembering.
    Mark {
        /// When.
        t_ns: u64,
        /// What.
        label: String,
        /// `user`, `plan`, `detector`.
        source: String,
    },
    /// Something that can move the numbers, or was not possible.
    Warning {
        /// When.
        t_ns: u64,
        /// Phase, if it belongs to one.
        phase_index: Option<u32>,
        /// Stable identifier, such as `direct-refused`.
        id: String,
        /// What it does to the numbers.
        severity: Severity,
        /// In words.
        text: String,
        /// What to do about it; may be empty.
        cure: String,
    },
    /// Something that ended the run.
    Error {
        /// When.
        t_ns: u64,
        /// Phase, if it belongs to one.
        phase_index: Option<u32>,
        /// `plan` (exit 2), `environment` (exit 3).
        class: ErrorClass,
        /// In words, with what to do about it.
        text: String,
        /// Path it is about.
        path: Option<String>,
        /// Error number.
        errno: Option<i32>,
    },
    /// A phase is over; its last interval has been written before.
    PhaseFinished(PhaseFinished),
    /// Last line.
    Finished {
        /// When.
        t_ns: u64,
        /// How it ended.
        outcome: Outcome,
        /// CPU time of the whole engine, user.
        user_cpu_ns: u64,
        /// CPU time of the whole engine, system.
        system_cpu_ns: u64,
        /// Peak resident memory.
        peak_rss_bytes: u64,
    },
}

/// What something does to the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Explains them.
    Note,
    /// Leaves them true, but of too little, or not of what one may take them for.
    Weak,
    /// Moves them.
    Warning,
    /// They must not be used.
    Invalid,
}

/// One ceiling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// `memory_copy_large`, `memory_copy_cached`, `system_call`, `clock_read`, `content_fill`, `cached_pread`.
    pub name: String,
    /// Bytes of one operation, where that matters.
    pub block_size_bytes: Option<u64>,
    /// Operations per second of one thread, median of the rounds.
    pub ops_per_s: f64,
    /// Bytes per second of one thread, median of the rounds, where bytes move.
    pub bytes_per_s: Option<f64>,
}

/// Before or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before the start.
    Before,
    /// After all workers have stopped.
    After,
}

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The Plan asks for what cannot be.
    Plan,
    /// The machine refused.
    Environment,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All phases ran.
    Complete,
    /// Stopped from outside; what was measured is in the stream.
    Stopped,
    /// An `error` event says why.
    Failed,
}
