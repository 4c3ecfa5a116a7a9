//! Cutting a transfer into the parts that its content is made and judged in while other requests are in flight.

use std::ops::Range;

/// Content that is made, or judged, at a time. A multiple of a block of content, so that parts have the bytes of the whole.
pub const PART_BYTES: u64 = 64 << 10;

/// The parts that a transfer's content is made and judged in, cut where the file has a multiple of [`PART_BYTES`]: so each
/// block of a file, and each unit that has a generation of its own, is in one part. A transfer of nothing has one part.
pub fn parts(offset: u64, length: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let end = length.min(start + (PART_BYTES - (offset + start as u64) % PART_BYTES) as usize);
        next = (end < length).then_some(end);
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_cut_at_multiples_of_the_file_and_nothing_is_left_out() {
        let cut = |offset, length| parts(offset, length).collect::<Vec<_>>();
        const PART: usize = PART_BYTES as usize;

        assert_eq!(cut(7, 0), vec![0..0; 1]);
        assert_eq!(cut(PART_BYTES, 4096), vec![0..4096; 1]);
        assert_eq!(cut(PART_BYTES, PART), vec![0..PART; 1]);
        assert_eq!(cut(PART_BYTES - 512, 2 * PART), [0..512, 512..512 + PART, 512 + PART..2 * PART]);
    }
}
