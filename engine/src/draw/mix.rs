//! Numbers that scatter others.

/// What SplitMix64 goes on by.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Finaliser of SplitMix64 over a Weyl step: a bijection of 64-bit numbers that scatters neighbours.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
