//! The runner of a worker that keeps several requests in flight.

use super::parts::Worker;
use super::source::{Source, Step};
use crate::backend::{Completion, QueuedBackend, Request, Wait};
use crate::clock::Ticks;
use crate::content::parts::{PART_BYTES, parts};
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
    /// Put in, and not come back.
    in_flight: usize,
    /// What has come back and is not counted.
    done: Vec<Completion>,
    /// Counted, and what it brought is still to be judged: place, operation, and bytes moved or a negative error number.
    unsettled: Vec<(usize, &'a OpNode, i64)>,
    /// Content made and judged since the last look at what has come back.
    worked_bytes: u64,
    /// The request that an open loop has ready before it is due, in a place of its own; or why there is none.
    ready: Option<Result<Ready<'a>, StoppedBy>>,
    /// Whether it has one ready.
    gets_ready: bool,
    batch: Batch,
    /// Why no more are to be put in.
    ending: Option<StoppedBy>,
    /// The only operation of the loop, where its requests differ in an offset alone, which is drawn.
    drawn: Option<(&'a OpNode, (Request, Uniform))>,
    /// So many of them may begin without a look at the limits.
    ahead: u64,
}

/// A request whose content is made.
struct Ready<'a> {
    slot: usize,
    op: &'a OpNode,
    aim: Aim,
}

/// Where an operation goes.
#[derive(Debug, Clone, Copy)]
struct Aim {
    request: Request,
    /// Index of the file in its set.
    index: u64,
    /// Whether all but the offset is what it was the last time, if the length is.
    is_fixed: bool,
}

impl Queue<'_> {
    /// Whether a request could be put in.
    fn has_room(&self) -> bool {
        self.ending.is_none() && (!self.free.is_empty() || self.ready.is_some())
    }

    /// Completions that are taken at once, at most.
    fn at_most(&self) -> usize {
        self.batch.complete_max.map_or(usize::MAX, |most| most as usize)
    }
}

impl<B: QueuedBackend, T: Ticks> Worker<B, T> {
    /// Keep `depth` requests in flight of what the source says, until something ends it and the last has come back.
    pub(super) fn run_queued(&mut self, source: Source, depth: usize) -> Result<(), StoppedBy> {
        let places = vec![Place { op: None, length: 0, intended_ns: UNSCHEDULED }; depth];
        let (free, fresh) = ((0..depth).rev().collect(), Vec::with_capacity(depth));
        let drawn = source.only_op().and_then(|op| Some((op, self.tools.files.uniform_only(op)?)));
        let batch = self.admission.job.program.batch;
        // Which operation comes next is known only when it is drawn: none of them may need a name.
        let program = &self.admission.job.program;
        let are_known = program.ops().all(|op| self.tools.files.cursors[op.state].fixed.is_some());
        let gets_ready = are_known && program.ops().any(|op| self.gets_ready(op));
        let mut queue = Queue {
            source,
            places,
            free,
            fresh,
            in_flight: 0,
            done: Vec::with_capacity(depth),
            unsettled: Vec::with_capacity(depth),
            worked_bytes: 0,
            ready: None,
            gets_ready,
            batch,
            was_full: false,
            ending: None,
            drawn,
            ahead: 0,
        };
        loop {
            self.fill(&mut queue)?;
            if queue.in_flight == 0 {
                if let Some(why) = queue.ending {
                    return Err(why);
                }
                self.admission.wait_until_due()?;
                continue;
            }
            self.start(&mut queue);
            self.reap(&mut queue)?;
            if let Err(why) = self.admission.check() {
                queue.ending.get_or_insert(why);
            }
            self.take(&mut queue);
            self.settle_in(&mut queue)?;
        }
    }

    /// Put requests into the free places, as far as they are due and there are any. All but the last batch are handed over:
    /// that one goes with the wait that follows.
    #[inline(always)]
    fn fill(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        while queue.has_room() {
            if queue.fresh.len() >= queue.batch.submit as usize {
                self.start(queue);
                let handed_over = self.tools.backend.hand_over();
                self.or_give_up(handed_over)?;
            }
            if self.put_drawn(queue) {
                continue;
            }
            if !self.admission.is_due() {
                if self.get_ready(queue) {
                    continue;
                }
                break;
            }
            if let Err(why) = self.put(queue) {
                queue.ending = Some(why);
            }
            self.settle_in(queue)?;
        }
        Ok(())
    }

    /// What was put in since the last submission goes to the kernel now.
    #[inline(always)]
    fn start(&mut self, queue: &mut Queue) {
        self.admission.meter.start_in(&queue.fresh);
        queue.fresh.clear();
    }

