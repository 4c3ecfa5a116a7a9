//! Where a run's data lies, and what of it is there: laid out, filled, removed, and taken away again at the end.

use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::events::Event;
use crate::files::fileset::FileSetState;
use crate::places::local_dir::data_folder::DataFolder;
use crate::places::local_dir::{fill_up, joint, lay_out, remove};
use crate::places::{self, Place};
use crate::plan::Plan;
use crate::program::stamp_rules::unit_of;
use crate::warning_id::WarningId;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The data of a run.
pub struct DataSets<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// Way out.
    pub emitter: &'a Emitter,
    /// Set by a stop from outside.
    pub stop: &'a AtomicBool,
    /// By target: where its data lies.
    pub places: Vec<Box<dyn Place>>,
    /// By file set: its state.
    pub sets: Vec<Arc<FileSetState>>,
    /// Targets whose file systems were filled (step `fill`), by position; the filling goes at the end of the run.
    pub fillings: Vec<usize>,
    /// By file set: bytes that have a generation of their own; None without stamps.
    pub stamp_units: Vec<Option<u64>>,
    /// By file set: what this run has left of it.
    left: Vec<Left>,
}

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

impl<'a> DataSets<'a> {
    /// Open the targets, and lock their data folders; nothing is laid out yet.
    ///
    /// # Errors
    ///
    /// A Plan error for sets that cannot be; a folder that cannot be used.
    pub fn open(plan: &'a Plan, emitter: &'a Emitter, stop: &'a AtomicBool) -> Result<Self> {
        let open = |target| places::open(target, plan.among.as_ref());
        let mut places = plan.targets.iter().map(open).collect::<Result<Vec<_>>>()?;
        let owner = plan.among.as_ref().map_or("", |among| among.owner.as_str());
        let sets = plan
            .file_sets
            .iter()
            .map(|set| {
                let place = &places[target_position(plan, &set.target)];
                place.set(set, plan.seed, owner).map(Arc::new)
            })
            .collect::<Result<Vec<_>>>()?;
        for folder in places.iter_mut().filter_map(|place| place.data_folder()).filter(|folder| !folder.is_locked()) {
            let text = format!(
                "{} cannot be locked on this file system: nothing keeps a second run out",
                folder.path().display()
            );
            emitter.warn(None, WarningId::DataFolderUnlocked, text);
        }
        let left = vec![Left::Nothing; sets.len()];
        let stamp_units = plan.file_sets.iter().map(|set| unit_of(plan, set)).collect::<Result<_>>()?;
        let fillings = Vec::new();
        Ok(Self { plan, emitter, stop, places, sets, left, fillings, stamp_units })
    }

    /// The target that holds a file set.
    pub fn place_of(&self, set: usize) -> &dyn Place {
        &*self.places[target_position(self.plan, &self.plan.file_sets[set].target)]
    }

    /// Remove the sets that are not to be kept, and every part of a set, and leave the data folders; a stop does not cut this
    /// short.
    pub fn clean_up(mut self) {
        let silent = |_: u64, _: u64, _: &str| {};
        for target in std::mem::take(&mut self.fillings) {
            let (root, name) = (self.places[target].root(), fill_up::set_name(&self.plan.targets[target].name));
            match remove::remove(root, &name, &silent, &AtomicBool::new(false)) {
                // It was not even begun.
                Err(error) if error.errno() == Some(libc::ENOENT) => {}
                Err(error) => self.left_behind(&root.path().join(name), &error),
                Ok(_) => {}
            }
        }
        for set in 0..self.sets.len() {
            // What other engines of the run work on, the last of them removes.
            let is_common = self.plan.among.is_some() && !self.sets[set].is_joint();
            let is_wanted = (self.plan.file_sets[set].keep || is_common) && self.left[set] == Left::Whole;
            if is_wanted || self.left[set] == Left::Nothing {
                self.keep_generations(set);
                continue;
            }
            if let Err(error) = self.remove_set(set, None) {
                self.left_behind(self.sets[set].folder(), &error);
            }
        }
        self.tidy_up();
        for place in self.places.drain(..) {
            if let Err(error) = place.leave() {
                self.emitter.warn(None, WarningId::DataLeftBehind, error.to_string());
            }
        }
    }

    /// The last engine of a run in a data folder removes what nobody could remove while others worked there.
    fn tidy_up(&mut self) {
        let plan = self.plan;
        let Some(among) = &plan.among else { return };
        for target in 0..self.places.len() {
            if !self.places[target].data_folder().is_some_and(DataFolder::is_last) {
                continue;
            }
            let name = &plan.targets[target].name;
            for set in (0..self.sets.len()).filter(|&set| plan.file_sets[set].target == *name) {
                if self.sets[set].is_joint() {
                    self.remove_emptied(set);
                } else if lay_out::is_of_run(&self.sets[set], &among.run)
                    && let Err(error) = self.remove_set(set, None)
                {
                    self.left_behind(self.sets[set].folder(), &error);
                }
            }
        }
    }

