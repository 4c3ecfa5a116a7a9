//! How did a phase end: each worker, each job, and the phase as a whole?

use super::jobs::ReadyJob;
use super::{facts, went_wrong};
use crate::emit::Emitter;
use crate::error::EngineError;
use crate::events::{ErrorCount, Event, PhaseFinished, StoppedBy, WorkerWindow};
use crate::job::Ended;
use crate::sampler::Observed;
use crate::stats::NEVER;
use std::path::Path;

/// How a phase ended, for the run.
#[derive(Debug)]
pub enum PhaseEnd {
    /// By its own rules.
    Done,
    /// By a stop from outside.
    Stopped,
    /// It was left out before its start, and all phases before this one.
    SkippedTo(u32),
    /// By a failure that leaves nothing to go on with.
    Failed(EngineError),
}

/// What ended while a phase was on, and why.
#[derive(Default)]
pub(super) struct Ending {
    /// Workers that have stopped, by their position in the phase, in the order in which they did.
    pub ended: Vec<(usize, Ended)>,
    /// Files have grown into the reserve.
    pub overgrown: Option<EngineError>,
    /// A worker's process has died, or it has panicked; of several, the last.
    pub lost: Option<EngineError>,
    /// An order to end the phase as if its time were up.
    pub time_is_up: bool,
    /// A stop came from outside.
    pub stopped_from_outside: bool,
}

impl Ending {
    /// Find why workers were asked to stop, and so what the phase as a whole was stopped by. Puts
    /// the workers in order.
    fn settle(&mut self) -> StoppedBy {
        let gave_up = self.ended.iter().any(|(_, ended)| ended.fatal.is_some());
        let because = if self.stopped_from_outside {
            StoppedBy::Control
        } else if gave_up || self.overgrown.is_some() || self.lost.is_some() {
            StoppedBy::Error
        } else if self.time_is_up {
            // Who was stopped because another had heard it first had no time left either.
            StoppedBy::Steady
        } else {
            StoppedBy::Stonewall
        };
        for (_, ended) in &mut self.ended {
            if ended.stopped_by == StoppedBy::Control {
                ended.stopped_by = because;
            }
        }
        let last = self.ended.last().map_or(StoppedBy::Exhausted, |(_, ended)| ended.stopped_by);
        self.ended.sort_by_key(|(worker, _)| *worker);
        if matches!(because, StoppedBy::Stonewall | StoppedBy::Steady) { last } else { because }
    }
}

/// What it takes to report how a phase ended.
pub(super) struct Conclusion<'a> {
    /// Way out.
    pub emitter: &'a Emitter,
    /// Phase.
    pub phase_index: u32,
    /// When its workers began.
    pub start_ns: u64,
    /// Its jobs.
    pub jobs: &'a [ReadyJob<'a>],
    /// Their workers, which still hold their rings.
    pub workers: &'a [Observed],
}

impl Conclusion<'_> {
    /// Send the warnings and the event of the phase's end.
    pub fn emit(&self, mut ending: Ending) -> PhaseEnd {
        // Of several workers that gave up, the one that did first.
        let fatal = ending.ended.iter().find_map(|(worker, ended)| Some((*worker, ended.fatal.clone()?)));
        let stopped_by = ending.settle();
        let errors = went_wrong::errors(self.jobs, self.workers);
        let job_ends: Vec<_> = (0..self.jobs.len()).map(|job| self.job_end(job, &ending.ended, &errors)).collect();
        for end in &job_ends {
            facts::warn(end, self.emitter, self.phase_index);
        }
        let jobs = job_ends.iter().map(facts::JobEnd::facts).collect();
        self.emitter.emit(&Event::PhaseFinished(PhaseFinished {
            t_ns: self.emitter.now_ns(),
            phase_index: self.phase_index,
            start_ns: self.start_ns,
            stopped_by,
            workers: ending.ended.iter().map(|(worker, ended)| self.window(*worker, ended)).collect(),
            jobs,
            errors,
            corruption: went_wrong::corruption(self.jobs),
        }));
        let gave_up = fatal.map(|(worker, (operation, errno))| self.gave_up(worker, operation, errno));
        match gave_up.or(ending.overgrown).or(ending.lost) {
            Some(error) => PhaseEnd::Failed(error),
            None if ending.stopped_from_outside => PhaseEnd::Stopped,
            None => PhaseEnd::Done,
        }
    }

    fn job_of(&self, worker: usize) -> &ReadyJob<'_> {
        &self.jobs[self.workers[worker].job]
    }

    fn gave_up(&self, worker: usize, operation: String, errno: i32) -> EngineError {
        let job = self.job_of(worker);
        let set = job.shared.program.sets.first();
        let folder = set.map_or(Path::new(""), |&set| job.shared.sets[set].folder());
        facts::gave_up(operation, folder, errno, job.circumstances())
    }

    fn window(&self, worker: usize, ended: &Ended) -> WorkerWindow {
        let observed = &self.workers[worker];
        let stats = &observed.stats;
        let first = stats.first_op_ns.get();
        WorkerWindow {
            job: self.job_of(worker).job.name.clone(),
            worker: observed.worker,
            first_op_ns: (first != NEVER).then_some(first),
            last_op_ns: (first != NEVER).then_some(stats.last_op_ns.get()),
            started: stats.started.get(),
            completed: stats.completed.get(),
            failed: stats.failed.get(),
            abandoned: ended.abandoned,
            stopped_by: ended.stopped_by,
        }
    }

    fn job_end<'b>(
        &'b self,
        position: usize,
        ended: &'b [(usize, Ended)],
        errors: &'b [ErrorCount],
    ) -> facts::JobEnd<'b> {
        let ready = &self.jobs[position];
        let ended = ended.iter().filter(|(worker, _)| self.workers[*worker].job == position);
        let workers = self.workers.iter().filter(|worker| worker.job == position);
        facts::JobEnd {
            job: ready.job,
            circumstances: ready.circumstances(),
            stats: workers.map(|worker| &*worker.stats).collect(),
            ended: ended.map(|(_, ended)| ended).collect(),
            errors: errors.iter().filter(|error| error.job == ready.job.name).collect(),
        }
    }
}
