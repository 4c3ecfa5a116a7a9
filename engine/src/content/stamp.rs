//! Stamps that make written data verifiable: each sector of 512 bytes says where it belongs and when it was written.
//!
//! A sector begins with five little-endian words: checksum, set, file index, offset in the file, generation. The checksum
//! is over the other 504 bytes. The four words after it are hidden under numbers made from the checksum, so that stamps
//! give a compressor nothing to find. A sector is the unit because storage tears writes at sectors, not at blocks.
//!
//! The checksum multiplies 32-bit halves as XXH3 does (Y. Collet, "XXH3", long input): eight lanes, each adding its
//! neighbour's word, so that a single changed bit always changes a lane.

/// Bytes that carry a stamp each.
pub const SECTOR_BYTES: usize = 512;
/// Bytes of a stamp.
pub const STAMP_BYTES: usize = 40;
const LANES: usize = 8;
const KEYS: [u64; LANES] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
];

use crate::draw::mix::mix;

/// What a sector says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Content seed of its set.
    pub set: u64,
    /// Index of its file.
    pub file: u64,
    /// Offset in the file in bytes.
    pub offset: u64,
    /// How often its block had been written before it, 0 for laying out.
    pub generation: u64,
}

/// What a sector holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sector {
    /// A stamp whose checksum is right.
    Stamped(Stamp),
    /// Nothing but zeros.
    Zeros,
    /// Something else.
    Garbage,
}

/// Puts stamps on sectors and reads them.
#[derive(Debug, Clone, Copy)]
pub struct Stamper {
    has_avx2: bool,
}

impl Stamper {
    /// Uses what this CPU has.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has_avx2 = std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let has_avx2 = false;
        Self { has_avx2 }
    }

    /// Stamp the whole sectors of a buffer that goes to `first.offset`; a rest shorter than a sector stays as it is.
    pub fn stamp(self, buffer: &mut [u8], first: Stamp) {
        let offsets = (first.offset..).step_by(SECTOR_BYTES);
        for (sector, offset) in buffer.chunks_exact_mut(SECTOR_BYTES).zip(offsets) {
            for (at, word) in [first.set, first.file, offset, first.generation].into_iter().enumerate() {
                put(sector, at + 1, word);
            }
            let checksum = self.checksum(sector);
            put(sector, 0, checksum);
            hide(sector, checksum);
        }
    }

    /// Read one sector; `sector` has [`SECTOR_BYTES`], and holds its stamp in the open afterwards.
    pub fn read(self, sector: &mut [u8]) -> Sector {
        let checksum = word(sector, 0);
        hide(sector, checksum);
        if self.checksum(sector) == checksum {
            let [set, file, offset, generation] = std::array::from_fn(|at| word(sector, at + 1));
            return Sector::Stamped(Stamp { set, file, offset, generation });
        }
        hide(sector, checksum);
        if sector.iter().all(|byte| *byte == 0) { Sector::Zeros } else { Sector::Garbage }
    }

    fn checksum(self, sector: &[u8]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: `has_avx2` is true only if this CPU reports it.
            return unsafe { checksum_avx2(sector) };
        }
        checksum_portable(sector)
    }
}

impl Default for Stamper {
    fn default() -> Self {
        Self::new()
    }
}

fn put(sector: &mut [u8], at: usize, word: u64) {
    sector[at * 8..at * 8 + 8].copy_from_slice(&word.to_le_bytes());
}

fn word(sector: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(sector[at * 8..at * 8 + 8].try_into().expect("eight bytes"))
}

/// Hide the words after the checksum, or bring them to light again.
fn hide(sector: &mut [u8], checksum: u64) {
    for at in 1..STAMP_BYTES / 8 {
        let hidden = word(sector, at) ^ mix(checksum.wrapping_add(at as u64));
        put(sector, at, hidden);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn checksum_avx2(sector: &[u8]) -> u64 {
    checksum_portable(sector)
}

/// Inlined into the AVX2 version, so that both are the same code. The place of the checksum itself counts as zero.
#[inline(always)]
fn checksum_portable(sector: &[u8]) -> u64 {
    let mut lanes = KEYS;
    for (stripe, number) in sector.chunks_exact(LANES * 8).zip(0_u64..) {
        let mut words = [0_u64; LANES];
        for (word, bytes) in words.iter_mut().zip(stripe.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        if number == 0 {
            words[0] = 0;
        }
        for lane in 0..LANES {
            // The stripe's number goes into the key, so that stripes that change places are seen.
            let keyed = words[lane] ^ KEYS[lane].wrapping_add(number << 17 | number);
            let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
            lanes[lane] = lanes[lane].wrapping_add(product).wrapping_add(words[lane ^ 1]);
        }
    }
    // Odd factors: no change of one lane is lost. Products side by side are quicker than a chain.
    let sum = lanes.into_iter().zip(KEYS).fold(0_u64, |sum, (lane, key)| sum.wrapping_add(lane.wrapping_mul(key | 1)));
    mix(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamped(fill: u8) -> Vec<u8> {
        let mut buffer = vec![fill; 4096];
        Stamper::new().stamp(&mut buffer, Stamp { set: 7, file: 3, offset: 8192, generation: 5 });
        buffer
    }

    #[test]
    fn every_sector_says_where_it_belongs() {
        let mut buffer = stamped(0xa5);

        for (at, sector) in buffer.chunks_exact_mut(SECTOR_BYTES).enumerate() {
            let wanted = Stamp { set: 7, file: 3, offset: 8192 + 512 * at as u64, generation: 5 };
            assert_eq!(Stamper::new().read(sector), Sector::Stamped(wanted));
        }
    }

    #[test]
    fn no_single_bit_can_change_unseen() {
        let original = stamped(0x3c);
        for bit in 0..SECTOR_BYTES * 8 {
            let mut sector = original[..SECTOR_BYTES].to_vec();
            sector[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Stamper::new().read(&mut sector), Sector::Garbage, "bit {bit}");
        }
    }

    #[test]
    fn zeros_are_told_from_garbage() {
        assert_eq!(Stamper::new().read(&mut [0; SECTOR_BYTES]), Sector::Zeros);
        assert_eq!(Stamper::new().read(&mut [1; SECTOR_BYTES]), Sector::Garbage);
    }

    proptest! {
        #[test]
        fn damage_of_any_kind_is_seen(at in 0_usize..SECTOR_BYTES, bytes in prop::collection::vec(any::<u8>(), 1..64)) {
            let original = stamped(0x11);
            let mut sector = original[..SECTOR_BYTES].to_vec();
            for (to, byte) in sector[at..].iter_mut().zip(bytes) {
                *to = byte;
            }
            let changed = sector != original[..SECTOR_BYTES];
            prop_assert_eq!(matches!(Stamper::new().read(&mut sector), Sector::Garbage), changed);
        }

        #[test]
        fn stripes_that_change_places_are_seen(a in 0_usize..8, b in 0_usize..8) {
            let mut buffer: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            Stamper::new().stamp(&mut buffer, Stamp { set: 1, file: 0, offset: 0, generation: 0 });
            let mut sector = buffer[..SECTOR_BYTES].to_vec();
            for byte in 0..64 {
                sector.swap(a * 64 + byte, b * 64 + byte);
            }
            prop_assert_eq!(matches!(Stamper::new().read(&mut sector), Sector::Garbage), a != b);
        }

        #[test]
        fn avx2_and_portable_code_give_the_same_checksum(bytes in prop::collection::vec(any::<u8>(), SECTOR_BYTES)) {
            prop_assert_eq!(Stamper::new().checksum(&bytes), checksum_portable(&bytes));
        }
    }
}
