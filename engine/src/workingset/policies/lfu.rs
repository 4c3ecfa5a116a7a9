//! Least frequently used since it came in; of equals, the one used longest ago leaves.

use super::super::sampled_keys::ByHash;
use super::CachePolicy;
use std::collections::BTreeSet;

/// The cache.
#[derive(Debug)]
pub struct Lfu {
    blocks: usize,
    now: u64,
    rank_of: ByHash<(u64, u64)>,
    by_rank: BTreeSet<(u64, u64, u64)>,
}

impl Lfu {
    /// Empty.
    pub fn new(blocks: usize) -> Self {
        Self { blocks, now: 0, rank_of: ByHash::default(), by_rank: BTreeSet::new() }
    }
}

impl CachePolicy for Lfu {
    fn access(&mut self, key: u64) -> bool {
        self.now += 1;
        let before = self.rank_of.get(&key).copied();
        match before {
            Some((uses, last)) => {
                self.by_rank.remove(&(uses, last, key));
            }
            None if self.rank_of.len() == self.blocks => {
                if let Some((_, _, least)) = self.by_rank.pop_first() {
                    self.rank_of.remove(&least);
                }
            }
            None => {}
        }
        let uses = before.map_or(1, |(uses, _)| uses + 1);
        self.rank_of.insert(key, (uses, self.now));
        self.by_rank.insert((uses, self.now, key));
        before.is_some()
    }
}
