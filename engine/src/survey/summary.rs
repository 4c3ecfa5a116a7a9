//! What a tally comes to, as it is handed out.

use super::tally::{AGE_DAYS, ClassCount, DepthCount, Named, Tally, class_bound};
use super::value_counts::{BUCKETS_PER_OCTAVE, Row, ValueCounts, percentiles, total};
use serde::Serialize;

const PERCENTAGES: [f64; 11] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// The counts of a tree, whole or not.
#[derive(Debug, Serialize)]
pub struct Summary {
    files: u64,
    directories: u64,
    links: u64,
    others: u64,
    hard_linked_files: u64,
    sparse_files: u64,
    bytes: u64,
    bytes_once: u64,
    allocated_bytes: u64,
    sizes: Spread,
    size_classes: Vec<SizeClass>,
    modified: Vec<AgeClass>,
    accessed: Vec<AgeClass>,
    depths: Vec<DepthCount>,
    entries: Spread,
    unreadable: Named,
    unseen: Named,
    mounts: Named,
    left_out: Named,
    vanished: u64,
}

/// How values are distributed.
#[derive(Debug, Serialize)]
struct Spread {
    /// Whether each value is known; otherwise it lies up to `bound` above what is given.
    is_exact: bool,
    bound: f64,
    /// Different values that were met; of a histogram, its buckets.
    distinct: usize,
    mean: Option<f64>,
    /// Percentiles: the percentage, and the smallest value that at least so many values do not exceed.
    by_number: Vec<(f64, u64)>,
    /// Likewise, each value weighing what it is.
    by_sum: Vec<(f64, u64)>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct SizeClass {
    up_to_bytes: u64,
    #[serde(flatten)]
    count: ClassCount,
}

/// Files of an age; of the first class times are still to come, and the last has no bound.
#[derive(Debug, Serialize)]
struct AgeClass {
    up_to_days: Option<u32>,
    #[serde(flatten)]
    count: ClassCount,
}

impl Summary {
    /// Of a tally.
    pub fn new(tally: &Tally) -> Self {
        let size_class = |(class, &count): (usize, &ClassCount)| SizeClass { up_to_bytes: class_bound(class), count };
        Self {
            files: tally.files(),
            directories: tally.directories,
            links: tally.links,
            others: tally.others,
            hard_linked_files: tally.hard_linked,
            sparse_files: tally.sparse,
            bytes: tally.bytes(),
            bytes_once: tally.bytes_once(),
            allocated_bytes: tally.classes.iter().fold(0, |sum, class| class.allocated_bytes.saturating_add(sum)),
            sizes: Spread::new(&tally.sizes),
            size_classes: tally.classes.iter().enumerate().map(size_class).collect(),
            modified: ages(&tally.modified),
            accessed: ages(&tally.accessed),
            depths: tally.depths.clone(),
            entries: Spread::new(&tally.entries),
            unreadable: tally.unreadable.clone(),
            unseen: tally.unseen.clone(),
            mounts: tally.mounts.clone(),
            left_out: tally.left_out.clone(),
            vanished: tally.vanished,
        }
    }
}

impl Spread {
    fn new(counts: &ValueCounts) -> Self {
        let in_order = counts.in_order();
        let (number, sum) = (total(&in_order, |_| 1), total(&in_order, |value| value));
        Self {
            is_exact: counts.is_exact(),
            bound: if counts.is_exact() { 0.0 } else { 1.0 / BUCKETS_PER_OCTAVE as f64 },
            distinct: counts.distinct(),
            mean: (number > 0).then(|| sum as f64 / number as f64),
            by_number: percentiles(&in_order, |_| 1, &PERCENTAGES),
            by_sum: percentiles(&in_order, |value| value, &PERCENTAGES),
            rows: counts.rows(&in_order),
        }
    }
}

fn ages(counts: &[ClassCount]) -> Vec<AgeClass> {
    let bound = |class: usize| if class == 0 { Some(0) } else { AGE_DAYS.get(class - 1).copied() };
    counts.iter().enumerate().map(|(class, &count)| AgeClass { up_to_days: bound(class), count }).collect()
}
