//! Numbers drawn from a distribution of the Plan: sizes, lengths, pauses.
//!
//! Normal by Box and Muller (1958), gamma by Marsaglia and Tsang, "A simple method for generating gamma variables", ACM
//! TOMS 26 (2000), with their power trick for shapes below 1; the others by inversion. Draws below zero become zero, as
//! the Plan says, so a distribution that reaches far below zero has a larger mean than its parameter.

use crate::error::{EngineError, Result};
use crate::plan::Distribution;
use std::f64::consts::TAU;

/// Draws from a distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampler {
    law: Law,
    least: u64,
    most: u64,
    /// The whole number that every draw gives, if there is just one.
    fixed: Option<u64>,
}

/// Share of the draws of an unbounded law that may be cut when a longest transfer has to be known.
const CUT_SHARE: f64 = 1e-6;
/// What a standard normal exceeds once in a million draws.
const NORMAL_CUT: f64 = 4.753_424;

#[derive(Debug, Clone, PartialEq)]
enum Law {
    Fixed(f64),
    Uniform(Span),
    Normal { mean: f64, deviation: f64 },
    Exponential { mean: f64 },
    Gamma { shape: f64, scale: f64, min: f64 },
    Lognormal { median: f64, sigma: f64 },
    Tabular { spans: Vec<(f64, Span)> },
}

/// An interval; of whole numbers, both ends count.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    min: f64,
    max: f64,
}

impl Span {
    fn real(self, rng: &mut fastrand::Rng) -> f64 {
        self.min + (self.max - self.min) * rng.f64()
    }

    /// Every whole number inside is equally likely; an interval that holds none gives the nearest.
    fn whole(self, rng: &mut fastrand::Rng) -> f64 {
        let (low, high) = (self.min.ceil(), self.max.floor());
        if low > high { self.real(rng).round() } else { rng.i64(low as i64..=high as i64) as f64 }
    }
}

impl Sampler {
    /// Check a distribution.
    ///
    /// # Errors
    ///
    /// A Plan error for parameters that make no sense, and for distributions over ranks.
    pub fn new(distribution: &Distribution) -> Result<Self> {
        let law = match *distribution {
            Distribution::Fixed { value } => Law::Fixed(number("fixed", "value", value)?),
            Distribution::Uniform { min, max } => uniform(min, max)?,
            Distribution::Normal { mean, deviation } => normal(mean, deviation)?,
            Distribution::Exponential { mean } => Law::Exponential { mean: positive("exponential", "mean", mean)? },
            Distribution::Gamma { mean, shape, min } => gamma(mean, shape, min)?,
            Distribution::Lognormal { median, sigma } => lognormal(median, sigma)?,
            Distribution::Tabular { ref rows } => tabular(rows)?,
            Distribution::Zipf { .. } => return Err(ranks_only("zipf")),
            Distribution::Pareto { .. } => return Err(ranks_only("pareto")),
            Distribution::HotSpot { .. } => return Err(ranks_only("hot_spot")),
        };
        let fixed = if let Law::Fixed(value) = law { Some(value.round() as u64) } else { None };
        Ok(Self { law, least: 0, most: u64::MAX, fixed })
    }

    /// Sizes of reads and writes, for which a buffer has to be there: at least 1 byte, and a law without an upper bound is
    /// cut where it passes at most one draw in a million.
    ///
    /// # Errors
    ///
    /// As for [`Sampler::new`].
    pub fn of_transfers(distribution: &Distribution) -> Result<Self> {
        let plain = Self::new(distribution)?;
        let longest = match plain.law {
            Law::Fixed(value) => value.round(),
            Law::Uniform(span) => span.max,
            Law::Normal { mean, deviation } => mean + NORMAL_CUT * deviation,
            Law::Exponential { mean } => -mean * CUT_SHARE.ln(),
            Law::Gamma { shape, scale, min } => min + scale * gamma_cut(shape),
            Law::Lognormal { median, sigma } => median * (NORMAL_CUT * sigma).exp(),
            Law::Tabular { ref spans } => spans.iter().map(|(_, span)| span.max).fold(0.0, f64::max),
        };
        Ok(Self { least: 1, most: longest.ceil() as u64, ..plain })
    }

    /// No draw is larger.
    pub fn longest(&self) -> u64 {
        self.most
    }

    /// A whole number; never below zero.
    #[inline(always)]
    pub fn sample_u64(&self, rng: &mut fastrand::Rng) -> u64 {
        match self.fixed {
            Some(value) => value,
            None => self.draw_u64(rng),
        }
    }

