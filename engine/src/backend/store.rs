//! What a target's URI leads to: files and directories by name, and handles of those that are open.
//!
//! `file://` is the local kernel ([`kernel`](super::kernel)); a client of a network protocol in user space is another. All
//! calls of an op loop are here but those that move data ([`Backend`](super::Backend)). Each gives bytes or 0, or a negative
//! error number of Linux, which others than the kernel translate theirs into. What a store has not, it leaves out: that is
//! EOPNOTSUPP.

use super::listing::names_in;
use crate::sys::advice::Advice;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::AtomicBool;

/// An open file or directory: a number that only the store which gave it knows the meaning of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(pub(super) i32);

impl Handle {
    /// No file: each call on it fails.
    pub const NONE: Self = Self(-1);
    /// The folder that the calling thread works in.
    pub const HERE: Self = Self(libc::AT_FDCWD);

    /// Of an open directory of the local kernel, whose owner outlives the use of it.
    pub fn of_directory(folder: BorrowedFd<'_>) -> Self {
        Self(folder.as_raw_fd())
    }
}

/// A name: the open directory that it begins in, and the way from there, on which no symbolic link lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At<'a> {
    /// Where the path begins.
    pub folder: Handle,
    /// A relative path.
    pub path: &'a CStr,
}

/// A lock on a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// For one holder.
    Exclusive,
    /// For several.
    Shared,
    /// Given back.
    Unlocked,
}

const UNSUPPORTED: i64 = -(libc::EOPNOTSUPP as i64);

