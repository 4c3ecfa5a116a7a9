//! Which names operations work on, and what the set hears of them. A name is in hand from its pick until its call has
//! returned: no other worker makes, removes or is given it (`files/indices.rs`). What none is to be had of for that long is
//! waited for, between operations.

use super::files::{Files, SlotFile};
use crate::backend::Backend;
use crate::backend::store::Handle;
use crate::files::indices::Unavailable;
use crate::plan::Pick;
use crate::program::lines::Entry;
use crate::program::op::{FileSource, OpNode};
use crate::program::op_rules::{PickOrders, Works};
use std::sync::atomic::Ordering::Relaxed;

/// The file that an operation works on by its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameLease {
    pub(super) set: usize,
    pub(super) index: u64,
    kind: LeaseKind,
}

/// What the set is to hear when the call has returned.
#[derive(Debug, Clone, Copy)]
enum LeaseKind {
    /// Nothing: a slot or a script names the file, or nobody removes any.
    Nothing,
    /// It was used.
    Use,
    /// This index was taken to make a file.
    New(u64),
    /// This one to remove its file.
    Old(u64),
    /// This one for its turn: it comes after all others then.
    Turn(u64),
}

impl NameLease {
    /// Whether the set is to hear of it.
    pub(super) fn is_held(&self) -> bool {
        !matches!(self.kind, LeaseKind::Nothing)
    }
}

/// Why there is no name.
#[derive(Debug)]
pub(super) enum NoLease {
    /// None is free, or exists.
    Unavailable(Unavailable),
    /// A directory could not be listed: a negative errno.
    Unlisted(i64),
}

impl Files {
    /// The file that a named operation works on, with its path in `self.path`.
    pub(super) fn name(
        &mut self,
        op: &OpNode,
        line: Option<Entry>,
        backend: &mut impl Backend,
        rng: &mut fastrand::Rng,
    ) -> Result<NameLease, NoLease> {
        let FileSource::Named { set, pick } = &op.file else {
            unreachable!("operations by name have a set");
        };
        let indices = self.job.sets[*set].indices();
        let (index, kind) = match (line, pick) {
            (Some(entry), _) => (u64::from(entry.file), LeaseKind::Nothing),
            (None, Pick::New {}) => {
                let index = indices.take_new().map_err(NoLease::Unavailable)?;
                (index, LeaseKind::New(index))
            }
            (None, Pick::Shuffled {}) if op.kind.rules().orders == PickOrders::OfFree => {
                let index = indices.take_new().map_err(NoLease::Unavailable)?;
                (self.cursors[op.state].picker.shuffled_name(index), LeaseKind::New(index))
            }
            (None, Pick::Listed {} | Pick::Shuffled {}) => self.next_in_order(op, *set, backend)?,
            (None, Pick::Existing {}) if op.kind.rules().takes_old() => {
                let index = indices.take_existing().map_err(NoLease::Unavailable)?;
                (index, LeaseKind::Old(index))
            }
            (None, Pick::InTurn {}) => {
                let index = indices.take_existing().map_err(NoLease::Unavailable)?;
                (index, LeaseKind::Turn(index))
            }
            (None, _) => {
                let index = self.existing(op, *set, pick, rng).map_err(NoLease::Unavailable)?;
                (index, if op.is_removable { LeaseKind::Use } else { LeaseKind::Nothing })
            }
        };
        self.job.sets[*set].path_into(index, &mut self.path);
        Ok(NameLease { set: *set, index, kind })
    }

    /// One of the files that exist.
    #[inline]
    fn existing(&mut self, op: &OpNode, set: usize, pick: &Pick, rng: &mut fastrand::Rng) -> Result<u64, Unavailable> {
        let state = &self.job.sets[set];
        let existing = state.existing();
        let count = existing.end - existing.start;
        if count == 0 {
            return Err(state.indices().lack_of_existing());
        }
        let place = existing.start
            + match pick {
                Pick::Random { .. } | Pick::Indexed { .. } => self.cursors[op.state].picker.draw(count, rng),
                Pick::Own {} => u64::from(self.walker.worker) % count,
                _ => self.job.next_file[op.state].fetch_add(1, Relaxed) % count,
            };
        let index = if op.is_removable { state.indices().begin_use(place) } else { state.index_at(place) };
        index.ok_or(Unavailable::Leased)
    }

