//! Least recently used.

use super::CachePolicy;
use super::ranked::Row;

/// The cache.
#[derive(Debug)]
pub struct Lru {
    blocks: usize,
    row: Row<()>,
}

impl Lru {
    /// Empty.
    pub fn new(blocks: usize) -> Self {
        Self { blocks, row: Row::default() }
    }
}

impl CachePolicy for Lru {
    fn access(&mut self, key: u64) -> bool {
        if self.row.renew(key) {
            return true;
        }
        if self.row.count() == self.blocks {
            self.row.pop_front();
        }
        self.row.push_back(key, ());
        false
    }
}
