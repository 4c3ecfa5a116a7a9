//! When is a worker's next operation due?
//!
//! An open loop has a schedule that never shifts: the k-th arrival of a job is due at `start + k / rate`, or, for Poisson
//! arrivals, after a sum of k exponential times. Worker w of n takes arrivals w, w + n, w + 2n, ... of an even schedule, so
//! that the arrivals of the job as a whole are evenly spaced; with Poisson arrivals each worker draws its own at rate / n,
//! whose union is a Poisson process again. An arrival that could not be issued in time is issued as soon as possible, and its
//! response time counts from when it was due (the cure for coordinated omission: G. Tene, "How not to measure latency").
//!
//! A rate limit only holds a closed loop back. It is a token bucket by time: what has been done is paid for at the worker's
//! share of the rate, and up to [`CREDIT_NS`] of unused time may be caught up, which evens out late wake-ups.
//!
//! A job in balance with others has no times: its workers wait while they are ahead by their weights.

use crate::error::{EngineError, Result};
use crate::pace::coordination::Coordination;
use crate::plan::{Arrival, Job, Spacing};
use std::sync::Arc;

/// Time that a rate limit lets a worker catch up after it was held up by something else.
const CREDIT_NS: f64 = 10_000_000.0;
/// Arrivals that a worker which has ended draws one by one to count them: some milliseconds.
const MOST_DRAWN: u32 = 100_000;
/// Shortest time between two looks of a worker that is ahead of others.
const SHORTEST_PAUSE_NS: u64 = 50_000;
/// Intended time of operations that no schedule asked for.
pub const UNSCHEDULED: u64 = u64::MAX;

/// What holds one worker's operations back.
#[derive(Debug, Clone)]
pub enum Pacer {
    /// Nothing: the next begins when the one before is done.
    Free,
    /// A schedule of arrivals.
    Open(Schedule),
    /// A rate that is not to be passed.
    Limited(Limit),
    /// Others that it is not to be ahead of.
    Balanced(Balanced),
}

/// One worker of a group that is held in balance.
#[derive(Debug, Clone)]
pub struct Balanced {
    coordination: Arc<Coordination>,
    group: usize,
    weight: u64,
    pause_ns: u64,
    /// Operations that it has begun.
    own: u64,
}

/// The arrivals of one worker.
#[derive(Debug, Clone)]
pub struct Schedule {
    start_ns: u64,
    /// Time between arrivals of the whole job, mean.
    job_gap_ns: f64,
    /// Time between arrivals of this worker, mean.
    own_gap_ns: f64,
    /// Number in the job of the next arrival (even spacing).
    number: u64,
    /// Workers of the job.
    workers: u64,
    /// Random times of a Poisson schedule.
    random: Option<fastrand::Rng>,
    /// From the start to the next arrival.
    next_ns: f64,
}

/// What one worker owes.
#[derive(Debug, Clone)]
pub struct Limit {
    ns_per_op: f64,
    ns_per_byte: f64,
    /// When all operations, and all bytes, so far are paid for.
    ops_paid_ns: f64,
    bytes_paid_ns: f64,
}

impl Pacer {
    /// Pacing of worker `worker` of `workers`. Nothing is due before [`Self::begin`].
    pub fn new(job: &Job, worker: u32, workers: u32, seed: u64, coordination: &Arc<Coordination>) -> Self {
        match &job.arrival {
            &Arrival::Open { rate_per_s, spacing } => {
                Self::Open(Schedule::new(rate_per_s, spacing, worker, workers, seed))
            }
            Arrival::Closed {} if job.limit.ops_per_s.is_some() || job.limit.bytes_per_s.is_some() => {
                let cost_ns = |rate: Option<f64>| rate.map_or(0.0, |rate| f64::from(workers) * 1e9 / rate);
                Self::Limited(Limit {
                    ns_per_op: cost_ns(job.limit.ops_per_s),
                    ns_per_byte: cost_ns(job.limit.bytes_per_s),
                    ops_paid_ns: 0.0,
                    bytes_paid_ns: 0.0,
                })
            }
            Arrival::Balanced { group, weight, pause_s } => Self::Balanced(Balanced {
                coordination: Arc::clone(coordination),
                group: coordination.group(group).expect("every group of the phase has a balance"),
                weight: *weight,
                pause_ns: ((pause_s * 1e9) as u64).max(SHORTEST_PAUSE_NS),
                own: 0,
            }),
            // A share of a rate has become a rate before workers are made (`phase/rates.rs`).
            Arrival::Closed {} | Arrival::OpenShare { .. } => Self::Free,
        }
    }

