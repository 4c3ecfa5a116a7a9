//! What a worker counts while it runs: written by it alone, read by the observer at any time, from another process too.

use crate::failures::Failures;
use crate::histogram::{Counter, Recorder};
use crate::idle::Idle;
use crate::laps::{Laps, ROOM};
use crate::program::op::Program;
use crate::sys::shared::{SharedBox, SharedSlice, shareable};
use std::io;
use std::ops::Deref;

/// Value of [`WorkerCounters::first_op_ns`] before the first operation, and of other times that are not.
pub const NEVER: u64 = u64::MAX;

/// What a worker counts, for the observer to read while it runs.
#[derive(Debug)]
pub struct WorkerStats {
    /// By histogram of the program.
    pub series: SharedSlice<SeriesStats>,
    /// By place in the queue; empty for a worker that has none.
    pub slots: SharedSlice<SlotStats>,
    /// Single completions of groups that have laps; None for a program without such groups.
    pub laps: Option<Laps>,
    /// What failed, by operation and error number.
    pub failures: Failures,
    counters: SharedBox<WorkerCounters>,
}

shareable! {
    /// The numbers of a worker as a whole.
    #[derive(Debug)]
    pub struct WorkerCounters {
        /// Timed operations completed (a timed group counts once, its members not).
        pub ops: Counter,
        /// Bytes that they moved.
        pub bytes: Counter,
        /// Operations of any kind issued.
        pub started: Counter,
        /// Of these, done without error.
        pub completed: Counter,
        /// Of these, failed.
        pub failed: Counter,
        /// Issue of the first that is timed, [`NEVER`] before.
        pub first_op_ns: Counter,
        /// Completion of the latest that is timed.
        pub last_op_ns: Counter,
        /// Sum of the I/Os in flight when each came back, itself included.
        pub depth_sum: Counter,
        /// Submissions.
        pub submissions: Counter,
        /// Reaps that brought completions.
        pub reaps: Counter,
        /// Transfers of fewer bytes than asked for.
        pub short_transfers: Counter,
        /// CPU time of the programs that it ran and that have ended.
        pub children_cpu_ns: Counter,
        /// Scheduled arrivals that were issued.
        pub arrivals: Counter,
        /// Of these, issued after the worker's next one was due.
        pub missed: Counter,
        /// Scheduled arrivals that were due and never issued; known at the end.
        pub unissued: Counter,
        /// When the worker last got on other than by finishing an operation; [`NEVER`] while it waits on its own account
        /// (before the start, for its next arrival, after the end).
        pub busy_since_ns: Counter,
        /// State index of the operation at hand, for a worker without a queue.
        pub current: Counter,
        /// Its rests by the load's own rules.
        pub idle: Idle,
    }
}

shareable! {
    /// What a worker counts of one operation or group. What every operation changes is one line of the cache.
    #[derive(Debug)]
    #[repr(C, align(64))]
    pub struct SeriesStats {
        /// Bytes moved.
        pub bytes: Counter,
        /// Failed.
        pub errors: Counter,
        /// Issue to completion of those that succeeded.
        pub latency: Recorder,
        /// Intended arrival to completion of those that succeeded; nothing in a closed loop.
        pub response: Recorder,
    }
}

shareable! {
    /// One place in a worker's queue.
    #[derive(Debug)]
    pub struct SlotStats {
        /// Submission of what is in flight here, [`NEVER`] when nothing is.
        pub since_ns: Counter,
        /// State index of its operation.
        pub current: Counter,
    }
}

impl WorkerStats {
    /// Nothing yet, for a program and a queue of that depth.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn new(program: &Program, queue_depth: u32) -> io::Result<Self> {
        let slots = if queue_depth > 1 { queue_depth as usize } else { 0 };
        let stats = Self {
            series: SharedSlice::zeroed(program.series.len())?,
            slots: SharedSlice::zeroed(slots)?,
            laps: (!program.laps.is_empty()).then(|| Laps::with_room_for(ROOM)).transpose()?,
            failures: Failures::new(program.operations)?,
            counters: SharedBox::zeroed()?,
        };
        stats.first_op_ns.set(NEVER);
        stats.busy_since_ns.set(NEVER);
        stats.slots.iter().for_each(|slot| slot.since_ns.set(NEVER));
        Ok(stats)
    }
}

impl WorkerStats {
    /// Operations that were issued and have come to no end: given up, or still at work.
    pub fn abandoned(&self) -> u64 {
        self.started.get().saturating_sub(self.completed.get() + self.failed.get())
    }
}

impl Deref for WorkerStats {
    type Target = WorkerCounters;

    #[inline]
    fn deref(&self) -> &WorkerCounters {
        &self.counters
    }
}
