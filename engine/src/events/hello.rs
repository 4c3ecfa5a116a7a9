//! What the engine says of itself and its machine before anything else.

use serde::{Deserialize, Serialize};

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