    /// Fix the start.
    pub fn begin(&mut self, start_ns: u64) {
        match self {
            Self::Free | Self::Balanced(_) => {}
            Self::Open(schedule) => schedule.start_ns = start_ns,
            Self::Limited(limit) => {
                limit.ops_paid_ns = start_ns as f64;
                limit.bytes_paid_ns = start_ns as f64;
            }
        }
    }

    /// Whether operations never wait.
    #[inline]
    pub fn is_free(&self) -> bool {
        matches!(self, Self::Free)
    }

    /// When the next operation is due, or it is time to look again, at `now_ns`.
    #[inline]
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        match self {
            Self::Free => 0,
            Self::Open(schedule) => schedule.due_ns(),
            Self::Limited(limit) => limit.ops_paid_ns.max(limit.bytes_paid_ns) as u64,
            Self::Balanced(one) if one.coordination.is_in_balance(one.group, one.own, one.weight) => 0,
            Self::Balanced(one) => now_ns.saturating_add(one.pause_ns),
        }
    }

    /// One operation begins at `now_ns`: its intended time, or [`UNSCHEDULED`].
    pub fn take(&mut self, now_ns: u64) -> u64 {
        match self {
            Self::Free => UNSCHEDULED,
            Self::Open(schedule) => {
                let due_ns = schedule.due_ns();
                schedule.advance();
                due_ns
            }
            Self::Limited(limit) => {
                limit.ops_paid_ns = paid(limit.ops_paid_ns, now_ns, limit.ns_per_op);
                UNSCHEDULED
            }
            Self::Balanced(one) => {
                one.own += 1;
                one.coordination.count(one.group);
                UNSCHEDULED
            }
        }
    }

    /// The worker has ended: who is held in balance with it is no more.
    pub fn end(&mut self) {
        if let Self::Balanced(one) = self {
            one.coordination.weigh_out(one.group, one.own, one.weight);
        }
    }

    /// Bytes that an operation at `now_ns` moves; they hold back the ones after it.
    #[inline]
    pub fn charge(&mut self, now_ns: u64, bytes: u64) {
        if let Self::Limited(limit) = self {
            limit.bytes_paid_ns = paid(limit.bytes_paid_ns, now_ns, bytes as f64 * limit.ns_per_byte);
        }
    }

    /// Whether an arrival that was due at `intended_ns` and is issued at `now_ns` has missed its slot: the worker's next
    /// one was due by then.
    pub fn is_missed(&self, intended_ns: u64, now_ns: u64) -> bool {
        match self {
            Self::Open(schedule) => now_ns.saturating_sub(intended_ns) as f64 > schedule.own_gap_ns,
            Self::Free | Self::Limited(_) | Self::Balanced(_) => false,
        }
    }

    /// Arrivals that are due before `end_ns` and have not been taken; takes them. However many there are, that takes no time
    /// to speak of: the worker was asked to stop.
    pub fn drain(&mut self, end_ns: u64) -> u64 {
        match self {
            Self::Open(schedule) => schedule.drain(end_ns),
            Self::Free | Self::Limited(_) | Self::Balanced(_) => 0,
        }
    }
}

fn paid(paid_ns: f64, now_ns: u64, cost_ns: f64) -> f64 {
    paid_ns.max(now_ns as f64 - CREDIT_NS) + cost_ns
}

impl Schedule {
    /// When the next arrival is due.
    #[inline]
    fn due_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.next_ns as u64)
    }

    fn new(rate_per_s: f64, spacing: Spacing, worker: u32, workers: u32, seed: u64) -> Self {
        let job_gap_ns = 1e9 / rate_per_s;
        let mut schedule = Self {
            start_ns: 0,
            job_gap_ns,
            own_gap_ns: job_gap_ns * f64::from(workers),
            number: u64::from(worker),
            workers: u64::from(workers),
            random: (spacing == Spacing::Poisson).then(|| fastrand::Rng::with_seed(seed ^ 0x0a55_a9ac_1a55_0ff5)),
            next_ns: 0.0,
        };
        schedule.next_ns = match &mut schedule.random {
            Some(random) => exponential(random, schedule.own_gap_ns),
            None => schedule.number as f64 * job_gap_ns,
        };
        schedule
    }

    /// So many are due before `end_ns`; none of them comes again. Even arrivals are counted; of random ones, which come by
    /// themselves at their mean rate, [`MOST_DRAWN`] are drawn, and for the time that is left then the mean is taken.
    fn drain(&mut self, end_ns: u64) -> u64 {
        let mut due = 0;
        if self.random.is_none() {
            let before = (end_ns.saturating_sub(self.start_ns) as f64 / self.job_gap_ns).ceil() as u64;
            // Less one than there are, if rounding is at its worst; the rest are looked at one by one.
            due = (before.saturating_sub(self.number) / self.workers).saturating_sub(1);
            self.number = self.number.saturating_add(due.saturating_mul(self.workers));
            self.next_ns = self.number as f64 * self.job_gap_ns;
        }
        for _ in 0..MOST_DRAWN {
            if self.due_ns() >= end_ns {
                return due;
            }
            self.advance();
            due += 1;
        }
        let left_ns = end_ns.saturating_sub(self.due_ns()) as f64;
        self.next_ns = f64::INFINITY;
        due.saturating_add((left_ns / self.own_gap_ns) as u64)
    }

    fn advance(&mut self) {
        match &mut self.random {
            Some(random) => self.next_ns += exponential(random, self.own_gap_ns),
            None => {
                // From the number, not by adding up: rounding must not make the schedule drift.
                self.number = self.number.saturating_add(self.workers);
                self.next_ns = self.number as f64 * self.job_gap_ns;
            }
        }
    }
}

