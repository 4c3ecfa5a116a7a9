//! Which files of a set exist, while workers create and delete them.
//!
//! Two counters say it: indices `[deleted, created)`. Files are created upwards at one end and deleted upwards at the
//! other, both without a lock. An index counts as existing from the moment it is taken by `take_new`, and as gone from
//! the moment it is taken by `take_existing`; nothing is given back. So when a create fails, its index stays in the range
//! without a file behind it: an operation that comes to it fails with ENOENT, and the worker counts that failure like any
//! other. The counters never name an index twice.

use crate::shared::{Shareable, SharedBox};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The indices of one set, shared by all workers.
#[derive(Debug)]
pub struct Indices {
    counts: SharedBox<Counts>,
    most: u64,
}

/// Which indices exist: `[deleted, created)`.
#[derive(Debug)]
struct Counts {
    created: AtomicU64,
    deleted: AtomicU64,
}

// SAFETY: atomic numbers only; zero is nothing created.
unsafe impl Shareable for Counts {}

impl Indices {
    /// None exists, and no more than `most` will at a time.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn none_of(most: u64) -> io::Result<Self> {
        Ok(Self { counts: SharedBox::zeroed()?, most })
    }

    /// Those that exist now.
    pub fn existing(&self) -> Range<u64> {
        // `deleted` first: it never passes `created`, so a later `created` keeps the range the right way round.
        let deleted = self.counts.deleted.load(Ordering::Acquire);
        deleted..self.counts.created.load(Ordering::Acquire)
    }

    /// The next one that does not exist yet; `None` when as many exist as may.
    pub fn take_new(&self) -> Option<u64> {
        let Counts { created, deleted } = &*self.counts;
        let next = |now: u64| {
            let is_full = now.saturating_sub(deleted.load(Ordering::Acquire)) >= self.most;
            (!is_full).then_some(now + 1)
        };
        created.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()
    }

    /// The first that exists, each one once, for removal; `None` when there is none left.
    pub fn take_existing(&self) -> Option<u64> {
        let next = |deleted: u64| (deleted < self.counts.created.load(Ordering::Acquire)).then_some(deleted + 1);
        self.counts.deleted.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()
    }

    /// The first that exists and the next free one, for a file that moves from this to that; `None` when there is no
    /// such file or no such place.
    pub fn take_move(&self) -> Option<(u64, u64)> {
        if self.existing().is_empty() {
            return None;
        }
        // In this order: a file whose place was freed first could be given its own name.
        let to = self.take_new()?;
        let from = self.take_existing()?;
        Some((from, to))
    }

    /// From now on the first `files` exist. Only while no worker runs.
    pub fn begin_with(&self, files: u64) {
        self.counts.deleted.store(0, Ordering::Release);
        self.counts.created.store(files, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(most: u64, files: u64) -> Indices {
        let indices = Indices::none_of(most).unwrap();
        indices.begin_with(files);
        indices
    }

    #[test]
    fn every_index_is_created_once_and_deleted_once_by_many_threads() {
        let indices = indices(20_000, 0);
        let taken = std::sync::Mutex::new((Vec::new(), Vec::new()));

        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (mut new, mut old) = (Vec::new(), Vec::new());
                    while let Some(index) = indices.take_new() {
                        new.push(index);
                        if index % 2 == 0 {
                            old.extend(indices.take_existing());
                        }
                        let range = indices.existing();
                        assert!(range.start <= range.end);
                    }
                    let mut all = taken.lock().unwrap();
                    all.0.extend(new);
                    all.1.extend(old);
                });
            }
        });

        let (mut new, mut old) = taken.into_inner().unwrap();
        new.sort_unstable();
        old.extend(std::iter::from_fn(|| indices.take_existing()));
        old.sort_unstable();
        // Half as many are deleted as created, so the set is full once twice its files were created.
        let made = new.len() as u64;
        assert!((39_990..=40_001).contains(&made), "{made}");
        assert!(new.iter().copied().eq(0..made));
        assert!(old.iter().copied().eq(0..made));
        assert!(indices.existing().is_empty());
    }

    #[test]
    fn a_place_is_free_again_once_its_file_was_deleted() {
        let indices = indices(3, 3);

        assert_eq!(indices.take_new(), None);
        assert_eq!((indices.take_existing(), indices.take_new(), indices.take_new()), (Some(0), Some(3), None));
        assert_eq!(indices.existing(), 1..4);
    }

    #[test]
    fn moves_go_round_the_free_places_and_keep_the_count() {
        let indices = indices(4, 3);

        let moves: Vec<_> = std::iter::from_fn(|| indices.take_move()).take(5).collect();

        assert_eq!(moves, [(0, 3), (1, 4), (2, 5), (3, 6), (4, 7)]);
        assert_eq!(indices.existing().count(), 3);
    }

    #[test]
    fn where_all_or_none_exist_there_is_nothing_to_move() {
        assert_eq!(indices(4, 4).take_move(), None);
        assert_eq!(indices(4, 0).take_move(), None);
    }
}
