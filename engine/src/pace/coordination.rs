//! What workers of one phase hold in common because their load says so: semaphores, token buckets, and counts that balance
//! jobs.
//!
//! All are atomics in shared memory, so that they serve threads and processes alike. A worker that waits for a
//! semaphore sleeps in futex(2) and wakes now and then to hear a stop; one that waits for a token sleeps until its token
//! is due. A phase whose workers all wait for each other cannot go on: who finds that nothing has moved for a second
//! gives up.

use crate::error::{EngineError, Result};
use crate::plan::{Action, Arrival, Phase, TokenUnit};
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sys::futex;
use crate::sys::shared::{SharedBox, SharedSlice, shareable};
use std::io;
use std::time::Duration;

/// Sleep between two looks at the stop flag.
const SLICE: Duration = Duration::from_millis(20);
/// Looks without any movement after which workers that all wait are taken for stuck.
const STUCK_LOOKS: u32 = 50;
/// Time that takers of a bucket may catch up after they were held up.
const CREDIT_NS: u64 = 100_000_000;

/// Names of the semaphores and buckets of a phase; the position is their number.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Names {
    /// With what each holds at the start.
    semaphores: Vec<(String, u32)>,
    buckets: Vec<Bucket>,
    /// Groups of jobs that are held in balance.
    groups: Vec<String>,
}

/// A rate of tokens.
#[derive(Debug, Clone, PartialEq)]
struct Bucket {
    name: String,
    rate_per_s: f64,
    unit: TokenUnit,
}

impl Names {
    /// Collect the names of a phase.
    ///
    /// # Errors
    ///
    /// A Plan error for a rate that is none, and for one bucket with two rates or units.
    pub fn of(phase: &Phase) -> Result<Self> {
        let mut names = Self::default();
        for job in &phase.jobs {
            if let Arrival::Balanced { group, .. } = &job.arrival
                && !names.groups.contains(group)
            {
                names.groups.push(group.clone());
            }
            for action in job.body.actions() {
                match action {
                    Action::Wait { semaphore, initial, .. } => names.semaphore_of(semaphore, *initial),
                    Action::Post { semaphore, .. } => names.semaphore_of(semaphore, 0),
                    Action::Token { bucket, rate_per_s, unit, .. } => {
                        names.bucket(bucket, *rate_per_s, *unit, &job.name)?
                    }
                    Action::Op { .. }
                    | Action::Group { .. }
                    | Action::Choice { .. }
                    | Action::Repeat { .. }
                    | Action::Every { .. }
                    | Action::Think { .. }
                    | Action::FinishOn { .. } => {}
                }
            }
        }
        Ok(names)
    }

    fn semaphore_of(&mut self, name: &str, initial: u64) {
        let initial = u32::try_from(initial).unwrap_or(u32::MAX);
        match self.semaphore(name) {
            Some(known) => self.semaphores[known].1 = self.semaphores[known].1.max(initial),
            None => self.semaphores.push((name.to_owned(), initial)),
        }
    }

    fn bucket(&mut self, name: &str, rate_per_s: f64, unit: TokenUnit, job: &str) -> Result<()> {
        let refuse = |why: String| Err(EngineError::Plan(format!("job '{job}': token bucket '{name}': {why}")));
        if !(rate_per_s.is_finite() && rate_per_s > 0.0) {
            return refuse(format!("rate_per_s is {rate_per_s}; it must be above 0"));
        }
        let bucket = Bucket { name: name.to_owned(), rate_per_s, unit };
        match self.buckets.iter().find(|known| known.name == name) {
            Some(known) if *known == bucket => {}
            Some(_) => {
                return refuse("it has two rates or units in this phase; give the second one another name".into());
            }
            None => self.buckets.push(bucket),
        }
        Ok(())
    }

    /// Number of a semaphore.
    pub fn semaphore(&self, name: &str) -> Option<usize> {
        self.semaphores.iter().position(|(known, _)| known == name)
    }

    /// Number of a bucket.
    pub fn bucket_of(&self, name: &str) -> Option<usize> {
        self.buckets.iter().position(|known| known.name == name)
    }
}

shareable! {
    /// What the workers of a group that is held in balance have come to, as far as they have not ended.
    #[derive(Debug)]
    struct Balance {
        /// Operations.
        done: AtomicU64,
        /// Sum of their weights.
        weights: AtomicU64,
    }
}

/// The semaphores, buckets and balances of a running phase.
#[derive(Debug)]
pub struct Coordination {
    /// Names of the balances.
    groups: Vec<String>,
    balances: SharedSlice<Balance>,
    semaphores: SharedSlice<AtomicU32>,
    /// By bucket: when the tokens taken so far are paid for.
    paid_ns: SharedSlice<AtomicU64>,
    ns_per_token: Vec<f64>,
    crowd: SharedBox<Crowd>,
}

shareable! {
    /// The workers of a phase.
    #[derive(Debug)]
    struct Crowd {
        /// Have not ended.
        working: AtomicU32,
        /// Of these, wait for a semaphore.
        waiting: AtomicU32,
        /// Counts whatever could let somebody go on.
        moves: AtomicU32,
    }
}

