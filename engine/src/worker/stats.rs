//! What a worker counts while it runs: written by it alone, read by the observer at any time.

use crate::histogram::{Counter, Recorder};

/// Value of [`WorkerStats::first_op_ns`] before the first operation.
pub const NEVER: u64 = u64::MAX;

/// What a worker counts, for the observer to read while it runs.
#[derive(Debug)]
pub struct WorkerStats {
    /// By histogram of the program.
    pub series: Vec<SeriesStats>,
    /// Timed operations completed (a timed group counts once, its members not).
    pub ops: Counter,
    /// Bytes that they moved.
    pub bytes: Counter,
    /// Operations of any kind begun.
    pub started: Counter,
    /// Of these, done without error.
    pub completed: Counter,
    /// Of these, failed.
    pub failed: Counter,
    /// Issue of the first, [`NEVER`] before.
    pub first_op_ns: Counter,
    /// Completion of the latest.
    pub last_op_ns: Counter,
    /// Sum of the I/Os in flight at each submission.
    pub depth_sum: Counter,
    /// Submissions.
    pub submissions: Counter,
    /// Reaps that brought completions.
    pub reaps: Counter,
    /// Transfers of fewer bytes than asked for.
    pub short_transfers: Counter,
}

/// What a worker counts of one operation or group.
#[derive(Debug, Default)]
pub struct SeriesStats {
    /// Bytes moved.
    pub bytes: Counter,
    /// Failed.
    pub errors: Counter,
    /// Issue to completion of those that succeeded.
    pub latency: Recorder,
    /// Scheduled arrival to completion of those that had a schedule and succeeded.
    pub response: Recorder,
}

impl WorkerStats {
    /// Nothing yet, for a program with that many histograms.
    pub fn new(series: usize) -> Self {
        let stats = Self {
            series: (0..series).map(|_| SeriesStats::default()).collect(),
            ops: Counter::default(),
            bytes: Counter::default(),
            started: Counter::default(),
            completed: Counter::default(),
            failed: Counter::default(),
            first_op_ns: Counter::default(),
            last_op_ns: Counter::default(),
            depth_sum: Counter::default(),
            submissions: Counter::default(),
            reaps: Counter::default(),
            short_transfers: Counter::default(),
        };
        stats.first_op_ns.set(NEVER);
        stats
    }
}
