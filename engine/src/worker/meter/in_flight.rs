//! Counting where several operations are in flight.

use super::{Done, Meter};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::pace::pacing::UNSCHEDULED;
use crate::program::op::OpNode;
use crate::stats::{NEVER, WorkerCounters};

/// Successes of one operation that one reap has brought.
#[derive(Debug, Default)]
pub(in crate::worker) struct Batch<'a> {
    op: Option<&'a OpNode>,
    ops: u64,
    bytes: u64,
    first_issued_ns: u64,
}

impl<T: Ticks> Meter<T> {
    /// A place of the queue is taken by requests of this operation.
    pub(in crate::worker) fn take_place(&self, place: usize, op: &OpNode) {
        self.stats.slots[place].current.set(op.state as u64);
    }

    /// What was put into these places goes to the kernel now.
    #[inline]
    pub(in crate::worker) fn start_in(&mut self, places: &[usize]) {
        let now_ns = self.read_clock();
        let stats: &WorkerCounters = &self.stats;
        stats.started.add(places.len() as u64);
        stats.submissions.add(places.len() as u64);
        for &place in places {
            self.stats.slots[place].since_ns.set(now_ns);
        }
    }

    /// A wait for completions has ended now, with `in_flight` requests in flight until then.
    #[inline]
    pub(in crate::worker) fn reaped(&mut self, completions: usize, in_flight: usize) {
        self.read_clock();
        let stats: &WorkerCounters = &self.stats;
        stats.reaps.add(u64::from(completions > 0));
        stats.depth_sum.add((completions * in_flight) as u64);
    }

    /// Count what a place has brought, which was to begin at `intended_ns`; a success with the others of its batch.
    #[inline(always)]
    pub(in crate::worker) fn end_in<'a>(
        &mut self,
        place: usize,
        op: &'a OpNode,
        intended_ns: u64,
        result: i64,
        batch: &mut Batch<'a>,
    ) -> Result<(), StoppedBy> {
        let since_ns = &self.stats.slots[place].since_ns;
        let issued_ns = since_ns.get();
        since_ns.set(NEVER);
        if result < 0 {
            self.end_batch(batch);
            return self.end(op, Done { issued_ns, result }, false).map(drop);
        }
        if !batch.op.is_some_and(|of| std::ptr::eq(of, op)) {
            self.end_batch(batch);
            *batch = Batch { op: Some(op), ops: 0, bytes: 0, first_issued_ns: issued_ns };
        }
        batch.ops += 1;
        batch.bytes += result as u64;
        if let Some(series) = op.series {
            let into = &self.stats.series[series];
            into.latency.record(self.last_ns - issued_ns);
            if op.counts && intended_ns != UNSCHEDULED {
                into.response.record(self.last_ns - intended_ns);
            }
        }
        Ok(())
    }

    /// Count the successes of a batch as [`Meter::end`] counts one.
    #[inline]
    pub(in crate::worker) fn end_batch(&mut self, batch: &mut Batch) {
        let Batch { op: Some(op), ops, bytes, first_issued_ns } = std::mem::take(batch) else { return };
        self.succeed(op, first_issued_ns, ops, bytes);
        let Some(series) = op.series else { return };
        self.stats.series[series].bytes.add(bytes);
        if op.counts {
            let counters: &WorkerCounters = &self.stats;
            counters.ops.add(ops);
            counters.bytes.add(bytes);
        }
    }
}
