//! What happened in one interval, and the counters at its end.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Counters of the host, raw, as running totals (gauges such as nr_dirty: as they are). Empty at ticks between two looks at
    /// the host, which are 100 ms apart or more; a phase's first and last tick have them.
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

/// Sparse histogram: counts by bucket index; `histogram.rs` defines the values of an index.
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
    /// At rest by the load's own rules, with nothing in flight: until an arrival was due, for a thought, for a rate. Null in
    /// streams of engines that did not count it.
    #[serde(default)]
    pub idle_ns: Option<u64>,
}

/// Counters of one instance of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSample {
    /// `diskstats`, `net`, `pressure`, `vmstat`, `meminfo`, `cpu`, `cgroup`, `cgroup_io`, `kernel_threads`, `programs`,
    /// `energy`, `load`.
    pub source: String,
    /// Device, interface, resource, program; empty if there is just one.
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
