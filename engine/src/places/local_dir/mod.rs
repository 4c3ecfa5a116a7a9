//! A directory of this machine: sets are folders with a mark in the data folder below it.

pub mod block_groups;
pub mod data_folder;
pub mod fill_up;
pub mod free_space;
pub mod growth;
pub mod hidden;
pub mod joint;
pub mod lay_out;
pub mod mark;
pub mod owner;
pub mod remove;

use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::root::Root;
use crate::observe;
use crate::places::local_dir::data_folder::DataFolder;
use crate::places::progress::Report;
use crate::places::{Place, PreparedSet, Removed};
use crate::plan::FileSet;
use crate::sys::posix;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

impl Place for DataFolder {
    fn root(&self) -> &Arc<Root> {
        Self::root(self)
    }

    fn set(&self, set: &FileSet, seed: u64, owner: &str) -> Result<FileSetState> {
        FileSetState::of_owner(set, Self::root(self), seed, owner)
    }

    fn prepare(
        &self,
        state: &FileSetState,
        reserve_bytes: u64,
        report: Report<'_>,
        stop: &AtomicBool,
    ) -> Result<PreparedSet> {
        lay_out::prepare(state, self, reserve_bytes, report, stop)
    }

    fn remove(&self, state: &FileSetState, report: Report<'_>, stop: &AtomicBool) -> Result<Removed> {
        if state.is_joint() {
            joint::remove_files(state, report, stop)
        } else {
            remove::remove(state.root(), &state.set().path, report, stop)
        }
    }

    fn is_half_prepared(&self, state: &FileSetState) -> bool {
        // A complete set that was refused stays whose it was; half a set may be one that another engine lays out.
        let is_of_another = self.follows() && !state.is_joint();
        lay_out::is_left(state) || (lay_out::is_half_done(state) && !is_of_another)
    }

    fn is_half_removed(&self, state: &FileSetState) -> bool {
        lay_out::is_half_done(state)
    }

    fn sync(&self) -> Result<()> {
        posix::sync_file_system(self.as_fd()).map_err(|error| EngineError::io("sync", self.path(), error))
    }

    fn is_in_memory(&self) -> bool {
        observe::is_in_memory(self.as_fd())
    }

    fn leave(self: Box<Self>) -> Result<()> {
        Self::leave(*self)
    }

    fn data_folder(&mut self) -> Option<&mut DataFolder> {
        Some(self)
    }
}
