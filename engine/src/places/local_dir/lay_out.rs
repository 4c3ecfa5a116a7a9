//! Bringing a file set into place: reused if it may be, else laid out anew and on storage when this is done.
//!
//! The mark comes first and says `laying_out`; it says `complete` only after everything is on storage. Whatever stops
//! the work in between leaves a marked folder that `remove` takes away.

use crate::content::fill::ContentFill;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::places::PreparedSet;
use crate::places::local_dir::block_groups;
use crate::places::local_dir::data_folder::DataFolder;
use crate::places::local_dir::free_space;
use crate::places::local_dir::joint;
use crate::places::local_dir::mark::{Mark, State};
use crate::places::local_dir::owner;
use crate::places::local_dir::remove;
use crate::places::progress::{Progress, Report, WorkGroup, threads_of};
use crate::places::sampled_zeros::ZeroSample;
use crate::places::write_files::{make_directories, make_files, unit_of};
use crate::plan::{Allocate, Reuse};
use crate::sys::posix;
use crate::units::bytes_text;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks whether another engine has laid a set out, and how many of them a line says so.
const WAIT: Duration = Duration::from_millis(50);
const TURNS_OF_A_LINE: u32 = 20;

/// Files whose size is looked at before a set is reused.
const SAMPLE: u64 = 64;

/// Bring a set into place. On return nothing of it is dirty, and [`FileSetState::existing`] is true.
///
/// `report` hears done, total and unit at most five times a second. After an error the folder may be there half laid
/// out, with its mark: the caller removes it.
///
/// # Errors
///
/// `Stopped`; an environment error for an unmarked folder, for foreign files in a marked one, or for too little space
/// (before anything is written); the system call that failed.
pub fn prepare(
    state: &FileSetState,
    target: &DataFolder,
    reserve_bytes: u64,
    report: Report<'_>,
    stop: &AtomicBool,
) -> Result<PreparedSet> {
    let begun = Instant::now();
    state.set_begun(false);
    ContentFill::new(state.content_seed(), &state.set().content, 0)?;
    let reused = if state.is_joint() {
        joint::make_folder(state, stop)?;
        state.set_begun(true);
        // What a run that died left of this client's.
        joint::remove_files(state, report, stop)?;
        false
    } else if target.follows() {
        wait_for(state, target, report, stop)?;
        true
    } else {
        may_serve(state, target, report, stop)?
    };
    let need = free_space::need(state, target.fs_block_bytes()?, stop)?;
    if !reused {
        state.forget_all();
        free_space::check(state, need, target, reserve_bytes)?;
        state.set_begun(true);
        lay_out(state, target, need.content_bytes, report, stop)?;
    }
    state.begin_with_initial();
    Ok(PreparedSet {
        files: state.initial_files(),
        directories: state.spread().directories(),
        bytes: need.content_bytes,
        seconds: begun.elapsed().as_secs_f64(),
        reused,
        zeros: ZeroSample::default(),
    })
}

/// Whether what is there may serve; what may not is cleared away.
fn may_serve(state: &FileSetState, target: &DataFolder, report: Report<'_>, stop: &AtomicBool) -> Result<bool> {
    let mark = match standing(state)? {
        Standing::Nothing => return Ok(false),
        Standing::Unmarked => {
            return Err(refuse(state, "is there without Assay's mark, so Assay did not make it and does not touch it"));
        }
        Standing::Marked(mark) => *mark,
    };
    if may_reuse(state, &mark)? {
        if target.is_among() {
            // The others wait for this run's.
            let mark = Mark { run: target.run().to_owned(), is_found: true, ..mark };
            let written = open_folder(state).map(|folder| mark.write(folder.as_fd()));
            written?.map_err(|error| EngineError::io("write the mark of", state.folder(), error))?;
        }
        return Ok(true);
    }
    check_replaceable(state, &mark)?;
    state.set_begun(true);
    clear_away(state, report, stop)?;
    Ok(false)
}

