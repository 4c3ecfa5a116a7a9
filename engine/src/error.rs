//! Why the engine stopped.

use crate::events::ErrorClass;
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// Result of everything here.
pub type Result<T> = std::result::Result<T, EngineError>;

/// Why the engine stopped. The text says what to do about it; the number travels beside it in the `error` event.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The Plan asks for what cannot be.
    #[error("{0}")]
    Plan(String),
    /// A system call failed.
    #[error("{op} {}: {}", path.display(), describe(source))]
    Io {
        /// What was being done, as a verb: `create`, `write`, `lock`.
        op: Cow<'static, str>,
        /// On what.
        path: PathBuf,
        /// The failure.
        source: io::Error,
    },
    /// The machine cannot do what was asked; the text says why and what to do.
    #[error("{0}")]
    Environment(String),
    /// A stop came in from outside.
    #[error("stopped")]
    Stopped,
}

/// Why what is done apart from any run was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The call itself was wrong.
    #[error("{0}")]
    Call(String),
    /// The machine, the network or the other side refused.
    #[error("{0}")]
    Machine(String),
}

impl EngineError {
    /// An I/O failure.
    pub fn io(op: impl Into<Cow<'static, str>>, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { op: op.into(), path: path.into(), source }
    }

    /// The last operating-system error as an I/O failure.
    pub fn last_os(op: &'static str, path: impl Into<PathBuf>) -> Self {
        Self::io(op, path, io::Error::last_os_error())
    }

    /// No memory that workers can share.
    pub fn no_shared_memory(error: io::Error) -> Self {
        Self::Environment(format!("no memory for the workers' counters: {error}; use fewer workers, or free memory"))
    }

    /// Whose fault it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Plan(_) => ErrorClass::Plan,
            _ => ErrorClass::Environment,
        }
    }

    /// Error number, if a system call failed.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// The errno in words with what to do, for the ones that users meet.
fn describe(error: &io::Error) -> String {
    let cure = match error.raw_os_error() {
        Some(libc::ENOSPC) => "no space left on the device; use less data, or free some space",
        Some(libc::EDQUOT) => "the disk quota is used up; use less data",
        Some(libc::EFBIG) => {
            "the file would be larger than the limit (ulimit -f) or the file system allows; raise the limit, or use less data"
        }
        Some(libc::EROFS) => "the file system is mounted read-only",
        Some(libc::EACCES | libc::EPERM) => "permission denied; choose a directory that you may write to",
        Some(libc::EMFILE) => "too many open files; raise the limit (ulimit -n)",
        Some(libc::ENOENT) => "no such file or directory",
        Some(libc::ENAMETOOLONG) => "the name is too long for this file system; choose a directory with a shorter path",
        Some(libc::EIO) => "the device or the server answered with an I/O error; 'dmesg' says more",
        Some(libc::ENODEV | libc::ENXIO) => "the device is gone",
        Some(libc::ESTALE) => "the server does not know this file any more; mount the file system again",
        _ => return error.to_string(),
    };
    cure.to_owned()
}
