//! What totals of processes or threads that come and go grew by, added up.

use std::collections::HashMap;

/// Grown since the first look.
#[derive(Default)]
pub(super) struct Growth {
    of_each: Option<HashMap<u32, u64>>,
    /// By all of them.
    pub total: u64,
}

impl Growth {
    /// Each number with its total since it began. One that has less than before is another one by the same number.
    pub fn add(&mut self, totals: HashMap<u32, u64>) {
        if let Some(known) = &self.of_each {
            for (number, now) in &totals {
                let before = known.get(number).filter(|before| *before <= now).unwrap_or(&0);
                self.total += now - before;
            }
        }
        self.of_each = Some(totals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_added_up() {
        let mut growth = Growth::default();
        let mut after = |totals: &[(u32, u64)]| {
            growth.add(totals.iter().copied().collect());
            growth.total
        };

        assert_eq!(after(&[(3, 1_000), (4, 50)]), 0, "what was before the first look is not of the run");
        assert_eq!(after(&[(3, 1_700), (4, 50)]), 700);
        assert_eq!(after(&[(3, 1_700), (9, 30)]), 730, "one ended, one is new");
        assert_eq!(after(&[(3, 1_800), (9, 20)]), 850, "the number 9 is that of another");
        assert_eq!(after(&[]), 850);
        assert_eq!(after(&[(3, 5)]), 855);
    }
}
