//! Drawing one of several branches by weight.

/// Weights made ready to draw from.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Upper end of each branch's share of the 64-bit numbers.
    up_to: Vec<u64>,
}

impl Weights {
    /// Weights of 0 or more, one of them above 0; `None` for others.
    pub fn new(weights: &[f64]) -> Option<Self> {
        const NUMBERS: f64 = 18_446_744_073_709_551_616.0; // 2^64
        let total: f64 = weights.iter().sum();
        let fit = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        if !(fit && total.is_finite() && total > 0.0) {
            return None;
        }
        let mut sum = 0.0;
        let mut up_to: Vec<u64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                (sum / total * NUMBERS) as u64 // saturates at the end
            })
            .collect();
        // Rounding leaves the last share a little short: what is beyond it belongs to the last branch with a weight.
        let last = weights.iter().rposition(|weight| *weight > 0.0)?;
        up_to[last..].fill(u64::MAX);
        Some(Self { up_to })
    }

    /// Position of a branch. A branch of weight 0 is never drawn.
    #[inline]
    pub fn draw(&self, rng: &mut fastrand::Rng) -> usize {
        let number = rng.u64(..u64::MAX);
        self.up_to.iter().position(|up_to| number < *up_to).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weights_that_leave_nothing_to_draw_are_none() {
        for weights in [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN, 1.0], &[f64::INFINITY]] {
            assert_eq!(Weights::new(weights), None, "{weights:?}");
        }
    }

    #[test]
    fn a_branch_of_weight_zero_is_never_drawn_wherever_it_stands() {
        let weights = Weights::new(&[0.0, 1e-3, 0.0, 2.0, 0.0]).unwrap();
        let mut rng = fastrand::Rng::with_seed(7);

        assert!((0..100_000).all(|_| matches!(weights.draw(&mut rng), 1 | 3)));
    }

    proptest! {
        // Five standard deviations of a binomial share: one test in some two million is off by chance.
        #[test]
        fn mixes_converge_to_their_shares(weights in prop::collection::vec(0_u32..50, 1..6), seed: u64) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let (total, draws) = (weights.iter().sum::<f64>(), 20_000);
            let ready = Weights::new(&weights).unwrap();
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut counts = vec![0_u32; weights.len()];

            (0..draws).for_each(|_| counts[ready.draw(&mut rng)] += 1);

            for (weight, count) in weights.iter().zip(counts) {
                let share = weight / total;
                let deviation = (share * (1.0 - share) / f64::from(draws)).sqrt();
                prop_assert!((f64::from(count) / f64::from(draws) - share).abs() <= 5.0 * deviation + 1e-12);
            }
        }
    }
}