/// Inverse transform of the exponential distribution.
fn exponential(random: &mut fastrand::Rng, mean: f64) -> f64 {
    -(1.0 - random.f64()).ln() * mean
}

/// Refuse rates that are none.
pub fn check(job: &Job) -> Result<()> {
    let refuse = |text: String| Err(EngineError::Plan(format!("job '{}': {text}", job.name)));
    let limits = [("ops_per_s", job.limit.ops_per_s), ("bytes_per_s", job.limit.bytes_per_s)];
    for (name, rate) in limits {
        if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
            return refuse(format!("limit.{name} is {rate}; it must be above 0"));
        }
    }
    let rate = match job.arrival {
        Arrival::Closed {} => None,
        Arrival::Open { rate_per_s, .. } => Some(("rate_per_s", rate_per_s)),
        Arrival::OpenShare { rate_share, .. } => Some(("rate_share", rate_share)),
        Arrival::Balanced { weight: 0, .. } => return refuse("arrival.weight is 0; it must be above 0".to_owned()),
        Arrival::Balanced { .. } if limits.iter().any(|(_, rate)| rate.is_some()) || job.delay_s > 0.0 => {
            return refuse(
                "balance with other jobs goes with neither a rate limit nor delay_s; give one of them".into(),
            );
        }
        Arrival::Balanced { .. } => None,
    };
    if let Some((name, rate)) = rate {
        if !(rate.is_finite() && rate > 0.0) {
            return refuse(format!("arrival.{name} is {rate}; it must be above 0"));
        }
        if limits.iter().any(|(_, rate)| rate.is_some()) {
            return refuse("a schedule of arrivals and a rate limit exclude each other; give one of them".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn open(rate_per_s: f64, spacing: Spacing, worker: u32, workers: u32) -> Pacer {
        let mut pacer = Pacer::Open(Schedule::new(rate_per_s, spacing, worker, workers, 7 + u64::from(worker)));
        pacer.begin(1000 * MS);
        pacer
    }

    fn limited(ops_per_s: f64, bytes_per_s: f64) -> Pacer {
        let cost = |rate: f64| if rate > 0.0 { 1e9 / rate } else { 0.0 };
        let mut pacer = Pacer::Limited(Limit {
            ns_per_op: cost(ops_per_s),
            ns_per_byte: cost(bytes_per_s),
            ops_paid_ns: 0.0,
            bytes_paid_ns: 0.0,
        });
        pacer.begin(1000 * MS);
        pacer
    }

    proptest! {
        #[test]
        fn the_arrivals_of_all_workers_together_are_evenly_spaced(rate in 1.0..1e6_f64, workers in 1..9_u32) {
            let mut all: Vec<u64> = (0..workers)
                .flat_map(|worker| {
                    let mut pacer = open(rate, Spacing::Uniform, worker, workers);
                    (0..100).map(|_| pacer.take(0)).collect::<Vec<_>>()
                })
                .collect();
            all.sort_unstable();

            for (k, &arrival) in all.iter().enumerate() {
                prop_assert_eq!(arrival, 1000 * MS + (k as f64 * (1e9 / rate)) as u64);
            }
        }
    }

    #[test]
    fn what_a_hopeless_rate_leaves_is_counted_without_a_look_at_each() {
        // A thousand million a second, for a day.
        let day_ns = 86_400_000 * MS;
        let mut even = open(1e9, Spacing::Uniform, 1, 4);
        let mut random = open(1e9, Spacing::Poisson, 1, 4);

        let (of_even, of_random) = (even.drain(1000 * MS + day_ns), random.drain(1000 * MS + day_ns));

        assert_eq!(of_even, day_ns / 4);
        assert!((of_random as f64 / (day_ns / 4) as f64 - 1.0).abs() < 1e-6, "{of_random}");
        assert!(even.due_ns(0) >= 1000 * MS + day_ns && random.due_ns(0) >= 1000 * MS + day_ns);
    }

    #[test]
    fn arrivals_do_not_shift_when_they_are_taken_late() {
        let mut pacer = open(1000.0, Spacing::Uniform, 0, 1);

        let taken: Vec<u64> = (0..3).map(|_| pacer.take(5000 * MS)).collect();

        assert_eq!(taken, [1000 * MS, 1001 * MS, 1002 * MS]);
    }

    #[test]
    fn poisson_times_have_the_mean_and_the_spread_of_the_exponential_distribution() {
        let mut pacer = open(1000.0, Spacing::Poisson, 0, 2);
        let arrivals: Vec<u64> = (0..100_001).map(|_| pacer.take(0)).collect();
        let gaps: Vec<f64> = arrivals.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();

        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let beyond_twice = gaps.iter().filter(|&&gap| gap > 2.0 * 2e6).count() as f64 / gaps.len() as f64;

        // Two workers share 1,000/s: 2 ms each. Standard errors are 0.3 %, 0.6 % and 0.001: bounds are four and more.
        assert!((mean / 2e6 - 1.0).abs() < 0.015, "{mean}");
        assert!((variance.sqrt() / 2e6 - 1.0).abs() < 0.03, "{}", variance.sqrt());
        assert!((beyond_twice - (-2.0_f64).exp()).abs() < 0.005, "{beyond_twice}");
    }

    #[test]
    fn what_was_due_by_the_end_is_counted_once() {
        let mut pacer = open(1000.0, Spacing::Uniform, 0, 1);
        (0..400).for_each(|_| _ = pacer.take(0));

        assert_eq!(pacer.drain(2000 * MS), 600);
        assert_eq!(pacer.drain(2000 * MS), 0);
    }

    #[test]
    fn arrivals_of_hours_that_nobody_took_are_counted_without_going_through_them() {
        let hour_ns = 3600 * 1000 * MS;
        for (rate, workers) in [(1e9, 1_u32), (1e9, 7), (3.0, 2), (0.1, 3)] {
            let counted: u64 = (0..workers)
                .map(|worker| {
                    let mut pacer = open(rate, Spacing::Uniform, worker, workers);
                    let due = pacer.drain(1000 * MS + hour_ns);
                    assert_eq!(pacer.drain(1000 * MS + hour_ns), 0, "{rate} {worker}");
                    due
                })
                .sum();

            assert_eq!(counted, (rate * 3600.0).round() as u64, "{rate}");
        }
        let mut random = open(1e9, Spacing::Poisson, 0, 1);
        let due = random.drain(1000 * MS + hour_ns);

        // The 100,000 that are drawn stray by 300 or so.
        assert!(due.abs_diff(3600 * 1_000_000_000) < 2000, "{due}");
        assert_eq!(random.drain(1000 * MS + hour_ns), 0);
    }

    #[test]
    fn a_slot_is_missed_when_the_next_one_of_the_worker_is_due() {
        let pacer = open(1000.0, Spacing::Uniform, 0, 4);

        assert!(!pacer.is_missed(1000 * MS, 1004 * MS));
        assert!(pacer.is_missed(1000 * MS, 1004 * MS + 1));
    }

    /// Operations in 10 s when each takes `op_ns` and each wake-up comes `late_ns` too late.
    fn done_in_10_s(mut pacer: Pacer, bytes: u64, op_ns: u64, late_ns: u64) -> u64 {
        let (mut now, mut done) = (1000 * MS, 0);
        while now < 11_000 * MS {
            if pacer.due_ns(0) > now {
                now = pacer.due_ns(0) + late_ns;
            }
            pacer.take(now);
            pacer.charge(now, bytes);
            now += op_ns;
            done += 1;
        }
        done
    }

    #[test]
    fn a_limited_rate_is_kept_in_spite_of_late_wake_ups() {
        assert!((4995..=5006).contains(&done_in_10_s(limited(500.0, 0.0), 4096, 100_000, 80_000)));
        // 4 MiB/s in pieces of 64 KiB are 64 a second.
        let mebibytes = limited(0.0, 4.0 * 1_048_576.0);
        assert!((639..=642).contains(&done_in_10_s(mebibytes, 65_536, 100_000, 80_000)));
    }

    #[test]
    fn the_narrower_of_two_limits_holds() {
        let both = limited(500.0, 4.0 * 1_048_576.0);

        assert!((639..=642).contains(&done_in_10_s(both, 65_536, 100_000, 0)));
    }

    #[test]
    fn a_limit_does_not_let_a_stall_be_caught_up() {
        let mut pacer = limited(1000.0, 0.0);
        pacer.take(1000 * MS);

        pacer.take(3000 * MS);

        assert_eq!(pacer.due_ns(0), 2991 * MS);
    }
}
