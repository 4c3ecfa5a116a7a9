//! Which keys are looked at: all, a share of them, or as many as there is room for (SHARDS, FAST '15).
//!
//! A key is in the sample while its hash is not above the threshold, so all uses of a key are in or none. With room for
//! a fixed number of keys, the one with the highest hash makes place for a new one, and the threshold goes down to
//! below it.

use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// How many keys are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// All.
    Exact,
    /// A share of all, above 0 and up to 1.
    Rate(f64),
    /// All up to `exact` of them; from then on, `most`.
    Fixed {
        /// Keys up to which all are looked at.
        exact: usize,
        /// Keys afterwards.
        most: usize,
    },
}

/// Keys are hashes already.
#[derive(Debug, Default)]
pub struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are 64-bit numbers")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map by hashes.
pub type ByHash<V> = HashMap<u64, V, BuildHasherDefault<Unhashed>>;

/// Whether a key is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Its number, since it was used before.
    Again(u32),
    /// Its number from now on.
    First(u32),
}

/// The sample: keys have numbers, which are used again once a key has left.
#[derive(Debug)]
pub struct SampledKeys {
    threshold: u64,
    exact: usize,
    most: usize,
    numbers: ByHash<u32>,
    highest: BinaryHeap<(u64, u32)>,
    next: u32,
    free: Vec<u32>,
    left: Vec<u32>,
}

impl SampledKeys {
    /// No key is in it yet.
    pub fn new(sampling: Sampling) -> Self {
        let (threshold, exact, most) = match sampling {
            Sampling::Exact => (u64::MAX, usize::MAX, usize::MAX),
            Sampling::Rate(rate) => ((rate * 2.0_f64.powi(64)) as u64, usize::MAX, usize::MAX),
            Sampling::Fixed { exact, most } => (u64::MAX, exact.max(most), most),
        };
        let (numbers, highest) = (ByHash::default(), BinaryHeap::new());
        Self { threshold, exact, most, numbers, highest, next: 0, free: Vec::new(), left: Vec::new() }
    }

    /// Whether a hash is of the sample.
    #[inline]
    pub fn has(&self, hash: u64) -> bool {
        hash <= self.threshold
    }

    /// The share of keys that is in the sample now.
    pub fn rate(&self) -> f64 {
        if self.threshold == u64::MAX { 1.0 } else { (self.threshold as f64 + 1.0) / 2.0_f64.powi(64) }
    }

    /// Keys in the sample.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The number of each key, with its hash.
    pub fn numbers(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.numbers.iter().map(|(&hash, &number)| (hash, number))
    }

    /// Use a key of the sample.
    pub fn look_up(&mut self, hash: u64) -> Seen {
        if let Some(&number) = self.numbers.get(&hash) {
            return Seen::Again(number);
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.numbers.insert(hash, number);
        if self.threshold < u64::MAX && self.most < usize::MAX {
            self.highest.push((hash, number));
        }
        Seen::First(number)
    }

    /// The numbers of keys that have to leave, because there are too many. Each is free from the next call on.
    pub fn make_room(&mut self) -> &[u32] {
        self.free.append(&mut self.left);
        let most = if self.threshold == u64::MAX { self.exact } else { self.most };
        if self.numbers.len() > most {
            if self.threshold == u64::MAX {
                self.highest = self.numbers().collect::<Vec<_>>().into();
            }
            while let Some((hash, number)) = self.highest.peek().copied().filter(|_| self.numbers.len() > self.most) {
                self.highest.pop();
                self.numbers.remove(&hash);
                self.threshold = hash.saturating_sub(1);
                self.left.push(number);
            }
        }
        &self.left
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::mix;
    use super::*;

    #[test]
    fn with_room_for_few_keys_those_with_the_lowest_hashes_stay() {
        let mut keys = SampledKeys::new(Sampling::Fixed { exact: 100, most: 40 });
        let hashes: Vec<u64> = (0..5_000).map(mix).collect();
        for (place, &hash) in hashes.iter().enumerate() {
            if keys.has(hash) {
                keys.look_up(hash);
                keys.make_room();
            }
            assert_eq!(keys.rate() == 1.0, place < 100);
        }

        let mut wanted = hashes;
        wanted.sort_unstable();
        let mut found: Vec<_> = keys.numbers().collect();
        found.sort_unstable();
        assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), wanted[..40]);
        assert!(!keys.has(wanted[40]));
        assert!((40.0 / keys.rate() / 5_000.0 - 1.0).abs() < 0.5);
        let mut numbers: Vec<u32> = found.iter().map(|one| one.1).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 40);
        assert!(numbers.iter().all(|&number| number < 103));
    }

    #[test]
    fn a_rate_is_the_share_of_hashes() {
        let keys = SampledKeys::new(Sampling::Rate(0.25));

        let had = (0..100_000).filter(|&key| keys.has(mix(key))).count();

        assert!((had as f64 / 25_000.0 - 1.0).abs() < 0.03);
        assert!((keys.rate() - 0.25).abs() < 1e-12);
    }
}
