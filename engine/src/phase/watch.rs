//! The main thread's part of a phase: wait until all workers are ready, give the start, tick on the interval grid and
//! listen, until the last worker has stopped.

use super::ending::{Conclusion, Ending, PhaseEnd};
use super::guard::Guard;
use super::jobs::ReadyJob;
use super::rates;
use super::rates::Done;
use super::went_wrong::Reported;
use super::workers::PhaseWorkers;
use crate::backend::Report;
use crate::control::{Inbox, Message};
use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::events::{Control, Event, StoppedBy};
use crate::job::Ended;
use crate::observe::pauses::Pauses;
use crate::observe::task::TaskObserver;
use crate::places::local_dir::growth::Growth;
use crate::plan::{Ends, WorkerKind};
use crate::sampler::Sampler;
use crate::stalls::{LOOK_NS, Stalls};
use crate::stats::NEVER;
use crate::warning_id::WarningId;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long before an agreed start the first sample is begun.
const SAMPLE_LEAD_NS: u64 = 5_000_000;
/// From the first sample to the start: enough for all workers to be awake, so that they leave together. What it takes
/// for any number of them, and for each.
const WAKING_NS: u64 = 500_000;
const WAKING_EACH_NS: u64 = 20_000;
/// Before the start of workers that outnumber the CPUs: what made them has to be over, or some of them begin late.
const SETTLING_NS: u64 = 25_000_000;

/// What to do with a phase that is ready.
enum Ordered {
    Start(Order),
    SkipTo(u32),
    Stop,
}

/// When a phase starts.
struct Order {
    /// The past: at once.
    start_ns: u64,
    /// CLOCK_MONOTONIC of what was agreed with others; None: with nobody.
    agreed_monotonic_ns: Option<u64>,
}

/// Time in which the client was paused.
pub(super) struct Pause {
    begun_ns: u64,
    ended_ns: u64,
    paused_ns: u64,
}

/// A phase between ready and finished.
pub(super) struct Watch<'a> {
    pub emitter: &'a Emitter,
    pub inbox: &'a Inbox,
    pub interval_ns: u64,
    pub delay_accounting: bool,
    pub phase_index: u32,
    pub jobs: &'a [ReadyJob<'a>],
    pub sampler: Sampler<'a>,
    pub stalls: Stalls,
    pub pauses: Pauses,
    /// The last pause before the phase began, in case it reaches into it.
    pub early_pause: Option<Pause>,
    /// Whether the first worker that stops ends all jobs.
    pub phase_stonewall: bool,
    pub growth: Growth,
    /// From the start to the end of the ramp.
    pub ramp_ns: u64,
    /// What the jobs had done then.
    pub ramped: Option<Vec<Done>>,
    /// What went wrong so far.
    pub reported: Reported,
    /// What has ended so far, and why.
    pub ending: Ending,
}

