//! The one folder below a target that Assay writes to: `assay-data`, for one run at a time.
//!
//! It is opened once and held open, so that all that happens in it happens in that very folder, whatever others do to the
//! directory around it; it must belong to the user who measures, and to nobody else ([`owner`]).
//!
//! The lock is an `flock` on `assay-data/.assay-lock`, so it ends with the process however that dies. The file also says
//! whether Assay made the folder: then the one who leaves an empty folder removes both, and a folder with sets in it keeps its
//! file. In a folder that was there before only that file is made and removed. After locking, the file that is locked is
//! compared with the one of that name, and if somebody removed it in between, the way starts over. Network file systems pass
//! the lock on to the server where they can.
//!
//! Engines of one run may use the folder at once. Then each holds the lock with the others (LOCK_SH), and the file says which run
//! has it: who comes first writes that while it has the lock alone. Who leaves lets the lock go and tries to have it alone: the
//! last one can, and tidies up.

use crate::backend::uri::Scheme;
use crate::error::{EngineError, Result};
use crate::files::root::Root;
use crate::places::local_dir::block_groups;
use crate::places::local_dir::hidden;
use crate::places::local_dir::owner;
use crate::plan::Among;
use crate::sys::posix;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const FOLDER_NAME: &CStr = c"assay-data";
const LOCK_NAME: &CStr = c".assay-lock";
/// First words of the lock file, then `made` or `found`, the process and its host.
const LOCK_SCHEMA: &str = "assay-lock 1";
const LARGEST_LOCK_BYTES: u64 = 1024;
/// Turns in which a lock file may be empty.
const PATIENCE_TURNS: u32 = 20;
/// How often, and how far apart, one looks whether another run has just left, or has written its lock.
const LEAVING_TRIES: u32 = 20;
const LEAVING_WAIT: Duration = Duration::from_millis(10);
/// Turns until the folder is somebody else's.
const JOINING_TURNS: u32 = 100;
/// How far apart one looks whether another engine of the run has come in, which has the lock alone for a moment.
const JOINING_WAIT: Duration = Duration::from_millis(50);

/// A target's data folder, locked for this run.
#[derive(Debug)]
pub struct DataFolder {
    directory: PathBuf,
    /// The open directory.
    parent: OwnedFd,
    root: Arc<Root>,
    /// None: let go.
    lock: Option<File>,
    is_locked: bool,
    /// The run, where others of it may be in the folder at the same time; empty: it is this engine's alone.
    run: String,
    /// Which of the run's engines this is.
    part: u32,
    /// Whether this run may remove the lock file, and the folder: it holds the lock, or made the file where there are none.
    is_held: bool,
    /// Whether Assay made the folder.
    is_made: bool,
    owner_pid: u32,
}

impl DataFolder {
    /// Make and lock the data folder below the directory of a `file://` URI.
    ///
    /// # Errors
    ///
    /// A Plan error for another kind of target; an environment error when the directory cannot be used, another run is using
    /// it, or the data folder is not this user's own.
    pub fn open(target_uri: &str) -> Result<Self> {
        Self::open_among(target_uri, None)
    }

    /// As `open`, among other engines of a run where there are any.
    ///
    /// # Errors
    ///
    /// As `open`; and where the file system has no locks, which is how these engines know of each other.
    pub fn open_among(target_uri: &str, among: Option<&Among>) -> Result<Self> {
        let directory = match Scheme::of(target_uri)? {
            (Scheme::File, directory) => directory,
            (Scheme::Block, _) => {
                return Err(EngineError::Plan(format!(
                    "target '{target_uri}' is a block device, which has no folders"
                )));
            }
            #[cfg(test)]
            (Scheme::Null, _) => unreachable!("no Plan reaches it"),
        };
        check_directory(&directory)?;
        // Each turn lost means that another run has just left; a hundred in a row do not happen by chance.
        for turn in 0..JOINING_TURNS {
            if let Some(opened) = Self::try_open(&directory, among, turn)? {
                return Ok(opened);
            }
        }
        Err(busy(&directory, "other Assay runs come and go".to_owned()))
    }

