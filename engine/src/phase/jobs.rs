//! What each job of a phase runs with: its backend as the kernel allows it, the flags of its files, and the state that its
//! workers share.

use super::surroundings::Surroundings;
use super::words::Circumstances;
use crate::content::found::Found;
use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::files::open_files::{ResolvedFlags, resolve_flags};
use crate::job::JobShared;
use crate::pace::coordination::{Coordination, Names};
use crate::pace::limits::{JobLimits, Rule};
use crate::places::local_dir::growth::Growth;
use crate::plan::{Access, Allocate, Arrival, Backend, Fallback, Job, Phase, WorkerKind};
use crate::program::lines::Lines;
use crate::program::op::{FileSource, OpNode, Program};
use crate::program::op_rules::Grows;
use crate::sampler::ObservedJob;
use crate::sys::shared::{SharedBox, SharedSlice};
use crate::warning_id::WarningId;
use std::sync::Arc;

/// A job ready to run.
pub(super) struct ReadyJob<'a> {
    /// As in the Plan.
    pub job: &'a Job,
    /// How many workers it really has.
    pub workers: u32,
    /// How many operations each really keeps in flight.
    pub queue_depth: u32,
    /// What its data operations really go through.
    pub backend: Backend,
    /// What its workers share.
    pub shared: Arc<JobShared>,
    /// How its files are opened.
    pub flags: ResolvedFlags,
    /// Whether the first of its workers that stops ends them all.
    pub stonewall: bool,
}

/// Make every job of a phase ready.
pub(super) fn make_ready<'a>(
    around: &Surroundings,
    phase_index: u32,
    phase: &'a Phase,
    programs: Vec<Program>,
    phase_rule: &Rule,
) -> Result<Vec<ReadyJob<'a>>> {
    let coordination = Coordination::new(&Names::of(phase)?).map_err(EngineError::no_shared_memory)?;
    let coordination = Arc::new(coordination);
    let jobs = phase.jobs.iter().zip(programs);
    jobs.map(|(job, program)| ready_job(around, phase_index, job, program, phase_rule, &coordination)).collect()
}

fn ready_job<'a>(
    around: &Surroundings,
    phase_index: u32,
    job: &'a Job,
    program: Program,
    phase_rule: &Rule,
    coordination: &Arc<Coordination>,
) -> Result<ReadyJob<'a>> {
    let (backend, workers, queue_depth) = settle_backend(around, phase_index, job)?;
    let flags = resolve_flags(job, &program, around.sets, around.emitter, phase_index)?;
    coordination.join(workers);
    if let Arrival::Balanced { group, weight, .. } = &job.arrival
        && let Some(group) = coordination.group(group)
    {
        coordination.weigh_in(group, weight.saturating_mul(u64::from(workers)));
    }
    let job_rule = Rule::new(&job.stop).map_err(EngineError::no_shared_memory)?;
    let stonewall = job_rule.is_stonewall();
    let next_file = SharedSlice::zeroed(program.operations).map_err(EngineError::no_shared_memory)?;
    let streams = JobShared::streams_of(&program, around.sets).map_err(EngineError::no_shared_memory)?;
    let finishing = SharedSlice::zeroed(2 * program.finishes).map_err(EngineError::no_shared_memory)?;
    let has_stamps = program.sets.iter().any(|&set| around.sets[set].generations().is_some());
    let found =
        has_stamps.then(|| Found::new(program.operations)).transpose().map_err(EngineError::no_shared_memory)?;
    let shared = Arc::new(JobShared {
        found: found.map(Arc::new),
        sets: around.sets.to_vec(),
        stop_flags: SharedBox::zeroed().map_err(EngineError::no_shared_memory)?,
        closings: SharedBox::zeroed().map_err(EngineError::no_shared_memory)?,
        limits: JobLimits::new(job_rule, phase_rule.clone()),
        open_flags: flags.flags | libc::O_RDWR,
        advice: flags.advice,
        next_file,
        streams,
        finishing,
        coordination: Arc::clone(coordination),
        program,
    });
    Ok(ReadyJob { job, workers, queue_depth, backend, shared, flags, stonewall })
}

/// The backend that will be used, with the workers and the depth that go with it.
fn settle_backend(around: &Surroundings, phase_index: u32, job: &Job) -> Result<(Backend, u32, u32)> {
    let (Backend::IoUring { fallback, .. }, Err(reason)) = (&job.backend, &around.io_uring) else {
        return Ok((job.backend.clone(), job.workers, job.queue_depth));
    };
    if *fallback == Fallback::Refuse {
        return Err(EngineError::Environment(format!(
            "job '{}': {reason}. Choose the backend psync, or set the fallback to 'threads'",
            job.name
        )));
    }
    around.emitter.warn(
        Some(phase_index),
        WarningId::IoUringFallback,
        format!("{reason}; depth {} was kept by as many threads with psync", job.queue_depth),
    );
    Ok((Backend::Psync {}, job.workers * job.queue_depth, 1))
}

impl ReadyJob<'_> {
    /// Between the common start and its own.
    pub fn delay_ns(&self) -> u64 {
        (self.job.delay_s * 1e9) as u64
    }

    /// What it takes to explain an error of its operations.
    pub fn circumstances(&self) -> Circumstances<'_> {
        let ResolvedFlags { direct, alignment_bytes, .. } = self.flags;
        Circumstances { backend: &self.backend, direct, alignment_bytes }
    }

    /// Report that files could not be closed, once all workers have closed theirs.
    pub fn warn_of_closings(&self, emitter: &Emitter, phase_index: u32) {
        if let Some(words) = self.shared.closings.in_words() {
            emitter.warn(Some(phase_index), WarningId::CloseFailed, format!("{}: {words}", self.job.name));
        }
    }

    /// The job as the sampler sees it, before its first operation.
    pub fn observed(&self) -> ObservedJob {
        let program = &self.shared.program;
        let operations = program.ops().map(|op| op.name.clone());
        let has_schedule = program.script.as_ref().is_some_and(Lines::has_schedule);
        ObservedJob {
            name: self.job.name.clone(),
            last: vec![(0, 0); program.series.len()],
            series: program.series.clone(),
            laps: program.laps.clone(),
            operations: operations.collect(),
            is_open_loop: has_schedule || matches!(self.job.arrival, Arrival::Open { .. }),
            in_processes: self.job.kind == WorkerKind::Process,
        }
    }

    /// Whether its files can take more room while it runs than they took when they were laid out.
    fn grows(&self) -> bool {
        let fills_holes = |set: usize| self.shared.sets[set].set().allocate == Allocate::Sparse;
        let grows = |op: &OpNode| match op.kind.rules().grows {
            Grows::Never => false,
            Grows::Always => true,
            Grows::WhereWritten => match op.file {
                FileSource::Opened { opened, .. } => {
                    op.access == (Access::Append {}) || fills_holes(self.shared.program.opened[opened].set)
                }
                FileSource::Slot(_) | FileSource::Named { .. } => true,
            },
        };
        self.job.open.append || self.shared.program.ops().any(grows)
    }
}

/// Looks after the sets that grow while the jobs run.
pub(super) fn growth(around: &Surroundings, jobs: &[ReadyJob]) -> Growth {
    let sets = jobs.iter().filter(|job| job.grows()).flat_map(|job| &job.shared.program.sets);
    let mut roots: Vec<_> = sets.map(|&set| Arc::clone(around.sets[set].root())).collect();
    roots.dedup_by(|one, other| Arc::ptr_eq(one, other));
    Growth::new(roots, around.reserve_bytes)
}
