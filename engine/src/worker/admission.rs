//! May a worker's next operation begin? The stop flag, the limits, the pace and what workers of a phase share are asked here.

use super::meter::Meter;
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::files::indices::Unavailable;
use crate::job::{JobShared, StopFlags};
use crate::pace::limits::LocalLimits;
use crate::pace::pacing::{Pacer, UNSCHEDULED};
use crate::stats::WorkerStats;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Longest sleep without a look at the stop flag.
const LONGEST_NAP_NS: u64 = 100_000_000;
/// Looks before a worker that waits for others sleeps: most calls that others wait for take microseconds.
const LOOKS_AWAKE: u32 = 100;
const SHORT_NAP_NS: u64 = 50_000;

/// What lets operations begin, and what counts them.
pub(super) struct Admission<T> {
    pub(super) meter: Meter<T>,
    pub(super) job: Arc<JobShared>,
    limits: LocalLimits,
    pacer: Pacer,
    /// By token bucket: what of this worker's work is paid for.
    pub(super) paid: Vec<f64>,
    /// By action that counts for all workers together: what of this worker's work it has counted.
    pub(super) reported: Vec<(u64, u64)>,
}

impl<T: Ticks> Admission<T> {
    pub(super) fn new(clock: T, stats: Arc<WorkerStats>, job: Arc<JobShared>) -> Self {
        let meter = Meter::new(clock, stats, job.program.operations, job.program.laps.len());
        let paid = vec![0.0; job.coordination.buckets()];
        let reported = vec![(0, 0); job.program.finishes];
        Self { meter, job, limits: LocalLimits::default(), pacer: Pacer::Free, paid, reported }
    }

    /// The phase starts at `start_ns`, the worker `delay_ns` later, and goes at the pace of `pacer`.
    pub(super) fn open(&mut self, start_ns: u64, delay_ns: u64, pacer: Pacer) {
        self.limits.begin(start_ns, delay_ns, &self.job.limits);
        self.pacer = pacer;
        self.pacer.begin(start_ns.saturating_add(delay_ns));
        self.job.coordination.begin(start_ns);
        if !self.pacer.is_free() {
            crate::sys::time::sleep_exactly();
        }
        self.meter.go_on();
    }

    /// Wait until the worker may begin, where that is later than the phase.
    pub(super) fn wait_for_own_start(&mut self, own_start_ns: u64) -> Result<(), StoppedBy> {
        if own_start_ns <= self.meter.last_ns() {
            return Ok(());
        }
        self.meter.rest();
        self.nap_until(own_start_ns)?;
        self.check()?;
        self.meter.go_on();
        Ok(())
    }

    /// The worker has ended. Arrivals that were due before that and had no turn are counted; a worker that did all it was
    /// asked for left none.
    pub(super) fn shut(&mut self, stopped_by: StoppedBy) {
        self.meter.rest();
        let was_cut_off = matches!(
            stopped_by,
            StoppedBy::Time | StoppedBy::Steady | StoppedBy::Control | StoppedBy::Stonewall | StoppedBy::Error
        );
        if was_cut_off {
            let end_ns = self.meter.clock.now_ns().min(self.limits.deadline_ns());
            self.meter.left_out(self.pacer.drain(end_ns));
        }
        self.pacer.end();
        self.job.coordination.leave();
    }

    /// Set when the worker is to stop.
    #[inline(always)]
    pub(super) fn stop(&self) -> &AtomicBool {
        &self.job.stop_flags.stop
    }

    /// Whether to go on, from the latest look at the clock.
    #[inline(always)]
    pub(super) fn check(&self) -> Result<(), StoppedBy> {
        let stop_flags: &StopFlags = &self.job.stop_flags;
        if stop_flags.stop.load(Relaxed) {
            return Err(StoppedBy::Control);
        }
        if stop_flags.time_is_up.load(Relaxed) {
            return Err(StoppedBy::Steady);
        }
        self.limits.check_time(self.meter.last_ns())
    }

    /// Whether one more operation may begin.
    #[inline(always)]
    pub(super) fn admit(&mut self) -> Result<(), StoppedBy> {
        self.limits.admit(&self.job.limits)
    }

    /// Whether a transfer may begin; it counts against the limits and the rate.
    #[inline(always)]
    pub(super) fn admit_bytes(&mut self, bytes: u64) -> Result<(), StoppedBy> {
        self.limits.admit_bytes(&self.job.limits, bytes)?;
        self.pacer.charge(self.meter.last_ns(), bytes);
        Ok(())
    }

    /// So many operations, each a pass of its own, may begin without another look; 0: each needs one.
    pub(super) fn take_ahead(&mut self, counts: bool) -> u64 {
        if self.pacer.is_free() { self.limits.take_passes_ahead(counts) } else { 0 }
    }

