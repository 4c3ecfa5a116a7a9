//! Rows: the same operation, or group of operations, again and again with nothing between, which most benchmarks are made
//! of. What cannot change within a row is settled before it, so that little more is left for each operation than where it
//! goes, its call, a look at the clock, and what it counts.

use super::stats::{SeriesStats, WorkerCounters};
use super::{Done, Flow, Sum, Worker};
use crate::backend::{Backend, Request};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::program::op::{FileSource, Manner, Node, OpNode};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What a row has come to.
#[derive(Debug, Default)]
struct Row {
    /// Transfers begun.
    begun: u64,
    sum: Sum,
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Whether an operation, again and again, goes in rows.
    pub(super) fn goes_in_rows(&self, op: &OpNode) -> bool {
        op.counts && self.follows_itself(op)
    }

    /// Whether a group, again and again, goes in rows.
    pub(super) fn group_goes_in_rows(&self, counts: bool, nodes: &[Node]) -> bool {
        counts && nodes.iter().all(|node| matches!(node, Node::Op(op) if self.follows_itself(op)))
    }

    /// Whether an operation is timed, of one size, begins when the one before it ends, and needs no look at a limit, a pace or
    /// what it read.
    fn follows_itself(&self, op: &OpNode) -> bool {
        let is_straight = match op.file {
            FileSource::Slot(_) => op.goes_at_once() && op.size.is_fixed().is_some() && self.job.advice.is_none(),
            _ => self.states[op.state].straight.is_some(),
        };
        let needs_no_look = self.stamps.is_none() && self.pacer.is_free() && self.limits.lets_ahead();
        is_straight && op.is_ready && op.is_timed && needs_no_look
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
        self.in_rows(times, |worker| worker.op_within(op), |worker, length| worker.row(op, length))
    }

    /// A group that goes in rows, `times` times.
    #[inline(never)]
    pub(super) fn repeat_group_in_rows(
        &mut self,
        series: Option<usize>,
        nodes: &[Node],
        times: u64,
    ) -> Result<Sum, StoppedBy> {
        let row = |worker: &mut Self, length| worker.row_of_groups(series, nodes, length);
        self.in_rows(times, |worker| worker.group(series, true, nodes), row)
    }

    /// One by itself, with a look at everything, then a row as long as the limits allow, and so on.
    fn in_rows(
        &mut self,
        times: u64,
        one: impl Fn(&mut Self) -> Result<Sum, StoppedBy>,
        row: impl Fn(&mut Self, u64) -> Result<Sum, StoppedBy>,
    ) -> Result<Sum, StoppedBy> {
        let (mut sum, mut left) = (Sum::default(), times);
        while left > 0 {
            self.check()?;
            sum.add(one(self)?);
            left -= 1;
            let length = self.limits.take_ahead(left, true);
            sum.add(row(self, length)?);
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
        self.end_row(&row);
        flow.map(|()| row.sum)
    }

    fn end_row(&self, row: &Row) {
        self.stats.submissions.add(row.begun);
        self.stats.depth_sum.add(row.begun);
    }

    fn straight_row(&mut self, op: &OpNode, length: u64, row: &mut Row) -> Flow {
        let mut straight = self.states[op.state].straight.take().expect("what goes in rows is straight");
        let flow = self.walk_row(op, length, row, |rng| straight.next(rng).map(|(request, _)| request));
        self.states[op.state].straight = Some(straight);
        flow
    }

    fn row_in_slot(&mut self, op: &OpNode, slot: usize, length: u64, row: &mut Row) -> Flow {
        let mut way = self.way_in_slot(op, slot, size_of(op))?;
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
        let series = op.series.map(|series| &stats.series[series]);
        for _ in 0..length {
            if stop.load(Relaxed) {
                return Err(StoppedBy::Control);
            }
            self.limits.check_time(self.last_ns)?;
            let request = next(&mut self.rng).ok_or(StoppedBy::Exhausted)?;
            row.begun += 1;
            row.sum.add(self.one_of_row(op, request, counters, series)?);
        }
        Ok(())
    }

    /// Carry out `length` groups that the limits have let in.
    fn row_of_groups(&mut self, series: Option<usize>, nodes: &[Node], length: u64) -> Result<Sum, StoppedBy> {
        let mut row = Row::default();
        let flow = self.walk_groups(series, nodes, length, &mut row);
        self.end_row(&row);
        flow.map(|()| row.sum)
    }

    #[inline]
    fn walk_groups(&mut self, series: Option<usize>, nodes: &[Node], length: u64, row: &mut Row) -> Flow {
        let stats = Arc::clone(&self.stats);
        for _ in 0..length {
            self.check()?;
            let mut sum = Sum::default();
            for node in nodes {
                let Node::Op(op) = node else { unreachable!("a group that goes in rows has operations alone") };
                let request = self.next_of_row(op)?;
                row.begun += 1;
                stats.current.set(op.state as u64);
                let member = op.series.map(|series| &stats.series[series]);
                sum.add(self.one_of_row(op, request, &stats, member)?);
                if sum.failed {
                    break;
                }
            }
            self.record(series, true, sum);
            row.sum.add(sum);
        }
        Ok(())
    }

    #[inline(always)]
    fn next_of_row(&mut self, op: &OpNode) -> Result<Request, StoppedBy> {
        if let FileSource::Slot(slot) = op.file {
            let mut way = self.way_in_slot(op, slot, size_of(op))?;
            let request = way.next();
            self.go_on_in_slot(slot, &way);
            return Ok(request);
        }
        let straight = self.states[op.state].straight.as_mut().expect("what goes in rows is straight");
        straight.next(&mut self.rng).map(|(request, _)| request).ok_or(StoppedBy::Exhausted)
    }

    #[inline(always)]
    fn one_of_row(
        &mut self,
        op: &OpNode,
        request: Request,
        counters: &WorkerCounters,
        series: Option<&SeriesStats>,
    ) -> Result<Sum, StoppedBy> {
        if op.manner == Manner::KeepsBuffer {
            self.change_a_byte(0, request);
        }
        let issued_ns = self.last_ns;
        let result = self.backend.execute(request);
        self.last_ns = self.clock.now_ns();
        if result != request.length as i64 || op.is_counted {
            return self.account_one_of_row(op, request.length, Done { issued_ns, result });
        }
        let sum = Sum { latency_ns: self.last_ns - issued_ns, bytes: result as u64, failed: false };
        self.failures_in_a_row = 0;
        counters.started.add(1);
        counters.completed.add(1);
        counters.last_op_ns.set(self.last_ns);
        if let Some(series) = series {
            series.latency.record(sum.latency_ns);
            series.bytes.add(sum.bytes);
        }
        if op.counts {
            counters.ops.add(1);
            counters.bytes.add(sum.bytes);
        }
        Ok(sum)
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

#[inline(always)]
fn size_of(op: &OpNode) -> u64 {
    op.size.is_fixed().expect("what goes in rows has one size")
}
