//! The whole run: targets opened, phases walked through in order, and everything removed that is not to be kept,
//! however the run ends.

use crate::among;
use crate::control::{Inbox, Message, Stopper};
use crate::data_sets::DataSets;
use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::events::{Capabilities, Event, Moment, Outcome};
use crate::huge_pages;
use crate::memory;
use crate::observe::HostObserver;
use crate::observe::cache::Residency;
use crate::phase;
use crate::phase::rates;
use crate::phase::rates::Rates;
use crate::phase::{PhaseEnd, Surroundings};
use crate::plan;
use crate::plan::{Job, Phase, Plan, limits};
use crate::prior_state::PriorState;
use crate::program::backend_rules::store_of;
use crate::program::compile::compile;
use crate::program::device_rules;
use crate::program::op::Program;
use crate::program::stamp_rules::unit_of;
use crate::steps;
use crate::steps::cache::residency_of;
use crate::sys::affinity;
use crate::sys::limits as process_limits;
use crate::warning_id::WarningId;
use std::collections::HashMap;
use std::sync::mpsc::Sender;

/// A run in progress.
pub struct Run<'a> {
    /// What to do.
    plan: &'a Plan,
    /// Way out.
    emitter: &'a Emitter,
    /// Messages from outside and from workers.
    inbox: &'a Inbox,
    /// For the workers.
    sender: &'a Sender<Message>,
    /// A stop from outside.
    stopper: &'a Stopper,
    /// What kernel and privileges allow.
    capabilities: &'a Capabilities,
    /// Where data lies, and what of it is there.
    data: DataSets<'a>,
}

/// By file set: what a look at the page cache has just found.
type Seen = HashMap<usize, Residency>;

/// Carry a Plan out. Everything that can be refused is refused before a file is touched.
pub fn run(
    plan: &Plan,
    emitter: &Emitter,
    inbox: &Inbox,
    sender: &Sender<Message>,
    stopper: &Stopper,
    capabilities: &Capabilities,
) -> Outcome {
    match check(plan).and_then(|programs| {
        plan.phases.iter().flat_map(|phase| &phase.jobs).try_for_each(affinity::check)?;
        memory::check(plan, &programs)?;
        huge_pages::check(plan, &programs, capabilities.io_uring)?;
        let run = Run::open(plan, emitter, inbox, sender, stopper, capabilities)?;
        Ok((run, programs))
    }) {
        Ok((mut run, programs)) => {
            let result = run.phases(programs);
            let Run { data, .. } = run;
            data.clean_up();
            conclude(emitter, result)
        }
        Err(error) => conclude(emitter, Err(error)),
    }
}

/// Describe what went wrong, if anything did.
fn conclude(emitter: &Emitter, result: Result<Outcome>) -> Outcome {
    match result {
        Ok(outcome) => outcome,
        Err(EngineError::Stopped) => Outcome::Stopped,
        Err(error) => {
            let path = match &error {
                EngineError::Io { path, .. } => Some(path.display().to_string()),
                _ => None,
            };
            emitter.emit(&Event::Error {
                t_ns: emitter.now_ns(),
                phase_index: None,
                class: error.class(),
                text: error.to_string(),
                path,
                errno: error.errno(),
            });
            Outcome::Failed
        }
    }
}

/// Check the Plan as a whole, and compile its jobs: programs by phase, and by job in it.
pub fn check(plan: &Plan) -> Result<Vec<Vec<Program>>> {
    if plan.schema != plan::SCHEMA {
        return Err(EngineError::Plan(format!(
            "the Plan's schema is {}; this engine reads {}",
            plan.schema,
            plan::SCHEMA
        )));
    }
    limits::check(plan)?;
    rates::check(&plan.phases)?;
    among::check(plan)?;
    for set in &plan.file_sets {
        unit_of(plan, set)?;
        if !plan.targets.iter().any(|target| target.name == set.target) {
            return Err(EngineError::Plan(format!("file set '{}': there is no target '{}'", set.name, set.target)));
        }
        device_rules::check_set(plan, set)?;
    }
    plan.phases
        .iter()
        .map(|phase| {
            steps::check(phase, plan)?;
            device_rules::check_steps(plan, phase)?;
            let program = |job: &Job| {
                let program = compile(job, phase, &plan.file_sets)?;
                device_rules::check_job(plan, job, &program)?;
                Ok(Program { store: store_of(job, &program.sets, plan)?, ..program })
            };
            phase.jobs.iter().map(|job| program(job).map_err(|error| in_its_place(error, phase, job))).collect()
        })
        .collect()
}

/// Add the phase and the job to a Plan error, for whoever looks the line up.
fn in_its_place(error: EngineError, phase: &Phase, job: &Job) -> EngineError {
    match error {
        EngineError::Plan(text) if text.starts_with("job '") => {
            EngineError::Plan(format!("phase '{}', {text}", phase.name))
        }
        EngineError::Plan(text) => EngineError::Plan(format!("phase '{}', job '{}': {text}", phase.name, job.name)),
        other => other,
    }
}

