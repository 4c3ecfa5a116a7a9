//! The one folder below a target that Assay writes to: `assay-data`, for one run at a time.
//!
//! The lock is an `flock` on `assay-data/.lock`, so it ends with the process however that dies. Whoever leaves removes
//! the file; so after locking, the file that is locked is compared with the one of that name, and if somebody removed
//! it in between, the way starts over. Network file systems pass the lock on to the server where they can.

use crate::backend::uri::Scheme;
use crate::error::{EngineError, Result};
use crate::sys::posix;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FOLDER_NAME: &str = "assay-data";
const LOCK_NAME: &CStr = c".lock";
/// Names under which FUSE and NFS keep a file that was removed while it was open.
const HIDDEN_PREFIXES: [&[u8]; 2] = [b".fuse_hidden", b".nfs"];
/// How often, and how far apart, the folder is tried again until those are gone: a FUSE daemon closes a little later.
const HIDDEN_TRIES: u32 = 20;
const HIDDEN_WAIT: Duration = Duration::from_millis(10);

/// A target's data folder, locked for this run.
#[derive(Debug)]
pub struct DataFolder {
    directory: PathBuf,
    path: PathBuf,
    folder: OwnedFd,
    /// None: let go.
    lock: Option<File>,
    is_locked: bool,
    owner_pid: u32,
}

impl DataFolder {
    /// Make and lock the data folder below the directory of a `file://` URI.
    ///
    /// # Errors
    ///
    /// A Plan error for another kind of target; an environment error when the directory cannot be used or another run
    /// is using it.
    pub fn open(target_uri: &str) -> Result<Self> {
        let directory = match Scheme::of(target_uri)? {
            (Scheme::File, directory) => directory,
            #[cfg(test)]
            (Scheme::Null, _) => unreachable!("no Plan reaches it"),
        };
        check_directory(&directory)?;
        // Each turn lost means that another run has just left; a hundred in a row do not happen by chance.
        for _ in 0..100 {
            if let Some(opened) = Self::try_open(&directory)? {
                return Ok(opened);
            }
        }
        Err(busy(&directory, "other Assay runs come and go".to_owned()))
    }

    /// One attempt; `None` when another run removed what was just opened.
    fn try_open(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(FOLDER_NAME);
        let Some(folder) = open_folder(&path)? else { return Ok(None) };
        let flags = libc::O_RDWR | libc::O_CREAT;
        let mut lock = match posix::open_at(folder.as_fd(), LOCK_NAME, flags, 0o644) {
            Ok(lock) => File::from(lock),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
            Err(error) => return Err(EngineError::io("open", path.join(".lock"), error)),
        };
        let is_locked = match posix::try_lock_exclusive(lock.as_fd()) {
            Ok(()) => true,
            Err(error) => match error.raw_os_error() {
                Some(libc::EWOULDBLOCK) => return Err(busy(directory, holder(&mut lock))),
                // Some network file systems have no locks (Lustre without -o flock says ENOSYS).
                Some(libc::ENOSYS | libc::ENOLCK | libc::EOPNOTSUPP) => false,
                _ => return Err(EngineError::io("lock", path.join(".lock"), error)),
            },
        };
        if !is_same_file(folder.as_fd(), &lock) {
            return Ok(None);
        }
        let owner_pid = std::process::id();
        let lock = Some(lock);
        let folder = Self { directory: directory.to_owned(), path, folder, lock, is_locked, owner_pid };
        folder.write_holder().map_err(|error| EngineError::io("write", folder.path.join(".lock"), error))?;
        Ok(Some(folder))
    }

    fn write_holder(&self) -> io::Result<()> {
        let Some(mut lock) = self.lock.as_ref() else { return Ok(()) };
        lock.set_len(0)?;
        lock.rewind()?;
        writeln!(lock, "{} {}", self.owner_pid, host_name())
    }

    /// The data folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that the user named.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether a second run is kept out. `false` where the file system has no locks; worth a warning.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// The open data folder.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Bytes that this user may still write.
    ///
    /// # Errors
    ///
    /// The file system does not answer.
    pub fn free_bytes(&self) -> Result<u64> {
        let numbers = self.file_system()?;
        Ok(numbers.f_bavail.saturating_mul(numbers.f_frsize))
    }

    /// Files that this user may still create; `None` where the file system sets no number.
    ///
    /// # Errors
    ///
    /// The file system does not answer.
    pub fn free_inodes(&self) -> Result<Option<u64>> {
        let numbers = self.file_system()?;
        Ok((numbers.f_files > 0).then_some(numbers.f_favail))
    }