    // -- putting in ----------------------------------------------------------------------------------------------------

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
        queue.in_flight += count;
        count > 0
    }

    /// Put the next request into a place of the queue.
    #[inline(always)]
    fn put(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        if queue.ready.is_some() {
            return self.put_ready(queue);
        }
        let slot = *queue.free.last().expect("there is a free place");
        let op = self.next(&mut queue.source)?;
        if op.counts {
            self.admission.admit()?;
        }
        let aim = self.aim(op)?;
        let intended_ns = self.begin(op, aim)?;
        queue.free.pop();
        self.prepare_in(queue, slot, op, aim)?;
        self.submit(queue, Ready { slot, op, aim }, intended_ns);
        Ok(())
    }

    /// Put in what was made before it was due.
    #[inline(never)]
    fn put_ready(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        let ready = queue.ready.take().expect("a request is ready")?;
        if ready.op.counts {
            self.admission.admit()?;
        }
        let intended_ns = self.begin(ready.op, ready.aim)?;
        self.submit(queue, ready, intended_ns);
        Ok(())
    }

    /// Have the next request of an open loop ready before it is due: what making its content takes is in no response then.
    /// False: there is nothing to make, or no place for it.
    #[inline(never)]
    fn get_ready(&mut self, queue: &mut Queue) -> bool {
        if !queue.gets_ready || queue.ready.is_some() || queue.free.is_empty() {
            return false;
        }
        queue.ready = Some(self.make_ready(queue));
        self.admission.meter.read_clock();
        true
    }

    fn make_ready<'a>(&mut self, queue: &mut Queue<'a>) -> Result<Ready<'a>, StoppedBy> {
        let op = self.next(&mut queue.source)?;
        let aim = self.aim(op)?;
        let slot = queue.free.pop().expect("there is a free place");
        self.prepare_in(queue, slot, op, aim)?;
        Ok(Ready { slot, op, aim })
    }

    /// The next operation of the source.
    #[inline(always)]
    fn next<'a>(&mut self, source: &mut Source<'a>) -> Result<&'a OpNode, StoppedBy> {
        loop {
            match source.next(&mut self.rng) {
                Step::Op(op, _) => return Ok(op),
                Step::Pass => {
                    self.admission.pass()?;
                    source.again();
                }
                _ => unreachable!("the compiler refuses these with a queue"),
            }
        }
    }

    /// Where an operation goes.
    #[inline(always)]
    fn aim(&mut self, op: &OpNode) -> Result<Aim, StoppedBy> {
        let tools = &mut self.tools;
        let target = match tools.files.fixed_request(op, &mut self.rng) {
            Some(target) => target,
            None => tools.files.target(op, None, &mut tools.backend, &mut self.rng),
        };
        let target = target.map_err(|miss| self.missed(op, miss))?;
        Ok(Aim { request: target.request, index: target.index, is_fixed: target.is_fixed })
    }

    /// An operation begins, as far as limits and arrivals are concerned: when it was to.
    #[inline(always)]
    fn begin(&mut self, op: &OpNode, aim: Aim) -> Result<u64, StoppedBy> {
        self.admission.admit_bytes(aim.request.length as u64)?;
        self.admission.meter.intended_ns = UNSCHEDULED;
        if op.counts {
            self.admission.take_arrival();
        }
        Ok(self.admission.meter.intended_ns)
    }

    #[inline(always)]
    fn submit<'a>(&mut self, queue: &mut Queue<'a>, ready: Ready<'a>, intended_ns: u64) {
        let Ready { slot, op, aim } = ready;
        let place = &mut queue.places[slot];
        place.intended_ns = intended_ns;
        let is_same = place.op.is_some_and(|before| std::ptr::eq(before, op));
        if is_same && aim.is_fixed && place.length == aim.request.length {
            self.tools.backend.submit_again(slot, aim.request);
        } else {
            self.tools.backend.submit(slot, aim.request);
            self.admission.meter.take_place(slot, op);
            (place.op, place.length) = (Some(op), aim.request.length);
        }
        queue.fresh.push(slot);
        queue.in_flight += 1;
        queue.was_full |= queue.free.is_empty();
    }

    // -- work beside requests in flight --------------------------------------------------------------------------------

    /// Have the buffer of a place ready for a request.
    #[inline(always)]
    fn prepare_in<'a>(
        &mut self,
        queue: &mut Queue<'a>,
        slot: usize,
        op: &'a OpNode,
        aim: Aim,
    ) -> Result<(), StoppedBy> {
        let tools = &mut self.tools;
        if tools.filler.takes_time(op, aim.request.kind) {
            return self.make(queue, slot, op, aim);
        }
        tools.filler.prepare(slot, op, aim.request, || 0, aim.index, &mut tools.backend);
        Ok(())
    }

    /// Make what a buffer is to hold.
    #[inline(never)]
    fn make<'a>(&mut self, queue: &mut Queue<'a>, slot: usize, op: &'a OpNode, aim: Aim) -> Result<(), StoppedBy> {
        let file = (self.tools.files.set_of(op), aim.index);
        for part in parts(aim.request.offset, aim.request.length) {
            self.work(queue, part.len())?;
            let tools = &mut self.tools;
            tools.filler.prepare_part(slot, op, aim.request, file, part, &mut tools.backend);
        }
        Ok(())
    }

    /// Judge what has come back; its places are free then.
    #[inline(always)]
    fn settle_in(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        if queue.unsettled.is_empty() { Ok(()) } else { self.settle_all(queue) }
    }

    #[inline(never)]
    fn settle_all(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        while let Some((slot, op, result)) = queue.unsettled.pop() {
            let request = self.tools.filler.unsettled(slot);
            for part in request.into_iter().flat_map(|request| parts(request.offset, request.length)) {
                self.work(queue, part.len())?;
                let tools = &mut self.tools;
                tools.filler.settle_part(slot, op, result, &part, &mut tools.backend);
            }
            queue.free.push(slot);
        }
        Ok(())
    }

    /// So many bytes are worked on next: with more than a part of them since the last look, what has come back is counted
    /// first, so that the work is in no latency.
    #[inline(always)]
    fn work(&mut self, queue: &mut Queue, bytes: usize) -> Result<(), StoppedBy> {
        queue.worked_bytes += bytes as u64;
        if queue.worked_bytes <= PART_BYTES {
            return Ok(());
        }
        queue.worked_bytes = bytes as u64;
        self.look(queue)
    }

    /// Count what has come back by now. Not where several completions are to be waited for: there, that is the latency.
    #[inline(never)]
    fn look(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        let waited_for = queue.in_flight - queue.fresh.len();
        if waited_for == 0 || queue.batch.complete_min > 1 {
            return Ok(());
        }
        let at_most = queue.at_most();
        let looked = self.tools.backend.look(&mut queue.done, at_most);
        if !queue.done.is_empty() {
            self.admission.meter.reaped(queue.done.len(), waited_for);
            self.take(queue);
            // Where storage is faster than the work, a place is always free: nobody else looks at the time.
            if let Err(why) = self.admission.check() {
                queue.ending.get_or_insert(why);
            }
        }
        self.or_give_up(looked)
    }

    // -- taking out ----------------------------------------------------------------------------------------------------

    /// Wait for completions, but not past the next arrival where a place is free for it.
    #[inline(always)]
    fn reap(&mut self, queue: &mut Queue) -> Result<(), StoppedBy> {
        let within = queue
            .has_room()
            .then(|| Duration::from_nanos(self.admission.nap_end_ns().saturating_sub(self.admission.meter.last_ns())));
        let at_least = queue.in_flight.min(queue.batch.complete_min as usize);
        queue.worked_bytes = 0;
        let wait = Wait { at_least, at_most: queue.at_most(), within };
        let reaped = self.tools.backend.complete(&mut queue.done, wait);
        self.admission.meter.reaped(queue.done.len(), queue.in_flight);
        self.or_give_up(reaped)
    }

    #[inline(always)]
    fn or_give_up(&mut self, entered: io::Result<()>) -> Result<(), StoppedBy> {
        entered.map_err(|error| {
            let why = format!("the queue of {}", B::NAME);
            self.admission.meter.give_up(why, error.raw_os_error().unwrap_or(libc::EIO))
        })
    }

    /// Count what has come back. Its places are free, but for those of which something is to be judged.
    #[inline(always)]
    fn take(&mut self, queue: &mut Queue) {
        let mut batch = Default::default();
        let mut done = std::mem::take(&mut queue.done);
        for &Completion { slot, result } in &done {
            let place = &queue.places[slot];
            let (op, is_plain) = match queue.drawn {
                // A full transfer, as is to be expected.
                Some((op, (request, _))) if result == request.length as i64 => (op, true),
                _ => {
                    self.admission.meter.moved(result, place.length);
                    (place.op.expect("only what was submitted completes"), !self.tools.filler.settles())
                }
            };
            if let Err(why) = self.admission.meter.end_in(slot, op, place.intended_ns, result, &mut batch) {
                queue.ending.get_or_insert(why);
            }
            if is_plain {
                queue.free.push(slot);
            } else {
                queue.unsettled.push((slot, op, result));
            }
        }
        queue.in_flight -= done.len();
        self.admission.meter.end_batch(&mut batch);
        done.clear();
        queue.done = done;
    }
}
