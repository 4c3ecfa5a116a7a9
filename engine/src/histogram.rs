//! Every latency, at three significant digits, from 1 ns to 1 h, in fixed buckets.
//!
//! The bucket layout is HdrHistogram's (2,048 sub-buckets): values below 2,048 have a bucket each; above, every doubling
//! has 1,024, so a bucket is at most 0.1 % of its value wide. With `k = max(0, floor(log2 v) - 10)` the index of `v` is
//! `1024 k + (v >> k)`. The bounds never grow: a value above an hour goes to the last bucket.
//!
//! A [`Recorder`] has one writer, its worker, which pays three plain loads and stores per value: the counters are atomic
//! only so that the observer thread may read them while they move. A [`Reader`] turns what has been added since its last
//! look into the sparse [`Buckets`] of an interval; the deltas of all looks sum to the recorder's content exactly.
//!
//! A bucket counts in 32 bits, so that half as much memory is to be waited for after each system call, and begins anew after
//! 2^32 values. Deltas are right all the same, as long as no interval has more values in one bucket: at 10 million a second
//! that is seven minutes.

use crate::events::Buckets;
use crate::sys::shared::shareable;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Longest latency with a bucket of its own.
const HOUR_NS: u64 = 3_600_000_000_000;
/// Buckets of one doubling.
const HALF: usize = 1024;
/// Buckets in all: [`index_of`] of an hour, rounded up to a whole doubling.
pub const BUCKETS: usize = 33 * HALF;

/// Bucket of a value in nanoseconds.
#[inline]
pub fn index_of(value_ns: u64) -> usize {
    let value = value_ns.min(HOUR_NS);
    let k = 53 - (value | HALF as u64).leading_zeros();
    ((k as usize) << 10) + (value >> k) as usize
}

shareable! {
    /// A counter with one writer: a plain load and store, readable from other threads.
    #[derive(Debug, Default)]
    pub struct Counter {
        value: AtomicU64,
    }
}

impl Counter {
    /// Add; only the owning thread may.
    #[inline]
    pub fn add(&self, n: u64) {
        self.value.store(self.value.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Set; only the owning thread may.
    #[inline]
    pub fn set(&self, n: u64) {
        self.value.store(n, Relaxed);
    }

    /// Value now.
    #[inline]
    pub fn get(&self) -> u64 {
        self.value.load(Relaxed)
    }
}

shareable! {
    /// Latencies of one operation of one worker. It lives in shared memory, of whose zero pages only those that are written
    /// become resident. What every value changes is in front, beside the counters that its owner has before it: after a
    /// system call little of either is in a cache, and one line less to wait for is what recording costs.
    #[derive(Debug)]
    #[repr(C)]
    pub struct Recorder {
        sum_ns: Counter,
        max_ns: Counter,
        /// Bit d: doubling d holds a value.
        touched: Counter,
        counts: [AtomicU32; BUCKETS],
    }
}

impl Recorder {
    /// Keep one value.
    #[inline]
    pub fn record(&self, value_ns: u64) {
        let index = index_of(value_ns);
        let count = &self.counts[index];
        let before = count.load(Relaxed);
        count.store(before.wrapping_add(1), Relaxed);
        self.sum_ns.add(value_ns);
        if value_ns > self.max_ns.get() {
            self.max_ns.set(value_ns);
        }
        if before == 0 {
            self.touched.set(self.touched.get() | 1 << (index / HALF));
        }
    }
}

/// Reads a recorder again and again, giving each time what is new.
#[derive(Debug)]
pub struct Reader {
    seen: Vec<Option<Box<[u32; HALF]>>>,
    seen_sum_ns: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Self { seen: (0..BUCKETS / HALF).map(|_| None).collect(), seen_sum_ns: 0 }
    }
}

impl Reader {
    /// Add what the recorder got since the last call to `into`; returns how many values that were.
    pub fn read_new(&mut self, recorder: &Recorder, into: &mut Merged) -> u64 {
        let touched = recorder.touched.get();
        let mut values = 0;
        for doubling in 0..BUCKETS / HALF {
            if touched & (1 << doubling) == 0 {
                continue;
            }
            let seen = self.seen[doubling].get_or_insert_with(|| Box::new([0; HALF]));
            let base = doubling * HALF;
            for (offset, seen) in seen.iter_mut().enumerate() {
                let now = recorder.counts[base + offset].load(Relaxed);
                if now != *seen {
                    let new = u64::from(now.wrapping_sub(*seen));
                    *seen = now;
                    values += new;
                    into.add(base + offset, new);
                }
            }
        }
        let sum = recorder.sum_ns.get();
        into.sum_ns += sum - self.seen_sum_ns;
        self.seen_sum_ns = sum;
        into.max_ns = into.max_ns.max(recorder.max_ns.get());
        values
    }
}

/// The new values of several recorders together.
#[derive(Debug, Default)]
pub struct Merged {
    /// Bucket and count, as they came: in rising order from each recorder.
    counts: Vec<(u32, u64)>,
    sum_ns: u64,
    max_ns: u64,
}

impl Merged {
    fn add(&mut self, index: usize, count: u64) {
        self.counts.push((index as u32, count));
    }

