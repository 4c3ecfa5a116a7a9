//! The whole run: targets opened, phases walked through in order, and everything removed that is not to be kept,
//! however the run ends.

use crate::concern::Concern;
use crate::content::generations::Generations;
use crate::control::{Inbox, Message};
use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::events::{Capabilities, Event, Moment, Outcome};
use crate::files::data_folder::DataFolder;
use crate::files::fileset::FileSetState;
use crate::files::{lay_out, open_files, remove};
use crate::observe::{HostObserver, cache, is_in_memory};
use crate::phase;
use crate::phase::{PhaseEnd, Surroundings};
use crate::plan;
use crate::plan::{Phase, Plan};
use crate::program::backend_rules::store_of;
use crate::program::compile::compile;
use crate::program::op::Program;
use crate::program::stamp_rules::unit_of;
use crate::steps;
use crate::steps::fill_up;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

/// Files of a set whose residency is looked at; more would take longer than it tells.
const RESIDENCY_FILES: u64 = 64;

/// A run in progress.
pub struct Run<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// Way out.
    pub emitter: &'a Emitter,
    /// Messages from outside and from workers.
    pub inbox: &'a Inbox,
    /// For the workers.
    pub sender: &'a Sender<Message>,
    /// Set by a stop from outside.
    pub stop: &'a AtomicBool,
    /// What kernel and privileges allow.
    pub capabilities: &'a Capabilities,
    /// By target: where its data lies.
    pub folders: Vec<DataFolder>,
    /// By file set: its state.
    pub sets: Vec<Arc<FileSetState>>,
    /// Folders of the files that file systems were filled with (step `fill`); they go at the end of the run.
    pub fillings: Vec<PathBuf>,
    /// By file set: bytes that have a generation of their own; None without stamps.
    pub stamp_units: Vec<Option<u64>>,
    /// By file set: what this run has left of it.
    left: Vec<Left>,
}

/// By file set: what a look at the page cache has just found.
type Seen = HashMap<usize, cache::Residency>;

/// What a run has left of a file set on storage, and so has to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Nothing, or a set from before the run.
    Nothing,
    /// A whole set; its Plan says whether it is kept.
    Whole,
    /// A part of a set, which is of no use to anybody.
    Half,
}

/// Carry a Plan out. Everything that can be refused is refused before a file is touched.
pub fn run(
    plan: &Plan,
    emitter: &Emitter,
    inbox: &Inbox,
    sender: &Sender<Message>,
    stop: &AtomicBool,
    capabilities: &Capabilities,
) -> Outcome {
    match check(plan).and_then(|programs| {
        let run = Run::open(plan, emitter, inbox, sender, stop, capabilities)?;
        Ok((run, programs))
    }) {
        Ok((mut run, programs)) => {
            let result = run.phases(programs);
            run.clean_up();
            conclude(emitter, result)
        }
        Err(error) => conclude(emitter, Err(error)),
    }
}

/// Say what went wrong, if anything did.
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
    if !(plan.sample_interval_s >= 0.01 && plan.sample_interval_s.is_finite()) {
        return Err(EngineError::Plan(format!(
            "sample_interval_s is {}; it must be 0.01 or more",
            plan.sample_interval_s
        )));
    }
    for set in &plan.file_sets {
        unit_of(plan, set)?;
        if !plan.targets.iter().any(|target| target.name == set.target) {
            return Err(EngineError::Plan(format!("file set '{}': there is no target '{}'", set.name, set.target)));
        }
    }
    plan.phases
        .iter()
        .map(|phase| {
            steps::check(phase, plan)?;
            let program = |job| {
                let program = compile(job, phase, &plan.file_sets)?;
                Ok(Program { store: store_of(job, &program.sets, plan)?, ..program })
            };
            phase.jobs.iter().map(program).collect()
        })
        .collect()
}

