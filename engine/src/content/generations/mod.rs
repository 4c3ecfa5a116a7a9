//! How often each block of a stamped set was written: what a reader may expect to find.
//!
//! Eight bytes a block in memory, shared by all workers (`table.rs`). A write takes its block's next generation before it is
//! issued, and raises the block's floor when it is done; a reader may find nothing older than the floor and nothing newer
//! than what was issued. What was acknowledged stays known when the engine is killed, and later runs go on from there. After
//! the machine has gone down acknowledged writes may be lost by right, so floors of an earlier boot do not count.
//!
//! Where writes to one block overlap, or one failed, it is unknown which of them is on storage: the floor stays where
//! it was until a write that had the block to itself is done.

mod places;
mod table;
mod word;

use crate::error::{EngineError, Result};
use places::Places;
pub use places::Sizes;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use table::{Header, Table};

/// Name of the table in the set's folder.
pub const NAME: &std::ffi::CStr = c".assay-generations";

/// What a reader may find in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Oldest generation that is right.
    pub floor: u64,
    /// Newest generation that was ever issued.
    pub issued: u64,
    /// Whether parts of several of these generations may stand side by side.
    pub may_mix: bool,
    /// Whether a write was under way at some time of the read. Buffered reads and writes of a page do not exclude each
    /// other, so that even a sector can be half of each, and nothing is known of one that is not whole.
    pub overlapped: bool,
}

/// Which set a table is of.
pub struct OfSet<'a> {
    /// Its folder, for messages.
    pub path: &'a Path,
    /// Its open folder.
    pub folder: OwnedFd,
    /// Seed of its content.
    pub content_seed: u64,
    /// How large its files are.
    pub sizes: Sizes<'a>,
}

/// The table of one set.
#[derive(Debug)]
pub struct Generations {
    table: Table,
    /// What a word of zeros means.
    first: u64,
    unit_bytes: u64,
    places: Places,
    is_known: bool,
}

impl Generations {
    /// The table of a set that is in place. A set laid out a moment ago begins anew; else the table that an earlier run
    /// left is used, and where there is none that fits, all that is found of whole blocks is taken for right.
    ///
    /// # Errors
    ///
    /// The system call that failed.
    pub fn open(set: OfSet<'_>, unit_bytes: u64, laid_out_anew: bool) -> Result<Self> {
        let failed = |error| EngineError::io("keep the generations of", set.path, error);
        let places = Places::new(&set.sizes, unit_bytes);
        let mut header = Header::new(set.content_seed, unit_bytes, places.total());
        let (table, old) = Table::open(set.folder, &header, laid_out_anew).map_err(failed)?;
        header.first = old.as_ref().map_or(if laid_out_anew { 0 } else { word::UNKNOWN }, |old| old.first);
        let is_known = laid_out_anew || old.as_ref().is_some_and(|old| old.is_same_boot(&header));
        if old.is_some() {
            for entry in table.words.iter().filter(|entry| entry.load(Ordering::Relaxed) != 0) {
                let left = entry.load(Ordering::Relaxed) ^ header.first;
                entry.store(word::resumed(left, is_known) ^ header.first, Ordering::Relaxed);
            }
        }
        table.describe(&header).map_err(failed)?;
        Ok(Self { table, first: header.first, unit_bytes, places, is_known })
    }

    /// Write the table beside the set, for later runs. Only while no worker runs.
    ///
    /// # Errors
    ///
    /// The system call that failed. A later run takes what it finds for right, then.
    pub fn keep(&self) -> std::io::Result<()> {
        self.table.keep()
    }

    /// Bytes that have a generation of their own.
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Whether the history of the blocks is known, so that a stale one is recognised.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether every block is as it was laid out.
    pub fn is_untouched(&self) -> bool {
        self.first == 0 && self.table.words.iter().all(|entry| entry.load(Ordering::Relaxed) == 0)
    }

    #[inline]
    fn entry(&self, file: u64, offset_bytes: u64) -> Option<&AtomicU64> {
        let place = self.places.find(file, offset_bytes / self.unit_bytes)?;
        self.table.words.get(place)
    }

    /// Change a word at once; what it was before.
    fn update(&self, entry: &AtomicU64, change: impl Fn(u64) -> u64) -> u64 {
        let first = self.first;
        let changed = |word| Some(change(word ^ first) ^ first);
        entry.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed).unwrap_or_else(|word| word) ^ first
    }

    /// A write of the block at an offset is about to be issued: its generation. 0 beyond the end of the file's size.
    #[inline]
    pub fn begin_write(&self, file: u64, offset_bytes: u64) -> u64 {
        let Some(entry) = self.entry(file, offset_bytes) else { return 0 };
        word::next(self.update(entry, word::begun))
    }

    /// That write is over.
    #[inline]
    pub fn end_write(&self, file: u64, offset_bytes: u64, succeeded: bool) {
        if let Some(entry) = self.entry(file, offset_bytes) {
            self.update(entry, |word| word::ended(word, succeeded));
        }
    }

    /// The block's state, to be given to [`Generations::expected`] when the read is over.
    #[inline]
    pub fn before_read(&self, file: u64, offset_bytes: u64) -> u64 {
        self.entry(file, offset_bytes).map_or(0, |entry| entry.load(Ordering::Acquire) ^ self.first)
    }

    /// What a read that began at state `before`, and is over now, may have found. None beyond the end of the file's size.
    pub fn expected(&self, file: u64, offset_bytes: u64, before: u64) -> Option<Expected> {
        let after = self.entry(file, offset_bytes)?.load(Ordering::Acquire) ^ self.first;
        let overlapped = word::in_flight(before) > 0 || word::issued(before) != word::issued(after);
        let ran_out = word::has_run_out(after);
        Some(Expected {
            floor: if ran_out { 0 } else { word::floor(before) },
            issued: word::issued(after),
            may_mix: overlapped || ran_out || word::is_ambiguous(before),
            overlapped,
        })
    }
}

/// Forget the table of the set in an open folder that a run left in memory when it was killed.
pub fn forget(folder: BorrowedFd<'_>) {
    table::forget(folder);
}

#[cfg(test)]
mod tests;
