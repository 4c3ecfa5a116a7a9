//! How much of a device that nobody wrote for this run holds nothing but zeros?
//!
//! An SSD or a thin volume answers reads of blocks that were never written, or were discarded, with zeros and without its
//! storage. Whether a block that holds zeros is one of these is not seen from here, only how many there are. Blocks at random
//! places, drawn with replacement, are read past the page cache, which is neither asked nor filled.
//!
//! The order of the reads is the one in which they were drawn, so that those of a sample that ran out of time are at random
//! places, too.

use crate::buffer::{BufferSize, Buffers};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Blocks that a sample has, at most.
pub const MOST_BLOCKS: u64 = 256;
/// Size of a block where the device asks for no larger one.
const BLOCK_BYTES: u64 = 4096;

/// Blocks that were read, and what they hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZeroSample {
    /// Blocks that were read.
    pub blocks: u64,
    /// Those of them that hold only zeros.
    pub zero_blocks: u64,
}

/// Read blocks at random places of the first `bytes` of a file until `is_over`, which is asked before each.
///
/// # Errors
///
/// A block could not be read.
pub fn sample_zeros(
    file: &File,
    bytes: u64,
    alignment: u64,
    seed: u64,
    mut is_over: impl FnMut() -> bool,
) -> io::Result<ZeroSample> {
    let block_bytes = BLOCK_BYTES.max(alignment);
    let there = bytes / block_bytes;
    let mut found = ZeroSample::default();
    if there == 0 {
        return Ok(found);
    }
    let length = usize::try_from(block_bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut memory = Buffers::new(1, BufferSize::plain(length))?;
    let mut rng = fastrand::Rng::with_seed(seed);
    while found.blocks < MOST_BLOCKS && !is_over() {
        let block = memory.slot(0, length);
        file.read_exact_at(block, rng.u64(..there) * block_bytes)?;
        found.blocks += 1;
        found.zero_blocks += u64::from(block.iter().all(|byte| *byte == 0));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A file whose first part is `written`, and the rest zeros.
    fn file_of(written: u64, bytes: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        for offset in (0..written).step_by(BLOCK_BYTES as usize) {
            // One byte, the last, tells a block from zeros.
            file.write_all_at(&[1], offset + BLOCK_BYTES - 1).unwrap();
        }
        file
    }

    fn sampled(file: &File, bytes: u64) -> ZeroSample {
        sample_zeros(file, bytes, 512, 1, || false).unwrap()
    }

    #[test]
    fn blocks_of_zeros_are_told_from_those_with_one_other_byte() {
        assert_eq!(sampled(&file_of(MIB, MIB), MIB), ZeroSample { blocks: MOST_BLOCKS, zero_blocks: 0 });
        assert_eq!(sampled(&file_of(0, MIB), MIB), ZeroSample { blocks: MOST_BLOCKS, zero_blocks: MOST_BLOCKS });
    }

    #[test]
    fn the_share_of_zeros_is_that_of_the_range_alone() {
        let file = file_of(MIB, 2 * MIB);

        assert_eq!(sampled(&file, MIB).zero_blocks, 0);
        // Of 256 draws with probability a half, 128 +- 40 is five standard deviations.
        assert!((88..=168).contains(&sampled(&file, 2 * MIB).zero_blocks));
    }

    #[test]
    fn a_sample_ends_when_its_time_is_over_and_reports_what_it_read() {
        let file = file_of(0, MIB);
        let mut asked = 0;

        let found = sample_zeros(&file, MIB, 512, 1, || {
            asked += 1;
            asked > 3
        });

        assert_eq!(found.unwrap(), ZeroSample { blocks: 3, zero_blocks: 3 });
    }

    #[test]
    fn a_range_that_has_no_whole_block_has_no_sample() {
        let file = file_of(0, MIB);

        assert_eq!(sample_zeros(&file, MIB, 2 * MIB, 1, || false).unwrap(), ZeroSample::default());
    }
}
