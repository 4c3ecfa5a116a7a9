//! A set of which several clients have their own files in one folder: laid out and removed by each for itself.
//!
//! The folder has one mark, which says how files are named whoever has them. Whoever makes the folder writes it, and the last
//! engine in the data folder removes what is empty then. As long as another may come or work there nobody removes a directory, so
//! that none is missing where a file is about to be made. A client's files are those whose names begin with its own; nobody
//! removes others.

use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::places::Removed;
use crate::places::local_dir::block_groups;
use crate::places::local_dir::mark::{Mark, State};
use crate::places::local_dir::owner;
use crate::places::local_dir::remove::{self, Extent};
use crate::places::progress::Report;
use crate::plan::FileSet;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often, and how far apart, one looks whether who made the folder has marked it.
const MARKING_TRIES: u32 = 200;
const MARKING_WAIT: Duration = Duration::from_millis(25);

/// Make the folder and its mark, unless another client has.
///
/// # Errors
///
/// `Stopped`; an environment error for a folder that is not Assay's, or holds a set of another form.
pub fn make_folder(state: &FileSetState, stop: &AtomicBool) -> Result<()> {
    let failed = |error| EngineError::io("create", state.folder(), error);
    match block_groups::make_directory(state.root().as_fd(), &state.folder_name()) {
        Ok(()) => mark_new(state),
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => check_folder(state, stop),
        Err(error) => Err(failed(error)),
    }
}

fn mark_new(state: &FileSetState) -> Result<()> {
    let failed = |error| EngineError::io("write the mark of", state.folder(), error);
    let marked = state.open_folder().and_then(|folder| mark_of(state.set()).write(folder.as_fd()));
    marked.map_err(|error| {
        // Made a moment ago: an unmarked folder would be refused from now on.
        let _ = crate::sys::posix::remove_directory_at(state.root().as_fd(), &state.folder_name());
        failed(error)
    })
}

/// The mark of the folder: nobody's in particular.
fn mark_of(set: &FileSet) -> Mark {
    Mark { is_joint: true, ..Mark::new(&FileSet { keep: false, ..set.clone() }, 0, State::Complete) }
}

fn check_folder(state: &FileSetState, stop: &AtomicBool) -> Result<()> {
    let looked_at = |error| EngineError::io("look at", state.folder(), error);
    let folder = state.open_folder().map_err(|error| match error.raw_os_error() {
        Some(libc::ENOTDIR | libc::ELOOP) => refuse(state, "is there and is not a directory"),
        _ => EngineError::io("open", state.folder(), error),
    })?;
    if let Some(why) = owner::why_not_own(folder.as_fd()).map_err(looked_at)? {
        return Err(refuse(state, &format!("{why}, so it is not touched")));
    }
    for _ in 0..MARKING_TRIES {
        let read = Mark::read(folder.as_fd());
        let read = read.map_err(|error| {
            refuse(state, &format!("carries a mark that cannot be read ({error}), so it is not touched"))
        })?;
        match read {
            Some(mark) if is_of_form(&mark, state.set()) => return Ok(()),
            Some(_) => return Err(refuse(state, "holds a file set of another form. 'assay clean' removes it")),
            None if stop.load(Ordering::Relaxed) => return Err(EngineError::Stopped),
            None => std::thread::sleep(MARKING_WAIT),
        }
    }
    Err(refuse(state, "is there without Assay's mark, so Assay did not make it and does not touch it"))
}

/// Whether files and directories are named as those of a set, by whichever client.
fn is_of_form(mark: &Mark, set: &FileSet) -> bool {
    let there = &mark.set;
    mark.is_joint && (there.files, &there.layout, &there.file_name) == (set.files, &set.layout, &set.file_name)
}

/// Remove the files of the set's owner; directories and mark stay.
///
/// # Errors
///
/// As [`remove::remove`].
pub fn remove_files(state: &FileSetState, report: Report<'_>, stop: &AtomicBool) -> Result<Removed> {
    remove::remove_part(state, Extent::FilesOfOwner, report, stop)
}

/// Remove directories, mark and folder if no file is left in them. Nobody else may be in the data folder.
///
/// # Errors
///
/// As [`remove::remove`].
pub fn remove_emptied(state: &FileSetState) -> Result<Removed> {
    remove::remove_part(state, Extent::Directories, &|_, _, _| {}, &AtomicBool::new(false))
}

fn refuse(state: &FileSetState, why: &str) -> EngineError {
    let (set, folder) = (&state.set().name, state.folder().display());
    EngineError::Environment(format!("file set '{set}': {folder} {why}. Move it away or choose another directory"))
}
