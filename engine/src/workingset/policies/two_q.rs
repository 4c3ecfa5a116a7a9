//! 2Q, full version (Johnson and Shasha, VLDB '94): what comes in waits in a queue, and only what comes back stays for
//! long.
//!
//! A quarter of the cache is the queue of what is new; what leaves it is remembered, half as much as the cache has
//! blocks. A block that is remembered goes to the main part, which is LRU. A scan passes through the queue.

use super::CachePolicy;
use super::ranked::Row;

/// The cache.
#[derive(Debug)]
pub struct TwoQueues {
    blocks: usize,
    most_new: usize,
    most_left: usize,
    new: Row<()>,
    left: Row<()>,
    main: Row<()>,
}

impl TwoQueues {
    /// Empty.
    pub fn new(blocks: usize) -> Self {
        Self {
            blocks,
            most_new: (blocks / 4).max(1),
            most_left: (blocks / 2).max(1),
            new: Row::default(),
            left: Row::default(),
            main: Row::default(),
        }
    }

    fn make_room(&mut self) {
        if self.new.count() + self.main.count() < self.blocks {
            return;
        }
        if self.new.count() > self.most_new || self.main.count() == 0 {
            if let Some((key, ())) = self.new.pop_front() {
                if self.left.count() == self.most_left {
                    self.left.pop_front();
                }
                self.left.push_back(key, ());
            }
        } else {
            self.main.pop_front();
        }
    }
}

impl CachePolicy for TwoQueues {
    fn access(&mut self, key: u64) -> bool {
        if self.main.renew(key) || self.new.get_mut(key).is_some() {
            return true;
        }
        let was_left = self.left.remove(key).is_some();
        self.make_room();
        if was_left {
            self.main.push_back(key, ());
        } else {
            self.new.push_back(key, ());
        }
        false
    }
}
