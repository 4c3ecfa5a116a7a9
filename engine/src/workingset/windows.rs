//! The working set over time: how many different blocks each window of 1, 10 and 60 minutes used.

use serde::Serialize;

/// Lengths of windows.
const SECONDS: [u64; 3] = [60, 600, 3600];
/// Windows of one length that are kept: two years of minutes.
const MOST: usize = 1 << 20;
const NS: u64 = 1_000_000_000;

/// The windows of one length.
#[derive(Debug, Clone, Serialize)]
pub struct Windows {
    /// Length of each.
    pub seconds: u64,
    /// Number of the window since the epoch of the times, and the blocks that it used; windows without requests are
    /// absent.
    pub used: Vec<(u64, f64)>,
}

/// Windows of all lengths.
#[derive(Debug)]
pub struct WorkingSets {
    of: [Windows; SECONDS.len()],
    origin_ns: u64,
}

impl WorkingSets {
    /// Windows begin at multiples of their length after `origin_ns`.
    pub fn new(origin_ns: u64) -> Self {
        Self { of: SECONDS.map(|seconds| Windows { seconds, used: Vec::new() }), origin_ns }
    }

    /// A block is used, which represents `weight` blocks; times do not decrease.
    #[inline]
    pub fn add(&mut self, before_ns: Option<u64>, time_ns: u64, weight: f64) {
        let now = time_ns.saturating_sub(self.origin_ns);
        for windows in &mut self.of {
            let window = now / (windows.seconds * NS);
            let is_counted = before_ns
                .is_some_and(|before| before.saturating_sub(self.origin_ns) / (windows.seconds * NS) == window);
            if is_counted {
                return; // And in each longer window, which contains this one.
            }
            match windows.used.last_mut() {
                Some((last, used)) if *last == window => *used += weight,
                _ => windows.used.push((window, weight)),
            }
            windows.used.truncate(MOST);
        }
    }

    /// The windows, and whether some of them are not kept.
    pub fn finish(self) -> (Vec<Windows>, bool) {
        let is_cut = self.of.iter().any(|windows| windows.used.len() == MOST);
        (self.of.into(), is_cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_counts_once_in_each_window() {
        let mut sets = WorkingSets::new(5 * NS);
        let mut last = [None; 3];
        for (seconds, block) in [(5, 0), (6, 1), (64, 0), (65, 0), (66, 2), (700, 0), (701, 0), (4000, 1)] {
            sets.add(last[block], seconds * NS, 10.0);
            last[block] = Some(seconds * NS);
        }

        let (found, is_cut) = sets.finish();
        assert_eq!(found[0].used, [(0, 20.0), (1, 20.0), (11, 10.0), (66, 10.0)]);
        assert_eq!(found[1].used, [(0, 30.0), (1, 10.0), (6, 10.0)]);
        assert_eq!(found[2].used, [(0, 30.0), (1, 10.0)]);
        assert!(!is_cut);
    }
}
