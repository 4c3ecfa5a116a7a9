//! How often each value occurs: exactly while there are few different ones, then by a histogram of stated width.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The most different values that are counted one by one.
pub const MOST_DISTINCT: usize = if cfg!(test) { 10_000 } else { 1_000_000 };
/// A power of two has as many buckets: a bucket is no wider than its lower bound divided by this.
pub const BUCKETS_PER_OCTAVE: u64 = 512;
const BITS: u32 = BUCKETS_PER_OCTAVE.ilog2();
/// Rows of [`ValueCounts::rows`] for a power of two.
const ROWS_PER_OCTAVE: u64 = 4;

/// Counts of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueCounts {
    /// Of each value.
    Exact(HashMap<u64, u64>),
    /// Of each bucket, by its lower bound.
    Buckets(HashMap<u64, u64>),
}

impl Default for ValueCounts {
    fn default() -> Self {
        Self::Exact(HashMap::new())
    }
}

/// Values that lie together, with how many there are and their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The smallest; of a histogram, the lower bound of its bucket.
    pub least: u64,
    /// The greatest; of a histogram, the upper bound of its bucket.
    pub greatest: u64,
    /// How many.
    pub count: u64,
    /// Their sum; of a histogram, by the lower bounds.
    pub sum: u64,
}

impl ValueCounts {
    /// Whether each value is known.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Different values, or buckets.
    pub fn distinct(&self) -> usize {
        self.counts().len()
    }

    /// Count one more.
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    fn add_many(&mut self, value: u64, count: u64) {
        match self {
            Self::Exact(counts) => {
                *counts.entry(value).or_default() += count;
                if counts.len() > MOST_DISTINCT {
                    *self = Self::Buckets(merged(std::mem::take(counts)));
                }
            }
            Self::Buckets(counts) => *counts.entry(lower_bound(value)).or_default() += count,
        }
    }

    /// Count all that another has.
    pub fn merge(&mut self, other: &Self) {
        if let (Self::Exact(mine), Self::Buckets(_)) = (&mut *self, other) {
            *self = Self::Buckets(merged(std::mem::take(mine)));
        }
        for (&value, &count) in other.counts() {
            self.add_many(value, count);
        }
    }

    /// Values in order, with how many each has; a bucket has its lower bound.
    pub fn in_order(&self) -> Vec<(u64, u64)> {
        let mut counts: Vec<_> = self.counts().iter().map(|(&value, &count)| (value, count)).collect();
        counts.sort_unstable();
        counts
    }

    /// Rows of a quarter of a power of two, for pictures and loads, of values in order.
    pub fn rows(&self, in_order: &[(u64, u64)]) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut last = None;
        for &(value, count) in in_order {
            let greatest = if self.is_exact() { value } else { upper_bound(value) };
            let sum = value.saturating_mul(count);
            let row = log_linear(value, ROWS_PER_OCTAVE.ilog2());
            match rows.last_mut() {
                Some(open) if last == Some(row) => {
                    open.greatest = greatest;
                    open.count += count;
                    open.sum = open.sum.saturating_add(sum);
                }
                _ => rows.push(Row { least: value, greatest, count, sum }),
            }
            last = Some(row);
        }
        rows
    }

    fn counts(&self) -> &HashMap<u64, u64> {
        match self {
            Self::Exact(counts) | Self::Buckets(counts) => counts,
        }
    }
}

/// For each percentage, the smallest value that at least so much of the whole weight is not above. Nothing weighs: nothing.
pub fn percentiles(counts: &[(u64, u64)], weigh: fn(u64) -> u64, percentages: &[f64]) -> Vec<(f64, u64)> {
    let whole = total(counts, weigh);
    let mut rest = counts.iter();
    let (mut below, mut at, mut found) = (0, 0, Vec::new());
    for &percent in percentages {
        // Percentages have at most one decimal: exact in thousandths.
        let wanted = (whole * (percent * 10.0).round() as u128).div_ceil(1000).max(1);
        while below < wanted {
            let Some(&(value, count)) = rest.next() else { return found };
            below += u128::from(weigh(value)) * u128::from(count);
            at = value;
        }
        found.push((percent, at));
    }
    found
}

/// The weight of all.
pub fn total(counts: &[(u64, u64)], weigh: fn(u64) -> u64) -> u128 {
    counts.iter().map(|&(value, count)| u128::from(weigh(value)) * u128::from(count)).sum()
}

fn merged(exact: HashMap<u64, u64>) -> HashMap<u64, u64> {
    let mut buckets = HashMap::new();
    for (value, count) in exact {
        *buckets.entry(lower_bound(value)).or_default() += count;
    }
    buckets
}

/// The lower bound of the bucket that a value is in.
fn lower_bound(value: u64) -> u64 {
    log_linear(value, BITS)
}

fn upper_bound(lower: u64) -> u64 {
    let shift = lower.max(1).ilog2().saturating_sub(BITS);
    lower + ((1 << shift) - 1)
}

/// A value without all but its first `bits + 1` binary digits.
fn log_linear(value: u64, bits: u32) -> u64 {
    let shift = value.max(1).ilog2().saturating_sub(bits);
    value >> shift << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_number(counts: &ValueCounts, percentages: &[f64]) -> Vec<u64> {
        percentiles(&counts.in_order(), |_| 1, percentages).into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut counts = ValueCounts::default();
        (1..=1000).for_each(|value| counts.add(value * 7));

        assert_eq!(by_number(&counts, &[0.1, 50.0, 50.1, 99.9, 100.0]), [7, 3500, 3507, 6993, 7000]);
        assert_eq!(by_number(&ValueCounts::default(), &[50.0]), [0; 0]);
    }

    #[test]
    fn beyond_the_bound_a_value_is_off_by_its_bucket_at_most() {
        let (mut exact, mut counts) = (Vec::new(), ValueCounts::default());
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..MOST_DISTINCT * 2 {
            let value = rng.u64(..) >> rng.u32(..40);
            exact.push(value);
            counts.add(value);
        }
        exact.sort_unstable();

        assert!(!counts.is_exact());
        assert!(counts.distinct() <= 64 * BUCKETS_PER_OCTAVE as usize);
        for percent in [1.0, 25.0, 50.0, 75.0, 99.0] {
            let true_value = exact[(exact.len() as f64 * percent / 100.0).ceil() as usize - 1];
            let found = by_number(&counts, &[percent])[0];
            assert!(found <= true_value && true_value <= upper_bound(found), "{percent}: {found} of {true_value}");
            assert!(upper_bound(found) - found <= found / BUCKETS_PER_OCTAVE);
        }
    }

    #[test]
    fn both_kinds_merge_into_one() {
        let (mut exact, mut buckets) = (ValueCounts::default(), ValueCounts::Buckets(HashMap::new()));
        exact.add(1_000_001);
        buckets.add(1_000_001);
        exact.merge(&buckets);

        assert_eq!(exact.in_order(), [(lower_bound(1_000_001), 2)]);
        assert_eq!(upper_bound(lower_bound(1_000_001)) - lower_bound(1_000_001), 1023);
    }

    #[test]
    fn rows_have_the_values_that_there_are() {
        let mut counts = ValueCounts::default();
        [0, 4096, 4096, 5000, 5119, 5120, 9000].into_iter().for_each(|value| counts.add(value));

        let rows: Vec<_> =
            counts.rows(&counts.in_order()).iter().map(|row| (row.least, row.greatest, row.count)).collect();
        assert_eq!(rows, [(0, 0, 1), (4096, 5119, 4), (5120, 5120, 1), (9000, 9000, 1)]);
    }
}
