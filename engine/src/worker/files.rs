//! The files of one worker: those that it opened before the start, those in slots, and where the next operation goes.

use super::walks::{OpCursor, Place, Search};
use crate::backend::store::{At, Handle};
use crate::backend::{Backend, Request, RequestKind};
use crate::draw::offsets::{Uniform, Walker};
use crate::events::StoppedBy;
use crate::files::names::PathBuffer;
use crate::files::open_files::OpenFile;
use crate::job::JobShared;
use crate::plan::{Access, Region};
use crate::program::lines::Entry;
use crate::program::op::{FileSource, OpNode};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A file that an operation left in a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotFile {
    /// None: only the name is known, or its open failed.
    pub(super) handle: Handle,
    /// Whether the slot closes it.
    pub(super) is_owned: bool,
    pub(super) set: usize,
    pub(super) index: u64,
    /// Where the next transfer goes.
    pub(super) at: u64,
}

/// What a data operation works on.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) request: Request,
    /// Index of the file in its set.
    pub(super) index: u64,
    /// Whether all but the offset is what it was the last time, if the length is.
    pub(super) is_fixed: bool,
    /// Whether it may begin where the operation before ended.
    pub(super) reuses_timestamp: bool,
    /// Whether what it transfers is neither made, judged nor cooled.
    pub(super) is_plain: bool,
}

/// Why an operation has no place to go to: the worker ends; None: its slot is empty.
type NoTarget = Option<StoppedBy>;

/// What a worker has open, and the names that it builds.
pub(super) struct Files {
    pub(super) job: Arc<JobShared>,
    opened: Vec<Vec<OpenFile>>,
    pub(super) slots: Vec<Option<SlotFile>>,
    /// By operation.
    pub(super) cursors: Vec<OpCursor>,
    pub(super) walker: Walker,
    pub(super) path: PathBuffer,
    /// Where operations with two names go.
    pub(super) other_path: PathBuffer,
}

impl Files {
    pub(super) fn new(job: Arc<JobShared>, opened: Vec<Vec<OpenFile>>, walker: Walker) -> crate::error::Result<Self> {
        let cursors = OpCursor::all(&job, &opened, walker)?;
        let slots = vec![None; job.program.slots];
        Ok(Self { job, opened, slots, cursors, walker, path: PathBuffer::new(), other_path: PathBuffer::new() })
    }

