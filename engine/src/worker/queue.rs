//! The op loop of a worker that keeps several I/Os in flight.

use super::{Done, Flow, Worker};
use crate::backend::{Backend, Completion};
use crate::events::StoppedBy;
use crate::load::op::{Node, OpNode};
use crate::worker::stats::NEVER;

impl<B: Backend> Worker<B> {
    pub(super) fn run_queue(&mut self, nodes: &[Node], depth: usize) -> Flow {
        let mut free: Vec<usize> = (0..depth).rev().collect();
        // Slots filled since the last submission: looking through all of them for these would cost more than the rest.
        let mut fresh: Vec<usize> = Vec::with_capacity(depth);
        let mut done: Vec<Completion> = Vec::with_capacity(depth);
        let mut issued: Vec<Option<(&OpNode, u64, usize)>> = vec![None; depth];
        let mut turn = 0;
        let mut ending: Option<StoppedBy> = None;
        loop {
            while ending.is_none() && !free.is_empty() {
                match self.queue_one(nodes, &mut turn, &mut free, &mut issued) {
                    Ok(slot) => fresh.push(slot),
                    Err(reason) => ending = Some(reason),
                }
            }
            if free.len() == depth {
                return Err(ending.expect("an empty queue is refilled until something ends it"));
            }
            let submitted_ns = self.clock.now_ns();
            self.stats.submissions.add(fresh.len() as u64);
            self.stats.depth_sum.add((fresh.len() * (depth - free.len())) as u64);
            for slot in fresh.drain(..) {
                issued[slot].as_mut().expect("just filled").1 = submitted_ns;
            }
            if let Err(error) = self.backend.complete(&mut done) {
                self.fatal = Some((format!("the queue of {}", B::NAME), error.raw_os_error().unwrap_or(libc::EIO)));
                return Err(StoppedBy::Error);
            }
            self.last_ns = self.clock.now_ns();
            self.stats.reaps.add(1);
            for completion in done.drain(..) {
                let (op, issued_ns, length) = issued[completion.slot].take().expect("only what was issued completes");
                free.push(completion.slot);
                self.settle(completion.slot, op, completion.result);
                if completion.result >= 0 && (completion.result as usize) < length {
                    self.stats.short_transfers.add(1);
                }
                if let Err(reason) = self.account(op, Done { issued_ns, result: completion.result }) {
                    ending.get_or_insert(reason);
                }
            }
            if let Err(reason) = self.check() {
                ending.get_or_insert(reason);
            }
        }
    }

    /// Put one more request into the queue: its slot.
    pub(super) fn queue_one<'a>(
        &mut self,
        nodes: &'a [Node],
        turn: &mut usize,
        free: &mut Vec<usize>,
        issued: &mut [Option<(&'a OpNode, u64, usize)>],
    ) -> Result<usize, StoppedBy> {
        if *turn == nodes.len() {
            *turn = 0;
            self.limits.pass(&self.job.limits)?;
        }
        let op = match &nodes[*turn] {
            Node::Op(op) => op,
            Node::Choice { cumulative, branches } => {
                let draw = self.rng.f64();
                let branch = cumulative.iter().position(|&end| draw < end).unwrap_or(branches.len() - 1);
                let [Node::Op(op)] = &branches[branch][..] else {
                    unreachable!("the compiler lets only single operations into the branches of a queued choice")
                };
                op
            }
            Node::Group { .. } | Node::Repeat { .. } => unreachable!("the compiler refuses these with a queue"),
        };
        *turn += 1;
        if op.counts {
            self.limits.admit(&self.job.limits)?;
        }
        let (request, file) = self.request(op)?;
        let slot = free.pop().expect("asked only while a slot is free");
        self.prepare_content(slot, request, file);
        self.backend.submit(slot, request);
        issued[slot] = Some((op, NEVER, request.length));
        Ok(slot)
    }
}