    /// A pass is through: whether another may begin.
    #[inline(always)]
    pub(super) fn pass(&mut self) -> Result<(), StoppedBy> {
        self.limits.pass(&self.job.limits)
    }

    // -- arrivals ------------------------------------------------------------------------------------------------------

    /// Wait until the next operation is due, and begin it.
    #[inline(always)]
    pub(super) fn arrive(&mut self) -> Result<(), StoppedBy> {
        if self.pacer.is_free() { Ok(()) } else { self.arrive_in_turn() }
    }

    #[inline(never)]
    fn arrive_in_turn(&mut self) -> Result<(), StoppedBy> {
        self.wait_until_due()?;
        self.take_arrival();
        Ok(())
    }

    /// Wait until a line of a script is due, which says so itself or leaves it to the pace.
    pub(super) fn arrive_at(&mut self, due_ns: Option<u64>) -> Result<(), StoppedBy> {
        self.meter.intended_ns = due_ns.unwrap_or(UNSCHEDULED);
        let Some(due_ns) = due_ns else { return self.arrive() };
        self.meter.rest();
        self.nap_until(due_ns)?;
        self.meter.go_on();
        Ok(())
    }

    /// Whether operations have times at which they are due.
    pub(super) fn is_scheduled(&self) -> bool {
        matches!(self.pacer, Pacer::Open(_))
    }

    /// Whether the next operation is due, by the latest look at the clock.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        self.pacer.is_free() || self.pacer.due_ns(self.meter.last_ns()) <= self.meter.last_ns()
    }

    /// Sleep until the next operation is due; an end of time or a stop comes through.
    pub(super) fn wait_until_due(&mut self) -> Result<(), StoppedBy> {
        loop {
            let due_ns = self.pacer.due_ns(self.meter.last_ns());
            if due_ns <= self.meter.last_ns() {
                return Ok(());
            }
            self.meter.rest();
            self.nap_until(due_ns)?;
            self.check()?;
            self.meter.go_on();
        }
    }

    /// Until when to sleep at most.
    pub(super) fn nap_end_ns(&self) -> u64 {
        self.pacer
            .due_ns(self.meter.last_ns())
            .min(self.limits.deadline_ns())
            .min(self.meter.last_ns() + LONGEST_NAP_NS)
    }

    /// Begin the operation that is due.
    #[inline]
    pub(super) fn take_arrival(&mut self) {
        if self.pacer.is_free() {
            return;
        }
        let now_ns = self.meter.last_ns();
        self.meter.intended_ns = self.pacer.take(now_ns);
        if self.meter.intended_ns != UNSCHEDULED {
            self.meter.arrived(self.pacer.is_missed(self.meter.intended_ns, now_ns));
        }
    }

    // -- waiting -------------------------------------------------------------------------------------------------------

    /// Sleep until `until_ns` by a rule of the load, with nothing in flight, waking to hear a stop.
    pub(super) fn nap_until(&mut self, until_ns: u64) -> Result<(), StoppedBy> {
        self.meter.idle_until(until_ns.min(self.limits.deadline_ns()));
        let passed = self.pass_time(until_ns, LONGEST_NAP_NS, T::nap_until);
        if passed.is_err() {
            self.meter.idle_no_more();
        }
        passed
    }

    /// Let time go by until `until_ns`, with a look for a stop at least every `longest_ns`.
    pub(super) fn pass_time(&mut self, until_ns: u64, longest_ns: u64, pass: fn(&T, u64)) -> Result<(), StoppedBy> {
        while self.meter.last_ns() < until_ns {
            self.check()?;
            let next_ns = self.meter.last_ns() + longest_ns;
            pass(&self.meter.clock, until_ns.min(next_ns).min(self.limits.deadline_ns()));
            self.meter.read_clock();
        }
        Ok(())
    }

    /// What `take` gives, as soon as other workers let go of it: between operations, so the wait is in no latency.
    #[inline]
    pub(super) fn awaited<A>(&mut self, mut take: impl FnMut() -> Result<A, Unavailable>) -> Result<A, StoppedBy> {
        let mut looks = 0;
        loop {
            match take() {
                Ok(taken) => return Ok(taken),
                Err(Unavailable::Nothing) => return Err(StoppedBy::Exhausted),
                Err(Unavailable::Leased) => self.wait_for_others(looks)?,
            }
            looks += 1;
        }
    }

    #[cold]
    fn wait_for_others(&mut self, looks: u32) -> Result<(), StoppedBy> {
        self.meter.rest();
        if looks < LOOKS_AWAKE {
            std::thread::yield_now();
        } else {
            self.meter.clock.nap_until(self.meter.clock.now_ns() + SHORT_NAP_NS);
        }
        self.meter.go_on();
        self.check()
    }
}
