//! Operations on open files that move no data, operations that take a handle or a name, and the slots that keep files.

use super::in_hand::{Hold, InHand};
use super::{Done, OpenFile, SlotFile, Worker};
use crate::backend::Backend;
use crate::events::StoppedBy;
use crate::plan::OpKind;
use crate::program::op::{FileSource, Manner, OpNode};
use crate::sys::calls;
use std::os::fd::RawFd;

impl<B: Backend> Worker<B> {
    pub(super) fn close(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let FileSource::Slot(slot) = op.file else { unreachable!("close takes a slot") };
        let Some(file) = self.slots[slot].take() else { return Err(self.empty_slot(op)) };
        Ok(self.timed_in_script(op, true, |worker| worker.backend.close(file.fd)))
    }

    pub(super) fn fstat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (fd, _) = self.handle(op, 0)?;
        Ok(self.timed(|_| calls::fstat(fd)))
    }

    /// sync_file_range, fallocate and advise.
    pub(super) fn on_handle(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let length = self.length(op);
        Ok(match op.kind {
            OpKind::Fallocate => {
                let (fd, _) = self.handle(op, 0)?;
                self.timed(|_| calls::fallocate(fd, 0, length))
            }
            OpKind::SyncFileRange => {
                let (fd, behind) = self.handle(op, length)?;
                // In a slot, what was written last; elsewhere, where the access pattern points.
                let is_slot = matches!(op.file, FileSource::Slot(_)) && self.scripted.is_none();
                let from = if is_slot { behind.saturating_sub(length) } else { behind };
                self.timed(|_| {
                    calls::sync_file_range(fd, if length == 0 { 0 } else { from }, length, op.manner == Manner::Waits)
                })
            }
            _ => {
                let (fd, from) = self.handle(op, length)?;
                let from = if length == 0 { 0 } else { from };
                self.timed(|_| match op.advice.map(|advice| advice.give(fd, from, length)) {
                    Some(Err(error)) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
                    _ => 0,
                })
            }
        })
    }

    pub(super) fn lock(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (fd, _) = self.handle(op, 0)?;
        let kind = match op.kind {
            OpKind::Lock => libc::F_WRLCK,
            OpKind::LockShared => libc::F_RDLCK,
            _ => libc::F_UNLCK,
        };
        let done = self.timed(|_| calls::lock(fd, kind));
        if kind == libc::F_UNLCK {
            self.locked.remove(&fd);
        } else if done.result >= 0 {
            self.locked.insert(fd);
        }
        Ok(done)
    }

    /// Unlock what is still locked: another worker may wait for a file that this one has stopped with.
    pub(super) fn give_locks_back(&mut self) {
        while let Some(fd) = self.locked.pop_first() {
            calls::lock(fd, libc::F_UNLCK);
        }
    }

    pub(super) fn stat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (_, name) = self.handle_or_path(op)?;
        let done = self.timed(|worker| calls::stat(worker.path.from_here()));
        self.hand_back(name, done.result);
        Ok(done)
    }

    /// truncate, chmod, setxattr, getxattr: by handle where a slot holds one, else by name.
    pub(super) fn on_either(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (fd, name) = self.handle_or_path(op)?;
        let length = self.length(op);
        self.generation += 1;
        let turn = self.generation;
        let done = match op.kind {
            OpKind::Truncate => self.timed(|worker| match fd {
                Some(fd) => calls::ftruncate(fd, length),
                None => calls::truncate(worker.path.from_here(), length),
            }),
            OpKind::Chmod => {
                // Two modes in turn, so that each call changes something.
                let mode = if turn & 1 == 0 { 0o644 } else { 0o640 };
                self.timed(|worker| match fd {
                    Some(fd) => calls::fchmod(fd, mode),
                    None => calls::chmod(worker.path.from_here(), mode),
                })
            }
            OpKind::Setxattr => {
                // A new value each time: file systems skip one that is there already.
                for (byte, new) in self.scratch[..length as usize].iter_mut().zip(turn.to_le_bytes()) {
                    *byte = new;
                }
                self.timed(|worker| {
                    let value = &worker.scratch[..length as usize];
                    fd.map_or_else(|| calls::setxattr(worker.path.from_here(), value), |fd| calls::fsetxattr(fd, value))
                })
            }
            _ => self.timed(|worker| {
                let value = &mut worker.scratch[..];
                match fd {
                    Some(fd) => calls::fgetxattr(fd, value),
                    None => calls::getxattr(worker.path.from_here(), value),
                }
            }),
        };
        self.hand_back(name, done.result);
        Ok(done.without_bytes())
    }

    /// The file, and the handle of a slot; for names, every stat and every program, no handle and the path in `self.path`.
    #[inline(always)]
    pub(super) fn handle_or_path(&mut self, op: &OpNode) -> Result<(Option<RawFd>, InHand), StoppedBy> {
        match op.file {
            FileSource::Slot(slot) => {
                let Some(file) = self.slots[slot] else { return Err(self.empty_slot(op)) };
                let fd = (file.fd >= 0 && !matches!(op.kind, OpKind::Stat | OpKind::Spawn)).then_some(file.fd);
                if fd.is_none() {
                    self.job.sets[file.set].path_into(file.index, &mut self.path);
                }
                Ok((fd, InHand { set: file.set, index: file.index, hold: Hold::Nothing }))
            }
            FileSource::Named { .. } => {
                let name = self.named(op)?;
                self.keep(op, SlotFile { fd: -1, is_owned: false, set: name.set, index: name.index, at: 0 });
                Ok((None, name))
            }
            FileSource::Opened { .. } => unreachable!("operations by name or slot open nothing before the start"),
        }
    }

    /// Handle of an open file, and where the next `length` bytes are; a slot's position stays as it is.
    fn handle(&mut self, op: &OpNode, length: u64) -> Result<(RawFd, u64), StoppedBy> {
        match &op.file {
            FileSource::Slot(slot) => match self.slots[*slot] {
                Some(file) => Ok((file.fd, self.scripted.map_or(file.at, |entry| entry.offset))),
                None => Err(self.empty_slot(op)),
            },
            FileSource::Opened { opened, pick } => {
                if let Some(entry) = self.scripted {
                    return Ok((
                        self.opened_at(*opened, u64::from(entry.file)).map_or(-1, |file| file.fd),
                        entry.offset,
                    ));
                }
                let (file, offset, length) = self.place(op, *opened, pick, length, length == 0)?;
                self.keep_opened(op, *opened, file, offset + length);
                Ok((file.fd, offset))
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
            self.keep(op, SlotFile { fd: file.fd, is_owned: false, set, index: file.index, at });
        }
    }

    /// Close what an operation's slot holds from before.
    pub(super) fn empty_slot_of(&mut self, op: &OpNode) {
        if let Some(file) = op.keep.and_then(|slot| self.slots[slot].take()).filter(|file| file.is_owned) {
            self.backend.close(file.fd);
        }
    }

    pub(super) fn close_slots(&mut self) {
        for file in self.slots.iter_mut().filter_map(Option::take).filter(|file| file.is_owned) {
            self.backend.close(file.fd);
        }
    }

    #[cold]
    pub(super) fn empty_slot(&mut self, op: &OpNode) -> StoppedBy {
        self.fatal = Some((format!("{} (its slot holds no file: create or open comes first)", op.name), libc::EBADF));
        StoppedBy::Error
    }
}
