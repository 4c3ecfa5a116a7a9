//! Taking a file set away again, and nothing else.
//!
//! Only a folder with a readable mark is touched, and in it only names that the marked set's rules can have made, in the
//! directories where those rules put them. Everything is named relative to open directories; no symbolic link is
//! followed and no mount is entered. What is foreign stays, with the directories that hold it, and the mark stays with
//! it, so that the removal can be finished once the foreign files have been moved away.

use crate::among::ANYBODY;
use crate::content::generations;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::root::Root;
use crate::places::Removed;
use crate::places::local_dir::hidden;
use crate::places::local_dir::mark;
use crate::places::local_dir::mark::{Mark, State};
use crate::places::progress::{Progress, Report, WorkGroup, threads_of};
use crate::sys::posix;
use crate::sys::posix::{Directory, EntryKind};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

const MOST_FOREIGN_NAMED: usize = 20;

/// Remove a set's folder, which has that name in a data folder. Files that hold names of the set go, whatever was written into them since.
///
/// # Errors
///
/// `Stopped`; an environment error for a folder without a readable mark; the system call that failed. The mark is
/// still there then.
pub fn remove(parent: &Arc<Root>, name: &str, report: Report<'_>, stop: &AtomicBool) -> Result<Removed> {
    let folder = &parent.path().join(name);
    let name = posix::c_path(Path::new(name)).map_err(|error| EngineError::io("open", folder, error))?;
    let root = open_root(folder, parent.as_fd(), &name)?;
    let mark = read_mark(folder, root.as_fd())?;
    let owner = if mark.is_joint { ANYBODY } else { "" };
    let rules = FileSetState::of_owner(&mark.set, parent, mark.seed, owner)
        .map_err(|error| refuse(folder, &format!("carries a mark that this engine cannot follow ({error})")))?;
    // A removal that is cut off must not leave a set that looks complete. On a full file system this may fail, and
    // removing is then all the more needed.
    let mark = Mark { state: State::Removing, ..mark };
    let _ = mark.write(root.as_fd());
    let removed = sweep_out(&rules, Extent::All, root.as_fd(), report, stop)?;
    if removed.foreign_total == 0 {
        generations::forget(root.as_fd());
        remove_marked_root(folder, parent.as_fd(), root.as_fd(), &name, &mark)?;
    }
    Ok(removed)
}

/// How much of a folder is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything that the mark's rules can have made.
    All,
    /// What has the names of the set's owner, and no directory of the set; what others have there is not looked at.
    FilesOfOwner,
    /// Directories, mark and folder, where no file is in them.
    Directories,
}

/// Remove a part of what is in the folder of a set that several clients have files in.
///
/// # Errors
///
/// As [`remove`].
pub fn remove_part(state: &FileSetState, extent: Extent, report: Report<'_>, stop: &AtomicBool) -> Result<Removed> {
    let (folder, name) = (state.folder(), state.folder_name());
    let root = open_root(folder, state.root().as_fd(), &name)?;
    let mark = read_mark(folder, root.as_fd())?;
    if !mark.is_joint {
        return Err(refuse(folder, "is not one that several clients have files in"));
    }
    let removed = sweep_out(state, extent, root.as_fd(), report, stop)?;
    if extent == Extent::Directories && removed.foreign_total == 0 {
        remove_marked_root(folder, state.root().as_fd(), root.as_fd(), &name, &mark)?;
    }
    Ok(removed)
}

/// Sweep until nothing is left that goes by itself.
fn sweep_out(
    rules: &FileSetState,
    extent: Extent,
    root: BorrowedFd<'_>,
    report: Report<'_>,
    stop: &AtomicBool,
) -> Result<Removed> {
    let folder = rules.folder();
    let device = posix::fstat(root).map_err(|error| EngineError::io("stat", folder, error))?.st_dev;
    let sweep = Sweep {
        group: WorkGroup::new(stop),
        progress: Progress::new(report, rules.initial_files(), "files"),
        rules,
        extent,
        device,
        files: AtomicU64::new(0),
        directories: AtomicU64::new(0),
    };
    let mut foreign = sweep.everything(root, folder)?;
    for _ in 0..hidden::TRIES {
        if foreign.total == 0 || !foreign.is_all_hidden() {
            break;
        }
        std::thread::sleep(hidden::WAIT);
        sweep.group.check()?;
        foreign = sweep.everything(root, folder)?;
    }
    sweep.progress.finish();
    Ok(Removed {
        files: sweep.files.into_inner(),
        directories: sweep.directories.into_inner(),
        foreign: foreign.named,
        foreign_total: foreign.total,
    })
}

