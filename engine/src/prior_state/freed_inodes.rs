//! Did ext4 pass by inodes that were freed a short while ago?
//!
//! Without a journal it does (docs/decisions/0016-freed-inodes.md), and looks at each of them again for every new file. Otherwise
//! a new file gets the lowest inode of its block group that is free. So when the index of a new file's inode within its group
//! is greater than the number of inodes in use, of the whole file system, then that many free ones of this group were
//! passed by. What the phase itself has freed is not counted: that is a part of what is measured.
//!
//! It is the least that was passed by: which of the inodes in use lie in this group, nobody can know without root.

use super::ext4_groups::{Groups, has_journal};
use super::{EXT_MAGIC, sample};
use crate::files::fileset::FileSetState;
use crate::sys::posix;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// New files that are looked at.
const FILES: u64 = 16;
/// Fewer cost nothing to speak of, and others may make and remove that many while a phase is on.
const FEW: u64 = 1000;

/// State of a set and its file system before files were made in it.
pub struct Before {
    set: usize,
    end: u64,
    inodes_in_use: u64,
    taken: u64,
}

impl Before {
    /// Of the set with a number; `None` where ext4 has nothing to do with it.
    pub fn of(set: usize, sets: &[Arc<FileSetState>]) -> Option<Self> {
        let state = &sets[set];
        let root = state.root().as_fd();
        if posix::kind_of_file_system(root) != EXT_MAGIC || has_journal(root) != Some(false) {
            return None;
        }
        let (end, taken) = (state.existing().end, taken_of(sets));
        Some(Self { set, end, inodes_in_use: inodes_in_use(root)?, taken })
    }

    /// What was passed by for the files that were made since, in words.
    pub fn passed_by(&self, sets: &[Arc<FileSetState>]) -> Option<String> {
        let state = &sets[self.set];
        let root = state.root().as_fd();
        let places = state.existing();
        let first = self.end.max(places.start);
        let new = sample(places.end.saturating_sub(first), FILES).filter_map(|place| state.index_at(first + place));
        let inodes: Vec<_> = new.filter_map(|index| inode_of(state, index)).collect();
        // Without all that, nothing was passed by whatever the groups are.
        let explained = inodes_in_use(root)?.max(self.inodes_in_use) + taken_of(sets).saturating_sub(self.taken);
        if inodes.iter().max()? <= &(explained + FEW) {
            return None;
        }
        let groups = Groups::of(root)?;
        let index = inodes.into_iter().filter_map(|inode| groups.index_of(inode)).max()?;
        let passed_by = index.checked_sub(explained).filter(|passed_by| *passed_by > FEW)?;
        Some(format!(
            "For new files of set '{}', ext4 without a journal passed by at least {passed_by} inodes that were freed \
             recently. Each create takes longer than on storage at rest.",
            state.set().name
        ))
    }
}

fn inodes_in_use(root: BorrowedFd<'_>) -> Option<u64> {
    let facts = posix::file_system_of(root).ok()?;
    Some(facts.f_files.saturating_sub(facts.f_ffree))
}

/// Files that were taken from the sets, to be removed or renamed, since they were laid out.
fn taken_of(sets: &[Arc<FileSetState>]) -> u64 {
    sets.iter().map(|state| state.existing().start).sum()
}

fn inode_of(state: &FileSetState, index: u64) -> Option<u64> {
    let file = state.open_file(index, libc::O_PATH | libc::O_NOFOLLOW).ok()?;
    posix::fstat(file.as_fd()).ok().map(|facts| facts.st_ino)
}
