//! Content that compresses by a stated ratio.
//!
//! Each unit of 256 bytes begins with bytes that nothing can compress and ends with a word that repeats, so that a
//! compressor finds the same mixture in any piece of any size, as in records with filled fields, and not a random head
//! before an empty tail. A unit's repeats cost a compressor about three bytes (sequence, lengths and distance of
//! zstd at level 3, measured); that many incompressible ones are left out.

use crate::content::BLOCK_BYTES;
use crate::error::{EngineError, Result};

const UNIT_BYTES: usize = 256;
const UNITS: usize = BLOCK_BYTES / UNIT_BYTES;
const WORD: [u8; 8] = *b" assay  ";
const FILLER: [u8; UNIT_BYTES] = filler();
const COST_OF_REPEATS_BYTES: f64 = 3.0;
/// Beyond this, the fixed overhead of a compressor outweighs the content.
const LARGEST_RATIO: f64 = 10.0;

const fn filler() -> [u8; UNIT_BYTES] {
    let mut bytes = [0; UNIT_BYTES];
    let mut at = 0;
    while at < UNIT_BYTES {
        bytes[at] = WORD[at % WORD.len()];
        at += 1;
    }
    bytes
}

/// Where the compressible part of each unit of a block begins.
#[derive(Debug, Clone)]
pub struct Texture {
    begins: [usize; UNITS],
}

impl Texture {
    /// The texture of a ratio; None for 1, which has none.
    ///
    /// # Errors
    ///
    /// A Plan error for a ratio below 1 or above 10.
    pub fn new(compress_ratio: f64) -> Result<Option<Self>> {
        if !(1.0..=LARGEST_RATIO).contains(&compress_ratio) {
            return Err(EngineError::Plan(format!(
                "content: compress_ratio is {compress_ratio}; it lies between 1 (incompressible) and {LARGEST_RATIO}"
            )));
        }
        if compress_ratio == 1.0 {
            return Ok(None);
        }
        let unit = UNIT_BYTES as f64;
        let random = (unit / compress_ratio - COST_OF_REPEATS_BYTES).clamp(0.0, unit);
        // Fractions of a byte are spread over the units of a block.
        let until = |unit: usize| (unit as f64 * random).round() as usize;
        Ok(Some(Self { begins: std::array::from_fn(|unit| until(unit + 1) - until(unit)) }))
    }

    /// Shortest incompressible part of a unit, from its start.
    pub fn shortest_random_bytes(&self) -> usize {
        self.begins.into_iter().min().unwrap_or(0)
    }

    /// Put the repeats over random bytes; `blocks` are whole blocks.
    #[inline]
    pub fn apply(&self, blocks: &mut [u8]) {
        for block in blocks.chunks_exact_mut(BLOCK_BYTES) {
            for (unit, begin) in block.chunks_exact_mut(UNIT_BYTES).zip(self.begins) {
                unit[begin..].copy_from_slice(&FILLER[begin..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_incompressible_share_is_the_inverse_of_the_ratio_less_what_repeats_cost() {
        for ratio in [1.5, 2.0, 3.0, 5.0] {
            let texture = Texture::new(ratio).unwrap().unwrap();
            let random: usize = texture.begins.into_iter().sum();
            let wanted = BLOCK_BYTES as f64 / ratio - 3.0 * UNITS as f64;
            assert!((random as f64 - wanted).abs() <= 1.0, "{ratio}: {random} {wanted}");
        }
    }

    #[test]
    fn every_part_of_256_bytes_has_both_kinds() {
        let mut block = vec![0xee; BLOCK_BYTES];

        Texture::new(3.0).unwrap().unwrap().apply(&mut block);

        assert!(block.chunks(UNIT_BYTES).all(|unit| unit[0] == 0xee && unit.ends_with(&WORD)));
    }

    #[test]
    fn ratios_that_cannot_be_made_are_refused() {
        for ratio in [0.5, 0.0, -2.0, 10.5, f64::NAN, f64::INFINITY] {
            assert!(matches!(Texture::new(ratio), Err(EngineError::Plan(_))), "{ratio}");
        }
    }
}
