//! S3-FIFO (Yang et al., SOSP '23, algorithm 1): a small queue that most blocks leave soon, a main one, and a memory.
//!
//! A tenth of the cache is the small queue. What was used more than once there goes to the main queue, all else leaves
//! and is remembered; what comes back then goes to the main queue at once. There, a block that was used gets another
//! round. Until the first block leaves, what has no place in the small queue goes to the main one, as in the authors'
//! own program.

use super::CachePolicy;
use super::ranked::Row;

/// Uses that are counted.
const MOST_USES: u8 = 3;

/// The cache.
#[derive(Debug)]
pub struct S3Fifo {
    blocks: usize,
    most_small: usize,
    small: Row<u8>,
    main: Row<u8>,
    left: Row<()>,
    has_evicted: bool,
}

impl S3Fifo {
    /// Empty.
    pub fn new(blocks: usize) -> Self {
        Self {
            blocks,
            most_small: (blocks / 10).max(1),
            small: Row::default(),
            main: Row::default(),
            left: Row::default(),
            has_evicted: false,
        }
    }

    fn remember(&mut self, key: u64) {
        if self.left.count() >= self.blocks - self.most_small {
            self.left.pop_front();
        }
        self.left.push_back(key, ());
    }

    /// Let one block leave.
    fn evict(&mut self) {
        while self.small.count() >= self.most_small || self.main.count() == 0 {
            let Some((key, uses)) = self.small.pop_front() else { return };
            if uses <= 1 {
                return self.remember(key);
            }
            self.main.push_back(key, 0);
            if self.main.count() > self.blocks - self.most_small {
                break;
            }
        }
        while let Some((key, uses)) = self.main.pop_front() {
            if uses == 0 {
                return;
            }
            self.main.push_back(key, uses - 1);
        }
    }
}

impl CachePolicy for S3Fifo {
    fn access(&mut self, key: u64) -> bool {
        if let Some(uses) = self.small.get_mut(key).map_or_else(|| self.main.get_mut(key), Some) {
            *uses = MOST_USES.min(*uses + 1);
            return true;
        }
        if self.small.count() + self.main.count() == self.blocks {
            self.has_evicted = true;
            self.evict();
        }
        let is_first_fill = !self.has_evicted && self.small.count() >= self.most_small;
        if self.left.remove(key).is_some() || is_first_fill {
            self.main.push_back(key, 0);
        } else {
            self.small.push_back(key, 0);
        }
        false
    }
}