impl<'a> Run<'a> {
    fn open(
        plan: &'a Plan,
        emitter: &'a Emitter,
        inbox: &'a Inbox,
        sender: &'a Sender<Message>,
        stop: &'a AtomicBool,
        capabilities: &'a Capabilities,
    ) -> Result<Self> {
        open_files::raise_open_files_limit();
        let folders = plan.targets.iter().map(|target| DataFolder::open(&target.uri)).collect::<Result<Vec<_>>>()?;
        let sets = plan
            .file_sets
            .iter()
            .map(|set| {
                let folder = &folders[target_position(plan, &set.target)];
                FileSetState::new(set, folder.path(), plan.seed).map(Arc::new)
            })
            .collect::<Result<Vec<_>>>()?;
        for folder in folders.iter().filter(|folder| !folder.is_locked()) {
            let text = format!(
                "{} cannot be locked on this file system: nothing keeps a second run out",
                folder.path().display()
            );
            emitter.warn(None, Concern::DataFolderUnlocked, text);
        }
        let left = vec![Left::Nothing; sets.len()];
        let stamp_units = plan.file_sets.iter().map(|set| unit_of(plan, set)).collect::<Result<_>>()?;
        let fillings = Vec::new();
        Ok(Self { plan, emitter, inbox, sender, stop, capabilities, folders, sets, left, fillings, stamp_units })
    }

    /// Position of the target that holds a file set.
    pub fn target_of(&self, set: usize) -> usize {
        target_position(self.plan, &self.plan.file_sets[set].target)
    }

