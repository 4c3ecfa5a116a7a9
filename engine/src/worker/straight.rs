//! Data operations whose file and size never change: one file of the worker's own, one size, no slot. Most benchmarks are
//! made of them, so what does not change is settled before the start, and only the offset is left for the op loop.

use super::account::Sums;
use super::stats::{NEVER, SlotStats};
use super::{Done, Flow, OpenFile, Worker};
use crate::backend::{Backend, Completion, Request, RequestKind};
use crate::clock::Ticks;
use crate::draw::offsets::{Offsets, Uniform};
use crate::events::StoppedBy;
use crate::histogram::Recorder;
use crate::plan::{Access, OpKind, Pick};
use crate::program::op::{FileSource, Manner, Node, OpNode};
use std::sync::Arc;

/// Where the operations of one node go.
#[derive(Debug)]
pub(super) struct Straight {
    /// All of the next request but its offset, and at the end of a region its length.
    request: Request,
    size: u64,
    file_index: u64,
    walk: Offsets,
    /// The walk itself, if it is nothing but drawing.
    uniform: Option<Uniform>,
}

impl Straight {
    /// The straight way of an operation over the files that its worker opened, if it has one; `walk` is the first file's.
    pub(super) fn new(op: &OpNode, files: &[OpenFile], walk: &Offsets) -> Option<Self> {
        let FileSource::Opened { pick: Pick::Own {}, .. } = op.file else { return None };
        let kind = match op.kind {
            OpKind::Read => RequestKind::Read,
            OpKind::Write => RequestKind::Write,
            _ => return None,
        };
        if op.keep.is_some() || op.chunk_bytes > 0 || matches!(op.access, Access::Append {} | Access::Whole { .. }) {
            return None;
        }
        let (file, size) = (files.first()?, op.size.is_fixed()?);
        let (rw_flags, vectors) = (op.rw_flags, op.vectors);
        let request = Request { file: file.handle, kind, offset: 0, length: size as usize, rw_flags, vectors };
        Some(Self { request, size, file_index: file.index, walk: walk.clone(), uniform: walk.uniform(size) })
    }

    #[inline(always)]
    pub(super) fn next(&mut self, rng: &mut fastrand::Rng) -> Option<(Request, u64)> {
        let (offset, length) = match &self.uniform {
            Some(uniform) => (uniform.draw(rng), self.size),
            None => self.walk.next(self.size, rng)?,
        };
        Some((Request { offset, length: length as usize, ..self.request }, self.file_index))
    }
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// The straight way of an operation, if it has one.
    #[inline(always)]
    fn straight_request(&mut self, op: &OpNode) -> Option<Result<(Request, u64), StoppedBy>> {
        let straight = self.states[op.state].straight.as_mut()?;
        Some(straight.next(&mut self.rng).ok_or(StoppedBy::Exhausted))
    }

    /// One data operation. Both ways end in the same steps, which are there twice: the straight one then keeps the request
    /// in registers.
    #[inline(always)]
    pub(super) fn data(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        if let Some(next) = self.straight_request(op) {
            let (request, file_index) = next?;
            self.admit_transfer(request.length as u64)?;
            return Ok(self.carry_out(op, request, file_index));
        }
        match op.file {
            FileSource::Slot(slot) if op.goes_at_once() => self.data_in_slot(op, slot),
            _ => self.roundabout_data(op),
        }
    }

    /// One call on the file of a slot.
    #[inline(always)]
    fn data_in_slot(&mut self, op: &OpNode, slot: usize) -> Result<Done, StoppedBy> {
        let (request, file_index) = self.request_in_slot(op, slot)?;
        Ok(self.carry_out(op, request, file_index))
    }

