//! Where in a file the next operation goes.

use crate::error::{EngineError, Result};
use crate::plan::{Access, Coverage, Distribution, Region};

/// A walk over one region of one file.
#[derive(Debug, Clone)]
pub struct Offsets {
    from: u64,
    end: u64,
    walk: Walk,
}

#[derive(Debug, Clone)]
enum Walk {
    Sequential { at: u64, wrap: bool },
    Backward { at: u64, wrap: bool },
    Stride { at: u64, stride: u64, wrap: bool },
    Uniform { align: u64, size: u64, blocks: u64 },
    Permuted { align: u64, order: Permutation, next: u64, rounds: bool },
}

/// Who walks: decides slices and the order of permuted walks.
#[derive(Debug, Clone, Copy)]
pub struct Walker {
    /// Worker, from 0.
    pub worker: u32,
    /// Workers of the job.
    pub workers: u32,
    /// Seed of this worker and operation.
    pub seed: u64,
}

impl Offsets {
    /// A walk of `access` over a file of `file_bytes`. `size_bytes` is the operation's fixed size, if it has one: the
    /// unit of random offsets where the Plan gives no alignment.
    pub fn new(access: &Access, file_bytes: u64, size_bytes: Option<u64>, walker: Walker) -> Result<Self> {
        let region = match access {
            Access::Sequential { region, .. }
            | Access::Backward { region, .. }
            | Access::Stride { region, .. }
            | Access::Random { region, .. } => region,
            Access::Append {} | Access::Whole { .. } => &Region::Whole {},
        };
        let unit = size_bytes.unwrap_or(4096).max(1);
        let (from, end) = bounds(region, file_bytes, unit, walker)?;
        let walk = match access {
            Access::Sequential { wrap, .. } => Walk::Sequential { at: from, wrap: *wrap },
            Access::Backward { wrap, .. } => Walk::Backward { at: end, wrap: *wrap },
            Access::Stride { stride_bytes, wrap, .. } => {
                if *stride_bytes == 0 {
                    return Err(EngineError::Plan("stride_bytes is 0; it must be 1 or more".into()));
                }
                Walk::Stride { at: from, stride: *stride_bytes, wrap: *wrap }
            }
            Access::Random { distribution, coverage, align_bytes, .. } => {
                if !matches!(distribution, Distribution::Uniform { min: 0.0, max: 1.0 }) {
                    return Err(EngineError::Plan(
                        "this engine carries out random access with the uniform distribution over [0, 1] only".into(),
                    ));
                }
                let align = if *align_bytes == 0 { unit } else { *align_bytes };
                random(*coverage, align, end - from, size_bytes, walker.seed)?
            }
            Access::Append {} | Access::Whole { .. } => Walk::Sequential { at: from, wrap: false },
        };
        Ok(Self { from, end, walk })
    }

    /// Go back to the start of the walk, for another pass.
    pub fn rewind(&mut self) {
        match &mut self.walk {
            Walk::Sequential { at, .. } | Walk::Stride { at, .. } => *at = self.from,
            Walk::Backward { at, .. } => *at = self.end,
            Walk::Permuted { next, .. } => *next = 0,
            Walk::Uniform { .. } => {}
        }
    }

    /// Offset and length of the next operation of `size` bytes; None when the walk is through. Only a sequential
    /// operation at the end of the region is shorter than asked for.
    #[inline]
    pub fn next(&mut self, size: u64, rng: &mut fastrand::Rng) -> Option<(u64, u64)> {
        let (from, end) = (self.from, self.end);
        match &mut self.walk {
            Walk::Uniform { align, size: known, blocks } => {
                if size != *known {
                    *known = size;
                    *blocks = blocks_of(end - from, size, *align);
                }
                (*blocks > 0).then(|| (from + rng.u64(..*blocks) * *align, size))
            }
            Walk::Permuted { align, order, next, rounds } => {
                if *next == order.len() {
                    if !*rounds {
                        return None;
                    }
                    *order = Permutation::new(order.len(), rng.u64(..));
                    *next = 0;
                }
                let offset = from + order.at(*next) * *align;
                *next += 1;
                (offset + size <= end).then_some((offset, size))
            }
            Walk::Sequential { at, wrap } => {
                if *at >= end {
                    if !*wrap || from >= end {
                        return None;
                    }
                    *at = from;
                }
                let offset = *at;
                let length = size.min(end - offset);
                *at = offset + length;
                Some((offset, length))
            }
            Walk::Backward { at, wrap } => {
                if *at < from + size {
                    if !*wrap || end - from < size {
                        return None;
                    }
                    *at = end;
                }
                *at -= size;
                Some((*at, size))
            }
            Walk::Stride { at, stride, wrap } => {
                if *at + size > end {
                    if !*wrap || end - from < size {
                        return None;
                    }
                    *at = from;
                }
                let offset = *at;
                *at += *stride;
                Some((offset, size))
            }
        }
    }
}

fn bounds(region: &Region, file_bytes: u64, unit: u64, walker: Walker) -> Result<(u64, u64)> {
    match *region {
        Region::Whole {} => Ok((0, file_bytes)),
        Region::Slice {} => {
            let blocks = file_bytes / unit;
            let part = |i: u64| (blocks * i / u64::from(walker.workers)) * unit;
            let end = if walker.worker + 1 == walker.workers { file_bytes } else { part(u64::from(walker.worker) + 1) };
            Ok((part(u64::from(walker.worker)), end))
        }
        Region::Range { from_bytes, length_bytes } => {
            if from_bytes + length_bytes > file_bytes {
                return Err(EngineError::Plan(format!(
                    "the region from byte {from_bytes} for {length_bytes} bytes ends past the file's {file_bytes} bytes"
                )));
            }
            Ok((from_bytes, from_bytes + length_bytes))
        }
    }
}

