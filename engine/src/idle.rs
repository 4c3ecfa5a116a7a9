//! How long has a worker rested by the rules of its load: until an arrival was due, for a thought, for a rate?
//!
//! A worker says before each rest until when it will last, and pays for the whole of it at once: `paid_ns` is the total as it
//! will be at `until_ns`. Whoever asks meanwhile takes off what has not gone by yet. So the end of a rest costs nothing, a wait
//! for a CPU after it is no part of it, and one that is still on counts up to the moment of the look.
//!
//! The two words are read one after the other while the worker may write them. Before a rest it writes `until_ns` first: who
//! gets that with the total of the rest before takes off too much, never too little. When it breaks a rest off it writes the
//! smaller total first: who gets the new end, or a later time, looks at the total once more and sees that it has changed. So a reading can be
//! short of the truth for an instant but never beyond it, and [`Seen`], which keeps the largest, never goes back.

use crate::sys::atomic::AtomicU64;
use crate::sys::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sys::shared::shareable;

/// Longest rest that is paid for at once, some decades: sums of it fit into a word.
const LONGEST_NS: u64 = 1 << 60;

shareable! {
    /// The rests of one worker, which alone writes them.
    #[derive(Debug)]
    pub struct Idle {
        paid_ns: AtomicU64,
        until_ns: AtomicU64,
    }
}

impl Idle {
    /// The worker rests from now until then; the rest before is over.
    pub fn rest(&self, now_ns: u64, until_ns: u64) {
        let until_ns = until_ns.min(now_ns + LONGEST_NS);
        self.until_ns.store(until_ns, Release);
        self.paid_ns.store(self.paid_ns.load(Relaxed) + until_ns.saturating_sub(now_ns), Release);
    }

    /// The rest is broken off now, if it is not over anyway.
    pub fn break_off(&self, now_ns: u64) {
        let left_ns = self.until_ns.load(Relaxed).saturating_sub(now_ns);
        self.paid_ns.store(self.paid_ns.load(Relaxed) - left_ns, Release);
        self.until_ns.store(now_ns, Release);
    }
}

/// What an observer knows of the rests of one worker.
#[derive(Debug, Default)]
pub struct Seen {
    total_ns: u64,
}

impl Seen {
    /// All rests so far, by a clock that is looked at after the end of the latest: so never before that rest began.
    pub fn total_ns(&mut self, idle: &Idle, now_ns: impl Fn() -> u64) -> u64 {
        let mut paid_ns = idle.paid_ns.load(Acquire);
        loop {
            let left_ns = idle.until_ns.load(Acquire).saturating_sub(now_ns());
            let again_ns = idle.paid_ns.load(Acquire);
            if std::mem::replace(&mut paid_ns, again_ns) == again_ns {
                self.total_ns = self.total_ns.max(paid_ns.saturating_sub(left_ns));
                return self.total_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::shared::SharedBox;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn idle() -> SharedBox<Idle> {
        SharedBox::zeroed().unwrap()
    }

    #[test]
    fn a_rest_counts_while_it_is_on_and_no_longer() {
        let (idle, mut seen) = (idle(), Seen::default());
        let mut at = |now_ns| seen.total_ns(&idle, || now_ns);
        assert_eq!(at(50), 0);

        idle.rest(100, 140);

        assert_eq!([100, 110, 139, 140, 1000].map(&mut at), [0, 10, 39, 40, 40]);
        idle.rest(1000, 1005);
        assert_eq!([1000, 1001, 1005, 2000].map(&mut at), [40, 41, 45, 45]);
    }

    #[test]
    fn a_rest_that_is_broken_off_counts_until_then() {
        for until_ns in [200, u64::MAX] {
            let (idle, mut seen) = (idle(), Seen::default());

            idle.rest(100, until_ns);
            assert_eq!(seen.total_ns(&idle, || 110), 10);
            idle.break_off(130);

            assert_eq!(seen.total_ns(&idle, || 1000), 30);
            idle.rest(1000, 1010);
            idle.break_off(2000);
            assert_eq!(seen.total_ns(&idle, || 3000), 40);
        }
    }

    #[test]
    fn a_reader_beside_the_worker_never_sees_more_than_there_was_and_nothing_twice() {
        const RESTS: u64 = 1_000_000;
        let (idle, clock) = (Arc::new(idle()), Arc::new(AtomicU64::new(0)));
        let over = Arc::new(AtomicBool::new(false));
        let (its, time, ended) = (Arc::clone(&idle), Arc::clone(&clock), Arc::clone(&over));
        // Three nanoseconds of rest, three of work.
        let worker = std::thread::spawn(move || {
            for k in 0..RESTS {
                time.store(6 * k, Release);
                if k % 2 == 0 {
                    its.rest(6 * k, 6 * k + 3);
                } else {
                    its.rest(6 * k, 6 * k + 1_000_000);
                    time.store(6 * k + 3, Release);
                    its.break_off(6 * k + 3);
                }
                time.store(6 * k + 4, Release);
            }
            ended.store(true, Release);
        });
        let (mut seen, mut before_ns) = (Seen::default(), 0);

        while !over.load(Acquire) {
            let total_ns = seen.total_ns(&idle, || clock.load(Acquire));
            // By the time after the look: each begun rest at most.
            let most_ns = (clock.load(Acquire) / 6 + 1) * 3;
            assert!(before_ns <= total_ns && total_ns <= most_ns, "{before_ns} {total_ns} {most_ns}");
            before_ns = total_ns;
        }

        worker.join().unwrap();
        assert_eq!(seen.total_ns(&idle, || 6 * RESTS), 3 * RESTS);
    }
}
