//! What is in the buffers: the content of writes, made before they are issued, and the judgement of what reads of stamped
//! files have brought. None of it is in a latency but a byte that a write changes of what its buffer holds.

use super::stamped::{FileId, Stamps};
use crate::backend::{Backend, Request, RequestKind};
use crate::content::fill::ContentFill;
use crate::job::{JobShared, Transfers};
use crate::program::op::{CallMode, FileSource, OpNode, Program};
use crate::sys::cpu_cache;
use std::ops::Range;

/// Makes and judges what one worker transfers.
pub(super) struct Filler {
    /// By file set; None for those that the job does not touch.
    fills: Vec<Option<ContentFill>>,
    stamps: Option<Stamps>,
    generation: u64,
    /// Which byte the next write that keeps its buffer changes.
    kept_turn: usize,
    /// Whether writes give the bytes of a pool.
    has_pool: bool,
    /// At the start of the buffer: how many bytes may not be those of the pool.
    unpooled_bytes: usize,
}

impl Filler {
    /// For a job's transfers; `first_generation` sets the content of workers apart.
    pub(super) fn new(job: &JobShared, transfers: Transfers, first_generation: u64) -> Self {
        let Transfers { fills, slots } = transfers;
        let has_pool = job.program.ops().any(|op| op.mode == CallMode::Pooled);
        let (stamps, unpooled_bytes) = (Stamps::new(job, slots as usize), job.program.buffer_bytes);
        Self { fills, stamps, generation: first_generation, kept_turn: 0, has_pool, unpooled_bytes }
    }

    /// Before the first request: where writes keep what their buffers hold, that is content of the set that the first of them
    /// names, or of the first set that the job has where a slot does.
    pub(super) fn begin_kept(&mut self, program: &Program, slots: u32, backend: &mut impl Backend) {
        let Some(op) = program.ops().find(|op| op.mode == CallMode::KeepsBuffer) else { return };
        let named = match op.file {
            FileSource::Opened { opened, .. } => self.fills[program.opened[opened].set].as_mut(),
            FileSource::Named { set, .. } => self.fills[set].as_mut(),
            FileSource::Slot(_) => self.fills.iter_mut().flatten().next(),
        };
        let fill = named.expect("a job has content for every set it touches");
        for slot in 0..slots as usize {
            self.generation += 1;
            fill.fill(backend.buffer(slot, program.buffer_bytes), 0, 0, self.generation);
        }
    }

    /// Whether there is more to do before a request is issued than to change a byte.
    #[inline(always)]
    pub(super) fn takes_time(&self, op: &OpNode, kind: RequestKind) -> bool {
        let makes = self.stamps.is_some() || kind == RequestKind::Write;
        (makes && op.mode != CallMode::KeepsBuffer) || op.cold_buffer
    }

    /// Before a request is issued, all of it: see [`Filler::prepare_part`]. `set` says which set its file is of, and `index`
    /// which of that.
    #[inline(always)]
    pub(super) fn prepare(
        &mut self,
        slot: usize,
        op: &OpNode,
        request: Request,
        set: impl FnOnce() -> usize,
        index: u64,
        backend: &mut impl Backend,
    ) {
        if self.takes_time(op, request.kind) {
            self.prepare_part(slot, op, request, (set(), index), 0..request.length, backend);
        } else if op.mode == CallMode::KeepsBuffer {
            self.change_a_byte(slot, request, backend);
        }
    }

    /// A part of a request's buffer before it is issued, the parts in order: fill it for a write, remember what a read of a
    /// stamped file may find, and cool it. `set` and `index` say which file.
    #[inline(never)]
    pub(super) fn prepare_part(
        &mut self,
        slot: usize,
        op: &OpNode,
        request: Request,
        (set, index): (usize, u64),
        part: Range<usize>,
        backend: &mut impl Backend,
    ) {
        match op.mode {
            CallMode::KeepsBuffer if part.start == 0 => self.change_a_byte(slot, request, backend),
            CallMode::KeepsBuffer => {}
            CallMode::Pooled => self.give_pooled(set, index, request.length, request.offset, backend),
            _ => self.make_content(slot, request, FileId { set, index }, &part, backend),
        }
        if op.cold_buffer {
            cpu_cache::evict(&backend.buffer(slot, part.end)[part.start..]);
        }
    }

    /// The content of a write that keeps what its buffer holds: one byte after the other takes its turn to change.
    #[inline(always)]
    fn change_a_byte(&mut self, slot: usize, request: Request, backend: &mut impl Backend) {
        let turn = if self.kept_turn < request.length { self.kept_turn } else { 0 };
        self.kept_turn = turn + 1;
        let buffer = backend.buffer(slot, request.length);
        buffer[turn] = buffer[turn].wrapping_add(1);
    }

    fn make_content(
        &mut self,
        slot: usize,
        request: Request,
        file: FileId,
        part: &Range<usize>,
        backend: &mut impl Backend,
    ) {
        let buffer = &mut backend.buffer(slot, part.end)[part.start..];
        if let Some(stamps) = &mut self.stamps
            && stamps.begin(slot, request, file, part, buffer, &mut self.fills)
        {
            return;
        }
        if request.kind == RequestKind::Write {
            if part.start == 0 {
                self.generation += 1;
                self.unpooled_bytes = self.unpooled_bytes.max(request.length);
            }
            let fill = self.fills[file.set].as_mut().expect("a job has content for every set it touches");
            fill.fill(buffer, file.index, request.offset + part.start as u64, self.generation);
        }
    }

    /// Have the bytes of the pool in the buffer, and new ones in each block.
    pub(super) fn give_pooled(
        &mut self,
        set: usize,
        index: u64,
        length: usize,
        offset: u64,
        backend: &mut impl Backend,
    ) {
        let fill = self.fills[set].as_mut().expect("a job has content for every set it touches");
        if self.unpooled_bytes > 0 {
            fill.fill_pool(backend.buffer(0, self.unpooled_bytes));
            self.unpooled_bytes = 0;
        }
        self.generation += 1;
        fill.renew(backend.buffer(0, length), index, offset, self.generation);
    }

    /// A request has put other bytes at the start of the buffer.
    #[inline(always)]
    pub(super) fn overwritten(&mut self, request: Request, bytes: usize) {
        if self.has_pool && request.kind == RequestKind::Read {
            self.unpooled_bytes = self.unpooled_bytes.max(bytes);
        }
    }

    /// After a request, all of it: see [`Filler::settle_part`].
    #[inline(always)]
    pub(super) fn settle(&mut self, slot: usize, op: &OpNode, result: i64, backend: &mut impl Backend) {
        if let Some(stamps) = &mut self.stamps
            && let Some(request) = stamps.request(slot)
        {
            stamps.end(slot, op, result, &(0..request.length), backend);
        }
    }

    /// Whether there may be something to do after a request.
    #[inline(always)]
    pub(super) fn settles(&self) -> bool {
        self.stamps.is_some()
    }

    /// The request of a place that is still to be settled.
    pub(super) fn unsettled(&self, slot: usize) -> Option<Request> {
        self.stamps.as_ref()?.request(slot)
    }

    /// A part of a request that has come back, the parts in order: what was written is done, what was read is judged.
    /// `result`: bytes moved or a negative errno.
    pub(super) fn settle_part(
        &mut self,
        slot: usize,
        op: &OpNode,
        result: i64,
        part: &Range<usize>,
        backend: &mut impl Backend,
    ) {
        if let Some(stamps) = &mut self.stamps {
            stamps.end(slot, op, result, part, backend);
        }
    }
}
