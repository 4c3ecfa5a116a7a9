//! Operations on names and handles: create, open, close, stat, unlink.

use super::{Done, SlotFile, Worker};
use crate::backend::Backend;
use crate::events::StoppedBy;
use crate::load::op::{FileSource, OpNode};
use crate::plan::{OpKind, Pick};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering::Relaxed;

impl<B: Backend> Worker<B> {
    /// Index of the file that a named operation works on, with its path in `self.path`.
    pub(super) fn named(&mut self, op: &OpNode) -> Result<(usize, u64, Option<usize>), StoppedBy> {
        let FileSource::Named { set, pick, slot } = &op.file else {
            unreachable!("operations by name have a set");
        };
        let state = &self.job.sets[*set];
        let existing = state.existing();
        let count = existing.end - existing.start;
        let index = match pick {
            Pick::New {} => state.take_new(),
            Pick::Existing {} if op.kind == OpKind::Unlink => state.take_existing(),
            _ if count == 0 => None,
            Pick::Random { .. } | Pick::Indexed { .. } => {
                Some(existing.start + self.states[op.state].picker.draw(count, &mut self.rng))
            }
            Pick::Own {} => Some(existing.start + u64::from(self.walker.worker) % count),
            _ => Some(existing.start + self.job.next_file[op.state].fetch_add(1, Relaxed) % count),
        };
        let index = index.ok_or(StoppedBy::Exhausted)?;
        state.path_into(index, &mut self.path);
        Ok((*set, index, *slot))
    }

    pub(super) fn open(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (set, index, slot) = self.named(op)?;
        if let Some(file) = slot.and_then(|slot| self.slots[slot].take()) {
            self.backend.close(file.fd);
        }
        let create = if op.kind == OpKind::Create { libc::O_CREAT | libc::O_EXCL } else { 0 };
        let flags = self.job.open_flags | create;
        let done = self.timed(|worker| {
            // SAFETY: the path is NUL-terminated and lives across the call.
            let fd = unsafe { libc::open(worker.path.as_cstr().as_ptr(), flags, 0o644) };
            if fd >= 0 && slot.is_none() {
                close_fd(fd);
            } else if fd >= 0 {
                if let Err(error) = worker.backend.attach(fd) {
                    close_fd(fd);
                    return -i64::from(error.raw_os_error().unwrap_or(libc::EIO));
                }
            }
            or_errno(fd)
        });
        if let (Some(slot), 0..) = (slot, done.result) {
            if let Some(advice) = self.job.advice {
                // A file system without advice leaves the file as it is, which is what advice is.
                let _ = advice.give(done.result as RawFd);
            }
            self.slots[slot] = Some(SlotFile { fd: done.result as RawFd, set, index, at: 0 });
        }
        Ok(done.without_bytes())
    }

    pub(super) fn close(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let FileSource::Slot(slot) = op.file else { unreachable!("close takes a slot") };
        let Some(file) = self.slots[slot].take() else { return Err(self.empty_slot(op)) };
        Ok(self.timed(|worker| worker.backend.close(file.fd)))
    }

    pub(super) fn stat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.named(op)?;
        let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
        Ok(self.timed(|worker| {
            // SAFETY: the path is NUL-terminated; `attributes` has room for the answer.
            or_errno(unsafe { libc::stat(worker.path.as_cstr().as_ptr(), attributes.as_mut_ptr()) })
        }))
    }

    pub(super) fn fstat(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let fd = match &op.file {
            FileSource::Slot(slot) => match self.slots[*slot] {
                Some(file) => file.fd,
                None => return Err(self.empty_slot(op)),
            },
            FileSource::Opened { opened, pick } => self.place(op, *opened, pick, 0, true)?.0.fd,
            FileSource::Named { .. } => unreachable!("fstat works on open files"),
        };
        let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `attributes` has room for the answer.
        Ok(self.timed(|_| or_errno(unsafe { libc::fstat(fd, attributes.as_mut_ptr()) })))
    }

    pub(super) fn unlink(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.named(op)?;
        // SAFETY: the path is NUL-terminated.
        Ok(self.timed(|worker| or_errno(unsafe { libc::unlink(worker.path.as_cstr().as_ptr()) })))
    }

    pub(super) fn close_slots(&mut self) {
        for slot in &mut self.slots {
            if let Some(file) = slot.take() {
                self.backend.close(file.fd);
            }
        }
    }

    /// Close the files that were opened before the start.
    pub(super) fn close_opened(&mut self) {
        for file in self.opened.drain(..).flatten() {
            self.backend.close(file.fd);
        }
    }
}

fn or_errno(result: i32) -> i64 {
    if result < 0 {
        -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    } else {
        i64::from(result)
    }
}

fn close_fd(fd: RawFd) {
    // SAFETY: the caller took the descriptor out of the one place that held it.
    unsafe { libc::close(fd) };
}
