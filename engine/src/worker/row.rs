//! Rows: equal operations one after the other with nothing between them, which most benchmarks are made of. What cannot
//! change within a row is settled before it, so that little more is left for each operation than where it goes, its call, a
//! look at the clock, and what it counts.

use super::stats::WorkerCounters;
use super::{Done, Flow, Sum, Worker};
use crate::backend::{Backend, Request};
use crate::events::StoppedBy;
use crate::load::op::{FileSource, Manner, OpNode};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What a row has come to.
#[derive(Debug, Default)]
struct Row {
    /// Operations begun.
    begun: u64,
    sum: Sum,
}

impl<B: Backend> Worker<B> {
    /// Whether an operation, again and again, goes in rows: of one size, at its own pace, timed by itself, and the end of one
    /// is the start of the next.
    pub(super) fn goes_in_rows(&self, op: &OpNode) -> bool {
        let is_straight = match op.file {
            FileSource::Slot(_) => op.goes_at_once() && op.size.is_fixed().is_some() && self.job.advice.is_none(),
            _ => self.states[op.state].straight.is_some(),
        };
        is_straight && op.is_ready && op.counts && self.stamps.is_none() && self.pacer.is_free()
    }

    /// The op loop of a worker whose only operation goes in rows.
    #[inline(never)]
    pub(super) fn run_rows(&mut self, op: &OpNode) -> Flow {
        loop {
            self.check()?;
            self.op_within(op)?;
            self.limits.pass(&self.job.limits)?;
            let length = self.limits.take_passes_ahead(op.counts);
            self.row(op, length)?;
        }
    }

    /// An operation that goes in rows, `times` times.
    #[inline(never)]
    pub(super) fn repeat_in_rows(&mut self, op: &OpNode, times: u64) -> Result<Sum, StoppedBy> {
        let (mut sum, mut left) = (Sum::default(), times);
        while left > 0 {
            self.check()?;
            sum.add(self.op_within(op)?);
            left -= 1;
            let length = self.limits.take_ahead(left, op.counts);
            sum.add(self.row(op, length)?);
            left -= length;
        }
        Ok(sum)
    }

    /// Carry out `length` operations that the limits have let in.
    #[inline]
    fn row(&mut self, op: &OpNode, length: u64) -> Result<Sum, StoppedBy> {
        if length == 0 {
            return Ok(Sum::default());
        }
        let mut row = Row::default();
        let flow = match op.file {
            FileSource::Slot(slot) => self.row_in_slot(op, slot, length, &mut row),
            _ => self.straight_row(op, length, &mut row),
        };
        self.stats.submissions.add(row.begun);
        self.stats.depth_sum.add(row.begun);
        flow.map(|()| row.sum)
    }

    fn straight_row(&mut self, op: &OpNode, length: u64, row: &mut Row) -> Flow {
        let mut straight = self.states[op.state].straight.take().expect("what goes in rows is straight");
        let flow = self.walk_row(op, length, row, |rng| straight.next(rng).map(|(request, _)| request));
        self.states[op.state].straight = Some(straight);
        flow
    }

    fn row_in_slot(&mut self, op: &OpNode, slot: usize, length: u64, row: &mut Row) -> Flow {
        let mut way = self.way_in_slot(op, slot, op.size.is_fixed().expect("what goes in rows has one size"))?;
        let flow = self.walk_row(op, length, row, |_| Some(way.next()));
        self.go_on_in_slot(slot, &way);
        flow
    }

    #[inline(always)]
    fn walk_row(
        &mut self,
        op: &OpNode,
        length: u64,
        row: &mut Row,
        mut next: impl FnMut(&mut fastrand::Rng) -> Option<Request>,
    ) -> Flow {
        let (job, stats) = (Arc::clone(&self.job), Arc::clone(&self.stats));
        let (stop, counters): (_, &WorkerCounters) = (&*job.stop, &stats);
        let series = &stats.series[op.series.expect("what goes in rows is timed")];
        let keeps_buffer = op.manner == Manner::KeepsBuffer;
        for _ in 0..length {
            if stop.load(Relaxed) {
                return Err(StoppedBy::Control);
            }
            self.limits.check_time(self.last_ns)?;
            let request = next(&mut self.rng).ok_or(StoppedBy::Exhausted)?;
            row.begun += 1;
            if keeps_buffer {
                self.change_a_byte(0, request);
            }
            let issued_ns = self.last_ns;
            let result = self.backend.execute(request);
            self.last_ns = self.clock.now_ns();
            if result != request.length as i64 || op.is_counted {
                row.sum.add(self.account_one_of_row(op, request.length, Done { issued_ns, result })?);
                continue;
            }
            let latency_ns = self.last_ns - issued_ns;
            self.failures_in_a_row = 0;
            counters.started.add(1);
            counters.completed.add(1);
            counters.ops.add(1);
            counters.bytes.add(result as u64);
            counters.last_op_ns.set(self.last_ns);
            series.bytes.add(result as u64);
            series.latency.record(latency_ns);
            row.sum.add(Sum { latency_ns, bytes: result as u64, failed: false });
        }
        Ok(())
    }

    /// As [`Worker::account`], of an operation that has not simply moved all that was asked for.
    #[inline(never)]
    fn account_one_of_row(&mut self, op: &OpNode, asked_bytes: usize, done: Done) -> Result<Sum, StoppedBy> {
        if done.result >= 0 && (done.result as usize) < asked_bytes {
            self.stats.short_transfers.add(1);
        }
        self.account(op, done)
    }
}