    /// One attempt; `None` when another run removed what was just opened.
    fn try_open(directory: &Path, among: Option<&Among>, turn: u32) -> Result<Option<Self>> {
        let parent = open_parent(directory)?;
        let path = directory.join("assay-data");
        let Some((folder, is_new)) = open_folder(parent.as_fd(), &path)? else { return Ok(None) };
        let opened = look_and_open(parent.as_fd(), folder.as_fd(), &path, is_new).inspect_err(|_| {
            if is_new {
                // Nothing of Assay's stays; the kernel refuses a folder in which another run has begun.
                let _ = posix::remove_directory_at(parent.as_fd(), FOLDER_NAME);
            }
        });
        let Some((file, is_fresh)) = opened? else { return Ok(None) };
        let root = Arc::new(Root::new(path, folder));
        let (directory, owner_pid) = (directory.to_owned(), std::process::id());
        let opened = Self {
            directory,
            parent,
            root,
            lock: Some(file),
            is_locked: false,
            run: among.map(|among| among.run.clone()).unwrap_or_default(),
            part: among.map_or(0, |among| among.part),
            is_held: false,
            is_made: is_new,
            owner_pid,
        };
        opened.take(turn, is_fresh)
    }

    /// Lock the folder, and find out whether Assay made it; `None` when another run removed it. What fails leaves nothing of
    /// this run's.
    fn take(mut self, turn: u32, is_fresh: bool) -> Result<Option<Self>> {
        let Some(file) = self.lock.as_ref() else { return Ok(None) };
        let failed = |call, path: &Path, error| EngineError::io(call, path.join(".assay-lock"), error);
        match posix::try_lock_exclusive(file.as_fd()) {
            Ok(()) => self.is_locked = true,
            Err(error) => match error.raw_os_error() {
                Some(libc::EWOULDBLOCK) if self.is_among() => return self.join(turn),
                Some(libc::EWOULDBLOCK) => return Err(busy(&self.directory, holder(file))),
                Some(libc::ENOSYS | libc::ENOLCK | libc::EOPNOTSUPP) if self.is_among() => {
                    self.is_held = is_fresh;
                    return Err(no_locks(self.path()));
                }
                // Some network file systems have no locks (Lustre without -o flock says ENOSYS).
                Some(libc::ENOSYS | libc::ENOLCK | libc::EOPNOTSUPP) => {}
                _ => {
                    self.is_held = is_fresh;
                    return Err(failed("lock", self.path(), error));
                }
            },
        }
        match is_same_file(self.as_fd(), file) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                self.is_held = is_fresh;
                return Err(failed("look at", self.path(), error));
            }
        }
        match was_made(file) {
            Ok(Told::Made) => self.is_made = true,
            Ok(Told::Found) => self.is_made = false,
            // Who made it a moment ago is about to write into it; one that died there left nothing about the folder.
            Ok(Told::Nothing) if turn < PATIENCE_TURNS => {
                std::thread::sleep(LEAVING_WAIT);
                return Ok(None);
            }
            Ok(Told::Nothing) => self.is_made = false,
            Ok(Told::Foreign) => return Err(not_own(self.path(), "holds a file .assay-lock that is not Assay's")),
            Err(error) => {
                self.is_held = is_fresh;
                return Err(failed("read", self.path(), error));
            }
        }
        self.is_held = true;
        block_groups::spread(self.as_fd());
        self.write_holder().map_err(|error| failed("write", self.path(), error))?;
        if self.is_among() && !self.let_others_in()? {
            self.is_held = false;
            return Ok(None);
        }
        Ok(Some(self))
    }

    /// Whether other engines of the run may be in the folder.
    pub fn is_among(&self) -> bool {
        !self.run.is_empty()
    }

    /// The run whose engines use the folder; empty: it is this engine's alone.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Whether another engine of the run lays sets out that have no owner, and removes them.
    pub fn follows(&self) -> bool {
        self.is_among() && self.part > 0
    }

    /// Hold the lock with others from now on. `false` where somebody was quicker to have it alone.
    fn let_others_in(&self) -> Result<bool> {
        let Some(file) = self.lock.as_ref() else { return Ok(false) };
        match posix::try_lock_shared(file.as_fd()) {
            Ok(()) => is_same_file(self.as_fd(), file)
                .map_err(|error| EngineError::io("look at", self.path().join(".assay-lock"), error)),
            Err(error) if error.raw_os_error() == Some(libc::EWOULDBLOCK) => Ok(false),
            Err(error) => Err(EngineError::io("lock", self.path().join(".assay-lock"), error)),
        }
    }

    /// Hold the lock with those who have it, if they are of this run; `None`: look again.
    fn join(mut self, turn: u32) -> Result<Option<Self>> {
        let Some(file) = self.lock.as_ref() else { return Ok(None) };
        let (is_in, who) = (self.let_others_in()?, holder(file));
        let text = text_of(file).map_err(|error| EngineError::io("read", self.path().join(".assay-lock"), error))?;
        let is_own = is_in && is_of_run(&text, &self.run);
        if is_own {
            self.is_made = text.starts_with(&lock_words(true));
            (self.is_locked, self.is_held) = (true, true);
            return Ok(Some(self));
        }
        // Let the other holder have the lock alone for a moment, to write which run it is of.
        if turn + 1 < JOINING_TURNS {
            let _ = posix::unlock(file.as_fd());
            std::thread::sleep(JOINING_WAIT);
            return Ok(None);
        }
        Err(busy(&self.directory, who))
    }

    /// Let the others alone with the folder, unless there are none: whether this engine is the last, and has it alone now.
    pub fn is_last(&mut self) -> bool {
        if !self.is_held || !self.is_among() {
            return self.is_held;
        }
        let Some(file) = self.lock.as_ref() else { return false };
        // Two that try to have it alone while both hold it would see each other.
        let is_alone = posix::unlock(file.as_fd()).is_ok() && posix::try_lock_exclusive(file.as_fd()).is_ok();
        let is_own = is_alone && is_of_run(&text_of(file).unwrap_or_default(), &self.run);
        if is_own {
            self.run.clear();
        } else {
            (self.is_held, self.lock) = (false, None);
        }
        is_own
    }

    fn write_holder(&self) -> io::Result<()> {
        let Some(mut lock) = self.lock.as_ref() else { return Ok(()) };
        let run = if self.is_among() { format!(" {}", self.run) } else { String::new() };
        let text = format!("{} {} {}{run}\n", lock_words(self.is_made), self.owner_pid, host_name());
        lock.rewind()?;
        lock.write_all(text.as_bytes())?;
        // The end last: a file that is cut short by a full disk still says whose the folder is.
        lock.set_len(text.len() as u64)
    }

    /// The data folder.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The data folder as the place that sets lie in.
    pub fn root(&self) -> &Arc<Root> {
        &self.root
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
        self.root.as_fd()
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
        posix::file_system_of(self.as_fd()).map_err(|error| EngineError::io("statvfs", self.path(), error))
    }

    /// Remove the lock file, and the folder if Assay made it and nothing is left in it.
    ///
    /// # Errors
    ///
    /// What keeps the folder, or its lock file, from being removed, and what the user is to do.
    pub fn leave(mut self) -> Result<()> {
        self.remove_own()
    }

    /// As `leave`; a second time nothing is done.
    fn remove_own(&mut self) -> Result<()> {
        // A forked worker holds a copy of this value; only the run itself may let the lock go.
        if std::process::id() != self.owner_pid || !self.is_last() {
            return Ok(());
        }
        self.is_held = false;
        let path = self.root.path().to_owned();
        let left = |error: io::Error| {
            let (directory, path) = (self.directory.display(), path.display());
            EngineError::Environment(format!(
                "{path} could not be removed: {error}; 'assay clean {directory}' removes it"
            ))
        };
        let Some(lock) = self.lock.as_ref() else { return Ok(()) };
        if !is_same_file(self.as_fd(), lock).map_err(left)? {
            return Ok(());
        }
        // A folder of Assay's keeps its file, which says that it is, as long as there is a set in it.
        if self.is_made && !is_empty(self.as_fd()).map_err(left)? {
            return Ok(());
        }
        // While the lock is still held.
        posix::unlink_at(self.as_fd(), LOCK_NAME).map_err(left)?;
        if !self.is_made {
            return Ok(());
        }
        let by_hand = |error: io::Error| {
            let path = path.display();
            EngineError::Environment(format!(
                "{path}, which is empty, could not be removed: {error}; remove it yourself"
            ))
        };
        if self.remove_folder().map_err(by_hand)? {
            return Ok(());
        }
        // The lock file itself may be in the way under a hidden name until it is closed. A run that comes now makes a
        // lock file of its own, and the folder stays.
        self.lock = None;
        for _ in 0..hidden::TRIES {
            if !is_empty(self.as_fd()).map_err(by_hand)? || self.remove_folder().map_err(by_hand)? {
                return Ok(());
            }
            std::thread::sleep(hidden::WAIT);
        }
        Ok(())
    }

    /// Remove the folder of that name, if it still is this one; whether it is gone. The kernel refuses one that holds anything.
    fn remove_folder(&self) -> io::Result<bool> {
        if !is_named(self.parent.as_fd(), self.as_fd())? {
            return Ok(false);
        }
        match posix::remove_directory_at(self.parent.as_fd(), FOLDER_NAME) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTEMPTY | libc::EEXIST | libc::ENOENT)) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        // Where it matters that something stays, `leave` was called.
        let _ = self.remove_own();
    }
}