fn random(coverage: Coverage, align: u64, length: u64, size: Option<u64>, seed: u64) -> Result<Walk> {
    match coverage {
        Coverage::WithRepeats => {
            let size = size.unwrap_or(0);
            Ok(Walk::Uniform { align, size, blocks: blocks_of(length, size, align) })
        }
        Coverage::EachOnce | Coverage::Rounds => {
            let size = size.ok_or_else(|| {
                EngineError::Plan("random access that visits each block once needs one fixed size".into())
            })?;
            let blocks = blocks_of(length, size, align);
            let rounds = coverage == Coverage::Rounds;
            Ok(Walk::Permuted { align, order: Permutation::new(blocks, seed), next: 0, rounds: rounds && blocks > 0 })
        }
    }
}

/// Aligned offsets at which `size` bytes fit into `length`.
fn blocks_of(length: u64, size: u64, align: u64) -> u64 {
    if size > length { 0 } else { (length - size) / align + 1 }
}

/// A random order of `0..len` without a table: a four-round Feistel network on the smallest even number of bits that
/// holds `len`, walked on until it falls inside (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
#[derive(Debug, Clone)]
struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(len: u64, seed: u64) -> Self {
        let bits = 64 - len.saturating_sub(1).leading_zeros();
        let mut rng = fastrand::Rng::with_seed(seed);
        Self { len, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| rng.u64(..)) }
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn at(&self, index: u64) -> u64 {
        let mut value = index;
        loop {
            value = self.encrypt(value);
            if value < self.len {
                return value;
            }
        }
    }

    fn encrypt(&self, value: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let round = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
            (left, right) = (right, left ^ (round & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const ANYWHERE: Distribution = Distribution::Uniform { min: 0.0, max: 1.0 };

    fn alone(seed: u64) -> Walker {
        Walker { worker: 0, workers: 1, seed }
    }

    fn walk(access: &Access, file_bytes: u64, size: u64, walker: Walker) -> Vec<(u64, u64)> {
        let mut offsets = Offsets::new(access, file_bytes, Some(size), walker).unwrap();
        let mut rng = fastrand::Rng::with_seed(walker.seed);
        std::iter::from_fn(|| offsets.next(size, &mut rng)).collect()
    }

    fn random(coverage: Coverage) -> Access {
        Access::Random { region: Region::Whole {}, distribution: ANYWHERE, coverage, align_bytes: 0 }
    }

    proptest! {
        #[test]
        fn each_once_covers_every_block_exactly_once(blocks in 1_u64..5000, seed: u64) {
            let visited = walk(&random(Coverage::EachOnce), blocks * 4096, 4096, alone(seed));

            prop_assert_eq!(visited.len() as u64, blocks);
            let distinct: HashSet<u64> = visited.iter().map(|&(offset, _)| offset).collect();
            prop_assert_eq!(distinct, (0..blocks).map(|b| b * 4096).collect::<HashSet<_>>());
        }

        #[test]
        fn sequential_covers_every_byte_once_in_order(file_bytes in 1_u64..100_000, size in 1_u64..9000) {
            let access = Access::Sequential { region: Region::Whole {}, wrap: false };

            let visited = walk(&access, file_bytes, size, alone(1));

            let mut at = 0;
            for (offset, length) in visited {
                prop_assert_eq!(offset, at);
                at += length;
            }
            prop_assert_eq!(at, file_bytes);
        }

        #[test]
        fn slices_of_all_workers_cover_the_file_without_overlap(file_bytes in 1_u64..1_000_000, workers in 1_u32..9) {
            let access = Access::Sequential { region: Region::Slice {}, wrap: false };

            let mut at = 0;
            for worker in 0..workers {
                for (offset, length) in walk(&access, file_bytes, 4096, Walker { worker, workers, seed: 1 }) {
                    prop_assert_eq!(offset, at);
                    at += length;
                }
            }

            prop_assert_eq!(at, file_bytes);
        }

        #[test]
        fn uniform_offsets_are_aligned_and_inside(blocks in 1_u64..300, seed: u64) {
            let mut offsets = Offsets::new(&random(Coverage::WithRepeats), blocks * 512, Some(512), alone(seed)).unwrap();
            let mut rng = fastrand::Rng::with_seed(seed);
            for _ in 0..1000 {
                let (offset, length) = offsets.next(512, &mut rng).unwrap();
                prop_assert!(offset % 512 == 0 && offset + length <= blocks * 512);
            }
        }
    }

    #[test]
    fn backward_visits_whole_blocks_from_the_end() {
        let access = Access::Backward { region: Region::Whole {}, wrap: false };

        assert_eq!(walk(&access, 10, 4, alone(1)), vec![(6, 4), (2, 4)]);
    }

    #[test]
    fn uniform_offsets_are_spread_evenly() {
        let mut offsets = Offsets::new(&random(Coverage::WithRepeats), 16 * 4096, Some(4096), alone(7)).unwrap();
        let mut rng = fastrand::Rng::with_seed(7);
        let mut counts = [0_f64; 16];
        for _ in 0..160_000 {
            counts[(offsets.next(4096, &mut rng).unwrap().0 / 4096) as usize] += 1.0;
        }

        // Chi-square with 15 degrees of freedom: 37.7 is passed by chance once in a thousand seeds; this one is fixed.
        let chi_square: f64 = counts.iter().map(|n| (n - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 37.7, "{chi_square}");
    }
}