fn open_root(folder: &Path, parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    posix::open_directory_at(parent, name).map_err(|error| match error.raw_os_error() {
        Some(libc::EXDEV) => refuse(folder, "is a mount point"),
        Some(libc::ELOOP | libc::ENOTDIR) => refuse(folder, "is not a directory"),
        _ => EngineError::io("open", folder, error),
    })
}

fn read_mark(folder: &Path, root: BorrowedFd<'_>) -> Result<Mark> {
    match Mark::read(root) {
        Ok(Some(mark)) => Ok(mark),
        Ok(None) => Err(refuse(folder, "carries no mark of Assay")),
        Err(error) => Err(refuse(folder, &format!("carries a mark that cannot be read ({error})"))),
    }
}

fn refuse(folder: &Path, why: &str) -> EngineError {
    let folder = folder.display();
    EngineError::Environment(format!("{folder} {why}, so nothing in it is removed. Look at it and remove it yourself"))
}

/// The last step: the mark, then the folder. Where that does not go, the mark comes back: without it nobody would try again.
fn remove_marked_root(
    folder: &Path,
    parent: BorrowedFd<'_>,
    root: BorrowedFd<'_>,
    name: &CStr,
    mark: &Mark,
) -> Result<()> {
    let failed = |error| EngineError::io("remove", folder, error);
    if_there(posix::unlink_at(root, generations::NAME)).map_err(failed)?;
    if_there(posix::unlink_at(root, mark::NEXT_NAME)).map_err(failed)?;
    if_there(posix::unlink_at(root, mark::NAME)).map_err(failed)?;
    if_there(posix::remove_directory_at(parent, name)).map_err(|error| {
        let _ = mark.write(root);
        failed(error)
    })
}

/// What is gone already need not be removed.
fn if_there(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        other => other,
    }
}

/// Entries that stay.
#[derive(Default)]
struct Foreign {
    named: Vec<PathBuf>,
    total: u64,
}

impl Foreign {
    fn add(&mut self, path: PathBuf) {
        self.merge(Self { named: vec![path], total: 1 });
    }

    /// Whether all of it goes by itself as soon as it is closed.
    fn is_all_hidden(&self) -> bool {
        let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| hidden::is_hidden(name.as_bytes()));
        self.total == self.named.len() as u64 && self.named.iter().all(is_hidden)
    }

    fn merge(&mut self, other: Self) {
        self.total += other.total;
        self.named.extend(other.named);
        self.named.truncate(MOST_FOREIGN_NAMED);
    }
}

/// One directory of the set: number `number` of its level.
struct Place<'a> {
    path: &'a Path,
    level: u32,
    number: u64,
}

impl Place<'_> {
    fn join(&self, name: &CStr) -> PathBuf {
        self.path.join(OsStr::from_bytes(name.to_bytes()))
    }
}

/// What became of an entry.
enum Fate {
    Gone,
    Stays(Foreign),
}

struct Sweep<'a> {
    group: WorkGroup<'a>,
    progress: Progress<'a>,
    rules: &'a FileSetState,
    extent: Extent,
    device: libc::dev_t,
    files: AtomicU64,
    directories: AtomicU64,
}

