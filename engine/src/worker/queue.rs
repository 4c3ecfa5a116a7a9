//! The op loop of a worker that keeps several I/Os in flight.

use super::{Done, Flow, Worker};
use crate::backend::{Backend, Completion};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::pace::pacing::UNSCHEDULED;
use crate::program::op::{Node, OpNode};
use crate::worker::stats::NEVER;
use std::time::Duration;

/// An operation in the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight<'a> {
    op: &'a OpNode,
    /// [`NEVER`] until it is handed to the kernel.
    issued_ns: u64,
    intended_ns: u64,
    length: usize,
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    pub(super) fn run_queue(&mut self, nodes: &[Node], depth: usize) -> Flow {
        let mut free: Vec<usize> = (0..depth).rev().collect();
        // Slots filled since the last submission: looking through all of them for these would cost more than the rest.
        let mut fresh: Vec<usize> = Vec::with_capacity(depth);
        let mut done: Vec<Completion> = Vec::with_capacity(depth);
        let mut issued: Vec<Option<InFlight>> = vec![None; depth];
        let mut turn = 0;
        let mut ending: Option<StoppedBy> = None;
        loop {
            while ending.is_none() && !free.is_empty() && self.is_due() {
                match self.queue_one(nodes, &mut turn, &mut free, &mut issued) {
                    Ok(slot) => fresh.push(slot),
                    Err(reason) => ending = Some(reason),
                }
            }
            if free.len() == depth {
                if let Some(reason) = ending {
                    return Err(reason);
                }
                self.wait_until_due()?;
                continue;
            }
            self.note_submission(&mut fresh, &mut issued, depth - free.len());
            let waits_for_arrival = ending.is_none() && !free.is_empty();
            self.reap(&mut done, waits_for_arrival)?;
            for completion in done.drain(..) {
                let one = issued[completion.slot].take().expect("only what was issued completes");
                free.push(completion.slot);
                if let Err(reason) = self.completed(one, completion) {
                    ending.get_or_insert(reason);
                }
            }
            if let Err(reason) = self.check() {
                ending.get_or_insert(reason);
            }
        }
    }

    /// What was queued goes to the kernel now.
    #[inline]
    fn note_submission(&mut self, fresh: &mut Vec<usize>, issued: &mut [Option<InFlight>], in_flight: usize) {
        let submitted_ns = self.clock.now_ns();
        self.stats.submissions.add(fresh.len() as u64);
        self.stats.depth_sum.add((fresh.len() * in_flight) as u64);
        for slot in fresh.drain(..) {
            issued[slot].as_mut().expect("just filled").issued_ns = submitted_ns;
            self.stats.slots[slot].since_ns.set(submitted_ns);
        }
        self.last_ns = submitted_ns;
    }

    /// Wait for completions, but not past the next arrival where a place is free for it.
    #[inline(always)]
    pub(super) fn reap(&mut self, done: &mut Vec<Completion>, waits_for_arrival: bool) -> Flow {
        let reaped = if waits_for_arrival {
            let at_most_ns = self.nap_end_ns().saturating_sub(self.last_ns);
            self.backend.complete_within(done, Duration::from_nanos(at_most_ns))
        } else {
            self.backend.complete(done)
        };
        self.last_ns = self.clock.now_ns();
        self.stats.reaps.add(u64::from(!done.is_empty()));
        reaped.map_err(|error| {
            self.fatal = Some((format!("the queue of {}", B::NAME), error.raw_os_error().unwrap_or(libc::EIO)));
            StoppedBy::Error
        })
    }

    #[inline]
    fn completed(&mut self, one: InFlight, completion: Completion) -> Flow {
        self.stats.slots[completion.slot].since_ns.set(NEVER);
        if completion.result >= 0 && (completion.result as usize) < one.length {
            self.stats.short_transfers.add(1);
        }
        self.settle(completion.slot, one.op, completion.result);
        self.intended_ns = one.intended_ns;
        self.account(one.op, Done { issued_ns: one.issued_ns, result: completion.result }).map(|_| ())
    }

    /// Put one more request into the queue: its slot.
    pub(super) fn queue_one<'a>(
        &mut self,
        nodes: &'a [Node],
        turn: &mut usize,
        free: &mut Vec<usize>,
        issued: &mut [Option<InFlight<'a>>],
    ) -> Result<usize, StoppedBy> {
        if *turn == nodes.len() {
            *turn = 0;
            self.limits.pass(&self.job.limits)?;
        }
        let op = match &nodes[*turn] {
            Node::Op(op) => op,
            Node::Choice { weights, branches } => {
                let [Node::Op(op)] = &branches[weights.draw(&mut self.rng)][..] else {
                    unreachable!("the compiler lets only single operations into the branches of a queued choice")
                };
                op
            }
            Node::Group { .. } | Node::Repeat { .. } | Node::Action(_) => {
                unreachable!("the compiler refuses these with a queue")
            }
        };
        *turn += 1;
        self.intended_ns = UNSCHEDULED;
        if op.counts {
            self.limits.admit(&self.job.limits)?;
        }
        let (request, file_index) = self.request(op)?;
        if op.counts {
            self.take_arrival();
        }
        let slot = free.pop().expect("asked only while a slot is free");
        self.prepare_content(slot, op, request, file_index);
        self.backend.submit(slot, request);
        self.stats.slots[slot].current.set(op.state as u64);
        issued[slot] = Some(InFlight { op, issued_ns: NEVER, intended_ns: self.intended_ns, length: request.length });
        Ok(slot)
    }
}
