//! Adaptive replacement (Megiddo and Modha, FAST '03, figure 4): recent and frequent blocks, and a target between them.
//!
//! T1 has blocks used once, T2 those used again; B1 and B2 remember what left them. A use of what B1 remembers makes
//! T1's target larger, one of B2 smaller.

use super::CachePolicy;
use super::ranked::Row;

/// The cache.
#[derive(Debug)]
pub struct AdaptiveReplacement {
    blocks: usize,
    target: f64,
    once: Row<()>,
    again: Row<()>,
    left_once: Row<()>,
    left_again: Row<()>,
}

impl AdaptiveReplacement {
    /// Empty.
    pub fn new(blocks: usize) -> Self {
        Self {
            blocks,
            target: 0.0,
            once: Row::default(),
            again: Row::default(),
            left_once: Row::default(),
            left_again: Row::default(),
        }
    }

    /// Let a block leave: of those used once where they are more than their target.
    fn replace(&mut self, was_left_again: bool) {
        let once = self.once.count();
        if once > 0 && (once as f64 > self.target || was_left_again && once as f64 == self.target) {
            if let Some((key, ())) = self.once.pop_front() {
                self.left_once.push_back(key, ());
            }
        } else if let Some((key, ())) = self.again.pop_front() {
            self.left_again.push_back(key, ());
        }
    }

    /// Make room for a block that nothing is known of.
    fn make_room(&mut self) {
        let once = self.once.count() + self.left_once.count();
        let all = once + self.again.count() + self.left_again.count();
        if once == self.blocks {
            if self.once.count() < self.blocks {
                self.left_once.pop_front();
                self.replace(false);
            } else {
                self.once.pop_front();
            }
        } else if all >= self.blocks {
            if all == 2 * self.blocks {
                self.left_again.pop_front();
            }
            self.replace(false);
        }
    }
}

impl CachePolicy for AdaptiveReplacement {
    fn access(&mut self, key: u64) -> bool {
        if self.again.renew(key) {
            return true;
        }
        if self.once.remove(key).is_some() {
            self.again.push_back(key, ());
            return true;
        }
        let (once, again) = (self.left_once.count() as f64, self.left_again.count() as f64);
        if self.left_once.get_mut(key).is_some() {
            self.target = (self.target + (again / once).max(1.0)).min(self.blocks as f64);
            self.replace(false);
            self.left_once.remove(key);
            self.again.push_back(key, ());
        } else if self.left_again.get_mut(key).is_some() {
            self.target = (self.target - (once / again).max(1.0)).max(0.0);
            self.replace(true);
            self.left_again.remove(key);
            self.again.push_back(key, ());
        } else {
            self.make_room();
            self.once.push_back(key, ());
        }
        false
    }
}