    /// Carry a request out and wait for it.
    #[inline(always)]
    pub(super) fn carry_out(&mut self, op: &OpNode, request: Request, file_index: u64) -> Done {
        self.stats.submissions.add(1);
        self.stats.depth_sum.add(1);
        // Blocks are judged, and files that operations open are advised on, between operations: the end of one is not the
        // start of the next then.
        let follows = self.stamps.is_none() && (self.job.advice.is_none() || !matches!(op.file, FileSource::Slot(_)));
        let done = if op.is_ready && follows {
            if op.manner == Manner::KeepsBuffer {
                self.change_a_byte(0, request);
            }
            let issued_ns = self.last_ns;
            let result = self.backend.execute(request);
            self.last_ns = self.clock.now_ns();
            Done { issued_ns, result }
        } else {
            self.prepare_content(0, op, request, file_index);
            let done = self.timed(|worker| worker.backend.execute(request));
            self.settle(0, op, done.result);
            done
        };
        if done.result >= 0 && (done.result as usize) < request.length {
            self.stats.short_transfers.add(1);
        }
        done
    }

    /// The only operation of a loop, if it goes straight and nothing paces it.
    pub(super) fn only_straight<'a>(&self, nodes: &'a [Node]) -> Option<&'a OpNode> {
        match nodes {
            [Node::Op(op)] if self.states[op.state].straight.is_some() && self.pacer.is_free() => Some(op),
            _ => None,
        }
    }

    /// The op loop of a worker that keeps `depth` requests of one straight operation in flight. A place in the queue gets the
    /// next request when its last one is done, so all that is kept of each is when it was issued, and that is where the
    /// observer looks for it, and how long it is.
    #[inline(never)]
    pub(super) fn run_straight_queue(&mut self, op: &OpNode, depth: usize) -> Flow {
        let stats = Arc::clone(&self.stats);
        let mut queue = Queue {
            straight: self.states[op.state].straight.take().expect("its only operation is straight"),
            slots: &stats.slots[..depth],
            lengths: vec![0; depth],
            latency: op.series.map(|series| &stats.series[series].latency),
            is_plain: op.kind == OpKind::Read && self.stamps.is_none() && !op.cold_buffer,
            ahead: 0,
            ending: None,
        };
        let mut batch: Vec<Completion> = Vec::with_capacity(depth);
        for slot in 0..depth {
            stats.slots[slot].current.set(op.state as u64);
            match self.queue_straight(op, slot, slot > 0, &mut queue) {
                Ok(()) => batch.push(Completion { slot, result: 0 }),
                Err(reason) => {
                    queue.ending = Some(reason);
                    break;
                }
            }
        }
        let mut in_flight = batch.len();
        while in_flight > 0 {
            self.last_ns = self.clock.now_ns();
            stats.submissions.add(batch.len() as u64);
            stats.depth_sum.add((batch.len() * in_flight) as u64);
            for completion in &batch {
                queue.slots[completion.slot].since_ns.set(self.last_ns);
            }
            batch.clear();
            self.reap(&mut batch, false)?;
            in_flight -= batch.len();
            if let Err(reason) = self.check() {
                queue.ending.get_or_insert(reason);
            }
            let again = self.take_straight(op, &batch, &mut queue);
            batch.truncate(again);
            in_flight += again;
        }
        Err(queue.ending.expect("requests stop for a reason"))
    }

    /// Account for what has come back, and put the next requests into its places, as many of the first as it returns.
    #[inline(always)]
    fn take_straight(&mut self, op: &OpNode, done: &[Completion], queue: &mut Queue) -> usize {
        let Some(&first) = done.first() else { return 0 };
        let first_issued_ns = queue.slots[first.slot].since_ns.get();
        let alike = self.take_alike(done, queue);
        let mut sums = Sums { ops: alike as u64, bytes: alike as u64 * queue.straight.size };
        let rest = &done[alike..];
        let again = if rest.is_empty() { 0 } else { self.take_rest(op, rest, queue, &mut sums) };
        self.account_successes(op, first_issued_ns, &sums);
        alike + again
    }

    /// Take the first completions as long as they are what is to be expected: reads of the full size, each with a next one
    /// at a drawn offset. How many these were.
    #[inline(always)]
    fn take_alike(&mut self, done: &[Completion], queue: &mut Queue) -> usize {
        let Queue { straight: Straight { request, size, uniform: Some(uniform), .. }, slots, .. } = queue else {
            return 0;
        };
        let (Some(latency), true, None) = (queue.latency, queue.is_plain, queue.ending) else { return 0 };
        let most = queue.ahead.min(done.len() as u64) as usize;
        let mut taken = 0;
        for &Completion { slot, result } in &done[..most] {
            if result != *size as i64 {
                break;
            }
            latency.record(self.last_ns - slots[slot].since_ns.get());
            self.backend.submit_again(slot, Request { offset: uniform.draw(&mut self.rng), ..*request });
            taken += 1;
        }
        queue.ahead -= taken as u64;
        taken
    }

    /// As [`Worker::take_straight`], for completions of any kind.
    #[inline(never)]
    fn take_rest(&mut self, op: &OpNode, done: &[Completion], queue: &mut Queue, sums: &mut Sums) -> usize {
        let mut again = 0;
        for &completion in done {
            self.take_one(op, completion, queue, sums);
            if queue.ending.is_none() {
                match self.queue_straight(op, completion.slot, true, queue) {
                    Ok(()) => {
                        again += 1;
                        continue;
                    }
                    Err(reason) => queue.ending = Some(reason),
                }
            }
            queue.slots[completion.slot].since_ns.set(NEVER);
        }
        again
    }

    /// Account for one completion but for what its reap has in common.
    #[inline]
    fn take_one(&mut self, op: &OpNode, completion: Completion, queue: &mut Queue, sums: &mut Sums) {
        let Completion { slot, result } = completion;
        let issued_ns = queue.slots[slot].since_ns.get();
        if !queue.is_plain {
            self.settle(slot, op, result);
        }
        if result < 0 {
            if let Err(reason) = self.account(op, Done { issued_ns, result }) {
                queue.ending.get_or_insert(reason);
            }
            return;
        }
        sums.ops += 1;
        sums.bytes += result as u64;
        if (result as usize) < queue.lengths[slot] {
            self.stats.short_transfers.add(1);
        }
        if let Some(latency) = queue.latency {
            latency.record(self.last_ns - issued_ns);
        }
    }

    /// Put one more request into a place of the queue. `is_next`: a pass went before it.
    #[inline]
    fn queue_straight(&mut self, op: &OpNode, slot: usize, is_next: bool, queue: &mut Queue) -> Flow {
        let looks = queue.ahead == 0;
        if looks {
            self.admit_straight(op, is_next)?;
        }
        let (request, file_index) = queue.straight.next(&mut self.rng).ok_or(StoppedBy::Exhausted)?;
        if looks {
            self.limits.admit_bytes(&self.job.limits, request.length as u64)?;
            queue.ahead = 1 + self.limits.take_passes_ahead(op.counts);
        }
        queue.ahead -= 1;
        if !queue.is_plain {
            self.prepare_content(slot, op, request, file_index);
        }
        if queue.lengths[slot] == request.length {
            self.backend.submit_again(slot, request);
        } else {
            self.backend.submit(slot, request);
            queue.lengths[slot] = request.length;
        }
        Ok(())
    }

    #[inline]
    fn admit_straight(&mut self, op: &OpNode, is_next: bool) -> Flow {
        if is_next {
            self.limits.pass(&self.job.limits)?;
        }
        if op.counts {
            self.limits.admit(&self.job.limits)?;
        }
        Ok(())
    }
}

/// The queue of a worker with one straight operation.
struct Queue<'a> {
    straight: Straight,
    slots: &'a [SlotStats],
    /// By slot: bytes asked for; 0 before its first request.
    lengths: Vec<usize>,
    latency: Option<&'a Recorder>,
    /// Whether what is transferred is neither made nor judged.
    is_plain: bool,
    /// Operations that may begin without a look at the limits.
    ahead: u64,
    ending: Option<StoppedBy>,
}
