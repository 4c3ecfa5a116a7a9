//! What one worker counts of each operation, and how it times it.

use super::stats::{NEVER, WorkerCounters};
use super::{Done, Sum, Worker};
use crate::backend::Backend;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::laps::Lap;
use crate::pace::pacing::UNSCHEDULED;
use crate::program::op::OpNode;

/// Failures in a row, with no success between them, after which a worker gives up.
const HOPELESS: u32 = 1000;

/// What one reap has brought, failures apart.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) ops: u64,
    pub(super) bytes: u64,
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Count one finished operation. `result`: bytes moved or a negative errno.
    #[inline(always)]
    pub(super) fn account(&mut self, op: &OpNode, done: Done) -> Result<Sum, StoppedBy> {
        let stats: &WorkerCounters = &self.stats;
        stats.started.add(1);
        self.note_time(op, done.issued_ns);
        if done.result < 0 {
            return self.account_failure(op, -done.result as i32);
        }
        stats.completed.add(1);
        self.failures_in_a_row = 0;
        if op.is_counted {
            self.states[op.state].ops += 1;
            self.states[op.state].bytes += done.result as u64;
        }
        let sum = Sum { latency_ns: self.last_ns - done.issued_ns, bytes: done.result as u64, failed: false };
        self.record(op.series, op.counts, sum);
        Ok(sum)
    }

    /// An operation that was issued at `issued_ns` has ended now.
    #[inline(always)]
    fn note_time(&self, op: &OpNode, issued_ns: u64) {
        let stats: &WorkerCounters = &self.stats;
        if !op.is_timed {
            // Work that is not timed is in no window, but a sign of life.
            stats.busy_since_ns.set(self.last_ns);
            return;
        }
        if stats.first_op_ns.get() == NEVER {
            stats.first_op_ns.set(issued_ns);
        }
        stats.last_op_ns.set(self.last_ns);
    }

    #[cold]
    fn account_failure(&mut self, op: &OpNode, errno: i32) -> Result<Sum, StoppedBy> {
        self.stats.failed.add(1);
        *self.errors.entry((op.state, errno)).or_insert(0) += 1;
        // What nowait asks for is no sign that nothing works any more.
        self.failures_in_a_row += u32::from(errno != libc::EAGAIN || op.rw_flags & libc::RWF_NOWAIT == 0);
        let sum = Sum { failed: true, ..Sum::default() };
        self.record(op.series, op.counts, sum);
        let lost = matches!(errno, libc::ENOSPC | libc::EDQUOT | libc::EROFS | libc::ENODEV);
        let unsupported = op.kind.unsupported(errno);
        if lost || unsupported.is_some() || self.failures_in_a_row >= HOPELESS {
            let why = unsupported.or_else(|| self.spawner.as_ref()?.words_of(&op.name));
            self.fatal = Some((why.map_or(op.name.clone(), |why| format!("{} ({why})", op.name)), errno));
            return Err(StoppedBy::Error);
        }
        Ok(sum)
    }

    #[inline(always)]
    pub(super) fn record(&self, series: Option<usize>, counts: bool, sum: Sum) {
        let Some(series) = series else { return };
        let stats = &*self.stats;
        let into = &stats.series[series];
        if sum.failed {
            into.errors.add(1);
            return;
        }
        into.latency.record(sum.latency_ns);
        into.bytes.add(sum.bytes);
        if counts {
            if self.intended_ns != UNSCHEDULED {
                into.response.record(self.last_ns - self.intended_ns);
            }
            let counters: &WorkerCounters = stats;
            counters.ops.add(1);
            counters.bytes.add(sum.bytes);
        }
    }

    /// Time one call of a script. One that has nothing between it and the one before begins where that ended, and one that
    /// such a call follows leaves its end to that (see [`join`](crate::program::script::join)), unless it failed: then none does.
    #[inline]
    pub(super) fn timed_in_script(
        &mut self,
        op: &OpNode,
        begins_at_once: bool,
        call: impl FnOnce(&mut Self) -> i64,
    ) -> Done {
        // Blocks are judged, and advice is given, between two operations.
        if self.scripted.is_none() || self.stamps.is_some() || self.job.advice.is_some() {
            return self.timed(call);
        }
        let issued_ns = if begins_at_once { self.last_ns } else { self.clock.now_ns() };
        let result = call(self);
        self.last_ns = if op.ends_open && result >= 0 { issued_ns } else { self.clock.now_ns() };
        Done { issued_ns, result }
    }

    /// Time one call that returns bytes or a negative errno.
    #[inline(always)]
    pub(super) fn timed(&mut self, call: impl FnOnce(&mut Self) -> i64) -> Done {
        let issued_ns = self.clock.now_ns();
        let result = call(self);
        self.last_ns = self.clock.now_ns();
        Done { issued_ns, result }
    }

    /// Count the successes of one reap, which end at one time, as [`Worker::account`] counts one.
    #[inline(always)]
    pub(super) fn account_successes(&mut self, op: &OpNode, first_issued_ns: u64, sums: &Sums) {
        let Sums { ops, bytes } = *sums;
        if ops == 0 {
            return;
        }
        let stats: &WorkerCounters = &self.stats;
        stats.started.add(ops);
        stats.completed.add(ops);
        self.failures_in_a_row = 0;
        self.note_time(op, first_issued_ns);
        if op.is_counted {
            self.states[op.state].ops += ops;
            self.states[op.state].bytes += bytes;
        }
        let Some(series) = op.series else { return };
        self.stats.series[series].bytes.add(bytes);
        if op.counts {
            stats.ops.add(ops);
            stats.bytes.add(bytes);
        }
    }

    pub(super) fn keep_lap(&mut self, group: usize, sum: Sum) {
        let latency_ns = (!sum.failed).then_some(sum.latency_ns);
        let lap = Lap { group, number: self.laps[group], end_ns: self.last_ns, latency_ns };
        self.stats.laps.iter().for_each(|laps| laps.keep(lap));
        self.laps[group] += 1;
    }
}
