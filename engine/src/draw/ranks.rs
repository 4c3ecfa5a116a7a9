//! Which of `n` blocks or files is next, where some are likelier than others.
//!
//! Zipf by rejection inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996): no table, the same cost for any `n`. Pareto as fio has it: rank `n u^p`, with
//! `p` such that share `h` of the draws falls into the first share `1 - h` of the ranks. Normal and tabular draw a position
//! in [0, 1) of the range; what falls outside is drawn again, so the law is the one given that it is inside.

use crate::draw::permutation::Permutation;
use crate::draw::sizes::Sampler;
use crate::error::{EngineError, Result};
use crate::plan::Distribution;

/// Widest normal distribution in units of the whole range: wider ones are uniform, and would be drawn again too often.
const WIDEST_DEVIATION: f64 = 10.0;

/// Draws ranks below a number that may change from one draw to the next.
#[derive(Debug, Clone)]
pub struct Ranks {
    law: Law,
    /// Seed of the order in which ranks are scattered.
    scramble: Option<u64>,
    n: u64,
    zipf: Zipf,
    order: Permutation,
}

#[derive(Debug, Clone)]
enum Law {
    Uniform,
    Zipf { theta: f64 },
    Pareto { power: f64 },
    HotSpot { range_share: f64, access_share: f64 },
    Position(Sampler),
}

impl Ranks {
    /// Check a distribution over ranks or positions. `seed` decides where the likely ones lie if they are scattered: give
    /// all workers the same, and they share their hot blocks.
    ///
    /// # Errors
    ///
    /// A Plan error for a distribution that says nothing about ranks, or parameters without sense.
    pub fn new(distribution: &Distribution, seed: u64) -> Result<Self> {
        let mut scramble = None;
        let law = match *distribution {
            Distribution::Uniform { min: 0.0, max: 1.0 } => Law::Uniform,
            Distribution::Zipf { theta, scramble: scattered } => {
                within("zipf", "theta", theta, 0.01, 10.0)?;
                scramble = scattered.then_some(seed);
                Law::Zipf { theta }
            }
            Distribution::Pareto { h, scramble: scattered } => {
                within("pareto", "h", h, 0.5, 0.999)?;
                scramble = scattered.then_some(seed);
                Law::Pareto { power: (1.0 - h).ln() / h.ln() }
            }
            Distribution::HotSpot { range_share, access_share } => {
                within("hot_spot", "range_share", range_share, 0.0, 1.0)?;
                within("hot_spot", "access_share", access_share, 0.0, 1.0)?;
                Law::HotSpot { range_share, access_share }
            }
            Distribution::Uniform { min, max } => {
                within("uniform", "min", min, 0.0, 1.0)?;
                within("uniform", "max", max, 0.0, 1.0)?;
                Law::Position(Sampler::new(distribution)?)
            }
            Distribution::Normal { mean, deviation } => {
                within("normal", "mean", mean, 0.0, 1.0)?;
                within("normal", "deviation", deviation, 0.0, WIDEST_DEVIATION)?;
                Law::Position(Sampler::new(distribution)?)
            }
            Distribution::Tabular { ref rows } => {
                for &[_, min, max] in rows {
                    within("tabular", "segment", min, 0.0, 1.0)?;
                    within("tabular", "segment", max, 0.0, 1.0)?;
                }
                Law::Position(Sampler::new(distribution)?)
            }
            _ => {
                return Err(EngineError::Plan(
                    "blocks and files are picked by a distribution over the range: uniform, zipf, pareto, normal, \
                     hot_spot or tabular"
                        .to_owned(),
                ));
            }
        };
        Ok(Self { law, scramble, n: 0, zipf: Zipf::new(1.0, 1), order: Permutation::new(1, 0) })
    }

    /// Whether all ranks are equally likely.
    pub fn is_uniform(&self) -> bool {
        matches!(self.law, Law::Uniform)
    }

    /// A rank below `n`, which is above 0.
    #[inline]
    pub fn draw(&mut self, n: u64, rng: &mut fastrand::Rng) -> u64 {
        if n != self.n {
            self.resize(n);
        }
        let rank = match &self.law {
            Law::Uniform => return rng.u64(..n),
            Law::Zipf { .. } => self.zipf.draw(rng),
            Law::Pareto { power } => below((power * (1.0 - rng.f64()).ln()).exp(), n),
            Law::HotSpot { range_share, access_share } => hot_spot(*range_share, *access_share, n, rng),
            Law::Position(sampler) => position(sampler, n, rng),
        };
        if self.scramble.is_some() { self.order.at(rank) } else { rank }
    }

    #[cold]
    fn resize(&mut self, n: u64) {
        self.n = n;
        if let Law::Zipf { theta } = self.law {
            self.zipf = Zipf::new(theta, n);
        }
        if let Some(seed) = self.scramble {
            self.order = Permutation::new(n, seed);
        }
    }
}

/// The rank at a share of the range.
#[inline]
fn below(share: f64, n: u64) -> u64 {
    ((share * n as f64) as u64).min(n - 1)
}

