//! Which file of a set an operation takes next, where it is drawn.

use super::lister::Lister;
use crate::backend::store::Store;
use crate::draw::mix::mix;
use crate::draw::permutation::Permutation;
use crate::draw::ranks::Ranks;
use crate::draw::sizes::Sampler;
use crate::error::Result;
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::plan::Pick;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Draws a file's place among those that there are.
#[derive(Debug)]
pub(super) enum Picker {
    /// All alike.
    Even,
    /// Some likelier than others.
    Ranked(Box<Ranks>),
    /// By a number, modulo the files.
    Indexed(Sampler),
    /// Each once in a random order: of the names, or of the places of those that exist.
    Shuffled {
        /// Where.
        order: Permutation,
        /// The first of them.
        first: u64,
    },
    /// Each once in the order of the listing.
    Listed(Box<Lister>),
}

impl Picker {
    /// `seed` decides which files are the likely ones where they are scattered; the same for all workers.
    pub(super) fn new(pick: &Pick, seed: u64) -> Result<Self> {
        Ok(match pick {
            Pick::Random { distribution } => match Ranks::new(distribution, seed)? {
                even if even.is_uniform() => Self::Even,
                ranks => Self::Ranked(Box::new(ranks)),
            },
            Pick::Indexed { value } => Self::Indexed(Sampler::new(value)?),
            _ => Self::Even,
        })
    }

    /// As `new`, for names of a set, some of which exist: before the start, while no worker changes that. `operation`
    /// gives each operation an order of its own, the same for all workers.
    pub(super) fn of_names(pick: &Pick, set: &FileSetState, operation: u64, takes_new: bool) -> Result<Self> {
        let existing = set.existing();
        let (first, count) = if takes_new { (0, set.files()) } else { (existing.start, existing.end - existing.start) };
        let seed = mix(set.content_seed() ^ mix(operation));
        Ok(match pick {
            Pick::Shuffled {} => Self::Shuffled { order: Permutation::new(count, seed), first },
            Pick::Listed {} => Self::Listed(Box::new(Lister::new())),
            _ => Self::new(pick, set.content_seed())?,
        })
    }

    /// The next file of an order in which each comes once; None when all had their turn. `turns` counts for all workers. An
    /// error is a negative errno of the listing.
    pub(super) fn next_in_order(
        &mut self,
        store: &mut impl Store,
        set: &FileSetState,
        turns: &AtomicU64,
        path: &mut PathBuffer,
    ) -> std::result::Result<Option<u64>, i64> {
        let turn = || turns.fetch_add(1, Relaxed);
        match self {
            Self::Listed(lister) => lister.next(store, set, path, turn),
            Self::Shuffled { order, first } => loop {
                let turn = turn();
                if turn >= order.count() {
                    return Ok(None);
                }
                // A place is passed over when an operation took its file away and its slot was written anew.
                if let Some(index) = set.index_at(*first + order.at(turn)) {
                    return Ok(Some(index));
                }
            },
            _ => Ok(None),
        }
    }

    /// Close what a listing has open.
    pub(super) fn close(&mut self, store: &mut impl Store) {
        if let Self::Listed(lister) = self {
            lister.close(store);
        }
    }

    /// The free name at the position of `index` in the random order of all names.
    pub(super) fn shuffled_name(&self, index: u64) -> u64 {
        match self {
            Self::Shuffled { order, .. } => index - index % order.count() + order.at(index % order.count()),
            _ => index,
        }
    }

    /// A place below `files`, which is above 0.
    #[inline]
    pub(super) fn draw(&mut self, files: u64, rng: &mut fastrand::Rng) -> u64 {
        match self {
            Self::Even => rng.u64(..files),
            Self::Ranked(ranks) => ranks.draw(files, rng),
            Self::Indexed(sampler) => sampler.sample_u64(rng) % files,
            Self::Shuffled { .. } | Self::Listed(_) => unreachable!("these have an order, not a draw"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Distribution;

    fn counts(pick: &Pick) -> [u32; 4] {
        let (mut picker, mut rng) = (Picker::new(pick, 1).unwrap(), fastrand::Rng::with_seed(4));
        let mut counts = [0; 4];
        (0..10_000).for_each(|_| counts[picker.draw(4, &mut rng) as usize] += 1);
        counts
    }

    #[test]
    fn an_index_is_taken_modulo_the_files() {
        let pick = Pick::Indexed { value: Distribution::Fixed { value: 7.0 } };

        assert_eq!(counts(&pick), [0, 0, 0, 10_000]);
    }

    #[test]
    fn files_are_picked_by_their_rank() {
        let pick = Pick::Random { distribution: Distribution::Zipf { theta: 1.0, scramble: false } };

        // Shares 12 : 6 : 4 : 3 of 25; four deviations are at most 200.
        for (seen, wanted) in counts(&pick).into_iter().zip([4800, 2400, 1600, 1200_i32]) {
            assert!((seen as i32 - wanted).abs() < 200, "{seen} {wanted}");
        }
    }
}
