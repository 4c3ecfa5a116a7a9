//! Caches of other policies than LRU, in miniature: a share R of the keys, in a cache of R times the size.
//!
//! Miniature simulation (Waldspurger et al., ATC '17). The misses of the small cache are those of 1/R times as many, so
//! the hit ratio is what of the expected accesses does not miss. With R = 1 it is exact.

mod arc;
mod fifo;
mod lfu;
mod lru;
pub mod policy_name;
mod ranked;
mod s3_fifo;
mod two_q;

use super::question::PolicyQuestion;
use super::sampled_keys::{SampledKeys, Sampling};
use policy_name::PolicyName;
use serde::Serialize;

/// A cache.
pub trait CachePolicy {
    /// Use a block: whether it was there.
    fn access(&mut self, key: u64) -> bool;
}

/// Make an empty cache for a number of blocks, 1 or more.
pub fn make(name: PolicyName, blocks: usize) -> Box<dyn CachePolicy> {
    match name {
        PolicyName::Lru => Box::new(lru::Lru::new(blocks)),
        PolicyName::Fifo => Box::new(fifo::Fifo::new(blocks)),
        PolicyName::Lfu => Box::new(lfu::Lfu::new(blocks)),
        PolicyName::Arc => Box::new(arc::AdaptiveReplacement::new(blocks)),
        PolicyName::S3Fifo => Box::new(s3_fifo::S3Fifo::new(blocks)),
        PolicyName::TwoQ => Box::new(two_q::TwoQueues::new(blocks)),
    }
}

/// What a policy serves, by size.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyServed {
    /// Which.
    pub name: PolicyName,
    /// Hit ratio of each size that was asked for; None where the small cache would have too few blocks.
    pub hits: Vec<Option<f64>>,
}

/// Blocks of the smallest cache that still shows what a policy does.
const LEAST_BLOCKS: f64 = 16.0;

/// A cache, and its misses.
struct Simulated {
    cache: Option<Box<dyn CachePolicy>>,
    misses: u64,
}

/// All policies in all sizes.
pub struct Simulations {
    names: Vec<PolicyName>,
    sizes: usize,
    keys: SampledKeys,
    caches: Vec<Simulated>,
    accesses: u64,
}

impl Simulations {
    /// All empty.
    pub fn new(question: &PolicyQuestion) -> Self {
        let keys = SampledKeys::new(if question.rate < 1.0 { Sampling::Rate(question.rate) } else { Sampling::Exact });
        let small = |blocks: u64| {
            let small = (blocks as f64 * keys.rate()).round();
            (keys.rate() == 1.0 || small >= LEAST_BLOCKS).then_some(small as usize)
        };
        let cache = |name, size| Simulated { cache: small(size).map(|blocks| make(name, blocks)), misses: 0 };
        let caches = question.names.iter().flat_map(|&name| question.sizes.iter().map(move |&size| (name, size)));
        let caches = caches.map(|(name, size)| cache(name, size)).collect();
        Self { names: question.names.clone(), sizes: question.sizes.len(), keys, caches, accesses: 0 }
    }

    /// Use a block.
    #[inline]
    pub fn touch(&mut self, hash: u64) {
        self.accesses += 1;
        if self.keys.has(hash) {
            for simulated in &mut self.caches {
                if let Some(cache) = &mut simulated.cache {
                    simulated.misses += u64::from(!cache.access(hash));
                }
            }
        }
    }

    /// What each serves.
    pub fn finish(self) -> Vec<PolicyServed> {
        let expected = self.accesses as f64 * self.keys.rate();
        let hit = |one: &Simulated| one.cache.as_ref().map(|_| (1.0 - one.misses as f64 / expected).max(0.0));
        let of = self.caches.chunks(self.sizes.max(1));
        self.names.iter().zip(of).map(|(&name, of)| PolicyServed { name, hits: of.iter().map(hit).collect() }).collect()
    }
}