    /// Remove the folder in which several clients had files, if none is left in it.
    fn remove_emptied(&self, set: usize) {
        match joint::remove_emptied(&self.sets[set]) {
            Err(error) if error.errno() != Some(libc::ENOENT) => self.left_behind(self.sets[set].folder(), &error),
            Ok(removed) if removed.foreign_total > 0 => {
                let folder = self.sets[set].folder().display();
                let text = format!(
                    "{folder} still holds {} files of clients, or of others, such as {}: 'assay clean' removes what is Assay's",
                    removed.foreign_total,
                    removed.foreign[0].display()
                );
                self.emitter.warn(None, WarningId::DataLeftBehind, text);
            }
            _ => {}
        }
    }

    /// Later runs are to know how often the blocks of a set that stays were written.
    fn keep_generations(&self, set: usize) {
        let state = &self.sets[set];
        if let Some(Err(error)) = state.generations().map(|generations| generations.keep()) {
            let text = format!(
                "the write history of the blocks of {} could not be kept ({error}): a later run cannot detect stale blocks",
                state.folder().display()
            );
            self.emitter.warn(None, WarningId::GenerationsLost, text);
        }
    }

    /// Report that data could not be removed, and what removes it.
    fn left_behind(&self, folder: &Path, error: &EngineError) {
        let shown = folder.display();
        let text = if error.errno() == Some(libc::ENOENT) {
            format!(
                "{shown} is not there any more: somebody else removed it, or moved it with its data to another place"
            )
        } else {
            format!("{error}; the data in {shown} is still there: 'assay clean' removes it")
        };
        self.emitter.warn(None, WarningId::DataLeftBehind, text);
    }

    /// Lay a set out, or take over one that is there, and report which.
    pub fn prepare_set(&mut self, set: usize) -> Result<()> {
        let name = self.plan.file_sets[set].name.clone();
        let report = self.emitter.reporter(format!("laying out file set '{name}'"));
        let state = &self.sets[set];
        let prepared = self.place_of(set).prepare(state, self.plan.reserve_bytes, &report, self.stop);
        if prepared.is_err() && self.place_of(set).is_half_prepared(state) {
            self.left[set] = Left::Half;
        }
        let prepared = prepared?;
        if !prepared.reused {
            self.left[set] = Left::Whole;
        }
        if let Some(unit_bytes) = self.stamp_units[set] {
            let generations = self.sets[set].open_generations(unit_bytes, !prepared.reused)?;
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
            sampled_blocks: prepared.zeros.blocks,
            zero_blocks: prepared.zeros.zero_blocks,
        });
        Ok(())
    }

    /// Fill a target's file system with files that go at the end of the run; what was done, in words.
    pub fn fill(&mut self, target: &str, used_share: f64) -> Result<String> {
        let report = self.emitter.reporter(format!("filling target '{target}'"));
        let position = target_position(self.plan, target);
        let folder = self.places[position].data_folder().expect("checked before the run");
        self.fillings.push(position);
        let (reserve, seed) = (self.plan.reserve_bytes, self.plan.seed);
        fill_up::fill(target, folder, used_share, reserve, seed, &report, self.stop)
    }

    /// Discard the blocks of a set on a device; whether it was done, and how or why not.
    pub fn discard(&self, set: usize) -> Result<(bool, String)> {
        let report = self.emitter.reporter(format!("discarding '{}'", self.plan.file_sets[set].name));
        let device = self.sets[set].path_of(0);
        let device = device.display();
        Ok(match self.place_of(set).discard(&self.sets[set], &report, self.stop)? {
            true => (true, format!("all blocks of {device} discarded")),
            false => (false, format!("{device} takes no discards, so its earlier content is as it was")),
        })
    }

    /// Remove a marked set; `stop` can cut it short. What was done, in words.
    pub fn remove_set(&mut self, set: usize, stop: Option<&AtomicBool>) -> Result<String> {
        let name = &self.plan.file_sets[set].name;
        let report = self.emitter.reporter(format!("removing file set '{name}'"));
        let never = AtomicBool::new(false);
        self.sets[set].set_generations(None);
        let state = &self.sets[set];
        let stop = stop.unwrap_or(&never);
        let removed = self.place_of(set).remove(state, &report, stop);
        if removed.is_err() && self.place_of(set).is_half_removed(state) {
            self.left[set] = Left::Half;
        }
        let removed = removed?;
        self.left[set] = Left::Nothing;
        for foreign in &removed.foreign {
            let text = format!("{} is not Assay's and was left where it is", foreign.display());
            self.emitter.warn(None, WarningId::ForeignFile, text);
        }
        Ok(format!("{} files and {} directories removed", removed.files, removed.directories))
    }
}

fn target_position(plan: &Plan, name: &str) -> usize {
    plan.targets.iter().position(|target| target.name == name).expect("checked before the run")
}
