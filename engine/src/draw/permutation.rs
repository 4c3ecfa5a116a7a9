//! Random orders of many numbers that need no memory.

/// A random order of `0..len` without a table: a four-round Feistel network on the smallest even number of bits that
/// holds `len`, walked on until it falls inside (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
#[derive(Debug, Clone)]
pub struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// An order of `0..len`; the same seed gives the same order.
    pub fn new(len: u64, seed: u64) -> Self {
        let bits = 64 - len.saturating_sub(1).leading_zeros();
        let mut rng = fastrand::Rng::with_seed(seed);
        Self { len, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| rng.u64(..)) }
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.len
    }

    /// The number at a place of the order; `index` is below `len`.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
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

    proptest! {
        #[test]
        fn every_number_has_one_place(len in 1_u64..3000, seed: u64) {
            let order = Permutation::new(len, seed);
            let mut seen: Vec<u64> = (0..len).map(|index| order.at(index)).collect();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..len));
        }
    }

    #[test]
    fn an_order_of_very_many_numbers_stays_inside() {
        let order = Permutation::new(1 << 40, 3);

        assert!((0..1000).all(|turn| order.at((1 << 40) - 1 - turn) < 1 << 40));
    }
}
