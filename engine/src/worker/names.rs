//! Operations on names: which file of the set is meant, and the calls that take its path.

use super::{Done, SlotFile, Worker, calls, listing};
use crate::backend::{Backend, FILE_MODE};
use crate::events::StoppedBy;
use crate::load::op::{FileSource, OpNode};
use crate::plan::{OpKind, Pick};
use std::os::fd::RawFd;
use std::sync::atomic::Ordering::Relaxed;

impl<B: Backend> Worker<B> {
    /// Set and index of the file that a named operation works on, with its path in `self.path`.
    pub(super) fn named(&mut self, op: &OpNode) -> Result<(usize, u64), StoppedBy> {
        let FileSource::Named { set, pick } = &op.file else {
            unreachable!("operations by name have a set");
        };
        let state = &self.job.sets[*set];
        let index = match self.scripted {
            Some(entry) => Some(u64::from(entry.file)),
            None => {
                let existing = state.existing();
                let count = existing.end - existing.start;
                match pick {
                    Pick::New {} => state.take_new(),
                    Pick::Shuffled {} if op.kind == OpKind::Create => {
                        state.take_new().map(|index| self.states[op.state].picker.shuffled_name(index))
                    }
                    Pick::Listed {} | Pick::Shuffled {} => {
                        let turns = &self.job.next_file[op.state];
                        let next = self.states[op.state].picker.next_in_order(state, turns, &mut self.path);
                        let next = next.map_err(|errno| {
                            self.fatal = Some((format!("{} (listing the directory)", op.name), -errno as i32));
                            StoppedBy::Error
                        })?;
                        if op.kind == OpKind::Unlink && next.is_some() {
                            // How many are gone is what the set counts; which, only an order that takes all can leave open.
                            state.take_existing();
                        }
                        next
                    }
                    Pick::Existing {} if matches!(op.kind, OpKind::Unlink | OpKind::Rmdir) => state.take_existing(),
                    _ if count == 0 => None,
                    Pick::Random { .. } | Pick::Indexed { .. } => {
                        Some(existing.start + self.states[op.state].picker.draw(count, &mut self.rng))
                    }
                    Pick::Own {} => Some(existing.start + u64::from(self.walker.worker) % count),
                    _ => Some(existing.start + self.job.next_file[op.state].fetch_add(1, Relaxed) % count),
                }
            }
        };
        let index = index.ok_or(StoppedBy::Exhausted)?;
        state.path_into(index, &mut self.path);
        Ok((*set, index))
    }

    pub(super) fn open(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (set, index) = self.named(op)?;
        self.empty_slot_of(op);
        let create = if op.kind == OpKind::Create { libc::O_CREAT | libc::O_EXCL } else { 0 };
        let flags = (self.job.open_flags & !libc::O_ACCMODE) | op.open_for.flags() | create;
        let is_kept = op.keep.is_some();
        let done = self.timed(|worker| {
            let path = worker.path.as_cstr();
            if is_kept {
                return worker.backend.open(path, flags);
            }
            match calls::open(path, flags, FILE_MODE) {
                fd if fd >= 0 => {
                    calls::close(fd as RawFd);
                    fd
                }
                failed => failed,
            }
        });
        // A slot whose open failed holds a descriptor that no call takes: what comes next on it fails and is counted.
        let fd = done.result.max(-1) as RawFd;
        if let (Some(advice), true) = (self.job.advice, is_kept && fd >= 0) {
            // A file system without advice leaves the file as it is, which is what advice is.
            let _ = advice.give(fd, 0, 0);
        }
        self.keep(op, SlotFile { fd, is_owned: fd >= 0, set, index, at: 0 });
        Ok(done.without_bytes())
    }

    pub(super) fn unlink(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.named(op)?;
        Ok(self.timed(|worker| calls::unlink(worker.path.as_cstr())))
    }

    /// mkdir and rmdir: the names are those of the set's files.
    pub(super) fn directory(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.named(op)?;
        let call = if op.kind == OpKind::Mkdir { calls::mkdir } else { calls::rmdir };
        Ok(self.timed(|worker| call(worker.path.as_cstr())))
    }

    pub(super) fn list(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let FileSource::Named { set, pick } = &op.file else {
            unreachable!("operations by name have a set");
        };
        let state = &self.job.sets[*set];
        let level = state.spread().depth();
        let count = state.spread().directories_at(level);
        let number = match (self.scripted, pick) {
            (Some(entry), _) => u64::from(entry.file) % count,
            (None, Pick::Random { .. }) => self.rng.u64(..count),
            (None, Pick::Own {}) => u64::from(self.walker.worker) % count,
            (None, _) => self.job.next_file[op.state].fetch_add(1, Relaxed) % count,
        };
        state.directory_path_into(level, number, &mut self.path);
        let with_attributes = op.kind == OpKind::ReaddirStat;
        Ok(self.timed(|worker| {
            let go_on = || worker.stats.busy_since_ns.set(worker.clock.now_ns());
            listing::list(worker.path.as_cstr(), &mut worker.scratch, with_attributes, go_on)
        }))
    }

    /// Operations from one name to another: rename, link, symlink, clone, copy.
    pub(super) fn two_names(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (set, from, to) = self.both_names(op)?;
        let state = &self.job.sets[set];
        state.path_into(from, &mut self.path);
        state.path_into(to, &mut self.other_path);
        if op.kind == OpKind::Copy {
            self.limits.admit_bytes(&self.job.limits, state.size_of(from))?;
        }
        let done = self.timed(|worker| {
            let (from, to) = (worker.path.as_cstr(), worker.other_path.as_cstr());
            match op.kind {
                OpKind::Rename => calls::rename(from, to),
                OpKind::Link => calls::link(from, to),
                OpKind::Symlink => calls::symlink(from, to),
                OpKind::Clone => calls::to_new_file(from, to, calls::clone_file),
                _ => calls::to_new_file(from, to, calls::copy_file),
            }
        });
        if done.result < 0 && done.result != -i64::from(libc::EEXIST) && op.kind != OpKind::Rename {
            // A new file that got no content must not pass for one that did.
            calls::unlink(self.other_path.as_cstr());
        }
        self.keep(op, SlotFile { fd: -1, is_owned: false, set, index: to, at: 0 });
        Ok(done)
    }

    /// Set, and the indices that a file goes from and to.
    fn both_names(&mut self, op: &OpNode) -> Result<(usize, u64, u64), StoppedBy> {
        let FileSource::Named { set, .. } = op.file else {
            unreachable!("operations by name have a set");
        };
        if let Some(entry) = self.scripted {
            return Ok((set, u64::from(entry.file), entry.offset));
        }
        if op.kind == OpKind::Rename {
            let (from, to) = self.job.sets[set].take_move().ok_or(StoppedBy::Exhausted)?;
            return Ok((set, from, to));
        }
        let (_, from) = self.named(op)?;
        let to = self.job.sets[set].take_new().ok_or(StoppedBy::Exhausted)?;
        Ok((set, from, to))
    }

    /// Close the files that were opened before the start.
    pub(super) fn close_opened(&mut self) {
        for file in self.opened.drain(..).flatten() {
            self.backend.close(file.fd);
        }
    }
}
