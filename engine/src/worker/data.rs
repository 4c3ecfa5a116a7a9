//! Reads, writes and flushes of one worker: which file, where in it, with what content.

use super::pick::Picker;
use super::stamped::FileId;
use super::straight::Straight;
use super::{Done, Flow, JobShared, OpState, OpenFile, Worker};
use crate::backend::{Backend, Request, RequestKind};
use crate::clock::Ticks;
use crate::content::fill::mix;
use crate::draw::offsets::{Offsets, Walker};
use crate::events::StoppedBy;
use crate::plan::{Access, OpKind, Pick};
use crate::program::op::{FileSource, Manner, Node, OpNode};
use crate::sys::cpu_cache;
use std::sync::atomic::Ordering::Relaxed;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// A data operation of any kind.
    #[inline(never)]
    pub(super) fn roundabout_data(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        if let (Access::Whole { chunk_bytes }, OpKind::Read | OpKind::Write) = (&op.access, op.kind) {
            return self.whole(op, *chunk_bytes);
        }
        let (request, file_index) = self.request(op)?;
        Ok(match op.chunk_bytes {
            0 => self.carry_out(op, request, file_index),
            chunk_bytes => self.carry_out_in_pieces(op, request, file_index, chunk_bytes)?,
        })
    }

    /// Carry a request out as successive calls of at most `chunk_bytes`: one operation, whose latency is that of them all.
    fn carry_out_in_pieces(
        &mut self,
        op: &OpNode,
        request: Request,
        file_index: u64,
        chunk_bytes: usize,
    ) -> Result<Done, StoppedBy> {
        let calls = request.length.div_ceil(chunk_bytes) as u64;
        self.stats.submissions.add(calls);
        self.stats.depth_sum.add(calls);
        self.prepare_content(0, op, request, file_index);
        let done = self.timed(|worker| worker.backend.execute_in_pieces(request, chunk_bytes, &worker.job.stop));
        self.settle(0, op, done.result);
        self.was_not_cut(done, request.length)?;
        if done.result >= 0 && (done.result as usize) < request.length {
            self.stats.short_transfers.add(1);
        }
        Ok(done)
    }

    /// Whether a transfer in pieces is done: what a stop has cut short is given up, not done.
    pub(super) fn was_not_cut(&self, done: Done, length: usize) -> Flow {
        let is_short = done.result >= 0 && (done.result as usize) < length;
        if is_short && self.job.stop.load(Relaxed) { Err(StoppedBy::Control) } else { Ok(()) }
    }

    /// Fill the buffer of a write, remember what a read of a stamped file may find, and cool the buffer.
    #[inline(always)]
    pub(super) fn prepare_content(&mut self, slot: usize, op: &OpNode, request: Request, file_index: u64) {
        if op.manner == Manner::KeepsBuffer {
            self.change_a_byte(slot, request);
        } else if self.stamps.is_some() || request.kind == RequestKind::Write {
            self.make_content(slot, op, request, file_index);
        }
        if op.cold_buffer {
            cpu_cache::evict(self.backend.buffer(slot, request.length));
        }
    }

    /// The content of a write that keeps what its buffer holds: one byte after the other takes its turn to change.
    #[inline(always)]
    pub(super) fn change_a_byte(&mut self, slot: usize, request: Request) {
        let turn = if self.kept_turn < request.length { self.kept_turn } else { 0 };
        self.kept_turn = turn + 1;
        let buffer = self.backend.buffer(slot, request.length);
        buffer[turn] = buffer[turn].wrapping_add(1);
    }

    #[inline(never)]
    fn make_content(&mut self, slot: usize, op: &OpNode, request: Request, file_index: u64) {
        if op.manner == Manner::Pooled {
            return self.give_pooled(self.set_of(op), request.length, request.offset, file_index);
        }
        let file = FileId { set: self.set_of(op), index: file_index };
        if !self.stamp(slot, request, file) {
            self.fill(slot, request, file);
        }
    }

    /// Set of the file that a data operation works on.
    pub(super) fn set_of(&self, op: &OpNode) -> usize {
        match op.file {
            FileSource::Opened { opened, .. } => self.job.program.opened[opened].set,
            FileSource::Slot(slot) => self.slots[slot].map_or(0, |file| file.set),
            FileSource::Named { set, .. } => set,
        }
    }

    #[inline]
    fn fill(&mut self, slot: usize, request: Request, file: FileId) {
        if request.kind == RequestKind::Write {
            self.generation += 1;
            self.unpooled_bytes = self.unpooled_bytes.max(request.length);
            let buffer = self.backend.buffer(slot, request.length);
            let fill = self.fills[file.set].as_mut().expect("a job has content for every set it touches");
            fill.fill(buffer, file.index, request.offset, self.generation);
        }
    }

    /// The next request of any operation, and the index of its file.
    pub(super) fn request(&mut self, op: &OpNode) -> Result<(Request, u64), StoppedBy> {
        match &op.file {
            FileSource::Slot(slot) => self.request_in_slot(op, *slot),
            FileSource::Opened { opened, pick } => {
                let kind = kind_of(op.kind);
                let flush = matches!(kind, RequestKind::Fsync | RequestKind::Fdatasync);
                let size = if flush { 0 } else { op.size.sample_u64(&mut self.rng) };
                let (file, offset, length) = self.place(op, *opened, pick, size, flush)?;
                self.keep_opened(op, *opened, file, offset + length);
                self.admit_transfer(length)?;
                let (rw_flags, vectors) = (op.rw_flags, op.vectors);
                let request = Request { file: file.handle, kind, offset, length: length as usize, rw_flags, vectors };
                Ok((request, file.index))
            }
            FileSource::Named { .. } => unreachable!("data operations work on open files"),
        }
    }

    /// The next request on the file of a slot, and the index of that file.
    #[inline(always)]
    pub(super) fn request_in_slot(&mut self, op: &OpNode, slot: usize) -> Result<(Request, u64), StoppedBy> {
        let kind = kind_of(op.kind);
        let size = match kind {
            RequestKind::Read | RequestKind::Write => op.size.sample_u64(&mut self.rng),
            RequestKind::Fsync | RequestKind::Fdatasync => 0,
        };
        let mut way = self.way_in_slot(op, slot, size)?;
        let request = way.next();
        self.go_on_in_slot(slot, &way);
        self.admit_transfer(size)?;
        Ok((request, way.file_index))
    }

    /// Where operations of `size` bytes on the file of a slot go from here.
    #[inline(always)]
    pub(super) fn way_in_slot(&mut self, op: &OpNode, slot: usize, size: u64) -> Result<Way, StoppedBy> {
        let Some(file) = self.slots[slot] else { return Err(self.empty_slot(op)) };
        let (kind, rw_flags, vectors) = (kind_of(op.kind), op.rw_flags, op.vectors);
        let request = Request { file: file.handle, kind, offset: file.at, length: size as usize, rw_flags, vectors };
        let is_back = matches!(op.access, Access::Backward { .. });
        Ok(Way { request, at: file.at, is_back, file_index: file.index })
    }

    /// The next operation on the file of a slot goes where a way has come to.
    #[inline(always)]
    pub(super) fn go_on_in_slot(&mut self, slot: usize, way: &Way) {
        if let Some(file) = &mut self.slots[slot] {
            file.at = way.at;
        }
    }

    /// Count a transfer against the limits and the rate, if it may begin.
    #[inline(always)]
    pub(super) fn admit_transfer(&mut self, bytes: u64) -> Flow {
        self.limits.admit_bytes(&self.job.limits, bytes)?;
        self.pacer.charge(self.last_ns, bytes);
        Ok(())
    }

    /// File, offset and length of an operation on opened files.
    pub(super) fn place(
        &mut self,
        op: &OpNode,
        opened: usize,
        pick: &Pick,
        size: u64,
        flush: bool,
    ) -> Result<(OpenFile, u64, u64), StoppedBy> {
        let files = &self.opened[opened];
        let state = &mut self.states[op.state];
        let sequential =
            matches!(op.access, Access::Sequential { .. } | Access::Backward { .. } | Access::Stride { .. });
        let next = &self.job.next_file[op.state];
        let mut tried = 0;
        loop {
            match pick {
                // A file that is through, or too small: the one after it, until none is left.
                _ if tried > 0 && !sequential => state.file = (state.file + 1) % files.len(),
                Pick::Random { .. } | Pick::Indexed { .. } => {
                    state.file = state.picker.draw(files.len() as u64, &mut self.rng) as usize;
                }
                Pick::Next {} if state.file == usize::MAX || !sequential => {
                    let turn = next.fetch_add(1, Relaxed) as usize;
                    if sequential && turn >= files.len() && !wraps(&op.access) {
                        return Err(StoppedBy::Exhausted);
                    }
                    state.file = turn % files.len();
                }
                Pick::Own {} => state.file = 0,
                _ => {}
            }
            let file = files[state.file];
            if flush {
                return Ok((file, 0, 0));
            }
            if op.access == (Access::Append {}) {
                return Ok((file, file.bytes, size));
            }
            let walk = state.walks[state.file].as_mut().expect("every opened file has a walk");
            if let Some((offset, length)) = walk.next(size, &mut self.rng) {
                return Ok((file, offset, length));
            }
            tried += 1;
            if !sequential && tried < files.len() {
                continue;
            }
            walk.rewind();
            // Where no file has a place for it, the one after this has none either.
            let has_place = |walk: &Option<Offsets>| walk.as_ref().is_some_and(|walk| walk.fits(size));
            let is_next = *pick == (Pick::Next {}) && sequential;
            if !is_next || !(walk.fits(size) || state.walks.iter().any(has_place)) {
                return Err(StoppedBy::Exhausted);
            }
            if self.job.stop.load(Relaxed) {
                return Err(StoppedBy::Control);
            }
            state.file = usize::MAX;
        }
    }

    /// A whole file in pieces, as one operation.
    pub(super) fn whole(&mut self, op: &OpNode, chunk_bytes: u64) -> Result<Done, StoppedBy> {
        let (file, file_index, bytes) = match &op.file {
            FileSource::Slot(slot) => {
                let Some(file) = self.slots[*slot] else { return Err(self.empty_slot(op)) };
                (file.handle, file.index, self.job.sets[file.set].size_of(file.index))
            }
            FileSource::Opened { opened, pick } => {
                let (file, _, _) = self.place(op, *opened, pick, 0, true)?;
                self.keep_opened(op, *opened, file, file.bytes);
                (file.handle, file.index, file.bytes)
            }
            FileSource::Named { .. } => unreachable!("data operations work on open files"),
        };
        let piece = if chunk_bytes > 0 { chunk_bytes } else { op.size.sample_u64(&mut self.rng).max(1) };
        self.admit_transfer(bytes)?;
        let kind = if op.kind == OpKind::Read { RequestKind::Read } else { RequestKind::Write };
        let (mut at, mut latency_ns) = (0, 0);
        while at < bytes {
            let length = piece.min(bytes - at) as usize;
            let (rw_flags, vectors) = (op.rw_flags, op.vectors);
            let request = Request { file, kind, offset: at, length, rw_flags, vectors };
            self.stats.submissions.add(1);
            self.stats.depth_sum.add(1);
            self.prepare_content(0, op, request, file_index);
            let done = self.timed(|worker| worker.backend.execute(request));
            self.settle(0, op, done.result);
            if done.result < 0 {
                return Ok(done);
            }
            latency_ns += self.last_ns - done.issued_ns;
            self.stats.busy_since_ns.set(self.last_ns);
            at += done.result as u64;
            if done.result == 0 {
                self.stats.short_transfers.add(1);
                break;
            }
            if at < bytes && self.job.stop.load(Relaxed) {
                return Err(StoppedBy::Control);
            }
        }
        // Latency without the time that making the content took.
        Ok(Done { issued_ns: self.last_ns.max(latency_ns) - latency_ns, result: at as i64 })
    }
}