    #[inline(never)]
    fn draw_u64(&self, rng: &mut fastrand::Rng) -> u64 {
        let value = match &self.law {
            Law::Uniform(span) => span.whole(rng),
            Law::Tabular { spans } => pick(spans, rng).whole(rng),
            _ => self.draw(rng).round(),
        };
        (value as u64).max(self.least).min(self.most) // the cast saturates: below zero is zero
    }

    /// A real number, such as seconds; never below zero.
    #[inline]
    pub fn sample_f64(&self, rng: &mut fastrand::Rng) -> f64 {
        self.draw(rng).max(0.0)
    }

    /// A real number that may lie below zero.
    pub fn unclipped(&self, rng: &mut fastrand::Rng) -> f64 {
        self.draw(rng)
    }

    /// Every value that a draw can take, where there are few: fixed sizes and tables of fixed sizes.
    pub fn values(&self) -> Option<Vec<u64>> {
        match &self.law {
            Law::Fixed(value) => Some(vec![*value as u64]),
            Law::Tabular { spans } => {
                spans.iter().map(|(_, span)| (span.min == span.max).then_some(span.min as u64)).collect()
            }
            _ => None,
        }
    }

    /// The whole number that every draw gives, if there is just one.
    pub fn is_fixed(&self) -> Option<u64> {
        self.fixed
    }

    fn draw(&self, rng: &mut fastrand::Rng) -> f64 {
        match &self.law {
            Law::Fixed(value) => *value,
            Law::Uniform(span) => span.real(rng),
            Law::Normal { mean, deviation } => mean + deviation * standard_normal(rng),
            Law::Exponential { mean } => -mean * above_zero(rng).ln(),
            Law::Gamma { shape, scale, min } => min + scale * standard_gamma(*shape, rng),
            Law::Lognormal { median, sigma } => median * (sigma * standard_normal(rng)).exp(),
            Law::Tabular { spans } => pick(spans, rng).real(rng),
        }
    }
}

/// Uniform in (0, 1], so that its logarithm is finite.
fn above_zero(rng: &mut fastrand::Rng) -> f64 {
    1.0 - rng.f64()
}

fn standard_normal(rng: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * above_zero(rng).ln()).sqrt();
    radius * (TAU * rng.f64()).cos()
}