    /// The file of an operation on a name; where it has two, the one that it goes from.
    pub(super) fn from(&self) -> At<'_> {
        self.path.at()
    }

    /// Where an operation with two names goes.
    pub(super) fn to(&self) -> At<'_> {
        self.other_path.at()
    }

    // -- where to ------------------------------------------------------------------------------------------------------

    /// The next request of an operation whose file and size never change; None: it is not of the kind.
    #[inline(always)]
    pub(super) fn fixed_request(&mut self, op: &OpNode, rng: &mut fastrand::Rng) -> Option<Result<Target, NoTarget>> {
        let OpCursor { fixed: Some(fixed), reuses_timestamp, is_plain, .. } = &mut self.cursors[op.state] else {
            return None;
        };
        let Some(request) = fixed.next(rng) else { return Some(Err(Some(StoppedBy::Exhausted))) };
        Some(Ok(Target {
            request,
            index: fixed.file_index,
            is_fixed: true,
            reuses_timestamp: *reuses_timestamp,
            is_plain: *is_plain,
        }))
    }

    /// All of the next requests of an operation but their offset, and what draws that, if nothing else changes, and nothing is
    /// done to their buffers.
    pub(super) fn uniform_only(&self, op: &OpNode) -> Option<(Request, Uniform)> {
        let cursor = &self.cursors[op.state];
        cursor.fixed.as_ref().filter(|_| cursor.is_plain)?.uniform_only()
    }

    /// The next request of any data operation; `line` says where it goes if the worker follows a script.
    #[inline(always)]
    pub(super) fn target(
        &mut self,
        op: &OpNode,
        line: Option<Entry>,
        backend: &mut impl Backend,
        rng: &mut fastrand::Rng,
    ) -> Result<Target, NoTarget> {
        let kind = self.cursors[op.state].request.expect("data operations ask something of the backend");
        let flush = matches!(kind, RequestKind::Fsync | RequestKind::Fdatasync);
        let size = match line {
            _ if flush => 0,
            Some(entry) => entry.size,
            None => op.size.sample_u64(rng),
        };
        let (place, length) = self.target_place(op, line, size, flush, backend, rng)?;
        let (rw_flags, vectors) = (op.rw_flags, op.vectors);
        let request =
            Request { file: place.handle, kind, offset: place.offset, length: length as usize, rw_flags, vectors };
        let OpCursor { reuses_timestamp, is_plain, .. } = self.cursors[op.state];
        let reuses_timestamp = reuses_timestamp && place.is_near;
        Ok(Target { request, index: place.index, is_fixed: false, reuses_timestamp, is_plain })
    }

    /// Where the next `size` bytes of an operation on an open file are, and how many there are; a slot goes on behind them.
    #[inline(always)]
    fn target_place(
        &mut self,
        op: &OpNode,
        line: Option<Entry>,
        size: u64,
        flush: bool,
        backend: &mut impl Backend,
        rng: &mut fastrand::Rng,
    ) -> Result<(TargetPlace, u64), NoTarget> {
        let FileSource::Slot(slot) = op.file else { return self.place_in_set(op, line, size, flush, backend, rng) };
        let file = self.slots[slot].as_mut().ok_or(None)?;
        let offset = match (line, &op.access) {
            (Some(entry), _) => entry.offset,
            // The position stays where it is, as with pread.
            (None, Access::Random { region, align_bytes, .. }) => {
                let offset = random_in(region, self.job.sets[file.set].size_of(file.index), *align_bytes, size, rng);
                return Ok((
                    TargetPlace { handle: file.handle, index: file.index, offset, bytes: 0, is_near: true },
                    size,
                ));
            }
            // Over what lies before the position, which stays.
            (None, Access::Backward { .. }) => file.at.saturating_sub(size),
            (None, _) => file.at,
        };
        file.at = offset + size;
        Ok((TargetPlace { handle: file.handle, index: file.index, offset, bytes: 0, is_near: true }, size))
    }

    /// The file of an operation's slot goes on from its beginning.
    pub(super) fn rewind(&mut self, op: &OpNode) {
        let FileSource::Slot(slot) = op.file else { return };
        if let Some(file) = self.slots[slot].as_mut() {
            file.at = 0;
        }
    }

    #[inline(never)]
    fn place_in_set(
        &mut self,
        op: &OpNode,
        line: Option<Entry>,
        size: u64,
        flush: bool,
        backend: &mut impl Backend,
        rng: &mut fastrand::Rng,
    ) -> Result<(TargetPlace, u64), NoTarget> {
        let FileSource::Opened { opened, pick } = &op.file else {
            unreachable!("data operations work on open files");
        };
        if let Some(entry) = line {
            let index = u64::from(entry.file);
            let Some(file) = self.opened_at(*opened, index) else {
                let place = TargetPlace { handle: Handle::NONE, index, offset: entry.offset, bytes: 0, is_near: true };
                return Ok((place, size));
            };
            self.keep_opened(op, *opened, file, entry.offset + size, backend);
            let (OpenFile { handle, bytes, .. }, is_near) = (file, op.keep.is_none());
            return Ok((TargetPlace { handle, index, offset: entry.offset, bytes, is_near }, size));
        }
        let job = &*self.job;
        let search =
            Search { files: &self.opened[*opened], turns: &job.next_file[op.state], stop: &job.stop_flags.stop };
        let place = self.cursors[op.state].next(op, pick, size, flush, &search, rng);
        let is_stopped = || job.stop_flags.stop.load(Relaxed);
        let Place { file, offset, length, is_first } =
            place.ok_or_else(|| Some(if is_stopped() { StoppedBy::Control } else { StoppedBy::Exhausted }))?;
        self.keep_opened(op, *opened, file, offset + length, backend);
        let OpenFile { handle, index, bytes } = file;
        Ok((TargetPlace { handle, index, offset, bytes, is_near: is_first }, length))
    }

    /// A whole file: its request but for the pieces, and its bytes.
    #[inline(always)]
    pub(super) fn whole(
        &mut self,
        op: &OpNode,
        backend: &mut impl Backend,
        rng: &mut fastrand::Rng,
    ) -> Result<(Target, u64), NoTarget> {
        let (place, bytes) = match &op.file {
            FileSource::Slot(slot) => {
                let file = self.slots[*slot].as_ref().ok_or(None)?;
                let bytes = self.job.sets[file.set].size_of(file.index);
                (TargetPlace { handle: file.handle, index: file.index, offset: 0, bytes, is_near: true }, bytes)
            }
            _ => {
                let (place, _) = self.place_in_set(op, None, 0, true, backend, rng)?;
                if let Some(file) = op.keep.and_then(|slot| self.slots[slot].as_mut()) {
                    file.at = place.bytes;
                }
                let bytes = place.bytes;
                (place, bytes)
            }
        };
        let kind = self.cursors[op.state].request.expect("data operations ask something of the backend");
        let (rw_flags, vectors) = (op.rw_flags, op.vectors);
        let request = Request { file: place.handle, kind, offset: 0, length: 0, rw_flags, vectors };
        Ok((Target { request, index: place.index, is_fixed: false, reuses_timestamp: false, is_plain: false }, bytes))
    }

    /// Handle of an open file, where the next `length` bytes are, and how many there are; a slot's position stays as it is.
    pub(super) fn handle(
        &mut self,
        op: &OpNode,
        line: Option<Entry>,
        length: u64,
        backend: &mut impl Backend,
        rng: &mut fastrand::Rng,
    ) -> Result<(Handle, u64, u64), NoTarget> {
        if let FileSource::Slot(slot) = op.file {
            let file = self.slots[slot].ok_or(None)?;
            return Ok((file.handle, line.map_or(file.at, |entry| entry.offset), length));
        }
        let (place, length) = self.place_in_set(op, line, length, length == 0, backend, rng)?;
        Ok((place.handle, place.offset, length))
    }

    /// A file that the worker opened before the start, by its index in the set.
    fn opened_at(&self, opened: usize, index: u64) -> Option<OpenFile> {
        let files = &self.opened[opened];
        let position = files.binary_search_by_key(&index, |file| file.index).ok()?;
        Some(files[position])
    }

    /// Set of the file that an operation works on.
    pub(super) fn set_of(&self, op: &OpNode) -> usize {
        match op.file {
            FileSource::Opened { opened, .. } => self.job.program.opened[opened].set,
            FileSource::Slot(slot) => self.slots[slot].map_or(0, |file| file.set),
            FileSource::Named { set, .. } => set,
        }
    }

    // -- slots ---------------------------------------------------------------------------------------------------------

    /// Keep a file in the operation's slot, if it has one.
    #[inline]
    pub(super) fn keep(&mut self, op: &OpNode, file: SlotFile, backend: &mut impl Backend) {
        if let Some(slot) = op.keep {
            self.empty_slot_of(op, backend);
            self.slots[slot] = Some(file);
        }
    }

    /// Keep a file that stays open in the operation's slot, if it has one, with the position after the operation.
    #[inline]
    fn keep_opened(&mut self, op: &OpNode, opened: usize, file: OpenFile, at: u64, backend: &mut impl Backend) {
        if op.keep.is_some() {
            let set = self.job.program.opened[opened].set;
            self.keep(op, SlotFile { handle: file.handle, is_owned: false, set, index: file.index, at }, backend);
        }
    }

    /// Close what an operation's slot holds from before.
    pub(super) fn empty_slot_of(&mut self, op: &OpNode, backend: &mut impl Backend) {
        if let Some(file) = op.keep.and_then(|slot| self.slots[slot].take()).filter(|file| file.is_owned) {
            self.close_file(file.handle, backend);
        }
    }

    pub(super) fn close_slots(&mut self, backend: &mut impl Backend) {
        for slot in 0..self.slots.len() {
            if let Some(file) = self.slots[slot].take().filter(|file| file.is_owned) {
                self.close_file(file.handle, backend);
            }
        }
    }

    /// Close a file that no operation closes. A slot whose open failed has none.
    fn close_file(&self, file: Handle, backend: &mut impl Backend) {
        if file != Handle::NONE {
            self.job.closings.count(backend.close_file(file));
        }
    }

    /// Close the files that were opened before the start.
    pub(super) fn close_opened(&mut self, backend: &mut impl Backend) {
        for cursor in &mut self.cursors {
            cursor.picker.close(backend);
        }
        let opened = std::mem::take(&mut self.opened);
        for file in opened.into_iter().flatten() {
            self.close_file(file.handle, backend);
        }
    }
}

/// An offset in the file of a slot, which was laid out with `bytes`, for `size` bytes; where they do not fit, the start of
/// the region.
#[inline(never)]
fn random_in(region: &Region, bytes: u64, align: u64, size: u64, rng: &mut fastrand::Rng) -> u64 {
    let (from, length) = match *region {
        Region::Range { from_bytes, length_bytes } => (from_bytes, length_bytes.min(bytes.saturating_sub(from_bytes))),
        Region::Whole {} | Region::Slice {} => (0, bytes),
    };
    let align = if align > 0 { align } else { size.max(1) };
    from + length.checked_sub(size).map_or(0, |room| rng.u64(..=room / align) * align)
}

/// A place in an open file.
struct TargetPlace {
    handle: Handle,
    index: u64,
    offset: u64,
    /// Of the file, where the worker opened it before the start.
    bytes: u64,
    /// Whether finding it took no time to speak of.
    is_near: bool,
}
