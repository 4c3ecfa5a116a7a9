//! The data folder that sets lie in, held open: every name below it begins here, so that whoever may rename or replace things
//! around it puts nothing in the way.

use crate::sys::posix;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// An open data folder.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    folder: OwnedFd,
}

impl Root {
    /// The folder that is open as `folder`; `path` is how people know it.
    pub fn new(path: PathBuf, folder: OwnedFd) -> Self {
        Self { path, folder }
    }

    /// A directory as it is, whoever it belongs to.
    #[cfg(test)]
    pub(crate) fn of(path: &Path) -> std::sync::Arc<Self> {
        let folder = std::fs::File::open(path).expect("a directory that is there");
        std::sync::Arc::new(Self::new(path.to_owned(), folder.into()))
    }

    /// One that names are made of and nothing lies in.
    #[cfg(test)]
    pub(crate) fn nowhere(path: &str) -> std::sync::Arc<Self> {
        let folder = std::fs::File::open("/dev/null").expect("there is always nothing");
        std::sync::Arc::new(Self::new(path.into(), folder.into()))
    }

    /// Where it was when it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Open a file or directory below it with flags of open(2); `mode` is of a file that is made.
    ///
    /// # Errors
    ///
    /// As open(2); ELOOP where a symbolic link is on the way.
    pub fn open(&self, path: &CStr, flags: i32, mode: u32) -> io::Result<OwnedFd> {
        posix::open_beneath(self.as_fd(), path, flags, mode)
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}
