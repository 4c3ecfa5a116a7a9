//! The event stream: what happened. Second of the engine's two seams.
//!
//! One JSON object a line on standard output, appended and never changed, so that a stream cut anywhere is still true up
//! to the cut. Its Python twin is `src/assay/events.py`.
//!
//! `t_ns` is nanoseconds of CLOCK_MONOTONIC since `hello`, the same zero for every event of a run. Counters of host and
//! workers are running totals as the kernel gives them: a lost interval loses resolution, not work. Operations, bytes
//! and histograms of an interval are that interval's own, and their sum over a phase is the phase's total, exactly.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
        /// The agreed start.
        start_ns: u64,
    },
    /// What happened in one interval of a phase.
    Interval(Interval),
    /// Single completions of a group with laps, by one worker, since the tick before.
    Laps {
        /// When they were told.
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
    /// Moves them.
    Warning,
    /// They must not be used.
    Invalid,
}

/// The engine that wrote the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineFacts {
    /// Version of the crate.
    pub version: String,
    /// `release` or `debug`; a debug build measures itself.
    pub profile: String,
    /// Compiler.
    pub rustc: String,
    /// Process.
    pub pid: u32,
    /// Effective user.
    pub uid: u32,
}

/// The machine, as far as the engine needs it; the full manifest is made by `assay`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFacts {
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// CPUs that the process may use.
    pub cpus: u32,
    /// Page size.
    pub page_size_bytes: u64,
    /// RAM.
    pub ram_bytes: u64,
}

/// What `t_ns` means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockFacts {
    /// Kernel clock source, such as `tsc`.
    pub source: String,
    /// Cost of one clock read, median.
    pub read_cost_ns: f64,
    /// CLOCK_REALTIME at `t_ns` 0.
    pub realtime_at_zero_ns: u64,
    /// CLOCK_MONOTONIC at `t_ns` 0.
    pub monotonic_at_zero_ns: u64,
}

/// What kernel and privileges allow; each with the reason where not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// io_uring_setup answers.
    pub io_uring: bool,
    /// cachestat(2) answers.
    pub cachestat: bool,
    /// /proc/sys/vm/drop_caches can be written.
    pub drop_caches: bool,
    /// Block-I/O delay is counted for tasks (kernel.task_delayacct).
    pub delay_accounting: bool,
    /// schedstat of a task is readable.
    pub schedstat: bool,
    /// Why something of the above is missing.
    pub notes: Vec<String>,
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

/// One tick of the interval clock. The first of a phase has no operations: it holds the counters at the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// End of the interval.
    pub t_ns: u64,
    /// Its length.
    pub dt_ns: u64,
    /// Phase.
    pub phase_index: u32,
    /// What was completed in it.
    pub operations: Vec<OperationInterval>,
    /// Each worker's totals since the phase began.
    pub workers: Vec<WorkerSample>,
    /// CPU time of the whole process so far, all threads (io-wq workers too), worker processes and ended programs.
    pub process_cpu_ns: u64,
    /// CPU time of the engine's own main and observer threads so far.
    pub observer_cpu_ns: u64,
    /// read_bytes of /proc/self/io: fetched from storage because of this process.
    pub process_read_bytes: Option<u64>,
    /// write_bytes of /proc/self/io: pages dirtied and direct writes.
    pub process_write_bytes: Option<u64>,
    /// Counters of the host, raw, as running totals (gauges such as nr_dirty: as they are).
    pub host: Vec<HostSample>,
}

/// One operation of one job in one interval, all workers together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationInterval {
    /// Job.
    pub job: String,
    /// Name of the operation or group.
    pub operation: String,
    /// Completed without error.
    pub ops: u64,
    /// Bytes moved by them.
    pub bytes: u64,
    /// Completed with an error; in no histogram.
    pub errors: u64,
    /// Issue to completion.
    pub latency: Buckets,
    /// Scheduled arrival to completion; open loop only.
    pub response: Option<Buckets>,
}

/// Sparse histogram: counts by bucket index; `histogram.rs` says what values an index stands for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// Ascending bucket indices.
    pub index: Vec<u32>,
    /// Count of each.
    pub count: Vec<u64>,
    /// Largest value since the phase began, exact, in nanoseconds.
    pub max_ns: u64,
    /// Sum of this interval's values, exact, in nanoseconds.
    pub sum_ns: u64,
}

/// Where one worker's time went, as running totals since the phase began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSample {
    /// Job.
    pub job: String,
    /// Worker, from 0.
    pub worker: u32,
    /// Operations completed, of all kinds that are timed.
    pub ops: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// On a CPU (schedstat).
    pub on_cpu_ns: Option<u64>,
    /// Runnable, waiting for a CPU (schedstat).
    pub run_delay_ns: Option<u64>,
    /// Waiting for block I/O (delay accounting; 10 ms ticks).
    pub block_delay_ns: Option<u64>,
    /// User CPU (10 ms ticks).
    pub user_cpu_ns: Option<u64>,
    /// System CPU (10 ms ticks).
    pub system_cpu_ns: Option<u64>,
    /// System calls that read or wrote, by /proc/self/task/T/io (blind to io_uring).
    pub io_calls: Option<u64>,
    /// CPU time of the programs that it ran (`spawn`) and that have ended; in none of the times above.
    pub children_cpu_ns: u64,
}

/// Counters of one instance of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSample {
    /// `diskstats`, `net`, `pressure`, `vmstat`, `meminfo`, `cpu`, `cgroup`, `load`.
    pub source: String,
    /// Device, interface, resource; empty if there is just one.
    pub instance: String,
    /// By name; units in the names.
    pub values: BTreeMap<String, f64>,
}

impl HostSample {
    /// One sample from names and numbers.
    pub fn new<'a>(source: &str, instance: &str, values: impl Iterator<Item = (&'a str, f64)>) -> Self {
        Self {
            source: source.to_owned(),
            instance: instance.to_owned(),
            values: values.map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}

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
    /// Whether the files were open with O_DIRECT.
    pub direct: bool,
    /// Mean number of I/Os in flight when one was submitted, itself included.
    pub mean_queue_depth: f64,
    /// Mean completions of one reap.
    pub mean_reap_batch: f64,
    /// Operations that moved fewer bytes than asked for.
    pub short_transfers: u64,
    /// Requests that the kernel handed to worker threads; null where it is not known.
    pub punted: Option<u64>,
    /// What became of the schedule; null: closed loop.
    pub arrivals: Option<Arrivals>,
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

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The Plan asks for what cannot be.
    Plan,
    /// The machine said no.
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

/// A line on the engine's standard input after the Plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "control", rename_all = "snake_case", deny_unknown_fields)]
pub enum Control {
    /// Start this phase and all that follow as soon as their workers are ready: there is nobody to agree with.
    StartWhenReady {},
    /// Start the phase that is ready.
    Start {
        /// Phase.
        phase_index: u32,
        /// CLOCK_REALTIME of the start in nanoseconds; the past means now.
        at_realtime_ns: u64,
    },
    /// Remember this moment.
    Mark {
        /// What.
        label: String,
    },
    /// Stop the workers, clean up, finish.
    Stop {},
}