    /// As it goes into an interval event.
    pub fn into_buckets(mut self) -> Buckets {
        // Rising runs, one a recorder: the stable sort merges them.
        self.counts.sort_by_key(|&(index, _)| index);
        self.counts.dedup_by(|(index, count), (kept, total)| {
            let is_same = index == kept;
            *total += if is_same { *count } else { 0 };
            is_same
        });
        let (index, count) = self.counts.into_iter().unzip();
        Buckets { index, count, max_ns: self.max_ns, sum_ns: self.sum_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::shared::SharedBox;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    /// Lowest value of a bucket, from the formula in the module's description.
    fn lowest(index: usize) -> u64 {
        if index < 2 * HALF {
            return index as u64;
        }
        let k = index / HALF - 1;
        ((index % HALF + HALF) as u64) << k
    }

    proptest! {
        #[test]
        fn a_bucket_is_a_thousandth_of_its_value_wide_at_most(value in 0..HOUR_NS) {
            let low = lowest(index_of(value));
            prop_assert!(low <= value);
            let width = lowest(index_of(value) + 1) - low;
            prop_assert!(value < low + width);
            prop_assert!(width == 1 || width * 1000 <= value);
        }

        #[test]
        fn buckets_are_those_of_hdrhistogram(values in proptest::collection::vec(1..HOUR_NS, 1..200)) {
            let mut oracle = Histogram::<u64>::new_with_bounds(1, HOUR_NS, 3).unwrap();
            let recorder = SharedBox::<Recorder>::zeroed().unwrap();
            for &value in &values {
                oracle.record(value).unwrap();
                recorder.record(value);
            }

            let mut merged = Merged::default();
            Reader::default().read_new(&recorder, &mut merged);
            let buckets = merged.into_buckets();

            let ours: Vec<(u64, u64)> =
                buckets.index.iter().zip(&buckets.count).map(|(&i, &n)| (lowest(i as usize), n)).collect();
            let theirs: Vec<(u64, u64)> = oracle
                .iter_recorded()
                .map(|v| (oracle.lowest_equivalent(v.value_iterated_to()), v.count_at_value()))
                .collect();
            prop_assert_eq!(ours, theirs);
            prop_assert_eq!(buckets.sum_ns, values.iter().sum::<u64>());
            prop_assert_eq!(buckets.max_ns, *values.iter().max().unwrap());
        }

        #[test]
        fn looks_between_records_lose_and_double_nothing(values in proptest::collection::vec((1..HOUR_NS, any::<bool>()), 1..200)) {
            let recorder = SharedBox::<Recorder>::zeroed().unwrap();
            let (mut reader, mut total, mut seen) = (Reader::default(), Merged::default(), 0);
            for &(value, look) in &values {
                recorder.record(value);
                if look {
                    seen += reader.read_new(&recorder, &mut total);
                }
            }
            seen += reader.read_new(&recorder, &mut total);

            let mut whole = Merged::default();
            prop_assert_eq!(Reader::default().read_new(&recorder, &mut whole), values.len() as u64);
            prop_assert_eq!(seen, values.len() as u64);
            prop_assert_eq!(total.into_buckets(), whole.into_buckets());
        }
    }

    #[test]
    fn the_bucket_of_a_value_is_that_of_the_formula_around_each_power_of_two() {
        assert_eq!(index_of(0), 0);
        for power in (1..42).map(|exponent| 1_u64 << exponent) {
            for value in [power - 1, power, power + 1, power + power / 2] {
                let k = value.ilog2().saturating_sub(10) as usize;
                assert_eq!(index_of(value), 1024 * k + (value / (1 << k)) as usize, "{value}");
            }
        }
    }

    #[test]
    fn a_bucket_that_begins_anew_loses_nothing() {
        let recorder = SharedBox::<Recorder>::zeroed().unwrap();
        let mut reader = Reader::default();
        recorder.counts[index_of(7)].store(u32::MAX - 1, Relaxed);
        recorder.touched.set(1);
        reader.read_new(&recorder, &mut Merged::default());

        (0..5).for_each(|_| recorder.record(7));
        let mut merged = Merged::default();

        assert_eq!(reader.read_new(&recorder, &mut merged), 5);
        assert_eq!(merged.into_buckets().count, vec![5]);
    }

    #[test]
    fn what_several_recorders_have_in_a_bucket_is_one_number() {
        let recorders = [&[5, 9000, 7][..], &[9000, 5, 5, 1]].map(|values| {
            let recorder = SharedBox::<Recorder>::zeroed().unwrap();
            values.iter().for_each(|&value| recorder.record(value));
            recorder
        });

        let mut merged = Merged::default();
        recorders.iter().for_each(|recorder| _ = Reader::default().read_new(recorder, &mut merged));

        let Buckets { index, count, max_ns, .. } = merged.into_buckets();
        let of_nine_thousand = index_of(9000) as u32;
        assert_eq!((index, count, max_ns), (vec![1, 5, 7, of_nine_thousand], vec![1, 3, 1, 2], 9000));
    }

    #[test]
    fn a_value_above_an_hour_is_kept_in_the_last_bucket() {
        let recorder = SharedBox::<Recorder>::zeroed().unwrap();
        recorder.record(10 * HOUR_NS);

        let mut merged = Merged::default();
        Reader::default().read_new(&recorder, &mut merged);

        assert_eq!(merged.into_buckets().index, vec![index_of(HOUR_NS) as u32]);
        assert!(index_of(HOUR_NS) < BUCKETS);
    }
}
