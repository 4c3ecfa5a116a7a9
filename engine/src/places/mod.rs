//! Where file sets lie: one module for each kind of place.
//!
//! What a set is made of follows from rules alone (`files/`). A place brings it into being, tells what is there, and takes it
//! away again.

pub mod block;
pub mod local_dir;
pub mod progress;
pub mod sampled_zeros;
pub mod write_files;

use crate::backend::uri::Scheme;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::root::Root;
use crate::places::block::BlockDevice;
use crate::places::local_dir::data_folder::DataFolder;
use crate::places::progress::Report;
use crate::places::sampled_zeros::ZeroSample;
use crate::plan::{Among, FileSet, Target};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A set that is in place.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedSet {
    /// Existing files.
    pub files: u64,
    /// Directories below the set's folder.
    pub directories: u64,
    /// Sum of the sizes of the existing files.
    pub bytes: u64,
    /// Time it took.
    pub seconds: f64,
    /// Whether what was there before is used.
    pub reused: bool,
    /// Blocks of it that were looked at, where nobody knows who wrote them.
    pub zeros: ZeroSample,
}

/// What was taken away, and what was left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Files.
    pub files: u64,
    /// Directories below the set's folder.
    pub directories: u64,
    /// Entries that are not the set's, at most 20 of them.
    pub foreign: Vec<PathBuf>,
    /// All of those that were met.
    pub foreign_total: u64,
}

/// A target, opened for this run.
pub trait Place: std::fmt::Debug {
    /// What the names of its files begin in.
    fn root(&self) -> &Arc<Root>;

    /// A set in it, by rules alone; `owner` is the client whose files these are, empty where there is nobody else.
    ///
    /// # Errors
    ///
    /// A Plan error for rules that cannot be followed here.
    fn set(&self, set: &FileSet, seed: u64, owner: &str) -> Result<FileSetState>;

    /// Bring a set into place. On return nothing of it is dirty, and [`FileSetState::existing`] is true.
    ///
    /// `report` hears done, total and unit at most five times a second. After an error a part
    /// of the set may be there.
    ///
    /// # Errors
    ///
    /// `Stopped`; an environment error where it cannot be, or what is there is not Assay's; the system call that failed.
    fn prepare(
        &self,
        state: &FileSetState,
        reserve_bytes: u64,
        report: Report<'_>,
        stop: &AtomicBool,
    ) -> Result<PreparedSet>;

    /// Take a set away.
    ///
    /// # Errors
    ///
    /// `Stopped`; an environment error for what is not Assay's; the system call that failed.
    fn remove(&self, state: &FileSetState, report: Report<'_>, stop: &AtomicBool) -> Result<Removed>;

    /// Discard all blocks of a set, whose content is lost; false where the device takes no discards.
    ///
    /// # Errors
    ///
    /// `Stopped`; a Plan error for a place without blocks of its own; the system call that failed.
    fn discard(&self, state: &FileSetState, _report: Report<'_>, _stop: &AtomicBool) -> Result<bool> {
        Err(EngineError::Plan(format!(
            "{} is not on a block device, and cannot be discarded",
            state.folder().display()
        )))
    }

    /// What a range that is discarded or zeroed has to be a multiple of; None where any can be.
    fn range_unit(&self) -> Option<u64> {
        None
    }

    /// Whether a part of a set, which is of no use to anybody, is there and this run's after [`Place::prepare`] failed.
    fn is_half_prepared(&self, state: &FileSetState) -> bool;

    /// The same after [`Place::remove`] failed.
    fn is_half_removed(&self, state: &FileSetState) -> bool;

    /// Write everything that is dirty.
    ///
    /// # Errors
    ///
    /// Data could not be written.
    fn sync(&self) -> Result<()>;

    /// Whether the data is in memory and nowhere else, so that no page cache is in front of it.
    fn is_in_memory(&self) -> bool;

    /// Let it go, and leave nothing of this run's but sets that are to be kept.
    ///
    /// # Errors
    ///
    /// What stays, and what the user is to do.
    fn leave(self: Box<Self>) -> Result<()>;

    /// The data folder that it is. Only these are locked, filled, and shared by engines that work in one at a time.
    fn data_folder(&mut self) -> Option<&mut DataFolder> {
        None
    }
}

/// Open a target for this run, `among` other engines of it where there are any.
///
/// # Errors
///
/// A Plan error for a target of another kind; an environment error where it cannot be used.
pub fn open(target: &Target, among: Option<&Among>) -> Result<Box<dyn Place>> {
    Ok(match Scheme::of(&target.uri)?.0 {
        Scheme::Block => Box::new(BlockDevice::open(target)?),
        _ => Box::new(DataFolder::open_among(&target.uri, among)?),
    })
}
