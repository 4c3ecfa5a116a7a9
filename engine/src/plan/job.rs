//! Workers of one kind: how many, how they reach storage, and at what pace.

use crate::plan::body::Body;
use crate::plan::stop::Stop;
use serde::{Deserialize, Serialize};

/// Identical workers that run one body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Key of its results.
    pub name: String,
    /// How many.
    pub workers: u32,
    /// What a worker is.
    #[serde(rename = "as")]
    pub kind: WorkerKind,
    /// What each of them does.
    pub body: Body,
    /// When operations are due.
    pub arrival: Arrival,
    /// How data operations reach the kernel.
    pub backend: Backend,
    /// I/Os that each worker keeps in flight; 1 is synchronous.
    pub queue_depth: u32,
    /// How requests of a queue are handed over and taken back.
    #[serde(default)]
    pub batch: Batch,
    /// Flags of the files it opens.
    pub open: OpenFlags,
    /// CPUs and memory of its workers.
    pub affinity: Affinity,
    /// Whether the buffers of its workers lie in huge pages of 2 MiB.
    #[serde(default)]
    pub huge_pages: bool,
    /// Limits that pace a closed loop without a schedule of arrivals.
    pub limit: RateLimit,
    /// Seconds between the common start and the start of this job; its own `stop.seconds` count from there.
    #[serde(default)]
    pub delay_s: f64,
    /// When a worker of this job is done.
    pub stop: Stop,
    /// What else ends when the first worker of this job is done.
    #[serde(default)]
    pub ends: Ends,
    /// Name that the jobs of a team have in common; empty: none.
    #[serde(default)]
    pub team: String,
    /// Names of the operations and groups that are recorded; empty: all.
    pub timed: Vec<String>,
}

/// How many requests of a queue go to the kernel in one call, and how many come back from one wait.
///
/// Storage begins the sooner the fewer wait for one another; the worker needs the less CPU time the more go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Handed over in one call, at most.
    pub submit: u32,
    /// Completions that a wait waits for; all that are in flight, where those are fewer.
    pub complete_min: u32,
    /// Completions taken at once, at most; None: all that are there.
    pub complete_max: Option<u32>,
}

impl Default for Batch {
    fn default() -> Self {
        Self { submit: 1, complete_min: 1, complete_max: None }
    }
}

/// What ends with a job: asked to stop, not waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// Nothing.
    #[default]
    Nothing,
    /// The jobs of its team.
    Team,
    /// All jobs of the phase.
    Phase,
}

/// What a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerKind {
    /// A thread of the engine.
    Thread,
    /// A forked process.
    Process,
}

/// When operations are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// As soon as the previous one is done.
    Closed {},
    /// On a schedule that does not wait for completions; response time counts from the scheduled arrival.
    Open {
        /// Arrivals per second over all workers of the job.
        rate_per_s: f64,
        /// Time between arrivals.
        spacing: Spacing,
    },
    /// As soon as the previous one is done, but not ahead of the others: a worker waits while its part of all operations of
    /// the group is above its weight's part of all weights. Weights of workers that are done count no more.
    Balanced {
        /// Name of the group, within the phase.
        group: String,
        /// Of each worker of the job.
        weight: u64,
        /// How long a worker waits before it looks again, with nothing in flight; 0: as briefly as can be.
        pause_s: f64,
    },
    /// As `open`, at a share of the rate that the job of the same name had in an earlier phase, from its ramp on.
    OpenShare {
        /// Name of that phase; of several of the same repeat, the last before this one.
        phase: String,
        /// Of the timed operations per second there; above 1 for more of them.
        rate_share: f64,
        /// Time between arrivals.
        spacing: Spacing,
    },
}

/// Time between arrivals of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Equal.
    Uniform,
    /// Exponential.
    Poisson,
}

/// How data operations reach the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Backend {
    /// pread and pwrite.
    Psync {},
    /// read and write at the file's own position, and lseek where the next transfer is at another.
    ReadWrite {},
    /// io_uring.
    IoUring {
        /// Kernel thread that polls the submission queue.
        sqpoll: bool,
        /// CPU of that thread, with `sqpoll` alone; None: the kernel chooses.
        #[serde(default)]
        sqpoll_cpu: Option<u32>,
        /// Busy-wait for completions (polled devices only).
        iopoll: bool,
        /// What happens where the kernel refuses io_uring.
        fallback: Fallback,
    },
    /// Linux AIO: asynchronous with O_DIRECT alone; a buffered request is carried out while it is submitted.
    Aio {},
    /// Nothing: a transfer is done when it is handed over, and moves no byte. What an engine takes by itself.
    Null {},
    /// Memory-mapped file: reads copy from it, writes into it, flushes are msync. It ends where the file did at opening.
    Mmap {},
    /// C library streams without their lock. An operation is done when the stream's buffer has it.
    Stdio {
        /// One call a character (putc, getc); an operation is a block of them either way. Else fwrite and fread.
        per_character: bool,
    },
}

/// What happens where a backend cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The run is refused.
    Refuse,
    /// As many threads as the queue depth, each with psync; reported in the events.
    Threads,
}

/// Flags of opened files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenFlags {
    /// O_DIRECT.
    pub direct: Direct,
    /// O_SYNC.
    pub sync: bool,
    /// O_DSYNC.
    pub dsync: bool,
    /// O_APPEND.
    pub append: bool,
    /// O_NOATIME where allowed.
    pub no_access_time: bool,
    /// POSIX_FADV_ name applied after open; empty: none.
    pub advice: String,
}

/// O_DIRECT, and what to do where the file system refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direct {
    /// Through the page cache.
    Off,
    /// O_DIRECT, or the run is refused.
    On,
    /// O_DIRECT where it works, else buffered; reported in the events.
    IfSupported,
}

/// CPUs and memory of a job's workers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affinity {
    /// CPU numbers; worker i gets entry i modulo the length. Empty: the scheduler chooses.
    pub cpus: Vec<u32>,
    /// NUMA node of CPUs and buffers.
    pub numa_node: Option<u32>,
}

/// Limits that pace a closed loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Operations per second over all workers of the job.
    pub ops_per_s: Option<f64>,
    /// Bytes per second over all workers of the job.
    pub bytes_per_s: Option<f64>,
}
