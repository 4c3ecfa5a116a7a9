//! When a worker is done: the stop rules of its job and of its phase.

use crate::events::StoppedBy;
use crate::plan::{Stop, StopOf};
use crate::sys::shared::{SharedBox, shareable};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

shareable! {
    /// What several workers have done together under one rule.
    #[derive(Debug)]
    pub struct Together {
        ops: AtomicU64,
        bytes: AtomicU64,
        passes: AtomicU64,
    }
}

/// One stop rule and, where it counts all workers together, what they have done.
#[derive(Debug, Clone)]
pub struct Rule {
    stop: Stop,
    together: Arc<SharedBox<Together>>,
}

impl Rule {
    /// A rule for all who hold a clone of it.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn new(stop: &Stop) -> std::io::Result<Self> {
        Ok(Self { stop: stop.clone(), together: Arc::new(SharedBox::zeroed()?) })
    }

    /// Whether the first worker that is done ends the others too.
    pub fn is_stonewall(&self) -> bool {
        self.stop.of == StopOf::First
    }
}

/// The rules that a job's workers obey: the job's own and the phase's.
#[derive(Debug, Clone)]
pub struct JobLimits {
    rules: [Rule; 2],
}

impl JobLimits {
    /// Whether a rule says how many passes there are.
    pub fn has_passes(&self) -> bool {
        self.rules.iter().any(|rule| rule.stop.passes.is_some())
    }

    /// Job's rule, phase's rule.
    pub fn new(job: Rule, phase: Rule) -> Self {
        Self { rules: [job, phase] }
    }
}

/// How far one worker may go. What counts it alone is a countdown; only rules that count all workers together touch what
/// they share.
#[derive(Debug)]
pub struct LocalLimits {
    deadline_ns: u64,
    ops: Left,
    bytes: Left,
    passes: Left,
    has_rules_together: bool,
}

/// What is left to one worker.
#[derive(Debug, Clone, Copy)]
struct Left {
    /// Before a closer look: 0 where every time needs one, because all workers are counted together.
    at_once: u64,
    /// By the rules that count this worker alone.
    own: u64,
}

impl Left {
    fn new(own: u64, has_rules_together: bool) -> Self {
        Self { at_once: if has_rules_together { 0 } else { own }, own }
    }
}

impl Default for LocalLimits {
    fn default() -> Self {
        let endless = Left::new(u64::MAX, false);
        Self { deadline_ns: u64::MAX, ops: endless, bytes: endless, passes: endless, has_rules_together: false }
    }
}

/// Whether one more unit of `amount` may begin under a rule for all workers; counts it if so.
fn admit_together(limit: Option<u64>, rule: &Rule, count: &AtomicU64, amount: u64) -> bool {
    match limit {
        Some(limit) if rule.stop.of == StopOf::All => count.fetch_add(amount, Relaxed) < limit,
        _ => true,
    }
}

impl LocalLimits {
    /// Fix deadline and limits once the start is known: the job's own time begins `delay_ns` later than the phase's.
    pub fn begin(&mut self, start_ns: u64, delay_ns: u64, limits: &JobLimits) {
        let begins = [start_ns.saturating_add(delay_ns), start_ns];
        let deadlines = limits.rules.iter().zip(begins).filter_map(|(rule, begins_ns)| {
            rule.stop.seconds.map(|seconds| begins_ns.saturating_add((seconds * 1e9) as u64))
        });
        let counts = |stop: &Stop| stop.ops.is_some() || stop.bytes.is_some() || stop.passes.is_some();
        let has_rules_together = limits.rules.iter().any(|rule| rule.stop.of == StopOf::All && counts(&rule.stop));
        let left = |limit: fn(&Stop) -> Option<u64>| {
            let own = limits.rules.iter().filter(|rule| rule.stop.of != StopOf::All);
            Left::new(own.filter_map(|rule| limit(&rule.stop)).min().unwrap_or(u64::MAX), has_rules_together)
        };
        *self = Self {
            deadline_ns: deadlines.min().unwrap_or(u64::MAX),
            ops: left(|stop| stop.ops),
            bytes: left(|stop| stop.bytes),
            passes: left(|stop| stop.passes),
            has_rules_together,
        };
    }

    /// When time is over; the largest number where no rule says.
    #[inline]
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// Whether time is left at `now_ns`.
    #[inline]
    pub fn check_time(&self, now_ns: u64) -> Result<(), StoppedBy> {
        if now_ns >= self.deadline_ns { Err(StoppedBy::Time) } else { Ok(()) }
    }

