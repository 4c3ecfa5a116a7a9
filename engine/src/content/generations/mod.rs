//! How often each block of a stamped set was written: what a reader may expect to find.
//!
//! Eight bytes a block in a file beside the set, mapped into memory and shared by all workers. A write takes its block's
//! next generation before it is issued, and raises the block's floor when it is done; a reader may find nothing older than
//! the floor and nothing newer than what was issued. Because the table is a mapped file, what was acknowledged stays known
//! when the engine is killed, and later runs go on from there. It is not forced to storage: after the machine has gone down,
//! acknowledged writes may be lost by right, so floors of an earlier boot do not count.
//!
//! Where writes to one block overlap, or one failed, nobody can say which of them is on storage: the floor stays where it
//! was until a write that had the block to itself is done.

mod places;
mod table;
mod word;

use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use places::Places;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use table::{Header, Words};

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
    /// other, so that even a sector can be half of each, and nothing can be said about one that is not whole.
    pub overlapped: bool,
}

/// The table of one set.
#[derive(Debug)]
pub struct Generations {
    words: Words,
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
    pub fn open(state: &FileSetState, unit_bytes: u64, laid_out_anew: bool) -> Result<Self> {
        let path = path_of(state);
        let failed = |error| EngineError::io("keep the generations of", &path, error);
        let places = Places::new(state, unit_bytes);
        let header = Header::new(state.content_seed(), unit_bytes, places.total());
        let old = if laid_out_anew { None } else { Header::read(&path).filter(|old| old.fits(&header)) };
        if old.is_none() {
            table::make(&path, &header).map_err(failed)?;
        }
        let has_history = laid_out_anew || old.is_some();
        let is_known = laid_out_anew || old.is_some_and(|old| old.is_same_boot(&header));
        let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
        let words = Words::map(&file, &header).map_err(failed)?;
        for entry in words.iter() {
            entry.store(word::resumed(entry.load(Ordering::Relaxed), has_history, is_known), Ordering::Relaxed);
        }
        header.write(&file).map_err(failed)?;
        Ok(Self { words, unit_bytes, places, is_known })
    }

    /// Bytes that have a generation of their own.
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Whether the history of the blocks is known, so that a stale one can be told.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether every block is as it was laid out.
    pub fn is_untouched(&self) -> bool {
        self.words.iter().all(|entry| entry.load(Ordering::Relaxed) == 0)
    }

    #[inline]
    fn entry(&self, file: u64, offset_bytes: u64) -> Option<&AtomicU64> {
        let place = self.places.find(file, offset_bytes / self.unit_bytes)?;
        self.words.get(place)
    }

    /// A write of the block at an offset is about to be issued: its generation. 0 beyond the end of the file's size.
    #[inline]
    pub fn begin_write(&self, file: u64, offset_bytes: u64) -> u64 {
        let Some(entry) = self.entry(file, offset_bytes) else { return 0 };
        word::next(update(entry, word::begun))
    }

    /// That write is over.
    #[inline]
    pub fn end_write(&self, file: u64, offset_bytes: u64, succeeded: bool) {
        if let Some(entry) = self.entry(file, offset_bytes) {
            update(entry, |word| word::ended(word, succeeded));
        }
    }

    /// The block's state, to be given to [`Generations::expected`] when the read is over.
    #[inline]
    pub fn before_read(&self, file: u64, offset_bytes: u64) -> u64 {
        self.entry(file, offset_bytes).map_or(0, |entry| entry.load(Ordering::Acquire))
    }

    /// What a read that began at state `before`, and is over now, may have found. None beyond the end of the file's size.
    pub fn expected(&self, file: u64, offset_bytes: u64, before: u64) -> Option<Expected> {
        let after = self.entry(file, offset_bytes)?.load(Ordering::Acquire);
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

/// Change a word at once; what it was before.
fn update(entry: &AtomicU64, change: impl Fn(u64) -> u64) -> u64 {
    let changed = entry.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| Some(change(word)));
    changed.unwrap_or_else(|word| word)
}

/// Where the table of a set is.
pub fn path_of(state: &FileSetState) -> PathBuf {
    state.folder().join(NAME.to_str().expect("ASCII"))
}

#[cfg(test)]
mod tests;
