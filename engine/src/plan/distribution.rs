//! Numbers that are drawn.

use serde::{Deserialize, Serialize};

/// A distribution of numbers. Values below zero are clipped to zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Always the same.
    Fixed {
        /// The value.
        value: f64,
    },
    /// Equally likely between two bounds, both included for whole numbers.
    Uniform {
        /// Lower bound.
        min: f64,
        /// Upper bound.
        max: f64,
    },
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Gamma.
    Gamma {
        /// Mean above `min`.
        mean: f64,
        /// Shape.
        shape: f64,
        /// Added to every draw.
        min: f64,
    },
    /// Log-normal.
    Lognormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Zipf over ranks; rank 0 is the likeliest.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Whether ranks are scattered over the range by a permutation.
        scramble: bool,
    },
    /// Pareto over ranks.
    Pareto {
        /// Share `h` of the accesses goes to share `1 - h` of the range.
        h: f64,
        /// Whether ranks are scattered.
        scramble: bool,
    },
    /// A share of the accesses goes to a share of the range.
    HotSpot {
        /// Share of the range that is hot, from its start.
        range_share: f64,
        /// Share of the accesses that go there.
        access_share: f64,
    },
    /// Weighted segments, uniform inside each.
    Tabular {
        /// `[weight, min, max]`.
        rows: Vec<[f64; 3]>,
    },
}