/// Why waiting ended without what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited<E> {
    /// The worker is to stop.
    Stopped(E),
    /// All workers of the phase wait, so nobody is left to post.
    Stuck,
}

impl Coordination {
    /// For a phase; its workers join before they start.
    ///
    /// # Errors
    ///
    /// No memory to share.
    pub fn new(names: &Names) -> io::Result<Self> {
        let semaphores: SharedSlice<AtomicU32> = SharedSlice::zeroed(names.semaphores.len())?;
        for (value, (_, initial)) in semaphores.iter().zip(&names.semaphores) {
            value.store(*initial, Ordering::SeqCst);
        }
        Ok(Self {
            groups: names.groups.clone(),
            balances: SharedSlice::zeroed(names.groups.len())?,
            semaphores,
            paid_ns: SharedSlice::zeroed(names.buckets.len())?,
            ns_per_token: names.buckets.iter().map(|bucket| 1e9 / bucket.rate_per_s).collect(),
            crowd: SharedBox::zeroed()?,
        })
    }

    /// Number of buckets.
    pub fn buckets(&self) -> usize {
        self.paid_ns.len()
    }

    /// So many workers take part.
    pub fn join(&self, workers: u32) {
        self.crowd.working.fetch_add(workers, Ordering::AcqRel);
    }

    /// A worker has ended.
    pub fn leave(&self) {
        self.crowd.working.fetch_sub(1, Ordering::AcqRel);
        self.crowd.moves.fetch_add(1, Ordering::AcqRel);
    }

