//! A look that costs time, and is not repeated before its cost is a small share of a CPU.

use std::time::{Duration, Instant};

/// One look.
pub(super) struct Look {
    /// When it began.
    pub at: Instant,
    /// How long it took.
    pub took: Duration,
}

impl Look {
    /// Whether it is time for the next: looks may take `most_share` of a CPU.
    pub fn is_over(&self, most_share: f64) -> bool {
        self.at.elapsed() >= self.took.div_f64(most_share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_look_follows_before_the_cost_of_the_last_is_a_small_share() {
        let look = |ago: u64, took: u64| {
            let at = Instant::now().checked_sub(Duration::from_millis(ago)).expect("the machine runs for longer");
            Look { at, took: Duration::from_millis(took) }
        };

        assert!(look(0, 0).is_over(0.0025));
        assert!(!look(3_000, 10).is_over(0.0025), "10 ms are 0.25 % of 4 s");
        assert!(look(4_100, 10).is_over(0.0025));
    }
}
