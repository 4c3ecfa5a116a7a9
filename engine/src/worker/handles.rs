//! Operations on open files that move no data, and operations that take a handle or a name.

use super::meter::Done;
use super::parts::Worker;
use crate::backend::Backend;
use crate::backend::store::{Handle, Lock};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::plan::OpKind;
use crate::program::op::{FileSource, Manner, OpNode};

impl<B: Backend, T: Ticks> Worker<B, T> {
    #[inline(never)]
    pub(super) fn close(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let FileSource::Slot(slot) = op.file else { unreachable!("close takes a slot") };
        let Some(file) = self.tools.files.slots[slot].take() else { return Err(self.empty_slot(op)) };
        let issued_ns = self.gate.meter.begin(op, self.tools.files.ways[op.state].is_quick);
        let result = self.tools.backend.close_file(file.handle);
        Ok(self.gate.meter.ended(issued_ns, result))
    }

    #[inline(never)]
    pub(super) fn fstat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, _) = self.handle(op, 0)?;
        Ok(self.gate.meter.timed(op, || self.tools.backend.fstat(file)))
    }

    /// sync_file_range, fallocate and advise.
    #[inline(never)]
    pub(super) fn on_handle(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let length = self.length(op);
        let (file, at) = self.handle(op, if op.kind == OpKind::Fallocate { 0 } else { length })?;
        let backend = &mut self.tools.backend;
        let from = if length == 0 { 0 } else { at };
        Ok(self.gate.meter.timed(op, || match op.kind {
            OpKind::Fallocate => backend.fallocate(file, 0, length),
            OpKind::SyncFileRange => {
                // In a slot, what was written last; elsewhere, where the access pattern points.
                let is_slot = matches!(op.file, FileSource::Slot(_)) && self.line.is_none();
                let from = if is_slot { from.saturating_sub(length) } else { from };
                backend.sync_file_range(file, from, length, op.manner == Manner::Waits)
            }
            _ => op.advice.map_or(0, |advice| backend.advise(file, advice, from, length)),
        }))
    }

    #[inline(never)]
    pub(super) fn lock(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, _) = self.handle(op, 0)?;
        let lock = match op.kind {
            OpKind::Lock => Lock::Exclusive,
            OpKind::LockShared => Lock::Shared,
            _ => Lock::Unlocked,
        };
        let done = self.gate.meter.timed(op, || self.tools.backend.lock(file, lock));
        if lock == Lock::Unlocked {
            self.locked.remove(&file);
        } else if done.result >= 0 {
            self.locked.insert(file);
        }
        self.gate.meter.time_went_by();
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
        let done = self.gate.meter.timed(op, || tools.backend.stat(tools.files.path.from_here()));
        self.hand_back(name, done.result);
        Ok(done)
    }

    /// truncate, chmod, setxattr, getxattr: by handle where a slot holds one, else by name.
    #[inline(never)]
    pub(super) fn on_either(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, name) = self.handle_or_path(op)?;
        let length = self.length(op);
        self.turn += 1;
        let tools = &mut self.tools;
        let (backend, path) = (&mut tools.backend, tools.files.path.from_here());
        // Two modes in turn, so that each call changes something.
        let mode = if self.turn & 1 == 0 { 0o644 } else { 0o640 };
        let value = match op.kind {
            OpKind::Setxattr => &mut tools.scratch[..length as usize],
            _ => &mut tools.scratch[..],
        };
        if op.kind == OpKind::Setxattr {
            // A new value each time: file systems skip one that is there already.
            value.iter_mut().zip(self.turn.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
        let done = self.gate.meter.timed(op, || match (op.kind, file) {
            (OpKind::Truncate, Some(file)) => backend.ftruncate(file, length),
            (OpKind::Truncate, None) => backend.truncate(path, length),
            (OpKind::Chmod, Some(file)) => backend.fchmod(file, mode),
            (OpKind::Chmod, None) => backend.chmod(path, mode),
            (OpKind::Setxattr, Some(file)) => backend.fsetxattr(file, value),
            (OpKind::Setxattr, None) => backend.setxattr(path, value),
            (_, Some(file)) => backend.fgetxattr(file, value),
            (_, None) => backend.getxattr(path, value),
        });
        self.hand_back(name, done.result);
        Ok(done.without_bytes())
    }

    /// Handle of an open file, and where the next `length` bytes are; a slot's position stays as it is.
    fn handle(&mut self, op: &OpNode, length: u64) -> Result<(Handle, u64), StoppedBy> {
        let tools = &mut self.tools;
        let found = tools.files.handle(op, self.line, length, &mut tools.backend, &mut self.rng);
        found.map_err(|miss| self.missed(op, miss))
    }

    /// Length of an operation that transfers nothing.
    pub(super) fn length(&mut self, op: &OpNode) -> u64 {
        self.line.map_or_else(|| op.size.sample_u64(&mut self.rng), |entry| entry.size)
    }
}
