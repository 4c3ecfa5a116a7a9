//! Stamped files of one worker: generations taken before a write, blocks judged after a read. All of it happens before an
//! operation's issue or after its completion, so none of it is in a latency.

use crate::backend::{Backend, Request, RequestKind};
use crate::content::fill::ContentFill;
use crate::content::found::{Found, Place};
use crate::content::generations::Generations;
use crate::content::stamp::Stamper;
use crate::files::fileset::FileSetState;
use crate::job::JobShared;
use crate::program::op::OpNode;
use std::ops::Range;
use std::sync::Arc;

/// A file of a set.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileId {
    /// Index into the Plan's file sets.
    pub(super) set: usize,
    /// Index in its set.
    pub(super) index: u64,
}

/// What a worker keeps for stamped sets.
pub(super) struct Stamps {
    /// By file set; None for those without stamps.
    sets: Vec<Option<(Arc<FileSetState>, Arc<Generations>)>>,
    stamper: Stamper,
    tickets: Vec<Ticket>,
    found: Arc<Found>,
}

/// A transfer in flight.
struct Ticket {
    file: Option<FileId>,
    request: Option<Request>,
    /// State of each block's generation when a read was issued.
    before: Vec<u64>,
}

impl Stamps {
    /// None if the job touches no stamped set. Everything that transfers need is allocated here.
    pub(super) fn new(job: &JobShared, queue_depth: usize) -> Option<Self> {
        let program = &job.program;
        let touched = |set: usize| program.sets.contains(&set);
        let of = |set: usize| Some((Arc::clone(&job.sets[set]), job.sets[set].generations()?));
        let sets: Vec<_> = (0..job.sets.len()).map(|set| if touched(set) { of(set) } else { None }).collect();
        let unit = sets.iter().flatten().map(|(_, generations)| generations.unit_bytes()).min()?;
        let blocks = program.buffer_bytes / unit as usize + 2;
        let ticket = |_| Ticket { file: None, request: None, before: Vec::with_capacity(blocks) };
        let tickets = (0..queue_depth.max(1)).map(ticket).collect();
        Some(Self { sets, stamper: Stamper::new(), tickets, found: Arc::clone(job.found.as_ref()?) })
    }

    /// The transfer of a stamped file that was begun in a place, and has not ended.
    pub(super) fn request(&self, slot: usize) -> Option<Request> {
        self.tickets[slot].request
    }

    /// Before a transfer of a stamped file is issued, a part after the other: fill the buffer of a write, remember what a read
    /// may find. False if the file is not stamped.
    pub(super) fn begin(
        &mut self,
        slot: usize,
        request: Request,
        file: FileId,
        part: &Range<usize>,
        buffer: &mut [u8],
        fills: &mut [Option<ContentFill>],
    ) -> bool {
        let Some((_, generations)) = &self.sets[file.set] else { return false };
        let unit = generations.unit_bytes();
        let ticket = &mut self.tickets[slot];
        if part.start == 0 {
            (ticket.file, ticket.request) = (Some(file), Some(request));
            ticket.before.clear();
        }
        let units = units(request, part, unit);
        match request.kind {
            RequestKind::Read => {
                ticket.before.extend(units.map(|offset| generations.before_read(file.index, offset)));
            }
            RequestKind::Write => {
                let fill = fills[file.set].as_mut().expect("a job has content for every set it touches");
                for (block, offset) in buffer.chunks_mut(unit as usize).zip(units) {
                    let generation = generations.begin_write(file.index, offset);
                    fill.fill(block, file.index, offset, generation);
                }
            }
            RequestKind::Fsync | RequestKind::Fdatasync => {}
        }
        true
    }

    /// After a transfer, a part after the other: what was written is done, what was read is judged. `result`: bytes moved or
    /// a negative errno.
    pub(super) fn end(
        &mut self,
        slot: usize,
        op: &OpNode,
        result: i64,
        part: &Range<usize>,
        backend: &mut impl Backend,
    ) {
        let ticket = &mut self.tickets[slot];
        let (Some(file), Some(request)) = (ticket.file, ticket.request) else { return };
        if part.end == request.length {
            (ticket.file, ticket.request) = (None, None);
        }
        let Some((state, generations)) = &self.sets[file.set] else { return };
        let unit = generations.unit_bytes();
        let moved = result.max(0) as u64;
        if request.kind == RequestKind::Write {
            let done = request.offset + moved;
            let end = request.offset + request.length as u64;
            for offset in units(request, part, unit) {
                generations.end_write(file.index, offset, (offset + unit).min(end) <= done);
            }
            return;
        }
        let judge = state.judge(generations, self.stamper);
        let first = request.offset / unit;
        let (before, found) = (&ticket.before, &self.found);
        let read = part.start.min(moved as usize)..part.end.min(moved as usize);
        let (begins, buffer) = (request.offset + read.start as u64, &mut backend.buffer(slot, part.end)[read]);
        let at = |offset: u64| before[(offset / unit - first) as usize];
        judge.blocks(buffer, file.index, begins, at, |offset_bytes, kind| {
            found.add(op.state, kind, Place { set: file.set, file: file.index, offset_bytes });
        });
    }
}

/// Offsets of the blocks of a part of a transfer.
fn units(request: Request, part: &Range<usize>, unit: u64) -> impl Iterator<Item = u64> + use<> {
    let (begins, end) = (request.offset + part.start as u64, request.offset + part.end as u64);
    (begins / unit * unit..end).step_by(unit as usize)
}