    /// Walk through the phases; whatever ends this, the data is still to be cleaned up.
    fn phases(&mut self, programs: Vec<Vec<Program>>) -> Result<Outcome> {
        let mut host = HostObserver::new();
        let mut seen = Seen::new();
        for ((index, phase), programs) in self.plan.phases.iter().enumerate().zip(programs) {
            let index = index as u32;
            if !phase.before.is_empty() {
                seen.clear();
            }
            steps::carry_out(self, index, &phase.before)?;
            if phase.jobs.is_empty() {
                continue;
            }
            let watched = self.watched_sets(&programs);
            self.residency(index, Moment::Before, &watched, &mut seen);
            let end = self.measure(index, phase, programs, &mut host)?;
            seen.clear();
            self.residency(index, Moment::After, &watched, &mut seen);
            if !phase.after.is_empty() {
                seen.clear();
            }
            match end {
                PhaseEnd::Done => steps::carry_out(self, index, &phase.after)?,
                PhaseEnd::Stopped => return Ok(Outcome::Stopped),
                PhaseEnd::Failed(error) => return Err(error),
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
        sets.retain(|&set| !is_in_memory(self.folders[self.target_of(set)].as_fd()));
        sets
    }

    /// The timed part of a phase.
    fn measure(&self, index: u32, phase: &Phase, programs: Vec<Program>, host: &mut HostObserver) -> Result<PhaseEnd> {
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
            sets: &self.sets,
            contents: &contents,
            host,
            seed: self.plan.seed,
            sample_interval_ns: (self.plan.sample_interval_s * 1e9) as u64,
            reserve_bytes: self.plan.reserve_bytes,
            io_uring,
            delay_accounting: self.capabilities.delay_accounting,
        };
        phase::run(&mut around, index, phase, programs)
    }

    /// Say how much of some sets is in the page cache, by a sample of their files. What was `seen` at the end of the phase
    /// before is said again: a look goes over every page, and nothing was done since.
    fn residency(&self, phase_index: u32, moment: Moment, sets: &[usize], seen: &mut Seen) {
        for &set in sets {
            let state = &self.sets[set];
            let existing = state.existing();
            let files = existing.end - existing.start;
            let sampled = files.min(RESIDENCY_FILES);
            let mut paths = (0..sampled)
                .filter_map(|i| state.index_at(existing.start + i * files / sampled))
                .map(|index| state.path_of(index));
            let looked = match seen.remove(&set) {
                Some(found) => Ok(found),
                None => cache::residency(&mut paths),
            };
            match looked {
                Ok(found) => {
                    self.emitter.emit(&Event::Residency {
                        t_ns: self.emitter.now_ns(),
                        phase_index,
                        moment,
                        set: self.plan.file_sets[set].name.clone(),
                        files_sampled: found.files_sampled,
                        files,
                        pages: found.pages,
                        resident_pages: found.resident_pages,
                        dirty_pages: found.dirty_pages,
                        method: found.method.to_string(),
                    });
                    seen.insert(set, found);
                }
                Err(error) => self.emitter.warn(
                    Some(phase_index),
                    Concern::ResidencyUnknown,
                    format!("the page cache of {} could not be looked at: {error}", state.folder().display()),
                ),
            }
        }
    }

    /// Remove the sets that are not to be kept, and every part of a set; a stop does not cut this short.
    fn clean_up(&mut self) {
        let silent = |_: u64, _: u64, _: &str| {};
        for folder in std::mem::take(&mut self.fillings).into_iter().filter(|folder| folder.exists()) {
            if let Err(error) = remove::remove(&folder, &silent, &AtomicBool::new(false)) {
                self.left_behind(&folder, &error);
            }
        }
        for set in 0..self.sets.len() {
            let is_wanted = self.plan.file_sets[set].keep && self.left[set] == Left::Whole;
            if is_wanted || self.left[set] == Left::Nothing {
                continue;
            }
            if let Err(error) = self.remove_set(set, None) {
                self.left_behind(self.sets[set].folder(), &error);
            }
        }
    }

    /// Say that data could not be removed, and what removes it.
    fn left_behind(&self, folder: &Path, error: &EngineError) {
        let shown = folder.display();
        let text = if error.errno() == Some(libc::ENOENT) {
            format!(
                "{shown} is not there any more. If its file system was unmounted, the data is still on it: mount it, then \
                 'assay clean' removes the data"
            )
        } else {
            format!("{error}; the data in {shown} is still there: 'assay clean' removes it")
        };
        self.emitter.warn(None, Concern::DataLeftBehind, text);
    }

    /// Lay a set out, or take over one that is there, and say which.
    pub fn prepare_set(&mut self, set: usize) -> Result<()> {
        let name = self.plan.file_sets[set].name.clone();
        let activity = format!("laying out file set '{name}'");
        let report = |done: u64, total: u64, unit: &str| self.emitter.progress(&activity, done, total, unit);
        let folder = &self.folders[self.target_of(set)];
        let state = &self.sets[set];
        let prepared =
            lay_out::prepare(state, folder, self.plan.reserve_bytes, &report, self.stop).inspect_err(|_| {
                // A complete set that was refused stays whose it was.
                if lay_out::is_half_done(state) {
                    self.left[set] = Left::Half;
                }
            })?;
        if !prepared.reused {
            self.left[set] = Left::Whole;
        }
        if let Some(unit_bytes) = self.stamp_units[set] {
            let generations = Generations::open(&self.sets[set], unit_bytes, !prepared.reused)?;
            self.sets[set].set_generations(Some(generations));
        }
        self.emitter.emit(&Event::Prepared {
            t_ns: self.emitter.now_ns(),
            set: name,
            path: self.sets[set].folder().display().to_string(),
            files: prepared.files,
            directories: prepared.directories,
            bytes: prepared.bytes,
            seconds: prepared.seconds,
            reused: prepared.reused,
        });
        Ok(())
    }

    /// Fill a target's file system with files that go at the end of the run; what was done, in words.
    pub fn fill(&mut self, target: &str, used_share: f64) -> Result<String> {
        let activity = format!("filling target '{target}'");
        let report = |done: u64, total: u64, unit: &str| self.emitter.progress(&activity, done, total, unit);
        let folder = &self.folders[target_position(self.plan, target)];
        self.fillings.push(fill_up::folder_of(target, folder));
        let (reserve, seed) = (self.plan.reserve_bytes, self.plan.seed);
        Ok(fill_up::fill(target, folder, used_share, reserve, seed, &report, self.stop)?.detail)
    }

    /// Remove a marked set; `stop` can cut it short. What was done, in words.
    pub fn remove_set(&mut self, set: usize, stop: Option<&AtomicBool>) -> Result<String> {
        let name = &self.plan.file_sets[set].name;
        let activity = format!("removing file set '{name}'");
        let report = |done: u64, total: u64, unit: &str| self.emitter.progress(&activity, done, total, unit);
        let never = AtomicBool::new(false);
        self.sets[set].set_generations(None);
        let state = &self.sets[set];
        let removed = remove::remove(state.folder(), &report, stop.unwrap_or(&never)).inspect_err(|_| {
            if lay_out::is_half_done(state) {
                self.left[set] = Left::Half;
            }
        })?;
        self.left[set] = Left::Nothing;
        for foreign in &removed.foreign {
            let text = format!("{} is not Assay's and was left where it is", foreign.display());
            self.emitter.warn(None, Concern::ForeignFile, text);
        }
        Ok(format!("{} files and {} directories removed", removed.files, removed.directories))
    }
}

fn target_position(plan: &Plan, name: &str) -> usize {
    plan.targets.iter().position(|target| target.name == name).expect("checked before the run")
}
