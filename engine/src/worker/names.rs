//! Operations on names: which file of the set is meant, and the calls that take its path.

use super::in_hand::{Hold, InHand};
use super::{Done, SlotFile, Worker};
use crate::backend::Backend;
use crate::backend::store::Handle;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::files::indices::Lack;
use crate::plan::{OpKind, Pick};
use crate::program::op::{FileSource, OpNode};
use std::ffi::CStr;
use std::sync::atomic::Ordering::Relaxed;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// The file that a named operation works on, with its path in `self.path`.
    pub(super) fn named(&mut self, op: &OpNode) -> Result<InHand, StoppedBy> {
        let FileSource::Named { set, pick } = &op.file else {
            unreachable!("operations by name have a set");
        };
        let set = *set;
        let (index, hold) = match (self.scripted, pick) {
            (Some(entry), _) => (u64::from(entry.file), Hold::Nothing),
            (None, Pick::New {}) => {
                let index = self.awaited(|worker| worker.job.sets[set].indices().take_new())?;
                (index, Hold::New(index))
            }
            (None, Pick::Shuffled {}) if op.kind == OpKind::Create => {
                let index = self.awaited(|worker| worker.job.sets[set].indices().take_new())?;
                (self.states[op.state].picker.shuffled_name(index), Hold::New(index))
            }
            (None, Pick::Listed {} | Pick::Shuffled {}) => self.next_in_order(op, set)?,
            (None, Pick::Existing {}) if op.kind.rules().takes_old() => {
                let index = self.awaited(|worker| worker.job.sets[set].indices().take_existing())?;
                (index, Hold::Old(index))
            }
            (None, _) => {
                let index = self.awaited(|worker| worker.existing(op, set, pick))?;
                (index, if op.is_removable { Hold::Use } else { Hold::Nothing })
            }
        };
        self.job.sets[set].path_into(index, &mut self.path);
        Ok(InHand { set, index, hold })
    }

    /// One of the files that exist.
    #[inline]
    fn existing(&mut self, op: &OpNode, set: usize, pick: &Pick) -> Result<u64, Lack> {
        let state = &self.job.sets[set];
        let existing = state.existing();
        let count = existing.end - existing.start;
        if count == 0 {
            return Err(state.indices().lack_of_existing());
        }
        let place = existing.start
            + match pick {
                Pick::Random { .. } | Pick::Indexed { .. } => self.states[op.state].picker.draw(count, &mut self.rng),
                Pick::Own {} => u64::from(self.walker.worker) % count,
                _ => self.job.next_file[op.state].fetch_add(1, Relaxed) % count,
            };
        let index = if op.is_removable { state.indices().begin_use(place) } else { state.index_at(place) };
        index.ok_or(Lack::InHand)
    }

    /// The next file of an order in which each comes once.
    fn next_in_order(&mut self, op: &OpNode, set: usize) -> Result<(u64, Hold), StoppedBy> {
        let state = &self.job.sets[set];
        let turns = &self.job.next_file[op.state];
        let next = self.states[op.state].picker.next_in_order(&mut self.backend, state, turns, &mut self.path);
        let next = next.map_err(|errno| {
            self.fatal = Some((format!("{} (listing the directory)", op.name), -errno as i32));
            StoppedBy::Error
        })?;
        let index = next.ok_or(StoppedBy::Exhausted)?;
        // How many are gone is what the set counts; which, only an order that takes all can leave open.
        let taken = if op.kind == OpKind::Unlink { state.indices().take_any() } else { None };
        Ok((index, taken.map_or(Hold::Nothing, Hold::Old)))
    }

    pub(super) fn open(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let name = self.named(op)?;
        self.empty_slot_of(op);
        let create = if op.kind == OpKind::Create { libc::O_CREAT | libc::O_EXCL } else { 0 };
        let flags = (self.job.open_flags & !libc::O_ACCMODE) | op.open_for.flags() | create;
        let is_kept = op.keep.is_some();
        // A slot whose open failed holds a handle that no call takes: what comes next on it fails and is counted.
        let mut handle = Handle::NONE;
        let done = self.timed_in_script(op, false, |worker| {
            let path = worker.path.from_here();
            let opened = if is_kept { worker.backend.open_file(path, flags) } else { worker.backend.open(path, flags) };
            match opened {
                Ok(file) if is_kept => handle = file,
                Ok(file) => _ = worker.backend.close(file),
                Err(failed) => return failed,
            }
            0
        });
        self.hand_back(name, done.result);
        let is_open = handle != Handle::NONE;
        if let (Some(advice), true) = (self.job.advice, is_open) {
            // A file system without advice leaves the file as it is, which is what advice is.
            self.backend.advise(handle, advice, 0, 0);
        }
        self.keep(op, SlotFile { handle, is_owned: is_open, set: name.set, index: name.index, at: 0 });
        Ok(done)
    }

    pub(super) fn unlink(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.call_on_name(op, B::unlink)
    }

    /// mkdir and rmdir: the names are those of the set's files.
    pub(super) fn directory(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        self.call_on_name(op, if op.kind == OpKind::Mkdir { B::mkdir } else { B::rmdir })
    }

    fn call_on_name(&mut self, op: &OpNode, call: fn(&mut B, &CStr) -> i64) -> Result<Done, StoppedBy> {
        let name = self.named(op)?;
        let done = self.timed(|worker| call(&mut worker.backend, worker.path.from_here()));
        self.hand_back(name, done.result);
        Ok(done)
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
            worker.backend.readdir(worker.path.from_here(), &mut worker.scratch, with_attributes, go_on)
        }))
    }

    /// Operations from one name to another: rename, link, symlink, clone, copy.
    pub(super) fn two_names(&mut self, op: &OpNode) -> Result<Done, StoppedBy> {
        let (from, to) = self.both_names(op)?;
        let state = &self.job.sets[from.set];
        state.path_into(from.index, &mut self.path);
        state.path_into(to.index, &mut self.other_path);
        if op.kind == OpKind::Copy {
            let admitted = self.limits.admit_bytes(&self.job.limits, state.size_of(from.index));
            if let Err(why) = admitted {
                [from, to].into_iter().for_each(|name| self.put_back(name));
                return Err(why);
            }
        }
        let done = self.timed(|worker| {
            let (from, to) = (worker.path.from_here(), worker.other_path.from_here());
            match op.kind {
                OpKind::Rename => worker.backend.rename(from, to),
                OpKind::Link => worker.backend.link(from, to),
                // What a symbolic link holds is no path from here, but from where it lies.
                OpKind::Symlink => worker.backend.symlink(worker.path.as_cstr(), to),
                OpKind::Clone => worker.backend.clone_file(from, to),
                _ => worker.backend.copy(from, to, &worker.job.stop),
            }
        });
        [from, to].into_iter().for_each(|name| self.hand_back(name, done.result));
        if op.kind == OpKind::Copy && done.result == -i64::from(libc::ECANCELED) {
            return Err(StoppedBy::Control);
        }
        self.keep(op, SlotFile { handle: Handle::NONE, is_owned: false, set: to.set, index: to.index, at: 0 });
        Ok(done)
    }

    /// The names that a file goes from and to.
    fn both_names(&mut self, op: &OpNode) -> Result<(InHand, InHand), StoppedBy> {
        let FileSource::Named { set, .. } = op.file else {
            unreachable!("operations by name have a set");
        };
        let in_hand = |index, hold| InHand { set, index, hold };
        if let Some(entry) = self.scripted {
            return Ok((in_hand(u64::from(entry.file), Hold::Nothing), in_hand(entry.offset, Hold::Nothing)));
        }
        if op.kind == OpKind::Rename {
            let (from, to) = self.awaited(|worker| worker.job.sets[set].indices().take_move())?;
            return Ok((in_hand(from, Hold::Old(from)), in_hand(to, Hold::New(to))));
        }
        // In this order: a name in hand would be one that others wait for, while this worker waits for them.
        let from = self.named(op)?;
        match self.awaited(|worker| worker.job.sets[set].indices().take_new()) {
            Ok(to) => Ok((from, in_hand(to, Hold::New(to)))),
            Err(why) => {
                self.put_back(from);
                Err(why)
            }
        }
    }

    /// Close the files that were opened before the start, and what is left of listings.
    pub(super) fn close_opened(&mut self) {
        for state in &mut self.states {
            state.picker.close(&mut self.backend);
        }
        for file in self.opened.drain(..).flatten() {
            self.backend.close_file(file.handle);
        }
    }
}
