//! Operations on open files that move no data, operations that take a handle or a name, and the slots that keep files.

use super::in_hand::{Hold, InHand};
use super::{Done, OpenFile, SlotFile, Worker};
use crate::backend::Backend;
use crate::backend::store::{Handle, Lock};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::plan::OpKind;
use crate::program::op::{FileSource, Manner, OpNode};

impl<B: Backend, T: Ticks> Worker<B, T> {
    pub(super) fn close(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let FileSource::Slot(slot) = op.file else { unreachable!("close takes a slot") };
        let Some(file) = self.slots[slot].take() else { return Err(self.empty_slot(op)) };
        Ok(self.timed_in_script(op, true, |worker| worker.backend.close_file(file.handle)))
    }

    pub(super) fn fstat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, _) = self.handle(op, 0)?;
        Ok(self.timed(|worker| worker.backend.fstat(file)))
    }

    /// sync_file_range, fallocate and advise.
    pub(super) fn on_handle(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let length = self.length(op);
        Ok(match op.kind {
            OpKind::Fallocate => {
                let (file, _) = self.handle(op, 0)?;
                self.timed(|worker| worker.backend.fallocate(file, 0, length))
            }
            OpKind::SyncFileRange => {
                let (file, behind) = self.handle(op, length)?;
                // In a slot, what was written last; elsewhere, where the access pattern points.
                let is_slot = matches!(op.file, FileSource::Slot(_)) && self.scripted.is_none();
                let from = if is_slot { behind.saturating_sub(length) } else { behind };
                let (from, waits) = (if length == 0 { 0 } else { from }, op.manner == Manner::Waits);
                self.timed(|worker| worker.backend.sync_file_range(file, from, length, waits))
            }
            _ => {
                let (file, from) = self.handle(op, length)?;
                let from = if length == 0 { 0 } else { from };
                self.timed(|worker| match op.advice {
                    Some(advice) => worker.backend.advise(file, advice, from, length),
                    None => 0,
                })
            }
        })
    }

    pub(super) fn lock(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, _) = self.handle(op, 0)?;
        let lock = match op.kind {
            OpKind::Lock => Lock::Exclusive,
            OpKind::LockShared => Lock::Shared,
            _ => Lock::Unlocked,
        };
        let done = self.timed(|worker| worker.backend.lock(file, lock));
        if lock == Lock::Unlocked {
            self.locked.remove(&file);
        } else if done.result >= 0 {
            self.locked.insert(file);
        }
        Ok(done)
    }

    /// Unlock what is still locked: another worker may wait for a file that this one has stopped with.
    pub(super) fn give_locks_back(&mut self) {
        while let Some(file) = self.locked.pop_first() {
            self.backend.lock(file, Lock::Unlocked);
        }
    }

    pub(super) fn stat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (_, name) = self.handle_or_path(op)?;
        let done = self.timed(|worker| worker.backend.stat(worker.path.from_here()));
        self.hand_back(name, done.result);
        Ok(done)
    }

    /// truncate, chmod, setxattr, getxattr: by handle where a slot holds one, else by name.
    pub(super) fn on_either(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (file, name) = self.handle_or_path(op)?;
        let length = self.length(op);
        self.generation += 1;
        let turn = self.generation;
        let done = match op.kind {
            OpKind::Truncate => self.timed(|worker| match file {
                Some(file) => worker.backend.ftruncate(file, length),
                None => worker.backend.truncate(worker.path.from_here(), length),
            }),
            OpKind::Chmod => {
                // Two modes in turn, so that each call changes something.
                let mode = if turn & 1 == 0 { 0o644 } else { 0o640 };
                self.timed(|worker| match file {
                    Some(file) => worker.backend.fchmod(file, mode),
                    None => worker.backend.chmod(worker.path.from_here(), mode),
                })
            }
            OpKind::Setxattr => {
                // A new value each time: file systems skip one that is there already.
                for (byte, new) in self.scratch[..length as usize].iter_mut().zip(turn.to_le_bytes()) {
                    *byte = new;
                }
                self.timed(|worker| {
                    let value = &worker.scratch[..length as usize];
                    match file {
                        Some(file) => worker.backend.fsetxattr(file, value),
                        None => worker.backend.setxattr(worker.path.from_here(), value),
                    }
                })
            }
            _ => self.timed(|worker| {
                let value = &mut worker.scratch[..];
                match file {
                    Some(file) => worker.backend.fgetxattr(file, value),
                    None => worker.backend.getxattr(worker.path.from_here(), value),
                }
            }),
        };
        self.hand_back(name, done.result);
        Ok(done.without_bytes())
    }

    /// The file, and the handle of a slot; for names, every stat and every program, no handle and the path in `self.path`.
    #[inline(always)]
    pub(super) fn handle_or_path(&mut self, op: &OpNode) -> Result<(Option<Handle>, InHand), StoppedBy> {
        match op.file {
            FileSource::Slot(slot) => {
                let Some(file) = self.slots[slot] else { return Err(self.empty_slot(op)) };
                let by_name = file.handle == Handle::NONE || matches!(op.kind, OpKind::Stat | OpKind::Spawn);
                if by_name {
                    self.job.sets[file.set].path_into(file.index, &mut self.path);
                }
                Ok((
                    (!by_name).then_some(file.handle),
                    InHand { set: file.set, index: file.index, hold: Hold::Nothing },
                ))
            }
            FileSource::Named { .. } => {
                let name = self.named(op)?;
                self.keep(
                    op,
                    SlotFile { handle: Handle::NONE, is_owned: false, set: name.set, index: name.index, at: 0 },
                );
                Ok((None, name))
            }
            FileSource::Opened { .. } => unreachable!("operations by name or slot open nothing before the start"),
        }
    }

    /// Handle of an open file, and where the next `length` bytes are; a slot's position stays as it is.
    fn handle(&mut self, op: &OpNode, length: u64) -> Result<(Handle, u64), StoppedBy> {
        match &op.file {
            FileSource::Slot(slot) => match self.slots[*slot] {
                Some(file) => Ok((file.handle, self.scripted.map_or(file.at, |entry| entry.offset))),
                None => Err(self.empty_slot(op)),
            },
            FileSource::Opened { opened, pick } => {
                if let Some(entry) = self.scripted {
                    let file = self.opened_at(*opened, u64::from(entry.file));
                    return Ok((file.map_or(Handle::NONE, |file| file.handle), entry.offset));
                }
                let (file, offset, length) = self.place(op, *opened, pick, length, length == 0)?;
                self.keep_opened(op, *opened, file, offset + length);
                Ok((file.handle, offset))
            }
            FileSource::Named { .. } => unreachable!("these operations work on open files"),
        }
    }

    /// A file that the worker opened before the start, by its index in the set.
    pub(super) fn opened_at(&self, opened: usize, index: u64) -> Option<OpenFile> {
        let files = &self.opened[opened];
        let position = files.binary_search_by_key(&index, |file| file.index).ok()?;
        Some(files[position])
    }

    /// Length of an operation that transfers nothing.
    pub(super) fn length(&mut self, op: &OpNode) -> u64 {
        match self.scripted {
            Some(entry) => entry.size,
            None => op.size.sample_u64(&mut self.rng),
        }
    }

    // -- slots ---------------------------------------------------------------------------------------------------------

    /// Keep a file in the operation's slot, if it has one.
    #[inline]
    pub(super) fn keep(&mut self, op: &OpNode, file: SlotFile) {
        if op.keep.is_some() {
            self.empty_slot_of(op);
            self.slots[op.keep.unwrap_or_default()] = Some(file);
        }
    }

    /// Keep a file that stays open in the operation's slot, if it has one, with the position after the operation.
    #[inline]
    pub(super) fn keep_opened(&mut self, op: &OpNode, opened: usize, file: OpenFile, at: u64) {
        if op.keep.is_some() {
            let set = self.job.program.opened[opened].set;
            self.keep(op, SlotFile { handle: file.handle, is_owned: false, set, index: file.index, at });
        }
    }

    /// Close what an operation's slot holds from before.
    pub(super) fn empty_slot_of(&mut self, op: &OpNode) {
        if let Some(file) = op.keep.and_then(|slot| self.slots[slot].take()).filter(|file| file.is_owned) {
            self.backend.close_file(file.handle);
        }
    }

    pub(super) fn close_slots(&mut self) {
        for file in self.slots.iter_mut().filter_map(Option::take).filter(|file| file.is_owned) {
            self.backend.close_file(file.handle);
        }
    }

    #[cold]
    pub(super) fn empty_slot(&mut self, op: &OpNode) -> StoppedBy {
        self.fatal = Some((format!("{} (its slot holds no file: create or open comes first)", op.name), libc::EBADF));
        StoppedBy::Error
    }
}
