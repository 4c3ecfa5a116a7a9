//! Weights by reuse distance, in buckets of at most 1.6 % of their value.
//!
//! A distance is the number of other blocks used since the last use, so a cache of C blocks serves distances below C.
//! Distances below 128 have a bucket each; above, every doubling has 64. The size `(64 + m) << k` is where a bucket
//! begins, so hits of a cache of such a size are a sum of whole buckets: they are exact.

/// Buckets of one doubling.
const HALF: u64 = 64;

/// Bucket of a distance.
#[inline]
fn bucket_of(others: u64) -> usize {
    let k = 57 - (others | HALF).leading_zeros();
    (u64::from(k) * HALF + (others >> k)) as usize
}

/// The smallest distance of a bucket: a cache of this size serves all buckets before.
fn begin_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * HALF {
        return bucket;
    }
    let k = bucket / HALF - 1;
    (bucket - k * HALF) << k
}

/// Sums of weights by distance.
#[derive(Debug, Clone, Default)]
pub struct Distances {
    weights: Vec<f64>,
}

impl Distances {
    /// Add a reuse.
    #[inline]
    pub fn add(&mut self, others: u64, weight: f64) {
        let bucket = bucket_of(others);
        if bucket >= self.weights.len() {
            self.weights.resize(bucket + 1, 0.0);
        }
        self.weights[bucket] += weight;
    }

    /// Of reads and writes together.
    pub fn sum(parts: &[Self]) -> Self {
        let mut sum = Self::default();
        for part in parts {
            if part.weights.len() > sum.weights.len() {
                sum.weights.resize(part.weights.len(), 0.0);
            }
            sum.weights.iter_mut().zip(&part.weights).for_each(|(sum, weight)| *sum += weight);
        }
        sum
    }

    /// Weight of all that a cache of `blocks` serves.
    pub fn below(&self, blocks: u64) -> f64 {
        if blocks == 0 {
            return 0.0;
        }
        self.weights[..(bucket_of(blocks - 1) + 1).min(self.weights.len())].iter().sum()
    }

    /// Weight of all.
    pub fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// The smallest size whose weight is at least `wanted`; None if none is.
    pub fn reaching(&self, wanted: f64) -> Option<u64> {
        let mut sum = 0.0;
        for (bucket, weight) in self.weights.iter().enumerate() {
            sum += weight;
            if *weight > 0.0 && sum >= wanted {
                return Some(begin_of(bucket + 1));
            }
        }
        None
    }
}

/// Sizes with exact hits: 1 to 4 by one, then five in each doubling.
pub fn sizes() -> impl Iterator<Item = u64> {
    let fifths = [64_u64, 74, 84, 97, 111];
    (1..4_u64)
        .chain((4..64).filter(move |&size| fifths.iter().any(|&fifth| [1, 2, 3, 4].iter().any(|k| fifth >> k == size))))
        .chain((0..40).flat_map(move |k| fifths.map(|fifth| fifth << k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for bucket in 0..2_000 {
            assert_eq!(bucket_of(begin_of(bucket)), bucket);
            assert_eq!(bucket_of(begin_of(bucket + 1) - 1), bucket);
        }
        assert!((begin_of(129) - begin_of(128)) as f64 / (begin_of(128) as f64) < 0.017);
    }

    #[test]
    fn a_cache_of_a_listed_size_serves_the_distances_below_it() {
        let mut distances = Distances::default();
        let all: Vec<u64> = (0..3_000).map(|place| place * place % 7_919).collect();
        all.iter().for_each(|&one| distances.add(one, 1.0));

        let mut before = 0;
        for size in sizes().take_while(|&size| size < 20_000) {
            assert!(size > before);
            before = size;
            assert_eq!(distances.below(size), all.iter().filter(|&&one| one < size).count() as f64);
        }
        assert_eq!(distances.below(0), 0.0);
        assert_eq!(distances.total(), 3_000.0);
    }

    #[test]
    fn the_smallest_size_that_reaches_a_weight_is_the_end_of_its_bucket() {
        let mut distances = Distances::default();
        [0, 0, 9, 100].iter().for_each(|&one| distances.add(one, 1.0));

        assert_eq!(distances.reaching(2.0), Some(1));
        assert_eq!(distances.reaching(3.0), Some(10));
        assert_eq!(distances.reaching(4.0), Some(101));
        assert_eq!(distances.reaching(5.0), None);
    }
}
