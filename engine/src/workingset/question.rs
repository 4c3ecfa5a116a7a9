//! The question of a caller: a JSON object.

use super::TraceError;
use super::policies::policy_name::PolicyName;
use super::readers::{ColumnMap, ReadOptions, TraceFormat};
use super::sampled_keys::Sampling;
use super::tiers::TierQuestion;
use serde::Deserialize;

/// Most traces of a question.
const MOST_TRACES: usize = 1024;
/// Bytes of a block, from a sector to a large extent.
const BLOCKS: std::ops::RangeInclusive<u64> = 512..=1 << 30;
/// Caches that are simulated at once.
const MOST_CACHES: usize = 512;

/// A trace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceName {
    /// Where it is read; `-`: standard input.
    pub path: String,
    /// What it is called in messages, and its device where it names none.
    pub name: String,
}

/// What caches of other policies would serve.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyQuestion {
    /// Which.
    pub names: Vec<PolicyName>,
    /// Sizes in blocks.
    pub sizes: Vec<u64>,
    /// Share of the keys that is simulated.
    pub rate: f64,
}

/// What fast storage would serve.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierShare {
    /// Share of the capacity.
    pub fraction: f64,
    /// Length of a period.
    pub period_s: f64,
    /// Bytes of an extent.
    pub extent_bytes: u64,
}

/// What is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The traces.
    pub traces: Vec<TraceName>,
    /// Of all; None: found out for each.
    pub format: Option<TraceFormat>,
    /// Columns of a CSV.
    pub columns: Option<ColumnMap>,
    /// Whether requests of blktrace count when the device gets them.
    #[serde(default)]
    pub at_issue: bool,
    /// A power of two.
    pub block_bytes: u64,
    /// Whether writes are left out.
    #[serde(default)]
    pub reads_only: bool,
    /// A fixed share of the keys; None: by their number.
    pub rate: Option<f64>,
    /// Whether all keys are looked at.
    #[serde(default)]
    pub exact: bool,
    /// Up to as many keys, all are looked at.
    pub exact_keys: usize,
    /// Keys of the sample, where there are more.
    pub most_keys: usize,
    /// Sizes in blocks that the curve is also wanted at.
    #[serde(default)]
    pub sizes: Vec<u64>,
    /// Instead of the curve.
    pub policies: Option<PolicyQuestion>,
    /// With the curve.
    pub tier: Option<TierShare>,
}

impl Question {
    /// Read and check a question.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let question: Self = serde_json::from_str(text)
            .map_err(|error| TraceError::Input(format!("the question is not as it has to be: {error}")))?;
        question.check().map_err(|why| TraceError::Input(why.into()))?;
        Ok(question)
    }

    fn check(&self) -> Result<(), &'static str> {
        let is_share = |share: f64| share > 0.0 && share <= 1.0;
        if self.traces.is_empty() || self.traces.len() > MOST_TRACES {
            return Err("there are from 1 to 1024 traces");
        }
        if !self.block_bytes.is_power_of_two() || !BLOCKS.contains(&self.block_bytes) {
            return Err("a block is a power of two from 512 bytes to 1 GiB");
        }
        if self.rate.is_some_and(|rate| !is_share(rate)) || self.policies.as_ref().is_some_and(|of| !is_share(of.rate))
        {
            return Err("a rate is above 0, and 1 at most");
        }
        if self.most_keys < 64 || self.most_keys > 1 << 26 || self.exact_keys > 1 << 26 {
            return Err("a sample has from 64 to 2^26 keys");
        }
        let is_too_much = |of: &PolicyQuestion| of.names.len() * of.sizes.len() > MOST_CACHES || of.sizes.contains(&0);
        if self.policies.as_ref().is_some_and(is_too_much) {
            return Err("at most 512 caches are simulated, of 1 block and more");
        }
        if self.sizes.len() > MOST_CACHES || self.sizes.contains(&0) {
            return Err("at most 512 sizes are asked for, of 1 block and more");
        }
        if let Some(tier) = &self.tier {
            let is_extent = tier.extent_bytes >= self.block_bytes && tier.extent_bytes % self.block_bytes == 0;
            if !is_share(tier.fraction) || !(60.0..=1e9).contains(&tier.period_s) || !is_extent {
                return Err("a tier has a share up to 1, a period from a minute, and extents of whole blocks");
            }
        }
        Ok(())
    }

    /// How traces are to be read.
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions { format: self.format, columns: self.columns.clone(), at_issue: self.at_issue }
    }

    /// Which keys are looked at.
    pub fn sampling(&self) -> Sampling {
        match self.rate {
            _ if self.exact => Sampling::Exact,
            Some(1.0) => Sampling::Exact,
            Some(rate) => Sampling::Rate(rate),
            None => Sampling::Fixed { exact: self.exact_keys, most: self.most_keys },
        }
    }

    /// What is asked of tiers.
    pub fn tier_question(&self) -> Option<TierQuestion> {
        self.tier.map(|tier| TierQuestion {
            fraction: tier.fraction,
            period_ns: (tier.period_s * 1e9) as u64,
            extent_bytes: tier.extent_bytes,
            block_bytes: self.block_bytes,
        })
    }
}