    /// The next file of an order in which each comes once.
    fn next_in_order(
        &mut self,
        op: &OpNode,
        set: usize,
        backend: &mut impl Backend,
    ) -> Result<(u64, LeaseKind), NoLease> {
        let state = &self.job.sets[set];
        let turns = &self.job.next_file[op.state];
        let next = self.cursors[op.state].picker.next_in_order(backend, state, turns, &mut self.path);
        let index = next.map_err(NoLease::Unlisted)?.ok_or(NoLease::Unavailable(Unavailable::Nothing))?;
        // How many are gone is what the set counts; which, only an order that takes all can leave open.
        let taken = if op.kind.rules().takes_old() { state.indices().take_any() } else { None };
        Ok((index, taken.map_or(LeaseKind::Nothing, LeaseKind::Old)))
    }

    /// The file of a slot, and its handle; for what works on a path, no handle and the path in `self.path`. None: it is empty.
    pub(super) fn in_slot(&mut self, op: &OpNode, slot: usize) -> Option<(Option<Handle>, NameLease)> {
        let file = self.slots[slot]?;
        let by_path = op.kind.rules().works == Works::OnPath;
        let handle = (file.handle != Handle::NONE && !by_path).then_some(file.handle);
        if handle.is_none() {
            self.job.sets[file.set].path_into(file.index, &mut self.path);
        }
        Some((handle, NameLease { set: file.set, index: file.index, kind: LeaseKind::Nothing }))
    }

    /// Keep a name in the operation's slot, if it has one.
    pub(super) fn keep_name(&mut self, op: &OpNode, name: NameLease, backend: &mut impl Backend) {
        let file = SlotFile { handle: Handle::NONE, is_owned: false, set: name.set, index: name.index, at: 0 };
        self.keep(op, file, backend);
    }

    /// Keep a file that was opened in the operation's slot, which is empty; [`Handle::NONE`]: its open has failed.
    #[inline]
    pub(super) fn keep_open(&mut self, op: &OpNode, name: NameLease, handle: Handle) {
        let file = SlotFile { handle, is_owned: handle != Handle::NONE, set: name.set, index: name.index, at: 0 };
        if let Some(slot) = op.keep {
            self.slots[slot] = Some(file);
        }
    }

    /// The names that a file goes from and to, where both are known at once: in a script, or when it moves.
    pub(super) fn both_names(&self, op: &OpNode, line: Option<Entry>) -> Result<(NameLease, NameLease), Unavailable> {
        let set = self.set_of(op);
        let leases = |index, kind| NameLease { set, index, kind };
        if let Some(entry) = line {
            return Ok((leases(u64::from(entry.file), LeaseKind::Nothing), leases(entry.offset, LeaseKind::Nothing)));
        }
        let (from, to) = self.job.sets[set].indices().take_move()?;
        Ok((leases(from, LeaseKind::Old(from)), leases(to, LeaseKind::New(to))))
    }

    /// A free name of a set.
    pub(super) fn new_name(&self, set: usize) -> Result<NameLease, Unavailable> {
        let index = self.job.sets[set].indices().take_new()?;
        Ok(NameLease { set, index, kind: LeaseKind::New(index) })
    }

    /// The path of one of the set's directories, in `self.path`.
    pub(super) fn directory(&mut self, op: &OpNode, line: Option<Entry>, rng: &mut fastrand::Rng) {
        let FileSource::Named { set, pick } = &op.file else {
            unreachable!("operations by name have a set");
        };
        let state = &self.job.sets[*set];
        let level = state.spread().depth();
        let count = state.spread().directories_at(level);
        let number = match (line, pick) {
            (Some(entry), _) => u64::from(entry.file) % count,
            (None, Pick::Random { .. }) => rng.u64(..count),
            (None, Pick::Own {}) => u64::from(self.walker.worker) % count,
            (None, _) => self.job.next_file[op.state].fetch_add(1, Relaxed) % count,
        };
        state.directory_path_into(level, number, &mut self.path);
    }

    /// The call on a name has returned `result`. A name that was to be made and is there counts as existing, one that was to
    /// be removed and is not there as free: the next worker that gets it shall not fail as well.
    #[inline(always)]
    pub(super) fn release(&self, name: NameLease, result: i64) {
        if name.is_held() {
            self.report_to_set(name, result);
        }
    }

    #[inline(never)]
    fn report_to_set(&self, name: NameLease, result: i64) {
        let indices = self.job.sets[name.set].indices();
        match name.kind {
            LeaseKind::Nothing => {}
            LeaseKind::Use => indices.end_use(name.index),
            LeaseKind::New(index) if result >= 0 || result == -i64::from(libc::EEXIST) => indices.made(index),
            LeaseKind::New(index) => indices.not_made(index),
            LeaseKind::Old(index) if result >= 0 || result == -i64::from(libc::ENOENT) => indices.gone(index),
            LeaseKind::Old(index) | LeaseKind::Turn(index) => indices.not_gone(index),
        }
    }
}
