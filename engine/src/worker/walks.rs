//! Where the operations of a node go that work on files which its worker opened: which of them, and where in it.

use super::pick::Picker;
use crate::backend::{Request, RequestKind};
use crate::draw::mix::mix;
use crate::draw::offsets::{Offsets, Uniform, Walker};
use crate::error::Result;
use crate::files::open_files::OpenFile;
use crate::job::JobShared;
use crate::plan::{Access, Pick};
use crate::program::op::{CallMode, FileSource, OpNode};
use crate::program::op_rules::PickOrders;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Where the operations of one node have got to.
#[derive(Debug)]
pub(super) struct OpCursor {
    /// What its operations ask of the backend, if it is of data.
    pub(super) request: Option<RequestKind>,
    pub(super) fixed: Option<FixedRequest>,
    pub(super) picker: Picker,
    /// By file.
    walks: Vec<Offsets>,
    /// The file at hand.
    file: usize,
    /// Whether finding its file and place takes less time than a look at the clock, and nothing is done to its buffer: it
    /// may then begin where the operation before ended.
    pub(super) reuses_timestamp: bool,
    /// Whether what it transfers is neither made, judged nor cooled.
    pub(super) is_plain: bool,
}

/// Operations whose file and size never change: one file of the worker's own, one size, no slot. Most benchmarks are made
/// of them, so what does not change is fixed before the start, and only the offset is left for the op loop.
#[derive(Debug)]
pub(super) struct FixedRequest {
    /// All of the next request but its offset, and at the end of a region its length.
    request: Request,
    size: u64,
    pub(super) file_index: u64,
    walk: Offsets,
    /// The walk itself, if it is nothing but drawing.
    uniform: Option<Uniform>,
}

impl FixedRequest {
    /// For an operation over the files that its worker opened, if it is of the kind; `walk` is the first file's.
    fn new(op: &OpNode, files: &[OpenFile], walk: &Offsets) -> Option<Self> {
        let FileSource::Opened { pick: Pick::Own {}, .. } = op.file else { return None };
        let rules = op.kind.rules();
        let kind = rules.request.filter(|_| rules.moves_data())?;
        if op.keep.is_some() || !op.goes_at_once() || op.access == (Access::Append {}) {
            return None;
        }
        let (file, size) = (files.first()?, op.size.is_fixed()?);
        let (rw_flags, vectors) = (op.rw_flags, op.vectors);
        let request = Request { file: file.handle, kind, offset: 0, length: size as usize, rw_flags, vectors };
        Some(Self { request, size, file_index: file.index, walk: walk.clone(), uniform: walk.uniform(size) })
    }

    /// All of a request but its offset, and what draws that, if nothing else changes.
    pub(super) fn uniform_only(&self) -> Option<(Request, Uniform)> {
        self.uniform.map(|uniform| (self.request, uniform))
    }

    #[inline(always)]
    pub(super) fn next(&mut self, rng: &mut fastrand::Rng) -> Option<Request> {
        let (offset, length) = match &self.uniform {
            Some(uniform) => (uniform.draw(rng), self.size),
            None => self.walk.next(self.size, rng)?,
        };
        Some(Request { offset, length: length as usize, ..self.request })
    }
}

/// What there is to find a place with.
pub(super) struct Search<'a> {
    pub(super) files: &'a [OpenFile],
    /// How many files `pick next` has handed out.
    pub(super) turns: &'a AtomicU64,
    pub(super) stop: &'a AtomicBool,
}

/// A place for an operation.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: OpenFile,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Whether it is the first that was looked at.
    pub(super) is_first: bool,
}

impl OpCursor {
    /// The cursors of all operations of a job, by their state.
    pub(super) fn all(job: &JobShared, opened: &[Vec<OpenFile>], walker: Walker) -> Result<Vec<Self>> {
        job.program.ops().map(|op| Self::new(op, job, opened, walker)).collect()
    }