/// Wait until another engine of the run has laid the set out.
fn wait_for(state: &FileSetState, target: &DataFolder, report: Report<'_>, stop: &AtomicBool) -> Result<()> {
    let mut turn = 0_u32;
    loop {
        // One look: without a mark, the folder is being made or taken away; a second look may find the mark.
        if let Standing::Marked(mark) = standing(state)?
            && mark.run == target.run()
            && mark.state == State::Complete
        {
            return match misfit(state) {
                None => Ok(()),
                Some(misfit) => Err(EngineError::Environment(format!(
                    "file set '{}' was laid out by the first client, but here {misfit}. Do all clients see the same directory?",
                    state.set().name
                ))),
            };
        }
        if stop.load(Ordering::Relaxed) {
            return Err(EngineError::Stopped);
        }
        if turn % TURNS_OF_A_LINE == 0 {
            report(0, 1, "sets of the first client");
        }
        turn = turn.wrapping_add(1);
        std::thread::sleep(WAIT);
    }
}

/// Whether the set's folder is Assay's and holds a part of a set: laying out or removing was cut off.
pub fn is_half_done(state: &FileSetState) -> bool {
    let mark = open_folder(state).map(|folder| Mark::read(folder.as_fd()));
    matches!(mark, Ok(Ok(Some(mark))) if mark.state != State::Complete)
}

/// Whether the engines of a run laid the set out, of which it is, and it is not to be kept.
pub fn is_of_run(state: &FileSetState, run: &str) -> bool {
    let mark = open_folder(state).map(|folder| Mark::read(folder.as_fd()));
    matches!(mark, Ok(Ok(Some(mark))) if mark.run == run && !mark.is_found && !mark.set.keep)
}

/// Whether something of this run's is in place of the set after [`prepare`] failed; what cannot be looked at is.
pub fn is_left(state: &FileSetState) -> bool {
    let is_gone = || open_folder(state).is_err_and(|error| error.errno() == Some(libc::ENOENT));
    state.is_begun() && !is_gone()
}

/// What is in the place of a set's folder.
enum Standing {
    /// No folder.
    Nothing,
    /// A folder of this user's without a mark.
    Unmarked,
    /// A folder with a mark.
    Marked(Box<Mark>),
}

/// Look what is in the place of the set's folder.
fn standing(state: &FileSetState) -> Result<Standing> {
    let folder = match open_folder(state) {
        Ok(folder) => folder,
        Err(error) => match error.errno() {
            Some(libc::ENOENT | libc::ESTALE) => return Ok(Standing::Nothing),
            Some(libc::ENOTDIR | libc::ELOOP) => return Err(refuse(state, "is there and is not a directory")),
            _ => return Err(error),
        },
    };
    if let Some(why) =
        owner::why_not_own(folder.as_fd()).map_err(|error| EngineError::io("look at", state.folder(), error))?
    {
        return Err(refuse(state, &format!("{why}, so it is not touched")));
    }
    match Mark::read(folder.as_fd()) {
        Ok(Some(mark)) => Ok(Standing::Marked(Box::new(mark))),
        Ok(None) => Ok(Standing::Unmarked),
        // NFS: another client replaced it while it was read.
        Err(error) if error.raw_os_error() == Some(libc::ESTALE) => Ok(Standing::Unmarked),
        Err(error) => {
            Err(refuse(state, &format!("carries a mark that cannot be read ({error}), so it is not touched")))
        }
    }
}

fn open_folder(state: &FileSetState) -> Result<OwnedFd> {
    state.open_folder().map_err(|error| EngineError::io("open", state.folder(), error))
}

fn refuse(state: &FileSetState, why: &str) -> EngineError {
    let (set, folder) = (&state.set().name, state.folder().display());
    EngineError::Environment(format!("file set '{set}': {folder} {why}. Move it away or choose another directory"))
}

fn may_reuse(state: &FileSetState, mark: &Mark) -> Result<bool> {
    match state.set().reuse {
        Reuse::Never => Ok(false),
        // A load that writes turns holes and unwritten blocks into written ones; the mark does not show it. Making them
        // anew is quick.
        Reuse::IfMatches if state.set().allocate != Allocate::Write => Ok(false),
        Reuse::IfMatches => {
            let complete = mark.state == State::Complete && mark.describes(state.set(), state.plan_seed());
            Ok(complete && misfit(state).is_none())
        }
        Reuse::Trust => match misfit(state) {
            None => Ok(true),
            Some(misfit) => Err(EngineError::Environment(format!(
                "file set '{}' is to be used as it is, but {misfit}. Choose reuse = \"if_matches\" to lay it out anew",
                state.set().name
            ))),
        },
    }
}