impl<'a> Run<'a> {
    fn open(
        plan: &'a Plan,
        emitter: &'a Emitter,
        inbox: &'a Inbox,
        sender: &'a Sender<Message>,
        stopper: &'a Stopper,
        capabilities: &'a Capabilities,
    ) -> Result<Self> {
        process_limits::raise(libc::RLIMIT_NOFILE);
        let data = DataSets::open(plan, emitter, stopper.flag())?;
        if let Err(error) = device_rules::check_ranges(plan, |set| data.place_of(set).range_unit()) {
            data.clean_up();
            return Err(error);
        }
        Ok(Self { plan, emitter, inbox, sender, stopper, capabilities, data })
    }

    /// Walk through the phases; whatever ends this, the data is still to be cleaned up.
    fn phases(&mut self, programs: Vec<Vec<Program>>) -> Result<Outcome> {
        let mut host = HostObserver::new();
        let (mut seen, mut rates) = (Seen::new(), Rates::default());
        let mut next_index = 0;
        for ((index, phase), programs) in self.plan.phases.iter().enumerate().zip(programs) {
            let index = index as u32;
            if index < next_index {
                continue;
            }
            if !phase.before.is_empty() {
                seen.clear();
            }
            steps::carry_out(&mut self.data, index, &phase.before)?;
            if phase.jobs.is_empty() {
                continue;
            }
            let watched = self.watched_sets(&programs);
            self.residency(index, Moment::Before, &watched, &mut seen);
            let prior_state = PriorState::before(&self.data.sets, &programs);
            let (end, reached) = self.measure(index, &rates.settle(phase)?, programs, &mut host)?;
            if let PhaseEnd::SkippedTo(next) = end {
                self.emitter.emit(&Event::Skipped {
                    t_ns: self.emitter.now_ns(),
                    phase_index: index,
                    next_index: next,
                });
                next_index = next;
                continue;
            }
            rates.keep(phase, reached);
            seen.clear();
            self.residency(index, Moment::After, &watched, &mut seen);
            if !matches!(end, PhaseEnd::Failed(_)) {
                prior_state.report(self.emitter, index);
            }
            if !phase.after.is_empty() {
                seen.clear();
            }
            match end {
                PhaseEnd::Done => steps::carry_out(&mut self.data, index, &phase.after)?,
                PhaseEnd::Stopped => return Ok(Outcome::Stopped),
                PhaseEnd::Failed(error) => return Err(error),
                PhaseEnd::SkippedTo(_) => unreachable!("the loop has gone on"),
            }
        }
        Ok(Outcome::Complete)
    }

    /// Sets whose data the programs read or write through open files, and which a page cache may hold or not: one that
    /// lies in memory is looked at for nothing, page by page.
    fn watched_sets(&self, programs: &[Program]) -> Vec<usize> {
        let mut sets: Vec<usize> =
            programs.iter().flat_map(|program| program.opened.iter().map(|opened| opened.set)).collect();
        sets.sort_unstable();
        sets.dedup();
        sets.retain(|&set| !self.data.place_of(set).is_in_memory());
        sets
    }

    /// The timed part of a phase.
    fn measure(
        &self,
        index: u32,
        phase: &Phase,
        programs: Vec<Program>,
        host: &mut HostObserver,
    ) -> Result<(PhaseEnd, Vec<f64>)> {
        let contents: Vec<_> = self.plan.file_sets.iter().map(|set| set.content.clone()).collect();
        let io_uring = if self.capabilities.io_uring {
            Ok(())
        } else {
            let note = self.capabilities.notes.iter().find(|note| note.contains("io_uring"));
            Err(note.cloned().unwrap_or_else(|| "this kernel does not offer io_uring".to_owned()))
        };
        let mut around = Surroundings {
            emitter: self.emitter,
            inbox: self.inbox,
            sender: self.sender,
            stopper: self.stopper,
            sets: &self.data.sets,
            contents: &contents,
            host,
            seed: self.plan.seed,
            part: self.plan.among.as_ref().map_or((0, 1), |among| (among.part, among.parts)),
            sample_interval_ns: (self.plan.sample_interval_s * 1e9) as u64,
            reserve_bytes: self.plan.reserve_bytes,
            io_uring,
            delay_accounting: self.capabilities.delay_accounting,
        };
        phase::run(&mut around, index, phase, programs)
    }

    /// Return how much of some sets is in the page cache, by a sample of their files. What was `seen` at the end of the phase
    /// before is reported again: a look goes over every page, and nothing was done since.
    fn residency(&self, phase_index: u32, moment: Moment, sets: &[usize], seen: &mut Seen) {
        for &set in sets {
            let state = &self.data.sets[set];
            let existing = state.existing();
            let found = match seen.remove(&set) {
                Some(found) => Ok(found),
                None => residency_of(state),
            };
            match found {
                Ok(found) => {
                    self.emitter.emit(&Event::Residency {
                        t_ns: self.emitter.now_ns(),
                        phase_index,
                        moment,
                        set: self.plan.file_sets[set].name.clone(),
                        files_sampled: found.files_sampled,
                        files: existing.end - existing.start,
                        pages: found.pages,
                        resident_pages: found.resident_pages,
                        dirty_pages: found.dirty_pages,
                        method: found.method.to_string(),
                    });
                    seen.insert(set, found);
                }
                Err(error) => self.emitter.warn(
                    Some(phase_index),
                    WarningId::ResidencyUnknown,
                    format!("the page cache of {} could not be looked at: {error}", state.folder().display()),
                ),
            }
        }
    }
}