/// Check whose a folder is, open its lock file, and return whether that is new; `None` when the folder, or a run that
/// was in it, has just gone.
fn look_and_open(
    parent: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    path: &Path,
    is_new: bool,
) -> Result<Option<(File, bool)>> {
    if let Some(why) = owner::why_not_own(folder).map_err(|error| EngineError::io("look at", path, error))? {
        return Err(not_own(path, &why));
    }
    open_lock(parent, folder, is_new).map_err(|error| EngineError::io("open", path.join(".assay-lock"), error))
}

/// Whether nothing is in a folder but the lock file, and what its file system hides until it is closed.
fn is_empty(folder: BorrowedFd<'_>) -> io::Result<bool> {
    let opened = posix::open_at(folder, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    let mut listing = posix::Directory::new(opened)?;
    let mut name = std::ffi::CString::default();
    loop {
        match listing.next_entry(&mut name)? {
            None => return Ok(true),
            Some(_) if name.as_c_str() == LOCK_NAME => {}
            Some(_) if hidden::is_hidden(name.to_bytes()) => {}
            Some(_) => return Ok(false),
        }
    }
}

/// The directory that the user named, links and all.
fn open_parent(directory: &Path) -> Result<OwnedFd> {
    let failed = |error| EngineError::io("open", directory, error);
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let opened = File::options().read(true).custom_flags(flags).open(directory);
    opened.map(OwnedFd::from).map_err(failed)
}

/// Make and open the folder, and return whether it is new; `None` when another run removed it in between.
fn open_folder(parent: BorrowedFd<'_>, path: &Path) -> Result<Option<(OwnedFd, bool)>> {
    let is_new = match posix::make_directory_at(parent, FOLDER_NAME) {
        Err(error) if error.raw_os_error() != Some(libc::EEXIST) => return Err(EngineError::io("create", path, error)),
        made => made.is_ok(),
    };
    let opened = posix::open_beneath(parent, FOLDER_NAME, libc::O_RDONLY | libc::O_DIRECTORY, 0).inspect_err(|_| {
        if is_new {
            let _ = posix::remove_directory_at(parent, FOLDER_NAME);
        }
    });
    match opened {
        Ok(folder) => Ok(Some((folder, is_new))),
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

/// What a lock file says of its folder.
enum Told {
    /// Assay made it.
    Made,
    /// It was there before.
    Found,
    Nothing,
    /// It is no lock file of Assay's.
    Foreign,
}

/// Open the lock file of a folder, or make it, and return whether it is new; `None` when the folder, or a run that
/// was in it, has just gone.
fn open_lock(parent: BorrowedFd<'_>, folder: BorrowedFd<'_>, is_new: bool) -> io::Result<Option<(File, bool)>> {
    let there = posix::open_beneath(folder, LOCK_NAME, libc::O_RDWR | libc::O_NONBLOCK, 0);
    let is_missing = |error: &io::Error| error.raw_os_error() == Some(libc::ENOENT);
    if !matches!(&there, Err(error) if is_missing(error)) {
        return there.map(|file| Some((File::from(file), false)));
    }
    // Who leaves a folder removes first the file and then the folder: in between it looks like an empty one of the user's.
    if !is_new && is_empty(folder)? {
        for _ in 0..LEAVING_TRIES {
            std::thread::sleep(LEAVING_WAIT);
            if !is_named(parent, folder)? || posix::stat_at(folder, LOCK_NAME).is_ok() {
                return Ok(None);
            }
        }
    }
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    match posix::open_beneath(folder, LOCK_NAME, flags, 0o644).map(File::from) {
        // At once, before anybody locks it.
        Ok(mut file) => {
            let written = file.write_all(lock_words(is_new).as_bytes()).inspect_err(|_| {
                // No room is left: nothing of Assay's stays.
                let _ = posix::unlink_at(folder, LOCK_NAME);
            });
            written.map(|()| Some((file, true)))
        }
        // Another run was quicker, or took the folder away.
        Err(error) if is_missing(&error) || error.raw_os_error() == Some(libc::EEXIST) => Ok(None),
        Err(error) => Err(error),
    }
}

fn was_made(lock: &File) -> io::Result<Told> {
    let facts = lock.metadata()?;
    if !facts.is_file() || facts.nlink() != 1 || facts.len() > LARGEST_LOCK_BYTES {
        return Ok(Told::Foreign);
    }
    let text = text_of(lock)?;
    Ok(match () {
        () if text.is_empty() => Told::Nothing,
        () if text.starts_with(&lock_words(true)) => Told::Made,
        () if text.starts_with(&lock_words(false)) => Told::Found,
        () => Told::Foreign,
    })
}

fn lock_words(is_made: bool) -> String {
    format!("{LOCK_SCHEMA} {}", if is_made { "made" } else { "found" })
}

fn text_of(mut lock: &File) -> io::Result<String> {
    let mut text = Vec::new();
    lock.rewind()?;
    lock.take(LARGEST_LOCK_BYTES).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether the text of a lock file says that a run has the folder.
fn is_of_run(text: &str, run: &str) -> bool {
    // Schema and version, made or found, process, host, run.
    text.split_whitespace().nth(5) == Some(run)
}

/// Whether an open folder is the data folder of an open directory.
fn is_named(parent: BorrowedFd<'_>, folder: BorrowedFd<'_>) -> io::Result<bool> {
    is_file_of_name(folder, parent, FOLDER_NAME)
}

/// Whether the lock file still has its name.
fn is_same_file(folder: BorrowedFd<'_>, lock: &File) -> io::Result<bool> {
    is_file_of_name(lock.as_fd(), folder, LOCK_NAME)
}

/// Whether what is open is what has a name in a folder.
fn is_file_of_name(open: BorrowedFd<'_>, folder: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    let here = posix::fstat(open)?;
    match posix::stat_at(folder, name) {
        Ok(named) => Ok(is_same(&here, &named)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_same(one: &libc::stat, other: &libc::stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Who holds the lock, as the holder wrote it.
fn holder(lock: &File) -> String {
    let text = text_of(lock).unwrap_or_default();
    let mut words = text.strip_prefix(LOCK_SCHEMA).unwrap_or_default().split_whitespace().skip(1);
    let number = words.next().and_then(|pid| pid.parse::<u32>().ok());
    match (number, words.next()) {
        (Some(pid), Some(host)) if host != host_name() && host.bytes().all(|byte| byte.is_ascii_graphic()) => {
            format!("process {pid} on {host}")
        }
        (Some(pid), _) => format!("process {pid}"),
        _ => "process unknown".to_owned(),
    }
}

/// A data folder that is not this user's alone.
fn not_own(path: &Path, why: &str) -> EngineError {
    EngineError::Environment(format!(
        "{} {why}. Nothing was measured; move it away, or choose another directory",
        path.display()
    ))
}

fn no_locks(path: &Path) -> EngineError {
    EngineError::Environment(format!(
        "{} cannot be locked on this file system, so that several clients cannot use it at once. Nothing was measured; give each \
         a folder of its own",
        path.display()
    ))
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