fn hot_spot(range_share: f64, access_share: f64, n: u64, rng: &mut fastrand::Rng) -> u64 {
    let hot = (range_share * n as f64).round() as u64;
    // A hot or cold part without a block leaves all draws to the other.
    if hot == 0 || (hot < n && rng.f64() >= access_share) { rng.u64(hot..n) } else { rng.u64(..hot) }
}

fn position(sampler: &Sampler, n: u64, rng: &mut fastrand::Rng) -> u64 {
    loop {
        let share = sampler.unclipped(rng);
        if (0.0..=1.0).contains(&share) {
            return below(share, n);
        }
    }
}

/// Rejection inversion, in the names of the paper: `H` is the integral of the density `h(x) = x^-theta`.
#[derive(Debug, Clone)]
struct Zipf {
    theta: f64,
    n: f64,
    h_integral_first: f64,
    h_integral_last: f64,
    sure: f64,
}

impl Zipf {
    fn new(theta: f64, n: u64) -> Self {
        let mut zipf = Self { theta, n: n as f64, h_integral_first: 0.0, h_integral_last: 0.0, sure: 0.0 };
        zipf.h_integral_first = zipf.h_integral(1.5) - 1.0;
        zipf.h_integral_last = zipf.h_integral(zipf.n + 0.5);
        zipf.sure = 2.0 - zipf.h_integral_inverse(zipf.h_integral(2.5) - zipf.h(2.0));
        zipf
    }

    #[inline]
    fn draw(&self, rng: &mut fastrand::Rng) -> u64 {
        loop {
            let u = self.h_integral_last + rng.f64() * (self.h_integral_first - self.h_integral_last);
            let x = self.h_integral_inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.n);
            if k - x <= self.sure || u >= self.h_integral(k + 0.5) - self.h(k) {
                return k as u64 - 1;
            }
        }
    }

    fn h(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    fn h_integral(&self, x: f64) -> f64 {
        let log_x = x.ln();
        expm1_over((1.0 - self.theta) * log_x) * log_x
    }

    fn h_integral_inverse(&self, x: f64) -> f64 {
        // Rounding can push the argument past the pole of the logarithm.
        let t = (x * (1.0 - self.theta)).max(-1.0);
        (ln1p_over(t) * x).exp()
    }
}

/// `(e^x - 1) / x`, by its series near 0, where theta is 1.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0) }
}

/// `ln(1 + x) / x`, by its series near 0.
fn ln1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