impl Watch<'_> {
    /// From the first worker that gets ready to the last that has stopped, and the report of it.
    pub fn walk(mut self, workers: &PhaseWorkers) -> Result<(PhaseEnd, Vec<f64>)> {
        if !self.wait_until_ready()? {
            return Ok((PhaseEnd::Stopped, Vec::new()));
        }
        let order = match self.wait_for_order()? {
            Ordered::Start(order) => order,
            Ordered::SkipTo(next) => return Ok((PhaseEnd::SkippedTo(next), Vec::new())),
            Ordered::Stop => return Ok((PhaseEnd::Stopped, Vec::new())),
        };
        let ordered_ns = self.emitter.now_ns();
        let due_ns = order.agreed_monotonic_ns.map_or(ordered_ns, |_| order.start_ns);
        let guard = Guard::begin(std::mem::take(&mut self.growth), self.jobs)?;
        self.pauses.begin();
        self.sampler.begin(self.emitter);
        let start_ns = order.start_ns.max(self.emitter.now_ns() + self.waking_ns());
        self.emitter.emit(&Event::Started {
            t_ns: self.emitter.now_ns(),
            phase_index: self.phase_index,
            start_ns,
            late_ns: order.agreed_monotonic_ns.map(|at| self.emitter.clock().monotonic_at_zero_ns() + start_ns - at),
        });
        workers.start(start_ns, order.agreed_monotonic_ns.is_some());
        self.early_pause = self.pause_since(ordered_ns, start_ns - ordered_ns).or(self.early_pause.take());
        if let Some(pause) = self.early_pause.take().filter(|pause| pause.ended_ns > due_ns) {
            self.report(&pause);
        }
        self.watch(start_ns)?;
        self.ending.overgrown = guard.end();
        self.sampler.end(self.emitter);
        self.reported.look(self.emitter, self.phase_index, self.jobs, &self.sampler.workers);
        let Self { emitter, phase_index, jobs, sampler, ending, ramped, .. } = self;
        let rates = ramped.map_or_else(Vec::new, |before| rates::since(&before, jobs, &sampler.workers));
        Ok((Conclusion { emitter, phase_index, start_ns, jobs, workers: &sampler.workers }.emit(ending), rates))
    }

    /// Wait until every worker holds its files. False: stopped.
    fn wait_until_ready(&mut self) -> Result<bool> {
        let mut waiting = self.sampler.workers.len();
        while waiting > 0 {
            match self.inbox.receive(None)? {
                Some(Message::Ready { worker, tid }) => {
                    self.observe(worker, tid);
                    waiting -= 1;
                }
                Some(Message::Failed(error)) => return Err(error),
                Some(Message::Lost { worker, how }) => return Err(self.lost(worker, &how)),
                Some(Message::Control(Control::Stop {})) => {
                    self.stop_all();
                    return Ok(false);
                }
                Some(other) => self.aside(other),
                None => {}
            }
        }
        let workers = self.sampler.workers.len() as u32;
        self.emitter.emit(&Event::Ready { t_ns: self.emitter.now_ns(), phase_index: self.phase_index, workers });
        Ok(true)
    }

    fn observe(&mut self, worker: usize, tid: i32) {
        let observed = &mut self.sampler.workers[worker];
        let open = match self.jobs[observed.job].job.kind {
            WorkerKind::Thread => TaskObserver::open,
            WorkerKind::Process => TaskObserver::open_process,
        };
        observed.task = Some(open(tid, self.delay_accounting));
    }

    fn lost(&self, worker: usize, how: &str) -> EngineError {
        let observed = &self.sampler.workers[worker];
        let job = &self.jobs[observed.job].job.name;
        EngineError::Environment(format!("job '{job}': worker {} is gone: its {how}", observed.worker))
    }

    /// Wait for the order to start, and until the first sample is due before it, or for another order.
    fn wait_for_order(&mut self) -> Result<Ordered> {
        let mut order: Option<Order> = None;
        loop {
            if order.is_none() && self.inbox.starts_when_ready() {
                order = Some(Order { start_ns: self.soon_ns(), agreed_monotonic_ns: None });
            }
            let lead_ns = self.emitter.now_ns() + SAMPLE_LEAD_NS + self.waking_ns();
            let left = order.as_ref().map(|order| Duration::from_nanos(order.start_ns.saturating_sub(lead_ns)));
            if let Some(order) = order.take_if(|_| left.is_some_and(|left| left.is_zero())) {
                return Ok(Ordered::Start(order));
            }
            let (begun_ns, wait) = (self.emitter.now_ns(), left.unwrap_or(Duration::from_nanos(LOOK_NS)));
            self.pauses.begin();
            let received = self.inbox.receive(Some(wait))?;
            self.early_pause = self.pause_since(begun_ns, wait.as_nanos() as u64).or(self.early_pause.take());
            match received {
                Some(Message::Control(Control::Start { phase_index, at_monotonic_ns }))
                    if phase_index == self.phase_index =>
                {
                    let agreed_monotonic_ns = (at_monotonic_ns > 0).then_some(at_monotonic_ns);
                    let start_ns = match agreed_monotonic_ns {
                        Some(at) => self.emitter.clock().from_monotonic_ns(at),
                        None => self.soon_ns(),
                    };
                    order = Some(Order { start_ns, agreed_monotonic_ns });
                }
                Some(Message::Control(Control::SkipTo { phase_index, next_index }))
                    if phase_index == self.phase_index && next_index > phase_index && order.is_none() =>
                {
                    self.stop_all();
                    return Ok(Ordered::SkipTo(next_index));
                }
                Some(Message::Control(Control::Stop {})) => return Ok(Ordered::Stop),
                Some(Message::Lost { worker, how }) => return Err(self.lost(worker, &how)),
                Some(other) => self.aside(other),
                None => {}
            }
        }
    }

    /// The earliest start that nobody else waits for.
    fn soon_ns(&self) -> u64 {
        self.emitter.now_ns() + if self.is_crowded() { SETTLING_NS } else { 0 }
    }

    /// Whether there are more workers than CPUs.
    fn is_crowded(&self) -> bool {
        std::thread::available_parallelism().is_ok_and(|cpus| self.sampler.workers.len() > cpus.get())
    }

    fn waking_ns(&self) -> u64 {
        WAKING_NS + WAKING_EACH_NS * self.sampler.workers.len() as u64
    }

    /// Messages that mean the same at any time.
    fn aside(&self, message: Message) {
        match message {
            Message::Control(Control::Mark { label }) => {
                self.emitter.emit(&Event::Mark { t_ns: self.emitter.now_ns(), label, source: "user".into() });
            }
            Message::Control(Control::Start { phase_index, .. }) => {
                let text = format!("a start for phase {phase_index} came while phase {} was on", self.phase_index);
                self.emitter.warn(Some(self.phase_index), WarningId::ControlOutOfOrder, text);
            }
            Message::Control(Control::SkipTo { phase_index, next_index }) => {
                let text = format!(
                    "an order to leave out the phases from {phase_index} to before {next_index} came while phase {} was on",
                    self.phase_index
                );
                self.emitter.warn(Some(self.phase_index), WarningId::ControlOutOfOrder, text);
            }
            // One for a phase that is over came late, as it may.
            Message::Control(Control::EndPhase { phase_index }) if phase_index >= self.phase_index => {
                let text = format!("an end of phase {phase_index} came before its start");
                self.emitter.warn(Some(self.phase_index), WarningId::ControlOutOfOrder, text);
            }
            Message::Unreadable(text) => {
                let text = format!("a control line could not be read: {text}");
                self.emitter.warn(Some(self.phase_index), WarningId::ControlUnreadable, text);
            }
            Message::Control(Control::Stop {} | Control::StartWhenReady {} | Control::EndPhase { .. })
            | Message::Plan(_)
            | Message::Ready { .. }
            | Message::Failed(_)
            | Message::Done { .. }
            | Message::Lost { .. } => {}
        }
    }

    /// Tick on the grid until every worker has stopped.
    fn watch(&mut self, start_ns: u64) -> Result<()> {
        let (mut next, mut look) = (start_ns + self.interval_ns, start_ns + LOOK_NS);
        if self.ramp_ns == 0 {
            self.ramped = Some(rates::so_far(self.jobs, &self.sampler.workers, start_ns));
        }
        while self.ending.ended.len() < self.sampler.workers.len() {
            let mut now = self.emitter.now_ns();
            if self.ramped.is_none() && now >= start_ns + self.ramp_ns {
                self.ramped = Some(rates::so_far(self.jobs, &self.sampler.workers, now));
            }
            if now >= look {
                self.stalls.look(self.emitter, self.phase_index, &self.sampler.jobs, &self.sampler.workers);
                look = now + LOOK_NS;
            }
            if now >= next {
                self.sampler.tick(self.emitter);
                self.reported.look(self.emitter, self.phase_index, self.jobs, &self.sampler.workers);
                // Many workers on a busy machine take longer than an interval to be sampled: the next place on the grid is
                // ahead of the time by now, so that there is always some for what has come in.
                now = self.emitter.now_ns();
                next += (now - next) / self.interval_ns * self.interval_ns + self.interval_ns;
            }
            let asked_ns = next.min(look).saturating_sub(now);
            self.pauses.begin();
            let received = self.inbox.receive(Some(Duration::from_nanos(asked_ns)))?;
            self.look_for_pause(now, asked_ns);
            match received {
                Some(Message::Done { worker, ended }) => self.one_ended(worker, ended),
                Some(Message::Lost { worker, how }) => self.one_lost(worker, &how),
                Some(Message::Control(Control::Stop {})) => {
                    self.ending.stopped_from_outside = true;
                    self.stop_all();
                }
                Some(Message::Control(Control::EndPhase { phase_index })) if phase_index == self.phase_index => {
                    self.ending.time_is_up = true;
                    self.jobs.iter().for_each(|job| job.shared.stop_flags.time_is_up.store(true, Relaxed));
                }
                Some(other) => self.aside(other),
                None => {}
            }
        }
        Ok(())
    }

    /// Report if the client was paused while it wanted to sleep for `asked_ns`. A worker that was at an operation waited
    /// for the client then, not for the storage.
    fn look_for_pause(&mut self, begun_ns: u64, asked_ns: u64) {
        if let Some(pause) = self.pause_since(begun_ns, asked_ns) {
            self.report(&pause);
        }
    }

    fn pause_since(&self, begun_ns: u64, asked_ns: u64) -> Option<Pause> {
        let paused_ns = self.pauses.since_begin(asked_ns)?;
        Some(Pause { begun_ns, ended_ns: self.emitter.now_ns(), paused_ns })
    }

    fn report(&mut self, pause: &Pause) {
        let Pause { begun_ns, ended_ns: t_ns, paused_ns } = *pause;
        self.stalls.excuse_until(t_ns);
        self.emitter.emit(&Event::Paused { t_ns, phase_index: self.phase_index, begun_ns, paused_ns });
    }

    fn one_ended(&mut self, worker: usize, ended: Ended) {
        let job = &self.jobs[self.sampler.workers[worker].job];
        // The time of a rule is up for all who have the rule: they end what they are at by themselves.
        let of_time = matches!(ended.stopped_by, StoppedBy::Time | StoppedBy::Steady);
        if ended.fatal.is_some() || (self.phase_stonewall && !(of_time && job.job.stop.seconds.is_none())) {
            self.stop_all();
        } else if job.stonewall && !of_time {
            job.shared.stop();
        }
        // Who was asked to stop is not done.
        if ended.stopped_by != StoppedBy::Control {
            self.end_with(job, of_time);
        }
        self.ending.ended.push((worker, ended));
    }

    /// Stop the jobs that end with this one; those whose own time is up as well end by themselves.
    fn end_with(&self, done: &ReadyJob, of_time: bool) {
        let end_s = |job: &ReadyJob| job.job.stop.seconds.map_or(f64::INFINITY, |seconds| job.job.delay_s + seconds);
        for job in self.jobs {
            let is_meant = match done.job.ends {
                Ends::Nothing => false,
                Ends::Team => job.job.team == done.job.team,
                Ends::Phase => true,
            };
            if is_meant && !(of_time && end_s(job) <= end_s(done)) {
                job.shared.stop();
            }
        }
    }

    /// A worker's process has died, or a worker has panicked: the phase ends with what was measured until now, and the run with
    /// an error.
    fn one_lost(&mut self, worker: usize, how: &str) {
        let stats = &self.sampler.workers[worker].stats;
        stats.busy_since_ns.set(NEVER);
        stats.slots.iter().for_each(|slot| slot.since_ns.set(NEVER));
        let abandoned = stats.abandoned();
        let (stopped_by, report) = (StoppedBy::Error, Report::default());
        let ended = Ended { stopped_by, fatal: None, abandoned, report };
        self.ending.lost = Some(self.lost(worker, how));
        self.stop_all();
        self.ending.ended.push((worker, ended));
    }

    fn stop_all(&self) {
        self.jobs.iter().for_each(|job| job.shared.stop());
    }
}