    /// Whether one more operation may begin.
    #[inline(always)]
    pub fn admit(&mut self, limits: &JobLimits) -> Result<(), StoppedBy> {
        match self.ops.at_once.checked_sub(1) {
            Some(left) => {
                self.ops.at_once = left;
                Ok(())
            }
            None => self.admit_looking(limits),
        }
    }

    #[inline(never)]
    fn admit_looking(&mut self, limits: &JobLimits) -> Result<(), StoppedBy> {
        let together = |rule: &Rule| admit_together(rule.stop.ops, rule, &rule.together.ops, 1);
        if !self.has_rules_together || self.ops.own == 0 || !limits.rules.iter().all(together) {
            return Err(StoppedBy::Ops);
        }
        self.ops.own -= 1;
        Ok(())
    }

    /// Whether a transfer of this many bytes may begin: the last one may go over the limit.
    #[inline(always)]
    pub fn admit_bytes(&mut self, limits: &JobLimits, bytes: u64) -> Result<(), StoppedBy> {
        if self.bytes.at_once == 0 {
            return self.admit_bytes_looking(limits, bytes);
        }
        self.bytes.at_once = self.bytes.at_once.saturating_sub(bytes);
        Ok(())
    }

    #[inline(never)]
    fn admit_bytes_looking(&mut self, limits: &JobLimits, bytes: u64) -> Result<(), StoppedBy> {
        let together = |rule: &Rule| admit_together(rule.stop.bytes, rule, &rule.together.bytes, bytes);
        if !self.has_rules_together || self.bytes.own == 0 || !limits.rules.iter().all(together) {
            return Err(StoppedBy::Bytes);
        }
        self.bytes.own = self.bytes.own.saturating_sub(bytes);
        Ok(())
    }

    /// One pass of the body is through; whether another may begin.
    #[inline(always)]
    pub fn pass(&mut self, limits: &JobLimits) -> Result<(), StoppedBy> {
        if self.passes.at_once <= 1 {
            return self.pass_looking(limits);
        }
        self.passes.at_once -= 1;
        Ok(())
    }

    /// Whether operations may be taken ahead: no rule counts bytes, or all workers together.
    pub fn lets_ahead(&self) -> bool {
        !self.has_rules_together && self.bytes.own == u64::MAX
    }

    /// Take operations, each a pass of its own, that may then begin without another look; 0 where every one needs a look.
    /// `counts`: whether they are what a limit of operations counts.
    pub fn take_passes_ahead(&mut self, counts: bool) -> u64 {
        let ahead = self.take_ahead(self.passes.at_once.saturating_sub(1), counts);
        self.passes.at_once -= ahead;
        ahead
    }

    /// As [`Self::take_passes_ahead`], at most `most` operations within a pass.
    pub fn take_ahead(&mut self, most: u64, counts: bool) -> u64 {
        const MOST: u64 = 1024;
        let ops = if counts { self.ops.at_once } else { u64::MAX };
        let ahead = if self.lets_ahead() { MOST.min(ops).min(most) } else { 0 };
        self.ops.at_once -= if counts { ahead } else { 0 };
        ahead
    }

    #[inline(never)]
    fn pass_looking(&mut self, limits: &JobLimits) -> Result<(), StoppedBy> {
        // The pass that is through is counted here, so a limit of n ends after the nth.
        let together = |rule: &Rule| match rule.stop.passes {
            Some(limit) if rule.stop.of == StopOf::All => rule.together.passes.fetch_add(1, Relaxed) + 1 < limit,
            _ => true,
        };
        self.passes.own = self.passes.own.saturating_sub(1);
        if !self.has_rules_together || self.passes.own == 0 || !limits.rules.iter().all(together) {
            return Err(StoppedBy::Passes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_beyond_what_a_clock_can_say_never_comes() {
        for seconds in [1.8e10, 2e10, 1e300] {
            let rule = |seconds| Rule::new(&Stop { seconds, ..Stop::default() }).unwrap();
            let mut limits = LocalLimits::default();

            limits.begin(1_000_000_000, 0, &JobLimits::new(rule(Some(seconds)), rule(None)));

            assert_eq!(limits.check_time(1_000_000_000_000), Ok(()), "{seconds}");
        }
    }
}
