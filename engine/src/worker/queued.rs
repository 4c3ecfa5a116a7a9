//! The runner of a worker that keeps several requests in flight.

use super::parts::Worker;
use super::source::{Source, Step};
use crate::backend::{Backend, Completion, Request};
use crate::clock::Ticks;
use crate::draw::offsets::Uniform;
use crate::events::StoppedBy;
use crate::pace::pacing::UNSCHEDULED;
use crate::program::op::OpNode;
use std::time::Duration;

/// A place in the queue.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    /// The latest request that was put here is of it.
    op: Option<&'a OpNode>,
    length: usize,
    intended_ns: u64,
}

/// The requests of a worker.
struct Queue<'a> {
    source: Source<'a>,
    places: Vec<Place<'a>>,
    free: Vec<usize>,
    /// Places filled since the last submission.
    fresh: Vec<usize>,
    /// Why no more are to be put in.
    ending: Option<StoppedBy>,
    /// The only operation of the loop, where its requests differ in an offset alone, which is drawn.
    drawn: Option<(&'a OpNode, (Request, Uniform))>,
    /// So many of them may begin without a look at the limits.
    ahead: u64,
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Keep `depth` requests in flight of what the source says, until something ends it and the last has come back.
    pub(super) fn run_queued(&mut self, source: Source, depth: usize) -> Result<(), StoppedBy> {
        let places = vec![Place { op: None, length: 0, intended_ns: UNSCHEDULED }; depth];
        let (free, fresh) = ((0..depth).rev().collect(), Vec::with_capacity(depth));
        let drawn = source.only_op().and_then(|op| Some((op, self.tools.files.drawn(op)?)));
        let mut queue = Queue { source, places, free, fresh, ending: None, drawn, ahead: 0 };
        let mut done: Vec<Completion> = Vec::with_capacity(depth);
        loop {
            while let Some(place) = queue.free.pop() {
                if !self.fill(&mut queue, place) {
                    break;
                }
            }
            if queue.free.len() == depth {
                if let Some(why) = queue.ending {
                    return Err(why);
                }
                self.gate.wait_until_due()?;
                continue;
            }
            self.gate.meter.start_in(&queue.fresh, (depth - queue.free.len()) as u64);
            queue.fresh.clear();
            self.reap(&mut done, queue.ending.is_none() && !queue.free.is_empty())?;
            if let Err(why) = self.gate.check() {
                queue.ending.get_or_insert(why);
            }
            self.take(&mut done, &mut queue);
        }
    }

    /// Put one more request into a place of the queue, if one is due and there is one; else the place stays free. False: it
    /// does.
    #[inline(always)]
    fn fill(&mut self, queue: &mut Queue, slot: usize) -> bool {
        if queue.ending.is_none() && self.gate.is_due() {
            match self.put(queue, slot) {
                Ok(()) => {
                    queue.fresh.push(slot);
                    return true;
                }
                Err(why) => queue.ending = Some(why),
            }
        }
        queue.free.push(slot);
        false
    }

    #[inline(always)]
    fn put(&mut self, queue: &mut Queue, slot: usize) -> Result<(), StoppedBy> {
        let op = match queue.drawn {
            Some((op, _)) if queue.ahead > 0 => {
                queue.ahead -= 1;
                op
            }
            _ => self.admit_next(&mut queue.source)?,
        };
        let tools = &mut self.tools;
        let target = match tools.files.settled(op, &mut self.rng) {
            Some(target) => target,
            None => tools.files.target(op, None, &mut tools.backend, &mut self.rng),
        };
        let target = target.map_err(|miss| self.missed(op, miss))?;
        self.gate.admit_bytes(target.request.length as u64)?;
        self.gate.meter.intended_ns = UNSCHEDULED;
        if op.counts {
            self.gate.take_arrival();
        }
        let tools = &mut self.tools;
        let set = || tools.files.set_of(op);
        tools.filler.prepare(slot, op, target.request, set, target.index, &mut tools.backend);
        let place = &mut queue.places[slot];
        place.intended_ns = self.gate.meter.intended_ns;
        let is_same = place.op.is_some_and(|before| std::ptr::eq(before, op));
        if is_same && target.is_settled && place.length == target.request.length {
            tools.backend.submit_again(slot, target.request);
        } else {
            tools.backend.submit(slot, target.request);
            self.gate.meter.take_place(slot, op);
            (place.op, place.length) = (Some(op), target.request.length);
        }
        Ok(())
    }

    /// The next operation, which the limits let begin.
    #[inline(always)]
    fn admit_next<'a>(&mut self, source: &mut Source<'a>) -> Result<&'a OpNode, StoppedBy> {
        let op = loop {
            match source.next(&mut self.rng) {
                Step::Op(op, _) => break op,
                Step::Pass => {
                    self.gate.pass()?;
                    source.again();
                }
                _ => unreachable!("the compiler refuses these with a queue"),
            }
        };
        if op.counts {
            self.gate.admit()?;
        }
        Ok(op)
    }

    /// Wait for completions, but not past the next arrival where a place is free for it.
    #[inline(always)]
    fn reap(&mut self, done: &mut Vec<Completion>, waits_for_arrival: bool) -> Result<(), StoppedBy> {
        let reaped = if waits_for_arrival {
            let at_most_ns = self.gate.nap_end_ns().saturating_sub(self.gate.meter.last_ns());
            self.tools.backend.complete_within(done, Duration::from_nanos(at_most_ns))
        } else {
            self.tools.backend.complete(done)
        };
        self.gate.meter.reaped(done.len());
        reaped.map_err(|error| {
            let why = format!("the queue of {}", B::NAME);
            self.gate.meter.give_up(why, error.raw_os_error().unwrap_or(libc::EIO))
        })
    }

    /// Count what has come back, and put the next requests into its places.
    #[inline(always)]
    fn take(&mut self, done: &mut Vec<Completion>, queue: &mut Queue) {
        let (mut batch, mut taken) = (Default::default(), 0);
        if let (Some((op, (request, offsets))), None) = (queue.drawn, queue.ending) {
            if queue.ahead == 0 {
                queue.ahead = self.gate.take_ahead(op.counts);
            }
            // The first, as long as they are what is to be expected: full transfers, of which the limits have let the next
            // ones in.
            let most = queue.ahead.min(done.len() as u64) as usize;
            for &Completion { slot, result } in
                done[..most].iter().take_while(|one| one.result == request.length as i64)
            {
                let counted = self.gate.meter.end_in(slot, op, UNSCHEDULED, result, &mut batch);
                debug_assert!(counted.is_ok(), "a success ends nothing");
                let request = Request { offset: offsets.draw(&mut self.rng), ..request };
                self.tools.backend.submit_again(slot, request);
                queue.fresh.push(slot);
                taken += 1;
            }
            queue.ahead -= taken as u64;
        }
        for &Completion { slot, result } in &done[taken..] {
            let place = &queue.places[slot];
            let op = place.op.expect("only what was submitted completes");
            self.gate.meter.moved(result, place.length);
            let tools = &mut self.tools;
            tools.filler.settle(slot, op, result, &mut tools.backend);
            if let Err(why) = self.gate.meter.end_in(slot, op, place.intended_ns, result, &mut batch) {
                queue.ending.get_or_insert(why);
            }
            self.fill(queue, slot);
        }
        self.gate.meter.end_batch(&mut batch);
        done.clear();
    }
}