fn standard_gamma(shape: f64, rng: &mut fastrand::Rng) -> f64 {
    if shape < 1.0 {
        return standard_gamma(shape + 1.0, rng) * above_zero(rng).powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = standard_normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && above_zero(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// In units of the scale, a value that a gamma variate passes at most with [`CUT_SHARE`]: Chernoff's bound
/// `P(X > x) <= e^(k - x) (x / k)^k`, solved by bisection.
fn gamma_cut(shape: f64) -> f64 {
    let excess = |x: f64| shape - x + shape * (x / shape).ln() - CUT_SHARE.ln();
    let (mut low, mut high) = (shape, shape + 60.0 + 60.0 * shape.sqrt());
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    high
}

/// The segment that a draw falls into; `spans` holds cumulated shares.
fn pick(spans: &[(f64, Span)], rng: &mut fastrand::Rng) -> Span {
    let at = rng.f64();
    let index = spans.partition_point(|(up_to, _)| *up_to <= at);
    spans[index.min(spans.len() - 1)].1
}

fn uniform(min: f64, max: f64) -> Result<Law> {
    let (min, max) = (number("uniform", "min", min)?, number("uniform", "max", max)?);
    if min > max {
        return Err(EngineError::Plan(format!("distribution 'uniform': min {min} is above max {max}; swap them")));
    }
    Ok(if min == max { Law::Fixed(min) } else { Law::Uniform(Span { min, max }) })
}

fn normal(mean: f64, deviation: f64) -> Result<Law> {
    let (mean, deviation) = (number("normal", "mean", mean)?, not_negative("normal", "deviation", deviation)?);
    Ok(if deviation == 0.0 { Law::Fixed(mean) } else { Law::Normal { mean, deviation } })
}

fn gamma(mean: f64, shape: f64, min: f64) -> Result<Law> {
    let (mean, shape) = (positive("gamma", "mean", mean)?, positive("gamma", "shape", shape)?);
    Ok(Law::Gamma { shape, scale: mean / shape, min: number("gamma", "min", min)? })
}

fn lognormal(median: f64, sigma: f64) -> Result<Law> {
    let (median, sigma) = (positive("lognormal", "median", median)?, not_negative("lognormal", "sigma", sigma)?);
    Ok(if sigma == 0.0 { Law::Fixed(median) } else { Law::Lognormal { median, sigma } })
}

fn tabular(rows: &[[f64; 3]]) -> Result<Law> {
    let mut spans = Vec::with_capacity(rows.len());
    let mut total = 0.0;
    for &[weight, min, max] in rows {
        total += not_negative("tabular", "weight", weight)?;
        uniform(min, max)?;
        if weight > 0.0 {
            spans.push((total, Span { min, max }));
        }
    }
    if spans.is_empty() {
        return Err(EngineError::Plan("distribution 'tabular' has no row with a weight above 0; give one".to_owned()));
    }
    for (up_to, _) in &mut spans {
        *up_to /= total;
    }
    Ok(Law::Tabular { spans })
}

fn number(kind: &str, field: &str, value: f64) -> Result<f64> {
    if value.is_finite() { Ok(value) } else { Err(unfit(kind, field, value, "a finite number")) }
}

fn positive(kind: &str, field: &str, value: f64) -> Result<f64> {
    if number(kind, field, value)? > 0.0 { Ok(value) } else { Err(unfit(kind, field, value, "above 0")) }
}

fn not_negative(kind: &str, field: &str, value: f64) -> Result<f64> {
    if number(kind, field, value)? >= 0.0 { Ok(value) } else { Err(unfit(kind, field, value, "0 or more")) }
}

fn unfit(kind: &str, field: &str, value: f64, wanted: &str) -> EngineError {
    EngineError::Plan(format!("distribution '{kind}': {field} is {value}; it must be {wanted}"))
}

fn ranks_only(kind: &str) -> EngineError {
    EngineError::Plan(format!(
        "distribution '{kind}' says which file or block is likelier, not how large something is; \
         for sizes and times use fixed, uniform, normal, exponential, gamma, lognormal or tabular"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DRAWS: usize = 200_000;

    fn moments(distribution: &Distribution) -> (f64, f64) {
        let sampler = Sampler::new(distribution).unwrap();
        let mut rng = fastrand::Rng::with_seed(7);
        let draws: Vec<f64> = (0..DRAWS).map(|_| sampler.sample_u64(&mut rng) as f64).collect();
        let mean = draws.iter().sum::<f64>() / DRAWS as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
        (mean, variance)
    }

    /// Mean within five standard errors, variance within 5 %.
    fn assert_moments(distribution: &Distribution, mean: f64, variance: f64) {
        let (seen_mean, seen_variance) = moments(distribution);
        let error = (variance / DRAWS as f64).sqrt();
        assert!((seen_mean - mean).abs() < 5.0 * error + 1e-9, "{distribution:?}: mean {seen_mean}, not {mean}");
        assert!((seen_variance / variance - 1.0).abs() < 0.05, "{distribution:?}: {seen_variance}, not {variance}");
    }

    #[test]
    fn uniform_over_whole_numbers_has_the_moments_of_the_discrete_law() {
        // n = 11 values: mean 15, variance (n^2 - 1) / 12.
        assert_moments(&Distribution::Uniform { min: 10.0, max: 20.0 }, 15.0, 10.0);
    }

    #[test]
    fn uniform_gives_both_ends_as_often_as_the_middle() {
        let sampler = Sampler::new(&Distribution::Uniform { min: 0.0, max: 3.0 }).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut seen = [0_u32; 4];

        (0..40_000).for_each(|_| seen[sampler.sample_u64(&mut rng) as usize] += 1);

        assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
    }

    #[test]
    fn normal_has_its_mean_and_deviation() {
        assert_moments(&Distribution::Normal { mean: 65_536.0, deviation: 8_192.0 }, 65_536.0, 8_192.0_f64.powi(2));
    }

    #[test]
    fn exponential_has_a_variance_of_its_mean_squared() {
        assert_moments(&Distribution::Exponential { mean: 10_000.0 }, 10_000.0, 1e8);
    }

    #[test]
    fn gamma_has_its_moments_above_and_below_shape_one() {
        for shape in [0.3, 1.0, 1.5, 40.0] {
            let distribution = Distribution::Gamma { mean: 16_384.0, shape, min: 4_096.0 };
            assert_moments(&distribution, 20_480.0, 16_384.0_f64.powi(2) / shape);
        }
    }

    #[test]
    fn lognormal_has_its_median_and_the_mean_of_the_closed_form() {
        let sigma = 0.5_f64;
        let mean = 10_000.0 * (sigma * sigma / 2.0).exp();
        let variance = ((sigma * sigma).exp() - 1.0) * mean * mean;

        assert_moments(&Distribution::Lognormal { median: 10_000.0, sigma }, mean, variance);
    }

    #[test]
    fn tabular_mixes_its_rows_by_weight() {
        // 3/4 exactly 1000, 1/4 exactly 5000: mean 2000, variance 3/4 * 1000^2 + 1/4 * 3000^2.
        let rows = vec![[3.0, 1_000.0, 1_000.0], [0.0, 9e9, 9e9], [1.0, 5_000.0, 5_000.0]];

        assert_moments(&Distribution::Tabular { rows }, 2_000.0, 3e6);
    }

    #[test]
    fn draws_below_zero_become_zero() {
        let (mean, _) = moments(&Distribution::Normal { mean: 0.0, deviation: 10_000.0 });

        // max(0, N(0, s)) has mean s / sqrt(2 pi).
        assert!((mean - 10_000.0 / TAU.sqrt()).abs() < 5.0 * 6_000.0 / (DRAWS as f64).sqrt(), "{mean}");
    }

    #[test]
    fn only_what_cannot_vary_is_fixed() {
        let fixed = |distribution: Distribution| Sampler::new(&distribution).unwrap().is_fixed();

        assert_eq!(fixed(Distribution::Fixed { value: 4096.0 }), Some(4096));
        assert_eq!(fixed(Distribution::Fixed { value: -1.0 }), Some(0));
        assert_eq!(fixed(Distribution::Uniform { min: 8.0, max: 8.0 }), Some(8));
        assert_eq!(fixed(Distribution::Normal { mean: 8.0, deviation: 0.0 }), Some(8));
        assert_eq!(fixed(Distribution::Uniform { min: 8.0, max: 9.0 }), None);
    }

    #[test]
    fn ranks_are_refused_with_the_reason() {
        let error = Sampler::new(&Distribution::Zipf { theta: 1.1, scramble: false }).unwrap_err().to_string();

        assert!(error.contains("'zipf' says which file or block is likelier"), "{error}");
    }

    #[test]
    fn parameters_without_sense_are_refused() {
        let unfit = [
            Distribution::Fixed { value: f64::NAN },
            Distribution::Uniform { min: 2.0, max: 1.0 },
            Distribution::Normal { mean: 1.0, deviation: -1.0 },
            Distribution::Exponential { mean: 0.0 },
            Distribution::Gamma { mean: 1.0, shape: 0.0, min: 0.0 },
            Distribution::Lognormal { median: 0.0, sigma: 1.0 },
            Distribution::Tabular { rows: vec![[0.0, 1.0, 2.0]] },
        ];

        for distribution in unfit {
            assert!(matches!(Sampler::new(&distribution), Err(EngineError::Plan(_))), "{distribution:?}");
        }
    }

    #[test]
    fn transfers_of_unbounded_laws_are_cut_at_most_once_in_a_million() {
        let laws = [
            Distribution::Normal { mean: 65_536.0, deviation: 30_000.0 },
            Distribution::Exponential { mean: 65_536.0 },
            Distribution::Gamma { mean: 65_536.0, shape: 0.5, min: 512.0 },
            Distribution::Gamma { mean: 65_536.0, shape: 30.0, min: 0.0 },
            Distribution::Lognormal { median: 16_384.0, sigma: 1.0 },
        ];

        for law in laws {
            let (cut, plain) = (Sampler::of_transfers(&law).unwrap(), Sampler::new(&law).unwrap());
            let mut rng = fastrand::Rng::with_seed(3);
            let beyond = (0..1_000_000).filter(|_| plain.sample_u64(&mut rng) > cut.longest()).count();
            let mut rng = fastrand::Rng::with_seed(3);
            let inside = (0..100_000).all(|_| (1..=cut.longest()).contains(&cut.sample_u64(&mut rng)));
            // One expected at most; seven by chance have probability 1e-4.
            assert!(beyond < 7 && inside, "{law:?}: {beyond} beyond {}", cut.longest());
            assert!(cut.longest() < 8 << 20, "{law:?}: {}", cut.longest());
        }
    }

    #[test]
    fn a_transfer_has_at_least_a_byte() {
        let sampler = Sampler::of_transfers(&Distribution::Uniform { min: 0.0, max: 1.0 }).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);

        assert!((0..100).all(|_| sampler.sample_u64(&mut rng) == 1));
    }

    proptest! {
        #[test]
        fn uniform_never_leaves_its_bounds(min in 0_u32..1_000_000, width in 0_u32..1_000_000, seed: u64) {
            let (min, max) = (f64::from(min), f64::from(min) + f64::from(width));
            let sampler = Sampler::new(&Distribution::Uniform { min, max }).unwrap();
            let mut rng = fastrand::Rng::with_seed(seed);

            for _ in 0..100 {
                let value = sampler.sample_u64(&mut rng) as f64;
                prop_assert!(value >= min && value <= max);
            }
        }
    }
}
