//! Which files of a set exist, while workers create and delete them.
//!
//! An index is among the existing ones, among the free ones, or in the hands of one worker: from the moment that it is
//! taken until the call that makes or removes its file has returned. Then it goes where the call left it, so that no
//! worker is given a name that another is just making or removing. Both sides are queues: the file that has been there the
//! longest goes first, and the name that was freed first is used first. An index that is free again has grown by the
//! number of names, so indices never come twice and names are a ring.
//!
//! An operation that works on an existing file by its name leaves it where it is, and says that it uses it; whoever comes to
//! remove it meanwhile takes another (Filebench, too, keeps a file from other threads while an operation has its name). Uses
//! are counted by a hash of the index: that another file counts as used as well costs a turn in the queue.
//!
//! Queues take memory, 8 bytes for each name handed back, only once several workers have handed some back out of turn: at
//! most 16 bytes a file, and none in sets that nobody or one worker changes.

use crate::files::index_queue::IndexQueue;
use crate::sys::shared::SharedSlice;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counters of uses.
const USES: usize = 1024;

/// The indices of one set, shared by all workers.
#[derive(Debug)]
pub struct Indices {
    existing: IndexQueue,
    free: IndexQueue,
    uses: SharedSlice<AtomicU32>,
    most: u64,
}

/// Why there is none to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// Other workers have some in their hands or in use: look again.
    Leased,
    /// There is none.
    Nothing,
}

impl Indices {
    /// None exists, and no more than `most` will at a time.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn none_of(most: u64) -> io::Result<Self> {
        let queue = || IndexQueue::with_room_for(most);
        let indices = Self { existing: queue()?, free: queue()?, uses: SharedSlice::zeroed(USES)?, most };
        indices.begin_with(0);
        Ok(indices)
    }

    /// From now on the first `files` exist. Only while no worker runs.
    pub fn begin_with(&self, files: u64) {
        self.existing.begin_with(0..files);
        self.free.begin_with(files..self.most);
    }

    /// The places of those that exist now.
    #[inline]
    pub fn existing(&self) -> Range<u64> {
        self.existing.places()
    }

    /// The index at a place of the existing ones, also when it was taken since; `None` where it is just being written.
    #[inline]
    pub fn at(&self, place: u64) -> Option<u64> {
        self.existing.at(place)
    }

    // -- taking --------------------------------------------------------------------------------------------------------

    /// A free one, to make its file.
    #[inline]
    pub fn take_new(&self) -> Result<u64, Unavailable> {
        self.free.take().ok_or_else(|| self.lack(&self.existing))
    }

    /// The first that exists and is not in use, to remove its file.
    #[inline]
    pub fn take_existing(&self) -> Result<u64, Unavailable> {
        let index = self.existing.take().ok_or_else(|| self.lack_of_existing())?;
        if self.use_of(index).load(Ordering::SeqCst) == 0 {
            return Ok(index);
        }
        self.existing.give(index);
        Err(Unavailable::Leased)
    }

    /// The first that exists, in use or not.
    pub fn take_any(&self) -> Option<u64> {
        self.existing.take()
    }

    /// The first that exists and a free one, for a file that moves from this to that.
    pub fn take_move(&self) -> Result<(u64, u64), Unavailable> {
        if self.existing.places().is_empty() {
            return Err(self.lack_of_existing());
        }
        let to = self.take_new()?;
        match self.take_existing() {
            Ok(from) => Ok((from, to)),
            // Nobody waits with something in hand: others may wait for that.
            Err(lack) => {
                self.not_made(to);
                Err(lack)
            }
        }
    }

    /// Why no existing one is to be had.
    #[cold]
    pub fn lack_of_existing(&self) -> Unavailable {
        self.lack(&self.free)
    }

    /// There is nothing here when all is on the other side.
    #[cold]
    fn lack(&self, other: &IndexQueue) -> Unavailable {
        if other.holds() == self.most { Unavailable::Nothing } else { Unavailable::Leased }
    }

    // -- handing back --------------------------------------------------------------------------------------------------

    /// A file was made with a free index.
    #[inline]
    pub fn made(&self, index: u64) {
        self.existing.give(index);
    }

    /// It was not: the index is free as before.
    pub fn not_made(&self, index: u64) {
        self.free.give(index);
    }

    /// The file of an index is gone: its name is free under the next index that it has.
    #[inline]
    pub fn gone(&self, index: u64) {
        self.free.give(index + self.most);
    }

    /// It is still there.
    pub fn not_gone(&self, index: u64) {
        self.existing.give(index);
    }

    // -- using ---------------------------------------------------------------------------------------------------------

    /// Keep the index at a place from being taken until `end_use`; `None` when it was taken.
    #[inline]
    pub fn begin_use(&self, place: u64) -> Option<u64> {
        let index = self.at(place)?;
        self.use_of(index).fetch_add(1, Ordering::SeqCst);
        // Who takes it looks for uses afterwards: one of the two sees the other.
        if self.existing.has(place) {
            return Some(index);
        }
        self.end_use(index);
        None
    }

    /// It may be taken again.
    #[inline]
    pub fn end_use(&self, index: u64) {
        self.use_of(index).fetch_sub(1, Ordering::SeqCst);
    }

    #[inline]
    fn use_of(&self, index: u64) -> &AtomicU32 {
        &self.uses[index as usize % USES]
    }
}

#[cfg(test)]
mod tests;