/// Files by name and by handle.
#[expect(unused_variables, reason = "what a store has not takes the same arguments as what it has")]
pub trait Store {
    /// Open a file with flags of open(2), which may ask for a new one; or a directory. Errors are negative error numbers.
    fn open(&mut self, path: At<'_>, flags: i32) -> std::result::Result<Handle, i64>;

    /// Close what [`Store::open`] gave. The caller took the handle out of the one place that held it.
    fn close(&mut self, file: Handle) -> i64;

    /// Attributes of what a name leads to.
    fn stat(&mut self, path: At<'_>) -> i64;

    /// Remove a file's name.
    fn unlink(&mut self, path: At<'_>) -> i64;

    /// Make `folder` the [`Handle::HERE`] of the calling thread alone, and return whether it is.
    fn work_in(&mut self, folder: BorrowedFd<'_>) -> bool {
        false
    }

    /// Attributes of an open file.
    fn fstat(&mut self, file: Handle) -> i64 {
        UNSUPPORTED
    }

    /// Give a file another name.
    fn rename(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        UNSUPPORTED
    }

    /// Give a file one name more.
    fn link(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        UNSUPPORTED
    }

    /// Make a symbolic link.
    fn symlink(&mut self, target: &CStr, name: At<'_>) -> i64 {
        UNSUPPORTED
    }

    /// Make a directory.
    fn mkdir(&mut self, path: At<'_>) -> i64 {
        UNSUPPORTED
    }

    /// Remove an empty directory.
    fn rmdir(&mut self, path: At<'_>) -> i64 {
        UNSUPPORTED
    }

    /// Make a new file that holds what another does, without the data passing through the caller. Bytes copied; ECANCELED
    /// where `stop` was set before all were. After a failure there is no new file.
    fn copy(&mut self, from: At<'_>, to: At<'_>, stop: &AtomicBool) -> i64 {
        UNSUPPORTED
    }

    /// Make a new file that shares the storage of another. After a failure there is none.
    fn clone_file(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        UNSUPPORTED
    }

    /// Set a file's length.
    fn truncate(&mut self, path: At<'_>, length: u64) -> i64 {
        UNSUPPORTED
    }

    /// Set an open file's length.
    fn ftruncate(&mut self, file: Handle, length: u64) -> i64 {
        UNSUPPORTED
    }

    /// Set a file's permissions.
    fn chmod(&mut self, path: At<'_>, mode: u32) -> i64 {
        UNSUPPORTED
    }

    /// Set an open file's permissions.
    fn fchmod(&mut self, file: Handle, mode: u32) -> i64 {
        UNSUPPORTED
    }

    /// Set the attribute that loads work with.
    fn setxattr(&mut self, path: At<'_>, value: &[u8]) -> i64 {
        UNSUPPORTED
    }

    /// Set it for an open file.
    fn fsetxattr(&mut self, file: Handle, value: &[u8]) -> i64 {
        UNSUPPORTED
    }

    /// Get the attribute that loads work with. Bytes of it.
    fn getxattr(&mut self, path: At<'_>, value: &mut [u8]) -> i64 {
        UNSUPPORTED
    }

    /// Get it for an open file. Bytes of it.
    fn fgetxattr(&mut self, file: Handle, value: &mut [u8]) -> i64 {
        UNSUPPORTED
    }

    /// Allocate a range of an open file.
    fn fallocate(&mut self, file: Handle, offset: u64, length: u64) -> i64 {
        UNSUPPORTED
    }

    /// Give a range of an open file back to the file system; its length stays.
    fn punch_hole(&mut self, file: Handle, offset: u64, length: u64) -> i64 {
        UNSUPPORTED
    }

    /// Discard a range of an open block device, whose content is lost.
    fn discard(&mut self, device: Handle, offset: u64, length: u64) -> i64 {
        UNSUPPORTED
    }

    /// Set a range of an open file to zeros without moving any; its length stays.
    fn write_zeroes(&mut self, file: Handle, offset: u64, length: u64) -> i64 {
        UNSUPPORTED
    }

    /// Begin to write a range of an open file back, and wait for it if asked to. A length of 0 is the rest of the file.
    fn sync_file_range(&mut self, file: Handle, offset: u64, length: u64, wait: bool) -> i64 {
        UNSUPPORTED
    }

    /// Describe what use will be made of a range of an open file. A length of 0 is the rest of the file.
    fn advise(&mut self, file: Handle, advice: Advice, offset: u64, length: u64) -> i64 {
        UNSUPPORTED
    }

    /// Lock or unlock an open file as a whole, waiting for the locks of others.
    fn lock(&mut self, file: Handle, lock: Lock) -> i64 {
        UNSUPPORTED
    }

    /// Open a directory to list it.
    fn open_directory(&mut self, path: At<'_>) -> std::result::Result<Handle, i64> {
        self.open(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC)
    }

    /// The next entries of an open directory, as [`names_in`] reads them. Bytes filled, 0 at the end.
    fn entries(&mut self, directory: Handle, buffer: &mut [u8]) -> i64 {
        UNSUPPORTED
    }

    /// Attributes of an entry of an open directory, links not followed.
    fn stat_entry(&mut self, directory: Handle, name: &CStr) -> i64 {
        UNSUPPORTED
    }

    /// List a directory to its end and, if asked to, look at the attributes of every entry; one that vanished before it was
    /// looked at is no error. `go_on` is called between the buffers: a large directory takes many, and no stall of the
    /// storage is in them. A store whose protocol brings attributes with the names has its own.
    fn readdir(&mut self, path: At<'_>, buffer: &mut [u8], with_attributes: bool, go_on: impl Fn()) -> i64 {
        let directory = match self.open_directory(path) {
            Ok(directory) => directory,
            Err(failed) => return failed,
        };
        let result = read_all(self, directory, buffer, with_attributes, go_on);
        let closed = self.close(directory);
        if result < 0 { result } else { closed }
    }
}

/// Go through an open directory to its end, as [`Store::readdir`] does.
fn read_all<S: Store + ?Sized>(
    store: &mut S,
    directory: Handle,
    buffer: &mut [u8],
    with_attributes: bool,
    go_on: impl Fn(),
) -> i64 {
    loop {
        let filled = store.entries(directory, buffer);
        if filled <= 0 {
            return filled;
        }
        if with_attributes {
            for name in names_in(&buffer[..filled as usize]) {
                let result = store.stat_entry(directory, name);
                if result < 0 && result != -i64::from(libc::ENOENT) {
                    return result;
                }
            }
        }
        go_on();
    }
}