/// What is wrong with the files on storage, by a sample: ends, a spread between them, and the first that must not exist.
fn misfit(state: &FileSetState) -> Option<String> {
    let files = state.initial_files();
    let sample = (0..SAMPLE.min(files))
        .map(|turn| (u128::from(turn) * u128::from(files) / u128::from(SAMPLE.min(files))) as u64);
    let wrong = sample.chain(files.checked_sub(1)).find_map(|index| {
        let (path, size) = (state.path_of(index), state.size_of(index));
        match file_size(state, index) {
            Some(found) if found == size => None,
            Some(found) => Some(format!("{} has {}, not {}", path.display(), bytes_text(found), bytes_text(size))),
            None => Some(format!("{} is missing", path.display())),
        }
    });
    let surplus = || {
        let found = (files < state.files()).then(|| file_size(state, files))?;
        found.map(|_| format!("{} exists already", state.path_of(files).display()))
    };
    wrong.or_else(surplus)
}

/// Size of a regular file in bytes.
fn file_size(state: &FileSetState, index: u64) -> Option<u64> {
    let mut path = PathBuffer::new();
    state.path_into(index, &mut path);
    let status = posix::stat_at(state.root().as_fd(), path.at().path).ok()?;
    (status.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(status.st_size as u64)
}

/// What an earlier run was asked to keep goes only for a load that keeps its set as well, or by `assay clean`.
fn check_replaceable(state: &FileSetState, mark: &Mark) -> Result<()> {
    if !mark.set.keep || mark.state != State::Complete || state.set().keep {
        return Ok(());
    }
    Err(refuse(
        state,
        "holds a file set that an earlier run was asked to keep (keep = true), and this one would take its place. 'assay \
         clean' removes it",
    ))
}

fn clear_away(state: &FileSetState, report: Report<'_>, stop: &AtomicBool) -> Result<()> {
    let removed = remove::remove(state.root(), &state.set().path, report, stop)?;
    let Some(first) = removed.foreign.first() else { return Ok(()) };
    Err(refuse(
        state,
        &format!("holds {} entries that Assay did not make, such as {}", removed.foreign_total, first.display()),
    ))
}

fn lay_out(state: &FileSetState, target: &DataFolder, bytes: u64, report: Report<'_>, stop: &AtomicBool) -> Result<()> {
    let is_empty = state.initial_files() == 0 && state.spread().directories() == 0;
    let how_far = if is_empty { State::Complete } else { State::LayingOut };
    // One that several clients have files in has its mark.
    let folder = if state.is_joint() { None } else { Some(make_marked_folder(state, how_far, target.run())?) };
    let (group, threads) = (WorkGroup::new(stop), threads_of(state.set().create_workers));
    let unit = unit_of(state, bytes);
    let progress = Progress::new(report, if unit == "bytes" { bytes } else { state.initial_files() }, unit);
    make_directories(state, &group, threads)?;
    make_files(state, &group, &progress, threads)?;
    posix::sync_file_system(target.as_fd()).map_err(|error| EngineError::io("sync", state.folder(), error))?;
    progress.finish();
    match folder {
        Some(folder) if !is_empty => write_mark(state, &folder, State::Complete, target.run()),
        _ => Ok(()),
    }
}

/// The set's folder with its mark in it, or nothing at all.
fn make_marked_folder(state: &FileSetState, how_far: State, run: &str) -> Result<OwnedFd> {
    let failed = |error| EngineError::io("create", state.folder(), error);
    let (root, name) = (state.root().as_fd(), state.folder_name());
    block_groups::make_directory(root, &name).map_err(failed)?;
    let marked = open_folder(state).and_then(|folder| write_mark(state, &folder, how_far, run).map(|()| folder));
    marked.inspect_err(|_| {
        // Made by this function a moment ago: an unmarked folder would be refused from now on.
        let _ = posix::remove_directory_at(root, &name);
    })
}

fn write_mark(state: &FileSetState, folder: &OwnedFd, how_far: State, run: &str) -> Result<()> {
    let mark = Mark { run: run.to_owned(), ..Mark::new(state.set(), state.plan_seed(), how_far) };
    mark.write(folder.as_fd()).map_err(|error| EngineError::io("write the mark of", state.folder(), error))
}