/// A way through the file of a slot.
#[derive(Debug)]
pub(super) struct Way {
    /// All of the next request but its offset.
    request: Request,
    at: u64,
    /// Backward: over what lies before the position, which stays.
    is_back: bool,
    file_index: u64,
}

impl Way {
    #[inline(always)]
    pub(super) fn next(&mut self) -> Request {
        let length = self.request.length as u64;
        let offset = if self.is_back { self.at.saturating_sub(length) } else { self.at };
        self.at = offset + length;
        Request { offset, ..self.request }
    }
}

#[inline(always)]
fn kind_of(op: OpKind) -> RequestKind {
    match op {
        OpKind::Read => RequestKind::Read,
        OpKind::Write => RequestKind::Write,
        OpKind::Fsync => RequestKind::Fsync,
        _ => RequestKind::Fdatasync,
    }
}

fn wraps(access: &Access) -> bool {
    matches!(
        access,
        Access::Sequential { wrap: true, .. } | Access::Backward { wrap: true, .. } | Access::Stride { wrap: true, .. }
    )
}

/// Make the walks of every operation over opened files.
pub(super) fn prepare_walks(
    nodes: &[Node],
    job: &JobShared,
    opened: &[Vec<OpenFile>],
    walker: Walker,
    states: &mut [OpState],
) -> crate::error::Result<()> {
    for node in nodes {
        match node {
            Node::Op(op) => {
                if let FileSource::Named { set, pick, .. } = &op.file {
                    let (state, takes_new) = (&job.sets[*set], op.kind == OpKind::Create);
                    states[op.state].picker = Picker::of_names(pick, state, op.state as u64, takes_new)?;
                }
                if let FileSource::Opened { opened: position, pick } = &op.file {
                    let set_seed = job.sets[job.program.opened[*position].set].content_seed();
                    states[op.state].picker = Picker::new(pick, set_seed)?;
                    let access = single_pass(&op.access, pick);
                    let seed = walker.seed ^ (op.state as u64 + 1).wrapping_mul(0x9e37_79b9);
                    let walk = |file: &OpenFile| {
                        let walker = Walker {
                            seed: mix(seed ^ mix(file.index)),
                            file_seed: mix(set_seed ^ mix(file.index)),
                            ..walker
                        };
                        Offsets::new(&access, file.bytes, op.size.is_fixed(), walker).map(Some)
                    };
                    let files = &opened[*position];
                    let walks: Vec<_> = files.iter().map(walk).collect::<crate::error::Result<_>>()?;
                    states[op.state].straight = walks.first().and_then(|walk| Straight::new(op, files, walk.as_ref()?));
                    states[op.state].walks = walks;
                }
            }
            Node::Group { nodes, .. } | Node::Repeat { nodes, .. } => {
                prepare_walks(nodes, job, opened, walker, states)?
            }
            Node::Choice { branches, .. } => {
                for nodes in branches {
                    prepare_walks(nodes, job, opened, walker, states)?;
                }
            }
            Node::Action(_) => {}
        }
    }
    Ok(())
}

/// With pick 'next' a walk is one pass; the next file follows it.
fn single_pass(access: &Access, pick: &Pick) -> Access {
    let mut access = access.clone();
    if *pick == (Pick::Next {}) {
        if let Access::Sequential { wrap, .. } | Access::Backward { wrap, .. } | Access::Stride { wrap, .. } =
            &mut access
        {
            *wrap = false;
        }
    }
    access
}
