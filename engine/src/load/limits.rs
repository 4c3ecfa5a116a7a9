//! When a worker is done: the stop rules of its job and of its phase.

use crate::events::StoppedBy;
use crate::plan::{Stop, StopOf};
use crate::shared::{Shareable, SharedBox};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What several workers have done together under one rule.
#[derive(Debug)]
pub struct Together {
    ops: AtomicU64,
    bytes: AtomicU64,
    passes: AtomicU64,
}

// SAFETY: atomic numbers only; zero is nothing done.
unsafe impl Shareable for Together {}

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

/// What one worker has done under each rule.
#[derive(Debug, Default)]
pub struct LocalLimits {
    deadline_ns: u64,
    ops: u64,
    bytes: u64,
    passes: u64,
}

/// Whether one more unit of `amount` may begin; counts it if so.
fn admit(limit: Option<u64>, of: StopOf, together: &AtomicU64, own: u64, amount: u64) -> bool {
    match limit {
        None => true,
        Some(limit) if of == StopOf::All => together.fetch_add(amount, Relaxed) < limit,
        Some(limit) => own < limit,
    }
}

impl LocalLimits {
    /// Fix the deadline once the start is known.
    pub fn begin(&mut self, start_ns: u64, limits: &JobLimits) {
        let deadlines = limits.rules.iter().filter_map(|rule| rule.stop.seconds);
        self.deadline_ns = deadlines.map(|seconds| start_ns + (seconds * 1e9) as u64).min().unwrap_or(u64::MAX);
    }

    /// When time is over; the largest number where no rule says.
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// Whether time is left at `now_ns`.
    #[inline]
    pub fn check_time(&self, now_ns: u64) -> Result<(), StoppedBy> {
        if now_ns >= self.deadline_ns { Err(StoppedBy::Time) } else { Ok(()) }
    }

    /// Whether one more operation may begin.
    #[inline]
    pub fn admit(&mut self, limits: &JobLimits) -> Result<(), StoppedBy> {
        for rule in &limits.rules {
            if !admit(rule.stop.ops, rule.stop.of, &rule.together.ops, self.ops, 1) {
                return Err(StoppedBy::Ops);
            }
        }
        self.ops += 1;
        Ok(())
    }

    /// Whether a transfer of so many bytes may begin.
    #[inline]
    pub fn admit_bytes(&mut self, limits: &JobLimits, bytes: u64) -> Result<(), StoppedBy> {
        for rule in &limits.rules {
            if !admit(rule.stop.bytes, rule.stop.of, &rule.together.bytes, self.bytes, bytes) {
                return Err(StoppedBy::Bytes);
            }
        }
        self.bytes += bytes;
        Ok(())
    }

    /// One pass of the body is through; whether another may begin.
    #[inline]
    pub fn pass(&mut self, limits: &JobLimits) -> Result<(), StoppedBy> {
        self.passes += 1;
        for rule in &limits.rules {
            let done = match rule.stop.of {
                StopOf::All => rule.together.passes.fetch_add(1, Relaxed) + 1,
                StopOf::Each | StopOf::First => self.passes,
            };
            if rule.stop.passes.is_some_and(|limit| done >= limit) {
                return Err(StoppedBy::Passes);
            }
        }
        Ok(())
    }
}
