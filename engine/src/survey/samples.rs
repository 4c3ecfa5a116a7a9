//! A few files of many, chosen evenly: those with the smallest keys, which are random numbers made of the inode.
//!
//! The choice is the same whatever the order in which files are met, and a file with several names is in it once.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Files of a sample.
pub const SAMPLES: usize = 1000;

/// A file that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Its path below the surveyed directory, escaped.
    pub path: String,
    /// Its inode: what is at the path later may be another file.
    pub inode: u64,
    /// Its length.
    pub bytes: u64,
}

/// The files with the smallest keys, and one more, whose key is the bar that the others are below.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    chosen: BTreeMap<u64, Sample>,
}

impl Samples {
    /// Offer a file; it is described only if it is chosen.
    pub fn offer(&mut self, key: u64, sample: impl FnOnce() -> Sample) {
        if key >= self.bar() {
            return;
        }
        self.chosen.entry(key).or_insert_with(sample);
        if self.chosen.len() > SAMPLES + 1 {
            self.chosen.pop_last();
        }
    }

    /// Offer all that another chose.
    pub fn merge(&mut self, other: Self) {
        other.chosen.into_iter().for_each(|(key, sample)| self.offer(key, || sample));
    }

    /// No key that is as large is chosen any more.
    pub fn bar(&self) -> u64 {
        match self.chosen.last_key_value() {
            Some((&last, _)) if self.chosen.len() > SAMPLES => last,
            _ => u64::MAX,
        }
    }

    /// The chosen files.
    pub fn chosen(&self) -> impl Iterator<Item = &Sample> {
        self.chosen.values().take(SAMPLES)
    }
}

/// A number in 0 to 2^64 - 1 that files differ in at random (splitmix64's finaliser).
pub fn random_of(device: u64, inode: u64) -> u64 {
    let mut z = inode.wrapping_add(device.wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The key of a file that is chosen the rather the more bytes it has: u / bytes, whose order is that of its bits.
/// (Priority sampling: Duffield, Lund, Thorup, J. ACM 54(6), 2007.)
pub fn key_by_bytes(random: u64, bytes: u64) -> u64 {
    let uniform = ((random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    (uniform / bytes as f64).to_bits()
}

/// The bytes that a smaller file represents in a sample by bytes: 1 / bar; 0 where all files are in it.
pub fn threshold_bytes(samples: &Samples) -> f64 {
    if samples.bar() == u64::MAX { 0.0 } else { 1.0 / f64::from_bits(samples.bar()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(inode: u64, bytes: u64) -> Sample {
        Sample { path: inode.to_string(), inode, bytes }
    }

    #[test]
    fn the_choice_is_even_and_does_not_depend_on_the_order() {
        let (mut one, mut first, mut second) = (Samples::default(), Samples::default(), Samples::default());
        for inode in 0..100_000 {
            one.offer(random_of(7, inode), || sample(inode, 1));
            let half = if inode % 3 == 0 { &mut first } else { &mut second };
            half.offer(random_of(7, inode), || sample(inode, 1));
        }
        second.merge(first);

        assert_eq!(one, second);
        assert_eq!(one.chosen().count(), SAMPLES);
        // Binomial with n = 1000 and p = 1/4: four deviations are 55.
        let quarter = one.chosen().filter(|sample| sample.inode < 25_000).count();
        assert!((195..=305).contains(&quarter), "{quarter}");
    }

    #[test]
    fn a_sample_by_bytes_estimates_the_bytes_of_all() {
        let mut samples = Samples::default();
        let mut total = 0.0;
        for inode in 0..100_000_u64 {
            let bytes = if inode % 1000 == 0 { 50_000_000 } else { 1 + inode % 5000 };
            total += bytes as f64;
            samples.offer(key_by_bytes(random_of(0, inode), bytes), || sample(inode, bytes));
        }

        let threshold = threshold_bytes(&samples);
        let estimate: f64 = samples.chosen().map(|sample| (sample.bytes as f64).max(threshold)).sum();
        assert!((estimate / total - 1.0).abs() < 0.02, "{estimate} of {total}");
        assert_eq!(samples.chosen().filter(|sample| sample.bytes == 50_000_000).count(), 100);
    }

    #[test]
    fn a_file_with_two_names_is_chosen_once() {
        let mut samples = Samples::default();
        (0..2).for_each(|_| samples.offer(random_of(1, 2), || sample(2, 3)));

        assert_eq!((samples.chosen().count(), threshold_bytes(&samples)), (1, 0.0));
    }
}
