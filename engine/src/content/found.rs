//! Bad blocks that the workers of a job find: counted as they are found, for the observer to read.

use super::bad_blocks::MOST_NAMED;
use crate::events::CorruptionKind;
use crate::sys::shared::{SharedBox, SharedSlice, shareable};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

const KINDS: [CorruptionKind; 5] = [
    CorruptionKind::WrongData,
    CorruptionKind::Stale,
    CorruptionKind::Torn,
    CorruptionKind::Misplaced,
    CorruptionKind::NeverWritten,
];

/// A block of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Index into the Plan's file sets.
    pub set: usize,
    /// Index of the file in its set.
    pub file: u64,
    /// Offset in the file.
    pub offset_bytes: u64,
}

/// Bad blocks of one operation and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// State index of the operation.
    pub operation: usize,
    /// What happened to them.
    pub kind: CorruptionKind,
    /// How many.
    pub blocks: u64,
    /// The first.
    pub first: Place,
}

shareable! {
    /// A block as it is shared.
    #[derive(Debug)]
    struct Row {
        /// How many; of a named block nothing.
        blocks: AtomicU64,
        /// Whether what follows is there.
        is_known: AtomicU64,
        kind: AtomicU64,
        set: AtomicU64,
        file: AtomicU64,
        offset_bytes: AtomicU64,
    }
}

impl Row {
    fn know(&self, kind: CorruptionKind, place: Place) {
        self.kind.store(kind as u64, Relaxed);
        self.set.store(place.set as u64, Relaxed);
        self.file.store(place.file, Relaxed);
        self.offset_bytes.store(place.offset_bytes, Relaxed);
        self.is_known.store(1, Release);
    }

    /// None: nothing found, or the finder has not written yet what.
    fn known(&self) -> Option<(CorruptionKind, Place)> {
        (self.is_known.load(Acquire) > 0).then(|| {
            let place = Place {
                set: self.set.load(Relaxed) as usize,
                file: self.file.load(Relaxed),
                offset_bytes: self.offset_bytes.load(Relaxed),
            };
            (KINDS[self.kind.load(Relaxed) as usize], place)
        })
    }
}

/// What has been found so far.
#[derive(Debug)]
pub struct Found {
    /// By operation and kind.
    counts: SharedSlice<Row>,
    /// The first [`MOST_NAMED`].
    named: SharedSlice<Row>,
    blocks: SharedBox<AtomicU64>,
}

impl Found {
    /// Nothing yet.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn new(operations: usize) -> io::Result<Self> {
        Ok(Self {
            counts: SharedSlice::zeroed(operations * KINDS.len())?,
            named: SharedSlice::zeroed(MOST_NAMED)?,
            blocks: SharedBox::zeroed()?,
        })
    }

    /// One more, of an operation by its state index.
    #[cold]
    pub fn add(&self, operation: usize, kind: CorruptionKind, place: Place) {
        let count = &self.counts[operation * KINDS.len() + kind as usize];
        if count.blocks.fetch_add(1, AcqRel) == 0 {
            count.know(kind, place);
        }
        let number = self.blocks.fetch_add(1, AcqRel) as usize;
        if let Some(row) = self.named.get(number) {
            row.know(kind, place);
        }
    }

    /// How many there are.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Acquire)
    }

    /// How many of each operation and kind, as far as the first of them is known.
    pub fn counts(&self) -> impl Iterator<Item = Count> {
        self.counts.iter().enumerate().filter_map(|(at, row)| {
            let (kind, first) = row.known()?;
            Some(Count { operation: at / KINDS.len(), kind, blocks: row.blocks.load(Acquire), first })
        })
    }

    /// The first ones in the order in which they were found, from one of them on.
    pub fn named(&self, from: usize) -> impl Iterator<Item = (CorruptionKind, Place)> {
        self.named[from..].iter().map_while(Row::known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_by_operation_and_kind_and_the_first_are_named() {
        let found = Found::new(2).unwrap();
        let at = |offset_bytes| Place { set: 1, file: 7, offset_bytes };
        found.add(1, CorruptionKind::Torn, at(4096));
        let named: Vec<_> = found.named(0).collect();
        found.add(1, CorruptionKind::Torn, at(8192));
        for number in 0..MOST_NAMED as u64 {
            found.add(0, CorruptionKind::NeverWritten, at(number));
        }

        let counts: Vec<_> = found.counts().collect();

        let (torn, never) = (CorruptionKind::Torn, CorruptionKind::NeverWritten);
        let blocks = MOST_NAMED as u64;
        assert_eq!(
            counts,
            [
                Count { operation: 0, kind: never, blocks, first: at(0) },
                Count { operation: 1, kind: torn, blocks: 2, first: at(4096) }
            ]
        );
        assert_eq!((found.blocks(), named), (blocks + 2, vec![(torn, at(4096))]));
        let later: Vec<_> = found.named(1).collect();
        assert_eq!((later.len(), later[0], later[1]), (MOST_NAMED - 1, (torn, at(8192)), (never, at(0))));
    }
}
