//! Whose is a folder? Assay writes and removes only where no other user can put things in its way.

use crate::sys::posix;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Group and others may write.
const OTHERS_WRITE: libc::mode_t = 0o022;

/// What keeps an open folder from being this user's own, in words that follow its name; None: it is.
///
/// # Errors
///
/// Its attributes cannot be read.
pub fn why_not_own(folder: BorrowedFd<'_>) -> io::Result<Option<String>> {
    let facts = posix::fstat(folder)?;
    let (owner, user) = (facts.st_uid, posix::user());
    if owner != user && !is_whose_new_files_are(folder, owner) {
        return Ok(Some(format!(
            "belongs to user {owner}, who could put other things in the place of Assay's (this is user {user})"
        )));
    }
    if facts.st_mode & OTHERS_WRITE != 0 {
        let mode = facts.st_mode & 0o7777;
        return Ok(Some(format!(
            "can be written to by other users (its mode is {mode:04o}; chmod go-w takes that away)"
        )));
    }
    Ok(None)
}

/// Whether what this user makes in a folder belongs to `owner`, as on a network file system that knows root by another name.
fn is_whose_new_files_are(folder: BorrowedFd<'_>, owner: libc::uid_t) -> bool {
    let Ok(name) = CString::new(format!(".assay-owner-{}", std::process::id())) else { return false };
    let Ok(file) = posix::open_beneath(folder, &name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o600) else {
        return false;
    };
    let is_same = posix::fstat(file.as_fd()).is_ok_and(|facts| facts.st_uid == owner);
    let _ = posix::unlink_at(folder, &name);
    is_same
}
