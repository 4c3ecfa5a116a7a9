//! Data operations whose file and size never change: one file of the worker's own, one size, no slot. Most benchmarks are
//! made of them, so what does not change is settled before the start, and only the offset is left for the op loop.

use super::stats::NEVER;
use super::{Done, Flow, OpenFile, Worker};
use crate::backend::{Backend, Completion, Request, RequestKind};
use crate::events::StoppedBy;
use crate::load::offsets::Offsets;
use crate::load::op::{FileSource, Node, OpNode};
use crate::plan::{Access, OpKind, Pick};
use std::sync::Arc;

/// Where the operations of one node go.
#[derive(Debug)]
pub(super) struct Straight {
    /// All of the next request but its offset, and at the end of a region its length.
    request: Request,
    size: u64,
    file_index: u64,
    walk: Offsets,
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
        if op.keep.is_some() || matches!(op.access, Access::Append {} | Access::Whole { .. }) {
            return None;
        }
        let (file, size) = (files.first()?, op.size.is_fixed()?);
        let (rw_flags, vectors) = (op.rw_flags, op.vectors);
        let request = Request { fd: file.fd, kind, offset: 0, length: size as usize, rw_flags, vectors };
        Some(Self { request, size, file_index: file.index, walk: walk.clone() })
    }

    #[inline(always)]
    fn next(&mut self, rng: &mut fastrand::Rng) -> Option<(Request, u64)> {
        let (offset, length) = self.walk.next(self.size, rng)?;
        Some((Request { offset, length: length as usize, ..self.request }, self.file_index))
    }
}

impl<B: Backend> Worker<B> {
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
        match self.straight_request(op) {
            Some(next) => {
                let (request, file_index) = next?;
                self.admit_transfer(request.length as u64)?;
                Ok(self.carry_out(op, request, file_index))
            }
            None => self.roundabout_data(op),
        }
    }

    /// Carry a request out and wait for it.
    #[inline(always)]
    pub(super) fn carry_out(&mut self, op: &OpNode, request: Request, file_index: u64) -> Done {
        self.stats.submissions.add(1);
        self.stats.depth_sum.add(1);
        // Blocks are judged between operations: the end of one is not the start of the next then.
        let done = if request.kind == RequestKind::Read && self.stamps.is_none() {
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
    pub(super) fn run_straight_queue(&mut self, op: &OpNode, depth: usize) -> Flow {
        let stats = Arc::clone(&self.stats);
        let slots = &stats.slots[..depth];
        let mut fresh: Vec<usize> = Vec::with_capacity(depth);
        let mut done: Vec<Completion> = Vec::with_capacity(depth);
        let mut lengths = vec![0; depth];
        let mut ending = None;
        for (slot, place) in slots.iter().enumerate() {
            place.current.set(op.state as u64);
            match self.queue_straight(op, slot, slot > 0, &mut lengths) {
                Ok(()) => fresh.push(slot),
                Err(reason) => {
                    ending = Some(reason);
                    break;
                }
            }
        }
        let mut in_flight = fresh.len();
        while in_flight > 0 {
            self.last_ns = self.clock.now_ns();
            stats.submissions.add(fresh.len() as u64);
            stats.depth_sum.add((fresh.len() * in_flight) as u64);
            for slot in fresh.drain(..) {
                slots[slot].since_ns.set(self.last_ns);
            }
            self.reap(&mut done, false)?;
            in_flight -= done.len();
            if let Err(reason) = self.check() {
                ending.get_or_insert(reason);
            }
            for completion in done.drain(..) {
                let (slot, result) = (completion.slot, completion.result);
                let since = &slots[slot].since_ns;
                let issued_ns = since.get();
                since.set(NEVER);
                if result >= 0 && (result as usize) < lengths[slot] {
                    stats.short_transfers.add(1);
                }
                self.settle(slot, op, result);
                if let Err(reason) = self.account(op, Done { issued_ns, result }) {
                    ending.get_or_insert(reason);
                }
                if ending.is_none() {
                    match self.queue_straight(op, slot, true, &mut lengths) {
                        Ok(()) => fresh.push(slot),
                        Err(reason) => ending = Some(reason),
                    }
                }
            }
            in_flight += fresh.len();
        }
        Err(ending.expect("requests stop for a reason"))
    }

    /// Put one more request into a place of the queue. `is_next`: a pass went before it.
    #[inline(always)]
    fn queue_straight(&mut self, op: &OpNode, slot: usize, is_next: bool, lengths: &mut [usize]) -> Flow {
        if is_next {
            self.limits.pass(&self.job.limits)?;
        }
        if op.counts {
            self.limits.admit(&self.job.limits)?;
        }
        let (request, file_index) = self.straight_request(op).expect("its only operation is straight")?;
        self.admit_transfer(request.length as u64)?;
        self.prepare_content(slot, op, request, file_index);
        self.backend.submit(slot, request);
        lengths[slot] = request.length;
        Ok(())
    }
}