fn within(kind: &str, field: &str, value: f64, min: f64, max: f64) -> Result<()> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(EngineError::Plan(format!(
        "distribution '{kind}': {field} is {value}; over blocks or files it lies between {min} and {max}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DRAWS: usize = 400_000;

    fn counts(distribution: &Distribution, n: u64) -> Vec<f64> {
        let mut ranks = Ranks::new(distribution, 5).unwrap();
        let mut rng = fastrand::Rng::with_seed(11);
        let mut counts = vec![0.0; n as usize];
        (0..DRAWS).for_each(|_| counts[ranks.draw(n, &mut rng) as usize] += 1.0);
        counts
    }

    /// Chi-square against expected shares, bound five deviations above its mean; the seed is fixed.
    fn assert_shares(counts: &[f64], shares: &[f64]) {
        let expected = shares.iter().map(|share| share * DRAWS as f64);
        let chi_square: f64 = counts.iter().zip(expected).map(|(seen, wanted)| (seen - wanted).powi(2) / wanted).sum();
        let freedom = (counts.len() - 1) as f64;
        assert!(chi_square < freedom + 5.0 * (2.0 * freedom).sqrt(), "chi-square {chi_square} of {freedom}");
    }

    fn zipf_shares(theta: f64, n: u64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=n).map(|rank| (rank as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / total).collect()
    }

    #[test]
    fn zipf_ranks_have_the_probabilities_of_the_closed_form() {
        for theta in [0.3, 0.99, 1.0, 1.2, 2.5] {
            let seen = counts(&Distribution::Zipf { theta, scramble: false }, 50);
            assert_shares(&seen, &zipf_shares(theta, 50));
        }
    }

    #[test]
    fn scattering_moves_ranks_and_keeps_their_probabilities() {
        let mut seen = counts(&Distribution::Zipf { theta: 1.1, scramble: true }, 50);

        assert!(seen.windows(2).any(|pair| pair[0] < pair[1] / 2.0), "the order is still that of the ranks");
        seen.sort_by(|a, b| b.total_cmp(a));
        // Sorting by count pulls near-equal ranks apart a little; the ten likeliest lie too far apart for that.
        let shares = zipf_shares(1.1, 50);
        for (count, share) in seen.iter().zip(&shares).take(10) {
            assert!((count / (share * DRAWS as f64) - 1.0).abs() < 0.03, "{count} {share}");
        }
    }

    #[test]
    fn two_workers_scatter_to_the_same_blocks() {
        let law = Distribution::Zipf { theta: 1.2, scramble: true };
        let hottest = |rng_seed| {
            let (mut ranks, mut rng) = (Ranks::new(&law, 77).unwrap(), fastrand::Rng::with_seed(rng_seed));
            let mut counts = vec![0; 1000];
            (0..20_000).for_each(|_| counts[ranks.draw(1000, &mut rng) as usize] += 1);
            (0..1000).max_by_key(|&rank| counts[rank])
        };

        assert_eq!(hottest(1), hottest(2));
    }

    #[test]
    fn pareto_sends_share_h_to_share_one_minus_h() {
        for h in [0.6, 0.8, 0.9] {
            let n = 1000;
            let seen = counts(&Distribution::Pareto { h, scramble: false }, n);
            let first = ((1.0 - h) * n as f64).round() as usize;
            let share = seen[..first].iter().sum::<f64>() / DRAWS as f64;
            // Four standard errors of a share of 400,000 draws.
            assert!((share - h).abs() < 4.0 * (h * (1.0 - h) / DRAWS as f64).sqrt(), "h {h}: {share}");
        }
    }

    #[test]
    fn a_hot_spot_gets_its_share_evenly() {
        let seen = counts(&Distribution::HotSpot { range_share: 0.2, access_share: 0.9 }, 50);

        let mut shares = vec![0.9 / 10.0; 10];
        shares.extend([0.1 / 40.0; 40]);
        assert_shares(&seen, &shares);
    }

    #[test]
    fn normal_has_the_shares_of_its_bell_inside_the_range() {
        let (mean, deviation, n) = (0.5, 0.2, 20);
        let seen = counts(&Distribution::Normal { mean, deviation }, n);

        // Midpoint rule over each twentieth, fine enough for chi-square at this many draws.
        let density = |x: f64| (-((x - mean) / deviation).powi(2) / 2.0).exp();
        let part =
            |i: u64| (0..200).map(|j| density((i as f64 + (f64::from(j) + 0.5) / 200.0) / n as f64)).sum::<f64>();
        let parts: Vec<f64> = (0..n).map(part).collect();
        let total: f64 = parts.iter().sum();
        assert_shares(&seen, &parts.into_iter().map(|part| part / total).collect::<Vec<_>>());
    }

    #[test]
    fn tabular_segments_are_shares_of_the_range() {
        let rows = vec![[3.0, 0.0, 0.1], [1.0, 0.5, 1.0]];
        let seen = counts(&Distribution::Tabular { rows }, 100);

        let share = |range: std::ops::Range<usize>| seen[range].iter().sum::<f64>() / DRAWS as f64;
        assert!((share(0..10) - 0.75).abs() < 0.005 && share(10..50) == 0.0);
    }

    #[test]
    fn zipf_over_a_trillion_blocks_stays_inside_and_skewed() {
        let n = 1 << 40;
        let mut ranks = Ranks::new(&Distribution::Zipf { theta: 1.0, scramble: false }, 1).unwrap();
        let mut rng = fastrand::Rng::with_seed(2);

        let draws: Vec<u64> = (0..100_000).map(|_| ranks.draw(n, &mut rng)).collect();

        assert!(draws.iter().all(|&rank| rank < n));
        // P(rank < m) is about H(m) / H(n) with H(x) = ln x + 0.5772: (ln 2^20 + 0.5772) / (ln 2^40 + 0.5772) = 0.5102.
        let low = draws.iter().filter(|&&rank| rank < 1 << 20).count() as f64 / 1e5;
        assert!((low - 0.5102).abs() < 0.007, "{low}");
    }

    #[test]
    fn what_says_nothing_about_ranks_is_refused() {
        for law in [
            Distribution::Fixed { value: 0.5 },
            Distribution::Exponential { mean: 0.5 },
            Distribution::Zipf { theta: 0.0, scramble: false },
            Distribution::Pareto { h: 0.2, scramble: false },
            Distribution::HotSpot { range_share: 1.5, access_share: 0.5 },
            Distribution::Normal { mean: 4096.0, deviation: 1.0 },
            Distribution::Tabular { rows: vec![[1.0, 0.0, 4096.0]] },
        ] {
            assert!(matches!(Ranks::new(&law, 0), Err(EngineError::Plan(_))), "{law:?}");
        }
    }

    fn laws() -> impl Strategy<Value = Distribution> {
        prop_oneof![
            (0.01..5.0, any::<bool>()).prop_map(|(theta, scramble)| Distribution::Zipf { theta, scramble }),
            (0.5..0.999, any::<bool>()).prop_map(|(h, scramble)| Distribution::Pareto { h, scramble }),
            (0.0..=1.0, 0.0..=1.0)
                .prop_map(|(range_share, access_share)| Distribution::HotSpot { range_share, access_share }),
            (0.0..=1.0, 0.0..3.0).prop_map(|(mean, deviation)| Distribution::Normal { mean, deviation }),
        ]
    }

    proptest! {
        #[test]
        fn no_rank_lies_outside_even_when_the_range_changes(law in laws(), seed: u64, sizes in prop::collection::vec(1_u64..1 << 40, 1..5)) {
            let mut ranks = Ranks::new(&law, seed).unwrap();
            let mut rng = fastrand::Rng::with_seed(seed);
            for n in sizes {
                for _ in 0..50 {
                    prop_assert!(ranks.draw(n, &mut rng) < n);
                }
            }
        }
    }
}