    /// Unit in which the file system gives out space, in bytes.
    ///
    /// # Errors
    ///
    /// The file system does not answer.
    pub fn fs_block_bytes(&self) -> Result<u64> {
        Ok(self.file_system()?.f_frsize)
    }

    fn file_system(&self) -> Result<libc::statvfs> {
        posix::file_system_of(self.folder.as_fd()).map_err(|error| EngineError::io("statvfs", &self.path, error))
    }

    /// Unlock, and remove the folder if nothing is left in it.
    pub fn close(self) {}
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        // A forked worker holds a copy of this value; only the run itself may let the lock go.
        let is_own = std::process::id() == self.owner_pid
            && self.lock.as_ref().is_some_and(|lock| is_same_file(self.folder.as_fd(), lock));
        if !is_own {
            return;
        }
        // While the lock is still held. What cannot be removed stays: that is no reason to fail a finished run, and
        // rmdir of a folder that holds data is refused by the kernel.
        let _ = posix::unlink_at(self.folder.as_fd(), LOCK_NAME);
        if std::fs::remove_dir(&self.path).is_ok() {
            return;
        }
        // The lock file itself may be in the way under a hidden name until it is closed. A run that comes now makes a
        // lock file of its own, and the folder stays.
        self.lock = None;
        for _ in 0..HIDDEN_TRIES {
            if !holds_only_hidden(&self.path) || std::fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(HIDDEN_WAIT);
        }
    }
}

/// Whether nothing is in a folder but what its file system hides until it is closed.
fn holds_only_hidden(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| HIDDEN_PREFIXES.iter().any(|prefix| entry.file_name().as_bytes().starts_with(prefix)))
    })
}

/// Make and open the folder; `None` when another run removed it in between.
fn open_folder(path: &Path) -> Result<Option<OwnedFd>> {
    let name = posix::c_path(path).map_err(|error| EngineError::io("create", path, error))?;
    match posix::make_directory(&name) {
        Err(error) if error.raw_os_error() != Some(libc::EEXIST) => return Err(EngineError::io("create", path, error)),
        _ => {}
    }
    match posix::open(&name, libc::O_RDONLY | libc::O_DIRECTORY, 0) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT) => Ok(None),
            Some(libc::ENOTDIR | libc::ELOOP) => Err(EngineError::Environment(format!(
                "{} is there and is not a directory; Assay keeps its files in a directory of that name. \
                 Move it away or choose another directory",
                path.display()
            ))),
            _ => Err(EngineError::io("open", path, error)),
        },
    }
}

/// Whether the lock file still has its name.
fn is_same_file(folder: BorrowedFd<'_>, lock: &File) -> bool {
    match (posix::fstat(lock.as_fd()), posix::stat_at(folder, LOCK_NAME)) {
        (Ok(mine), Ok(named)) => (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino),
        _ => false,
    }
}

/// Who holds the lock, as the holder wrote it.
fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    let _ = lock.take(300).read_to_string(&mut text);
    let mut words = text.split_whitespace();
    match (words.next(), words.next()) {
        (Some(pid), Some(host)) if host != host_name() => format!("process {pid} on {host}"),
        (Some(pid), _) => format!("process {pid}"),
        _ => "process unknown".to_owned(),
    }
}

fn busy(directory: &Path, who: String) -> EngineError {
    let directory = directory.display();
    EngineError::Environment(format!(
        "another Assay run ({who}) is using {directory}; wait for it, or choose another directory"
    ))
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.split_whitespace().next().unwrap_or("?").to_owned()
}

/// The directory must be there and writable; the user hears which of these it is not.
fn check_directory(directory: &Path) -> Result<()> {
    let shown = directory.display();
    let refuse = |why: String| Err(EngineError::Environment(why));
    match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return refuse(format!("{shown} is a file; name a directory on the storage to measure")),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            return refuse(format!("{shown} does not exist; create it or name another directory"));
        }
        Err(error) => return Err(EngineError::io("open", directory, error)),
    }
    let name = posix::c_path(directory).map_err(|error| EngineError::io("open", directory, error))?;
    match posix::may_write(&name) {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EROFS) => {
            refuse(format!("{shown} is on a read-only file system; mount it read-write or name another directory"))
        }
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => {
            refuse(format!("{shown} is not writable for this user; change its permissions or name another directory"))
        }
        Err(error) => Err(EngineError::io("write to", directory, error)),
    }
}