    /// Number of a group that is held in balance; every name of the phase has one.
    pub fn group(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|known| known == name)
    }

    /// Workers of this weight in all take part in a group.
    pub fn weigh_in(&self, group: usize, weight: u64) {
        self.balances[group].weights.fetch_add(weight, Ordering::AcqRel);
    }

    /// Whether a worker that has done `own` operations is not ahead of the others of its group (with one operation more than
    /// there were, so that there is always one who may go on).
    pub fn is_in_balance(&self, group: usize, own: u64, weight: u64) -> bool {
        let balance = &self.balances[group];
        let (done, weights) = (balance.done.load(Ordering::Acquire), balance.weights.load(Ordering::Acquire));
        u128::from(own) * u128::from(weights) <= u128::from(weight) * (u128::from(done) + 1)
    }

    /// A worker of a group begins an operation.
    pub fn count(&self, group: usize) {
        self.balances[group].done.fetch_add(1, Ordering::AcqRel);
    }

    /// A worker of a group has ended, and with it its part.
    pub fn weigh_out(&self, group: usize, own: u64, weight: u64) {
        self.balances[group].weights.fetch_sub(weight, Ordering::AcqRel);
        self.balances[group].done.fetch_sub(own, Ordering::AcqRel);
    }

    /// Give `count` to a semaphore; at its largest value it stays there.
    pub fn post(&self, semaphore: usize, count: u32) {
        let value = &self.semaphores[semaphore];
        let more = |now: u32| Some(now.saturating_add(count));
        let _ = value.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        self.crowd.moves.fetch_add(1, Ordering::SeqCst);
        if self.crowd.waiting.load(Ordering::SeqCst) > 0 {
            futex::wake_all(value);
        }
    }

    /// Take `count` from a semaphore, all at once, waiting until it holds so much. `stop` says why not to wait on.
    pub fn wait<E>(
        &self,
        semaphore: usize,
        count: u32,
        mut stop: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), Waited<E>> {
        let value = &self.semaphores[semaphore];
        if self.take(value, count).is_ok() {
            return Ok(());
        }
        self.crowd.waiting.fetch_add(1, Ordering::SeqCst);
        let mut idle_looks = 0;
        let mut moves = self.crowd.moves.load(Ordering::SeqCst);
        let result = loop {
            let seen = match self.take(value, count) {
                Ok(()) => break Ok(()),
                Err(seen) => seen,
            };
            if let Err(why) = stop() {
                break Err(Waited::Stopped(why));
            }
            let all_wait = self.crowd.waiting.load(Ordering::SeqCst) >= self.crowd.working.load(Ordering::SeqCst);
            let now = self.crowd.moves.load(Ordering::SeqCst);
            idle_looks = if all_wait && now == moves { idle_looks + 1 } else { 0 };
            if idle_looks > STUCK_LOOKS {
                break Err(Waited::Stuck);
            }
            moves = now;
            futex::wait(value, seen, Some(SLICE));
        };
        self.crowd.waiting.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Take `count`, or return how much is there.
    fn take(&self, value: &AtomicU32, count: u32) -> std::result::Result<(), u32> {
        value.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| now.checked_sub(count))?;
        self.crowd.moves.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Take `tokens` of a bucket at `now_ns`; the time at which the taker may go on. Over all takers the rate is the
    /// bucket's; late takers may catch up at most [`CREDIT_NS`].
    pub fn take_tokens(&self, bucket: usize, tokens: f64, now_ns: u64) -> u64 {
        let cost_ns = (tokens * self.ns_per_token[bucket]) as u64;
        let from = |paid: u64| paid.max(now_ns.saturating_sub(CREDIT_NS));
        let paid = &self.paid_ns[bucket];
        let before =
            paid.fetch_update(Ordering::AcqRel, Ordering::Acquire, |paid| Some(from(paid).saturating_add(cost_ns)));
        from(before.unwrap_or(0))
    }

    /// Let the buckets begin to fill at `start_ns`; every worker says the same.
    pub fn begin(&self, start_ns: u64) {
        for paid in self.paid_ns.iter() {
            paid.fetch_max(start_ns, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn coordination(semaphores: usize, rates: &[f64], workers: u32) -> Coordination {
        let buckets =
            rates.iter().map(|&rate_per_s| Bucket { name: String::new(), rate_per_s, unit: TokenUnit::Event });
        let semaphores = vec![(String::new(), 0); semaphores];
        let names = Names { semaphores, buckets: buckets.collect(), groups: vec!["group".to_owned()] };
        let coordination = Coordination::new(&names).unwrap();
        coordination.join(workers);
        coordination
    }

    fn go_on() -> std::result::Result<(), ()> {
        Ok(())
    }

    #[test]
    fn what_is_taken_was_given_before() {
        const ROUNDS: u32 = 2000;
        let (shared, taken) = (coordination(1, &[], 3), AtomicU32::new(0));

        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        shared.wait(0, 3, go_on).unwrap();
                        taken.fetch_add(3, Ordering::Relaxed);
                    }
                    shared.leave();
                });
            }
            for _ in 0..ROUNDS {
                shared.post(0, 6);
            }
            shared.leave();
        });

        assert_eq!(taken.into_inner(), ROUNDS * 6);
        assert_eq!(shared.semaphores[0].load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_wait_that_nobody_can_end_is_given_up() {
        let shared = &coordination(2, &[], 2);

        std::thread::scope(|scope| {
            // Whoever gives up first ends, as a worker does, and the other is still alone.
            let wait_and_leave = |semaphore| {
                let result = shared.wait(semaphore, 1, go_on);
                shared.leave();
                result
            };
            let other = scope.spawn(move || wait_and_leave(0));
            assert_eq!(wait_and_leave(1), Err(Waited::Stuck));
            assert_eq!(other.join().unwrap(), Err(Waited::Stuck));
        });
    }

    #[test]
    fn a_stop_ends_a_wait() {
        let (shared, stop) = (coordination(1, &[], 2), AtomicBool::new(false));
        let stopped = || if stop.load(Ordering::Relaxed) { Err("stop") } else { Ok(()) };

        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| shared.wait(0, 1, stopped));
            stop.store(true, Ordering::Relaxed);
            assert_eq!(waiter.join().unwrap(), Err(Waited::Stopped("stop")));
        });
    }

    #[test]
    fn tokens_come_at_the_rate_over_all_takers() {
        const MS: u64 = 1_000_000;
        let shared = coordination(0, &[1000.0], 2);
        shared.begin(5000 * MS);

        let due: Vec<u64> = (0..4).map(|_| shared.take_tokens(0, 1.0, 5000 * MS)).collect();
        let half = shared.take_tokens(0, 0.5, 5000 * MS);

        assert_eq!(due, [5000 * MS, 5001 * MS, 5002 * MS, 5003 * MS]);
        assert_eq!((half, shared.take_tokens(0, 1.0, 5000 * MS)), (5004 * MS, 5004 * MS + MS / 2));
    }

    #[test]
    fn workers_of_a_group_go_on_by_their_weights_until_one_is_done() {
        let (shared, weights) = (coordination(0, &[], 2), [1, 8]);
        weights.iter().for_each(|&weight| shared.weigh_in(0, weight));

        let mut done = [0_u64; 2];
        for turn in 0..9_000 {
            let may_go: Vec<usize> = (0..2).filter(|&w| shared.is_in_balance(0, done[w], weights[w])).collect();
            // Whoever may go does, and it does not matter who of them is asked first.
            let worker = may_go[turn % may_go.len()];
            shared.count(0);
            done[worker] += 1;
        }
        let ahead = (0..2).map(|w| done[w] as f64 / weights[w] as f64).collect::<Vec<_>>();
        shared.weigh_out(0, done[1], weights[1]);

        assert!((ahead[0] - ahead[1]).abs() <= 1.0, "{done:?}");
        assert_eq!(done.iter().sum::<u64>(), 9_000);
        // Alone it is never ahead, however much it does.
        assert!(shared.is_in_balance(0, done[0], weights[0]));
    }

    #[test]
    fn a_long_pause_is_not_caught_up() {
        const MS: u64 = 1_000_000;
        let shared = coordination(0, &[10.0], 1);
        shared.begin(0);

        shared.take_tokens(0, 1.0, 0);
        let after_pause = shared.take_tokens(0, 1.0, 10_000 * MS);

        assert_eq!(after_pause, 9900 * MS);
    }
}
