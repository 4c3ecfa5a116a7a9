//! Progress of something long, counted by many threads and reported a few times a second.

use crate::clock::read_ns;
use crate::error::{EngineError, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Takes done, total and unit.
pub type Report<'a> = &'a (dyn Fn(u64, u64, &str) + Sync);

const BETWEEN_REPORTS_NS: u64 = 200_000_000;

/// Counts work and passes it on, at most five times a second.
pub struct Progress<'a> {
    report: Report<'a>,
    total: u64,
    unit: &'static str,
    done: AtomicU64,
    next_report_ns: AtomicU64,
}

impl<'a> Progress<'a> {
    /// Nothing is done yet, which is reported at once.
    pub fn new(report: Report<'a>, total: u64, unit: &'static str) -> Self {
        let next_report_ns = AtomicU64::new(read_ns(libc::CLOCK_MONOTONIC) + BETWEEN_REPORTS_NS);
        let progress = Self { report, total, unit, done: AtomicU64::new(0), next_report_ns };
        progress.report_count(0);
        progress
    }

    /// What is counted.
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// So much more is done.
    pub fn add(&self, amount: u64) {
        let done = self.done.fetch_add(amount, Ordering::Relaxed) + amount;
        let now = read_ns(libc::CLOCK_MONOTONIC);
        let due = self.next_report_ns.load(Ordering::Relaxed);
        let mine = |due| {
            let next = now + BETWEEN_REPORTS_NS;
            self.next_report_ns.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if now >= due && mine(due) {
            self.report_count(done);
        }
    }

    /// Tell the last state.
    pub fn finish(&self) {
        self.report_count(self.done.load(Ordering::Relaxed));
    }

    fn report_count(&self, done: u64) {
        (self.report)(done, self.total.max(done), self.unit);
    }
}

/// Whether threads should go on: nobody outside asked to stop, and none of them met an error.
pub struct WorkGroup<'a> {
    stop: &'a AtomicBool,
    failed: AtomicBool,
}

impl<'a> WorkGroup<'a> {
    /// A group that ends when `stop` becomes true.
    pub fn new(stop: &'a AtomicBool) -> Self {
        Self { stop, failed: AtomicBool::new(false) }
    }

    /// An error if the caller should return at once.
    ///
    /// # Errors
    ///
    /// `Stopped`, also for those whose colleague failed; [`WorkGroup::run`] gives the colleague's error then.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed) {
            return Err(EngineError::Stopped);
        }
        Ok(())
    }

    /// Run `work` in `threads` threads and wait for all; their results, or the first error that is not a mere stop.
    ///
    /// # Errors
    ///
    /// That of `work`.
    pub fn run<T: Send>(&self, threads: usize, work: impl Fn() -> Result<T> + Sync) -> Result<Vec<T>> {
        let alarmed = || {
            let result = work();
            if result.is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            result
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            // Where no more threads may be made (ulimit -u), those that are there do it all; the caller is one of them.
            let make = |_| std::thread::Builder::new().spawn_scoped(scope, alarmed).ok();
            let threads: Vec<_> = (1..threads).map_while(make).collect();
            let own = alarmed();
            let others =
                threads.into_iter().map(|thread| thread.join().expect("workers of the file layer do not panic"));
            std::iter::once(own).chain(others).collect()
        });
        let is_cause = |error: &EngineError| !matches!(error, EngineError::Stopped);
        match results.iter().position(|result| result.as_ref().err().is_some_and(is_cause)) {
            Some(cause) => results.into_iter().skip(cause).take(1).collect(),
            None => results.into_iter().collect(),
        }
    }
}

/// Threads that a set may use: what the Plan says, within reason.
pub fn threads_of(create_workers: u32) -> usize {
    (create_workers as usize).clamp(1, 256)
}
