//! Operations on open files that move no data, and operations that take a handle or a name.

use super::meter::Done;
use super::parts::Worker;
use crate::backend::Backend;
use crate::backend::store::{Handle, Lock};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::plan::Access;
use crate::program::op::{CallMode, FileSource, OpNode};

/// What is done by a handle or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Either {
    Truncate,
    Chmod,
    Setxattr,
    Getxattr,
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    #[inline(never)]
    pub(super) fn close(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let FileSource::Slot(slot) = op.file else { unreachable!("close takes a slot") };
        let Some(file) = self.tools.files.slots[slot].take() else { return Err(self.empty_slot(op)) };
        let issued_ns = self.admission.meter.begin(op, self.tools.files.cursors[op.state].reuses_timestamp);
        let result = self.tools.backend.close_file(file.handle);
        Ok(self.admission.meter.ended(issued_ns, result))
    }

    #[inline(never)]
    pub(super) fn fstat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, ..) = self.handle(op, 0)?;
        Ok(self.admission.meter.timed(op, || self.tools.backend.fstat(file)))
    }

    #[inline(never)]
    pub(super) fn fallocate(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let length = self.length(op);
        let (file, from) = match op.access {
            // A file as a whole begins at its first byte, time and again.
            Access::Whole { .. } => (self.handle(op, 0)?.0, 0),
            _ => {
                let (file, from, _) = self.handle(op, length)?;
                (file, from)
            }
        };
        Ok(self.admission.meter.timed(op, || self.tools.backend.fallocate(file, from, length)))
    }

    /// A call on a range of an open file: from where, and how many bytes.
    #[inline(never)]
    pub(super) fn on_range(
        &mut self,
        op: &OpNode,
        call: impl FnOnce(&mut B, Handle, u64, u64) -> i64,
    ) -> Result<Done, StoppedBy> {
        let (file, at, length) = self.range(op)?;
        Ok(self.admission.meter.timed(op, || call(&mut self.tools.backend, file, at, length)))
    }

    #[inline(never)]
    pub(super) fn truncate_at(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, at, _) = self.range(op)?;
        Ok(self.admission.meter.timed(op, || self.tools.backend.ftruncate(file, at)))
    }

    /// In a slot, what was written last; otherwise, where the access pattern points.
    #[inline(never)]
    pub(super) fn sync_file_range(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, at, length) = self.range(op)?;
        let is_slot = matches!(op.file, FileSource::Slot(_)) && self.line.is_none();
        let from = if is_slot { at.saturating_sub(length) } else { at };
        let waits = op.mode == CallMode::Waits;
        Ok(self.admission.meter.timed(op, || self.tools.backend.sync_file_range(file, from, length, waits)))
    }

    #[inline(never)]
    pub(super) fn advise(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, from, length) = self.range(op)?;
        let backend = &mut self.tools.backend;
        let call = || op.advice.map_or(0, |advice| backend.advise(file, advice, from, length));
        Ok(self.admission.meter.timed(op, call))
    }

    /// An open file, and the bytes of it that an operation is about: from where, and how many; 0, 0: all. At the end of
    /// a region there may be fewer than were asked for.
    fn range(&mut self, op: &OpNode) -> Result<(Handle, u64, u64), StoppedBy> {
        let length = self.length(op);
        let (file, at, length) = self.handle(op, length)?;
        Ok((file, if length == 0 { 0 } else { at }, length))
    }

    #[inline(never)]
    pub(super) fn lock(&mut self, op: &OpNode, lock: Lock) -> Result<Done, StoppedBy> {
        let (file, ..) = self.handle(op, 0)?;
        let done = self.admission.meter.timed(op, || self.tools.backend.lock(file, lock));
        if lock == Lock::Unlocked {
            self.locked.remove(&file);
        } else if done.result >= 0 {
            self.locked.insert(file);
        }
        self.admission.meter.time_went_by();
        Ok(done)
    }

    /// Unlock what is still locked: another worker may wait for a file that this one has stopped with.
    pub(super) fn give_locks_back(&mut self) {
        while let Some(file) = self.locked.pop_first() {
            self.tools.backend.lock(file, Lock::Unlocked);
        }
    }

    #[inline(never)]
    pub(super) fn stat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (_, name) = self.handle_or_path(op)?;
        let tools = &mut self.tools;
        let done = self.admission.meter.timed(op, || tools.backend.stat(tools.files.from()));
        self.release(name, done.result);
        Ok(done)
    }

    pub(super) fn truncate(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.on_either(op, Either::Truncate)
    }

    pub(super) fn chmod(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.on_either(op, Either::Chmod)
    }

    pub(super) fn setxattr(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.on_either(op, Either::Setxattr)
    }

    pub(super) fn getxattr(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.on_either(op, Either::Getxattr)
    }

    /// By handle where a slot holds one, else by name.
    #[inline(never)]
    fn on_either(&mut self, op: &OpNode, act: Either) -> Result<Done, StoppedBy> {
        let (file, name) = self.handle_or_path(op)?;
        let length = self.length(op);
        self.turn += 1;
        let tools = &mut self.tools;
        let (backend, path) = (&mut tools.backend, tools.files.from());
        // Two modes in turn, so that each call changes something.
        let mode = if self.turn & 1 == 0 { 0o644 } else { 0o640 };
        let value = if act == Either::Setxattr { &mut tools.scratch[..length as usize] } else { &mut tools.scratch };
        if act == Either::Setxattr {
            // A new value each time: file systems skip one that is there already.
            value.iter_mut().zip(self.turn.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
        let done = self.admission.meter.timed(op, || match (act, file) {
            (Either::Truncate, Some(file)) => backend.ftruncate(file, length),
            (Either::Truncate, None) => backend.truncate(path, length),
            (Either::Chmod, Some(file)) => backend.fchmod(file, mode),
            (Either::Chmod, None) => backend.chmod(path, mode),
            (Either::Setxattr, Some(file)) => backend.fsetxattr(file, value),
            (Either::Setxattr, None) => backend.setxattr(path, value),
            (Either::Getxattr, Some(file)) => backend.fgetxattr(file, value),
            (Either::Getxattr, None) => backend.getxattr(path, value),
        });
        self.release(name, done.result);
        Ok(done.without_bytes())
    }

    /// Handle of an open file, where the next `length` bytes are, and how many there are; a slot's position stays as it is.
    fn handle(&mut self, op: &OpNode, length: u64) -> Result<(Handle, u64, u64), StoppedBy> {
        let tools = &mut self.tools;
        let found = tools.files.handle(op, self.line, length, &mut tools.backend, &mut self.rng);
        found.map_err(|miss| self.missed(op, miss))
    }

    /// Length of an operation that transfers nothing.
    pub(super) fn length(&mut self, op: &OpNode) -> u64 {
        self.line.map_or_else(|| op.size.sample_u64(&mut self.rng), |entry| entry.size)
    }
}
