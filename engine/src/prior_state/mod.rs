//! What happened before a phase that its numbers are not free of?
//!
//! Three causes lie in the file system that a load finds, and in no counter: inodes that were freed a moment ago
//! ([`freed_inodes`]), directories that were made for more names than they hold ([`grown_directories`]), and files with holes
//! ([`holes`]). Each leaves a trace that can be looked at without a clock. The look is made when the phase is over, so that it
//! brings nothing into a cache that the phase was to find cold; only counters of the file system are read before it. It goes
//! to a limited number of files and directories, whatever the size of a set. What cannot be looked at is no error.

mod ext4_groups;
mod freed_inodes;
mod grown_directories;
mod holes;
mod work;

use crate::emit::Emitter;
use crate::files::fileset::FileSetState;
use crate::program::op::Program;
use crate::warning_id::WarningId;
use freed_inodes::Before;
use std::sync::Arc;
use work::Work;

/// What ext2, ext3 and ext4 call themselves.
const EXT_MAGIC: i64 = 0xEF53;

/// What is to be looked at when a phase is over.
pub struct PriorState<'a> {
    sets: &'a [Arc<FileSetState>],
    work: Work,
    before: Vec<Before>,
}

impl<'a> PriorState<'a> {
    /// Note what the programs of a phase work on, and how the file systems stand. Just before it starts.
    pub fn before(sets: &'a [Arc<FileSetState>], programs: &[Program]) -> Self {
        let work = Work::of(programs);
        let before = work.creates.iter().filter_map(|&set| Before::of(set, sets)).collect();
        Self { sets, work, before }
    }

    /// Describe what the phase found. When it is over.
    pub fn report(&self, emitter: &Emitter, phase_index: u32) {
        let warn = |concern, text| emitter.warn(Some(phase_index), concern, text);
        for before in &self.before {
            if let Some(text) = before.passed_by(self.sets) {
                warn(WarningId::FreedInodes, text);
            }
        }
        for &set in &self.work.looks_up {
            if let Some(text) = grown_directories::describe(&self.sets[set], self.work.changes_names.contains(&set)) {
                warn(WarningId::GrownDirectory, text);
            }
        }
        for &set in &self.work.reads_alone {
            if let Some(text) = holes::describe(&self.sets[set]) {
                warn(WarningId::Holes, text);
            }
        }
    }
}

/// Numbers below `count`, evenly spread, `most` at most.
fn sample(count: u64, most: u64) -> impl Iterator<Item = u64> {
    let sampled = count.min(most);
    (0..sampled).map(move |number| (u128::from(number) * u128::from(count) / u128::from(sampled)) as u64)
}
