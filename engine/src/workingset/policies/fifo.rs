//! First in, first out: a use changes nothing.

use super::CachePolicy;
use super::ranked::Row;

/// The cache.
#[derive(Debug)]
pub struct Fifo {
    blocks: usize,
    row: Row<()>,
}

impl Fifo {
    /// Empty.
    pub fn new(blocks: usize) -> Self {
        Self { blocks, row: Row::default() }
    }
}

impl CachePolicy for Fifo {
    fn access(&mut self, key: u64) -> bool {
        if self.row.get_mut(key).is_some() {
            return true;
        }
        if self.row.count() == self.blocks {
            self.row.pop_front();
        }
        self.row.push_back(key, ());
        false
    }
}