    fn new(op: &OpNode, job: &JobShared, opened: &[Vec<OpenFile>], walker: Walker) -> Result<Self> {
        let mut cursor = Self {
            request: op.kind.rules().request,
            fixed: None,
            picker: Picker::Even,
            walks: Vec::new(),
            file: usize::MAX,
            reuses_timestamp: true,
            is_plain: true,
        };
        match &op.file {
            FileSource::Named { set, pick } => {
                let takes_new = op.kind.rules().orders == PickOrders::OfFree;
                cursor.picker = Picker::of_names(pick, &job.sets[*set], op.state as u64, takes_new)?;
            }
            FileSource::Opened { opened: position, pick } => {
                let set_seed = job.sets[job.program.opened[*position].set].content_seed();
                cursor.picker = Picker::new(pick, set_seed)?;
                let access = single_pass(&op.access, pick);
                let seed = walker.seed ^ (op.state as u64 + 1).wrapping_mul(0x9e37_79b9);
                let walk = |file: &OpenFile| {
                    let (seed, file_seed) = (mix(seed ^ mix(file.index)), mix(set_seed ^ mix(file.index)));
                    let walk =
                        Offsets::new(&access, file.bytes, op.size.is_fixed(), Walker { seed, file_seed, ..walker })?;
                    Ok(walk.along(&job.streams[*position], file.index))
                };
                let files = &opened[*position];
                cursor.walks = files.iter().map(walk).collect::<Result<_>>()?;
                if job.program.script.is_none() {
                    cursor.fixed = cursor.walks.first().and_then(|walk| FixedRequest::new(op, files, walk));
                }
            }
            FileSource::Slot(_) => {}
        }
        let is_drawn_quickly = matches!(cursor.picker, Picker::Even) && cursor.walks.iter().all(Offsets::is_quick);
        let needs_nothing = if job.program.script.is_some() {
            // Where it goes is in its line.
            job.advice.is_none() && op.mode != CallMode::Pooled && !op.kind.rules().writes() && !op.cold_buffer
        } else {
            op.is_ready && op.size.is_fixed().is_some() && op.keep.is_none() && is_drawn_quickly
        };
        cursor.reuses_timestamp = needs_nothing && !job.has_stamps();
        let is_script = job.program.script.is_some();
        cursor.is_plain = !(is_script || job.has_stamps() || op.cold_buffer || op.kind.rules().writes());
        Ok(cursor)
    }

    /// File, offset and length of the next operation of `size` bytes; None when there is no more, or the worker is to stop.
    /// `flush`: it has no place in its file.
    pub(super) fn next(
        &mut self,
        op: &OpNode,
        pick: &Pick,
        size: u64,
        flush: bool,
        search: &Search,
        rng: &mut fastrand::Rng,
    ) -> Option<Place> {
        let files = search.files;
        let wraps = wraps(&op.access);
        let sequential = wraps.is_some();
        let mut tried = 0;
        loop {
            match pick {
                // A file that is through, or too small: the one after it, until none is left.
                _ if tried > 0 && !sequential => self.file = (self.file + 1) % files.len(),
                Pick::Random { .. } | Pick::Indexed { .. } => {
                    self.file = self.picker.draw(files.len() as u64, rng) as usize;
                }
                Pick::Next {} if self.file == usize::MAX || !sequential => {
                    let turn = search.turns.fetch_add(1, Relaxed) as usize;
                    if wraps == Some(false) && turn >= files.len() {
                        return None;
                    }
                    self.file = turn % files.len();
                }
                Pick::Own {} => self.file = 0,
                _ => {}
            }
            let file = files[self.file];
            let place = |offset, length| Some(Place { file, offset, length, is_first: tried == 0 });
            if flush {
                return place(0, 0);
            }
            if op.access == (Access::Append {}) {
                return place(file.bytes, size);
            }
            let walk = &mut self.walks[self.file];
            if let Some((offset, length)) = walk.next(size, rng) {
                return place(offset, length);
            }
            tried += 1;
            if !sequential && tried < files.len() {
                continue;
            }
            walk.rewind();
            let is_next = *pick == (Pick::Next {}) && sequential;
            // Where no file has a place for it, the one after this has none either.
            if !is_next || !(walk.fits(size) || self.walks.iter().any(|walk| walk.fits(size))) {
                return None;
            }
            if search.stop.load(Relaxed) {
                return None;
            }
            self.file = usize::MAX;
        }
    }
}

/// Whether a cursor that goes through its file in order starts over there; None: it does not go in order.
fn wraps(access: &Access) -> Option<bool> {
    match access {
        Access::Sequential { wrap, .. }
        | Access::Stream { wrap, .. }
        | Access::Backward { wrap, .. }
        | Access::Stride { wrap, .. } => Some(*wrap),
        Access::Random { .. } | Access::Append {} | Access::Whole { .. } => None,
    }
}

/// With pick 'next' a walk is one pass; the next file follows it.
fn single_pass(access: &Access, pick: &Pick) -> Access {
    let mut access = access.clone();
    match &mut access {
        Access::Sequential { wrap, .. } | Access::Backward { wrap, .. } | Access::Stride { wrap, .. } => {
            *wrap &= *pick != Pick::Next {};
        }
        Access::Stream { .. } | Access::Random { .. } | Access::Append {} | Access::Whole { .. } => {}
    }
    access
}
