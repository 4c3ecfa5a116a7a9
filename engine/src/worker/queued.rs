//! The runner of a worker that keeps several requests in flight.

use super::parts::Worker;
use super::source::{Source, Step};
use crate::backend::{Backend, Completion, Request, Wait};
use crate::clock::Ticks;
use crate::draw::offsets::Uniform;
use crate::events::StoppedBy;
use crate::pace::pacing::UNSCHEDULED;
use crate::plan::Batch;
use crate::program::op::OpNode;
use std::io;
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
    /// Every place has had a request.
    was_full: bool,
    /// Places filled since the last submission.
    fresh: Vec<usize>,
    batch: Batch,
    /// Why no more are to be put in.
    ending: Option<StoppedBy>,
    /// The only operation of the loop, where its requests differ in an offset alone, which is drawn.
    drawn: Option<(&'a OpNode, (Request, Uniform))>,
    /// So many of them may begin without a look at the limits.
    ahead: u64,
}

impl Queue<'_> {
    fn in_flight(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Keep `depth` requests in flight of what the source says, until something ends it and the last has come back.
    pub(super) fn run_queued(&mut self, source: Source, depth: usize) -> Result<(), StoppedBy> {
        let places = vec![Place { op: None, length: 0, intended_ns: UNSCHEDULED }; depth];
        let (free, fresh) = ((0..depth).rev().collect(), Vec::with_capacity(depth));
        let drawn = source.only_op().and_then(|op| Some((op, self.tools.files.uniform_only(op)?)));
        let batch = self.admission.job.program.batch;
        let mut queue = Queue { source, places, free, fresh, batch, was_full: false, ending: None, drawn, ahead: 0 };
        let mut done: Vec<Completion> = Vec::with_capacity(depth);
        loop {
            self.fill(&mut queue)?;
            if queue.in_flight() == 0 {
                if let Some(why) = queue.ending {
                    return Err(why);
                }
                self.admission.wait_until_due()?;
                continue;
            }
            self.start(&mut queue);
            self.reap(&mut done, &queue)?;
            if let Err(why) = self.admission.check() {
                queue.ending.get_or_insert(why);
            }
            self.take(&mut done, &mut queue);
        }
    }

    /// Put requests into the free places, as far as they are due and there are any. All but the last batch are handed over:
    /// that one goes with the wait that follows.
    #[inline(always)]
    fn fill(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        while queue.ending.is_none() && !queue.free.is_empty() {
            if queue.fresh.len() >= queue.batch.submit as usize {
                self.start(queue);
                let handed_over = self.tools.backend.hand_over();
                self.or_give_up(handed_over)?;
            }
            if self.put_drawn(queue) {
                continue;
            }
            if !self.admission.is_due() {
                break;
            }
            if let Err(why) = self.put(queue) {
                queue.ending = Some(why);
            }
        }
        Ok(())
    }

    /// What was put in since the last submission goes to the kernel now.
    #[inline(always)]
    fn start(&mut self, queue: &mut Queue) {
        self.admission.meter.start_in(&queue.fresh);
        queue.fresh.clear();
    }

    /// Put in as many as differ from those before them in an offset alone, and may begin without a look at the limits, up to
    /// a batch. False: there are none.
    #[inline(always)]
    fn put_drawn(&mut self, queue: &mut Queue) -> bool {
        let Some((op, (request, offsets))) = queue.drawn else { return false };
        if !queue.was_full {
            return false;
        }
        if queue.ahead == 0 {
            queue.ahead = self.admission.take_ahead(op.counts);
        }
        let room = queue.free.len().min(queue.batch.submit as usize - queue.fresh.len());
        let count = room.min(queue.ahead as usize);
        let rest = queue.free.len() - count;
        for &slot in &queue.free[rest..] {
            let request = Request { offset: offsets.draw(&mut self.rng), ..request };
            self.tools.backend.submit_again(slot, request);
        }
        queue.fresh.extend_from_slice(&queue.free[rest..]);
        queue.free.truncate(rest);
        queue.ahead -= count as u64;
        count > 0
    }

    /// Put the next request into a place of the queue.
    #[inline(always)]
    fn put(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        let slot = *queue.free.last().expect("there is a free place");
        let op = self.admit_next(&mut queue.source)?;
        let tools = &mut self.tools;
        let target = match tools.files.fixed_request(op, &mut self.rng) {
            Some(target) => target,
            None => tools.files.target(op, None, &mut tools.backend, &mut self.rng),
        };
        let target = target.map_err(|miss| self.missed(op, miss))?;
        self.admission.admit_bytes(target.request.length as u64)?;
        self.admission.meter.intended_ns = UNSCHEDULED;
        if op.counts {
            self.admission.take_arrival();
        }
        let tools = &mut self.tools;
        let set = || tools.files.set_of(op);
        tools.filler.prepare(slot, op, target.request, set, target.index, &mut tools.backend);
        let place = &mut queue.places[slot];
        place.intended_ns = self.admission.meter.intended_ns;
        let is_same = place.op.is_some_and(|before| std::ptr::eq(before, op));
        if is_same && target.is_fixed && place.length == target.request.length {
            tools.backend.submit_again(slot, target.request);
        } else {
            tools.backend.submit(slot, target.request);
            self.admission.meter.take_place(slot, op);
            (place.op, place.length) = (Some(op), target.request.length);
        }
        queue.fresh.push(slot);
        queue.free.pop();
        queue.was_full |= queue.free.is_empty();
        Ok(())
    }

    /// The next operation, which the limits let begin.
    #[inline(always)]
    fn admit_next<'a>(&mut self, source: &mut Source<'a>) -> Result<&'a OpNode, StoppedBy> {
        let op = loop {
            match source.next(&mut self.rng) {
                Step::Op(op, _) => break op,
                Step::Pass => {
                    self.admission.pass()?;
                    source.again();
                }
                _ => unreachable!("the compiler refuses these with a queue"),
            }
        };
        if op.counts {
            self.admission.admit()?;
        }
        Ok(op)
    }

    /// Wait for completions, but not past the next arrival where a place is free for it.
    #[inline(always)]
    fn reap(&mut self, done: &mut Vec<Completion>, queue: &Queue) -> Result<(), StoppedBy> {
        let waits_for_arrival = queue.ending.is_none() && !queue.free.is_empty();
        let within = waits_for_arrival
            .then(|| Duration::from_nanos(self.admission.nap_end_ns().saturating_sub(self.admission.meter.last_ns())));
        let Batch { complete_min, complete_max, .. } = queue.batch;
        let at_least = queue.in_flight().min(complete_min as usize);
        let at_most = complete_max.map_or(usize::MAX, |most| most as usize);
        let reaped = self.tools.backend.complete(done, Wait { at_least, at_most, within });
        self.admission.meter.reaped(done.len(), queue.in_flight());
        self.or_give_up(reaped)
    }

    #[inline(always)]
    fn or_give_up(&mut self, entered: io::Result<()>) -> Result<(), StoppedBy> {
        entered.map_err(|error| {
            let why = format!("the queue of {}", B::NAME);
            self.admission.meter.give_up(why, error.raw_os_error().unwrap_or(libc::EIO))
        })
    }

    /// Count what has come back; its places are free.
    #[inline(always)]
    fn take(&mut self, done: &mut Vec<Completion>, queue: &mut Queue) {
        let mut batch = Default::default();
        for &Completion { slot, result } in &*done {
            let place = &queue.places[slot];
            let op = match queue.drawn {
                // A full transfer, as is to be expected, for which `settle` has nothing to do.
                Some((op, (request, _))) if result == request.length as i64 => op,
                _ => {
                    let op = place.op.expect("only what was submitted completes");
                    self.admission.meter.moved(result, place.length);
                    let tools = &mut self.tools;
                    tools.filler.settle(slot, op, result, &mut tools.backend);
                    op
                }
            };
            if let Err(why) = self.admission.meter.end_in(slot, op, place.intended_ns, result, &mut batch) {
                queue.ending.get_or_insert(why);
            }
            queue.free.push(slot);
        }
        self.admission.meter.end_batch(&mut batch);
        done.clear();
    }
}