impl Sweep<'_> {
    /// First the sub-directories with several threads, then what is left with one; only the second pass, which sees
    /// everything that stays, says what is foreign.
    fn everything(&self, root: BorrowedFd<'_>, path: &Path) -> Result<Foreign> {
        let failed = |error| EngineError::io("read", path, error);
        let place = Place { path, level: 0, number: 0 };
        let mut listing = Directory::new(reopen(root).map_err(failed)?).map_err(failed)?;
        if self.rules.spread().depth() > 0 {
            let names = self.own_directories(&mut listing).map_err(failed)?;
            let next = AtomicUsize::new(0);
            let work = || {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    self.entry(root, name, EntryKind::Directory, &place)?;
                }
                Ok(())
            };
            let threads = threads_of(self.rules.set().create_workers).min(names.len());
            self.group.run(threads, work)?;
            listing.rewind();
        }
        self.directory(&mut listing, &place)
    }

    fn own_directories(&self, listing: &mut Directory) -> io::Result<Vec<CString>> {
        let mut name = CString::default();
        let mut names = Vec::new();
        while let Some(kind) = listing.next_entry(&mut name)? {
            if kind == EntryKind::Directory && self.rules.directory_names().number_in(&name).is_some() {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// Empty one directory of the set. Read again until a pass removes nothing: some file systems skip entries while
    /// others are being removed.
    fn directory(&self, listing: &mut Directory, place: &Place<'_>) -> Result<Foreign> {
        let mut name = CString::default();
        loop {
            let mut foreign = Foreign::default();
            let mut removed_any = false;
            while let Some(kind) =
                listing.next_entry(&mut name).map_err(|error| EngineError::io("read", place.path, error))?
            {
                self.group.check()?;
                if place.level == 0 && [mark::NAME, mark::NEXT_NAME, generations::NAME].contains(&name.as_c_str()) {
                    continue;
                }
                match self.entry(listing.as_fd(), &name, kind, place)? {
                    Fate::Gone => removed_any = true,
                    Fate::Stays(more) => foreign.merge(more),
                }
            }
            if !removed_any {
                return Ok(foreign);
            }
            listing.rewind();
        }
    }

    fn entry(&self, parent: BorrowedFd<'_>, name: &CStr, kind: EntryKind, place: &Place<'_>) -> Result<Fate> {
        let spread = self.rules.spread();
        let is_leaf = place.level == spread.depth();
        let numbered = if is_leaf { self.rules.file_names() } else { self.rules.directory_names() }.number_in(name);
        let is_of_set = is_leaf && numbered.is_some_and(|index| spread.files_of(place.number).contains(&index));
        if is_of_set && self.extent == Extent::Directories {
            return Ok(stays(place.join(name)));
        }
        let result = match (numbered, kind) {
            (_, EntryKind::Name) if is_of_set => self.file(posix::unlink_at(parent, name)),
            // A load that makes directories gives them names of files; an empty one holds nobody's data.
            (_, EntryKind::Directory) if is_of_set => self.file(posix::remove_directory_at(parent, name)),
            (Some(turn), EntryKind::Directory) if !is_leaf => {
                let path = place.join(name);
                let number = place.number * spread.width() + turn;
                return self.sub_directory(parent, name, &Place { path: &path, level: place.level + 1, number });
            }
            // Those of others, and their directories.
            _ if self.extent == Extent::FilesOfOwner => return Ok(Fate::Stays(Foreign::default())),
            _ => return Ok(stays(place.join(name))),
        };
        settle_fate(result, || place.join(name))
    }

    fn file(&self, result: io::Result<()>) -> io::Result<()> {
        if_there(result.inspect(|()| {
            self.files.fetch_add(1, Ordering::Relaxed);
            self.progress.add(1);
        }))
    }

    fn sub_directory(&self, parent: BorrowedFd<'_>, name: &CStr, place: &Place<'_>) -> Result<Fate> {
        self.group.check()?;
        let path = || place.path.to_owned();
        let opened = match posix::open_directory_at(parent, name) {
            Ok(opened) => opened,
            Err(error) => return settle_fate(if_there(Err(error)), path),
        };
        let failed = |error| EngineError::io("read", place.path, error);
        if posix::fstat(opened.as_fd()).map_err(failed)?.st_dev != self.device {
            return Ok(stays(path()));
        }
        let foreign = self.directory(&mut Directory::new(opened).map_err(failed)?, place)?;
        if foreign.total > 0 || self.extent == Extent::FilesOfOwner {
            return Ok(Fate::Stays(foreign));
        }
        let result = posix::remove_directory_at(parent, name).inspect(|()| {
            self.directories.fetch_add(1, Ordering::Relaxed);
        });
        settle_fate(if_there(result), path)
    }
}

/// An own descriptor of an open directory, with its own position.
fn reopen(directory: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    posix::open_at(directory, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)
}

fn stays(path: PathBuf) -> Fate {
    let mut foreign = Foreign::default();
    foreign.add(path);
    Fate::Stays(foreign)
}

/// A directory that is not empty, a mount point, or a name that turned into something else stays; other failures end
/// the removal.
fn settle_fate(result: io::Result<()>, path: impl Fn() -> PathBuf) -> Result<Fate> {
    match result {
        Ok(()) => Ok(Fate::Gone),
        Err(error) => match error.raw_os_error() {
            Some(
                libc::ENOTEMPTY | libc::EEXIST | libc::EBUSY | libc::EXDEV | libc::ELOOP | libc::ENOTDIR | libc::EISDIR,
            ) => Ok(stays(path())),
            _ => Err(EngineError::io("remove", path(), error)),
        },
    }
}
