//! Content of which a stated part was written before.
//!
//! One writer's blocks are a stream. A block is new whenever fewer than `written / ratio` distinct ones have been written,
//! else it is one of the latest 4096 again. So the ratio holds after every block, whatever files the stream goes to, and
//! because writers share no content, for all of them together.

use crate::error::{EngineError, Result};

/// How far back a block may come from: 16 MiB of distinct content.
const REACH_BLOCKS: u64 = 4096;
const LARGEST_RATIO: f64 = 1000.0;

/// Numbers of distinct blocks in the order in which they are written.
#[derive(Debug, Clone)]
pub struct Duplicates {
    ratio: f64,
    written: u64,
    distinct: u64,
    rng: fastrand::Rng,
}

impl Duplicates {
    /// A stream of a ratio; None for 1, which has no duplicates.
    ///
    /// # Errors
    ///
    /// A Plan error for a ratio below 1 or above 1000.
    pub fn new(dedupe_ratio: f64, seed: u64) -> Result<Option<Self>> {
        if !(1.0..=LARGEST_RATIO).contains(&dedupe_ratio) {
            return Err(EngineError::Plan(format!(
                "content: dedupe_ratio is {dedupe_ratio}; it lies between 1 (all blocks unique) and {LARGEST_RATIO}"
            )));
        }
        let rng = fastrand::Rng::with_seed(seed);
        Ok((dedupe_ratio > 1.0).then_some(Self { ratio: dedupe_ratio, written: 0, distinct: 0, rng }))
    }

    /// Number of the distinct block that comes next.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.written += 1;
        if (self.distinct as f64) * self.ratio < self.written as f64 {
            self.distinct += 1;
            return self.distinct - 1;
        }
        self.distinct - 1 - self.rng.u64(..self.distinct.min(REACH_BLOCKS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_ratio_holds_to_a_block_after_any_number_of_blocks() {
        for ratio in [1.1, 1.5, 2.0, 3.7, 20.0] {
            let mut blocks = Duplicates::new(ratio, 8).unwrap().unwrap();
            let mut seen = HashSet::new();
            for written in 1..=50_000_u32 {
                seen.insert(blocks.draw());
                let wanted = f64::from(written) / ratio;
                assert!((seen.len() as f64 - wanted).abs() <= 1.0, "{ratio}: {} of {written}", seen.len());
            }
        }
    }

    #[test]
    fn copies_are_not_neighbours_of_their_originals() {
        let mut blocks = Duplicates::new(2.0, 8).unwrap().unwrap();
        let stream: Vec<u64> = (0..20_000).map(|_| blocks.draw()).collect();

        let neighbours = stream.windows(2).filter(|pair| pair[0] == pair[1]).count();

        assert!(neighbours < 100, "{neighbours}");
    }

    #[test]
    fn ratios_that_cannot_be_made_are_refused() {
        for ratio in [0.9, f64::NAN, 1e9] {
            assert!(matches!(Duplicates::new(ratio, 0), Err(EngineError::Plan(_))), "{ratio}");
        }
    }
}
