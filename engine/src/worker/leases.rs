//! Names and slots in the hands of a worker: the wait for a name that is to be had, and the error where there is none.

use super::names::{NameLease, NoLease};
use super::parts::Worker;
use crate::backend::Backend;
use crate::backend::store::Handle;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::files::indices::Unavailable;
use crate::program::op::{FileSource, OpNode};
use crate::program::op_rules::Names;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// The file that a named operation works on, with its path in `files.path`.
    pub(super) fn named(&mut self, op: &OpNode) -> Result<NameLease, StoppedBy> {
        let (tools, mut unlisted) = (&mut self.tools, 0);
        let named = self.admission.awaited(|| {
            tools.files.name(op, self.line, &mut tools.backend, &mut self.rng).map_err(|why| match why {
                NoLease::Unavailable(lack) => lack,
                NoLease::Unlisted(errno) => {
                    unlisted = -errno as i32;
                    Unavailable::Nothing
                }
            })
        });
        if unlisted != 0 {
            return Err(self.admission.meter.give_up(format!("{} (listing the directory)", op.name), unlisted));
        }
        named
    }

    /// The names that a file goes from and to, with their paths.
    pub(super) fn both_named(&mut self, op: &OpNode) -> Result<(NameLease, NameLease), StoppedBy> {
        let (from, to) = if self.line.is_some() || op.kind.rules().names == Names::Move {
            self.admission.awaited(|| self.tools.files.both_names(op, self.line))?
        } else {
            // In this order: a name in hand would be one that others wait for, while this worker waits for them.
            let from = self.named(op)?;
            match self.admission.awaited(|| self.tools.files.new_name(from.set)) {
                Ok(to) => (from, to),
                Err(why) => {
                    self.put_back(from);
                    return Err(why);
                }
            }
        };
        let files = &mut self.tools.files;
        let set = &files.job.sets[from.set];
        set.path_into(from.index, &mut files.path);
        set.path_into(to.index, &mut files.other_path);
        Ok((from, to))
    }

    /// The file, and the handle of a slot; for names and what works on a path, no handle and the path in `files.path`.
    #[inline(always)]
    pub(super) fn handle_or_path(&mut self, op: &OpNode) -> Result<(Option<Handle>, NameLease), StoppedBy> {
        if let FileSource::Slot(slot) = op.file {
            return self.tools.files.in_slot(op, slot).ok_or_else(|| self.empty_slot(op));
        }
        let name = self.named(op)?;
        self.tools.files.keep_name(op, name, &mut self.tools.backend);
        Ok((None, name))
    }

    /// The call on a name has returned `result`.
    #[inline(always)]
    pub(super) fn release(&mut self, name: NameLease, result: i64) {
        if name.is_held() {
            self.tools.files.release(name, result);
            self.admission.meter.time_went_by();
        }
    }

    /// The call from one name to another has returned `result`.
    #[inline(always)]
    pub(super) fn release_both(&mut self, op: &OpNode, (from, to): (NameLease, NameLease), result: i64) {
        [from, to].into_iter().for_each(|name| self.release(name, result));
        self.tools.files.keep_name(op, to, &mut self.tools.backend);
        self.admission.meter.time_went_by();
    }

    /// There was no call.
    #[cold]
    pub(super) fn put_back(&mut self, name: NameLease) {
        self.release(name, -i64::from(libc::ECANCELED));
    }

    /// An operation has no place to go to: the worker ends, or there is nothing in its slot.
    #[cold]
    pub(super) fn missed(&mut self, op: &OpNode, ended: Option<StoppedBy>) -> StoppedBy {
        ended.unwrap_or_else(|| self.empty_slot(op))
    }

    #[cold]
    pub(super) fn empty_slot(&mut self, op: &OpNode) -> StoppedBy {
        let why = format!("{} (its slot holds no file: create or open comes first)", op.name);
        self.admission.meter.give_up(why, libc::EBADF)
    }
}
