//! The system calls of an op loop, each giving what it returned or a negative error number. None allocates.

use std::ffi::CStr;
use std::io;
use std::os::fd::RawFd;

pub use crate::sys::syscall::{close, open};

/// Extended attribute that loads set and get.
pub const ATTRIBUTE: &CStr = c"user.assay";

/// The latest error number, negative.
#[cold]
fn failure() -> i64 {
    -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

#[inline]
fn checked(result: i64) -> i64 {
    if result < 0 { failure() } else { result }
}

pub fn stat(path: &CStr) -> i64 {
    let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path is NUL-terminated; `attributes` has room for the answer.
    checked(i64::from(unsafe { libc::stat(path.as_ptr(), attributes.as_mut_ptr()) }))
}

pub fn stat_at(directory: RawFd, name: &CStr) -> i64 {
    let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the name is NUL-terminated; `attributes` has room for the answer.
    checked(i64::from(unsafe { libc::fstatat(directory, name.as_ptr(), attributes.as_mut_ptr(), flags) }))
}

pub fn fstat(fd: RawFd) -> i64 {
    let mut attributes = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `attributes` has room for the answer.
    checked(i64::from(unsafe { libc::fstat(fd, attributes.as_mut_ptr()) }))
}

pub fn unlink(path: &CStr) -> i64 {
    // SAFETY: the path is NUL-terminated and lives through the call.
    checked(i64::from(unsafe { libc::unlink(path.as_ptr()) }))
}

pub fn rename(from: &CStr, to: &CStr) -> i64 {
    // SAFETY: both paths are NUL-terminated and live through the call.
    checked(i64::from(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) }))
}

pub fn link(from: &CStr, to: &CStr) -> i64 {
    // SAFETY: both paths are NUL-terminated and live through the call.
    checked(i64::from(unsafe { libc::link(from.as_ptr(), to.as_ptr()) }))
}

pub fn symlink(target: &CStr, name: &CStr) -> i64 {
    // SAFETY: both paths are NUL-terminated and live through the call.
    checked(i64::from(unsafe { libc::symlink(target.as_ptr(), name.as_ptr()) }))
}

pub fn mkdir(path: &CStr) -> i64 {
    // SAFETY: the path is NUL-terminated and lives through the call.
    checked(i64::from(unsafe { libc::mkdir(path.as_ptr(), 0o755) }))
}

pub fn rmdir(path: &CStr) -> i64 {
    // SAFETY: the path is NUL-terminated and lives through the call.
    checked(i64::from(unsafe { libc::rmdir(path.as_ptr()) }))
}

pub fn truncate(path: &CStr, length: u64) -> i64 {
    // SAFETY: the path is NUL-terminated and lives through the call.
    checked(i64::from(unsafe { libc::truncate(path.as_ptr(), length as libc::off_t) }))
}

pub fn ftruncate(fd: RawFd, length: u64) -> i64 {
    // SAFETY: no memory is passed.
    checked(i64::from(unsafe { libc::ftruncate(fd, length as libc::off_t) }))
}

pub fn fallocate(fd: RawFd, offset: u64, length: u64) -> i64 {
    // SAFETY: no memory is passed.
    checked(i64::from(unsafe { libc::fallocate(fd, 0, offset as libc::off_t, length as libc::off_t) }))
}

pub fn chmod(path: &CStr, mode: libc::mode_t) -> i64 {
    // SAFETY: the path is NUL-terminated and lives through the call.
    checked(i64::from(unsafe { libc::chmod(path.as_ptr(), mode) }))
}

pub fn fchmod(fd: RawFd, mode: libc::mode_t) -> i64 {
    // SAFETY: no memory is passed.
    checked(i64::from(unsafe { libc::fchmod(fd, mode) }))
}

pub fn setxattr(path: &CStr, value: &[u8]) -> i64 {
    let (name, data) = (ATTRIBUTE.as_ptr(), value.as_ptr().cast());
    // SAFETY: path and name are NUL-terminated, `value` holds its length; all live through the call.
    checked(i64::from(unsafe { libc::setxattr(path.as_ptr(), name, data, value.len(), 0) }))
}

pub fn fsetxattr(fd: RawFd, value: &[u8]) -> i64 {
    let (name, data) = (ATTRIBUTE.as_ptr(), value.as_ptr().cast());
    // SAFETY: the name is NUL-terminated, `value` holds its length; both live through the call.
    checked(i64::from(unsafe { libc::fsetxattr(fd, name, data, value.len(), 0) }))
}

pub fn getxattr(path: &CStr, value: &mut [u8]) -> i64 {
    let (name, data) = (ATTRIBUTE.as_ptr(), value.as_mut_ptr().cast());
    // SAFETY: path and name are NUL-terminated, `value` has room for its length; all live through the call.
    checked(unsafe { libc::getxattr(path.as_ptr(), name, data, value.len()) } as i64)
}

pub fn fgetxattr(fd: RawFd, value: &mut [u8]) -> i64 {
    let (name, data) = (ATTRIBUTE.as_ptr(), value.as_mut_ptr().cast());
    // SAFETY: the name is NUL-terminated, `value` has room for its length; both live through the call.
    checked(unsafe { libc::fgetxattr(fd, name, data, value.len()) } as i64)
}

/// A length of 0 is the rest of the file.
pub fn sync_file_range(fd: RawFd, offset: u64, length: u64, wait: bool) -> i64 {
    let waiting = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let flags = libc::SYNC_FILE_RANGE_WRITE | if wait { waiting } else { 0 };
    // SAFETY: no memory is passed.
    checked(i64::from(unsafe { libc::sync_file_range(fd, offset as libc::off64_t, length as libc::off64_t, flags) }))
}

/// Lock or unlock a whole file, waiting for the locks of others; `kind` is F_WRLCK, F_RDLCK or F_UNLCK.
pub fn lock(fd: RawFd, kind: libc::c_int) -> i64 {
    let (l_type, l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    let whole = libc::flock { l_type, l_whence, l_start: 0, l_len: 0, l_pid: 0 };
    // SAFETY: `whole` lives through the call.
    checked(i64::from(unsafe { libc::fcntl(fd, libc::F_SETLKW, &raw const whole) }))
}

/// Open a file and make a new one, have something done from the one to the other, and close both.
pub fn to_new_file(from: &CStr, to: &CStr, transfer: fn(RawFd, RawFd) -> i64) -> i64 {
    let source = open(from, libc::O_RDONLY | libc::O_CLOEXEC, 0);
    if source < 0 {
        return source;
    }
    let new = open(to, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o644);
    let result = if new < 0 {
        new
    } else {
        let result = transfer(source as RawFd, new as RawFd);
        let closed = close(new as RawFd);
        if result < 0 || closed == 0 { result } else { closed }
    };
    close(source as RawFd);
    result
}

/// Share the extents of a whole file.
pub fn clone_file(from: RawFd, to: RawFd) -> i64 {
    // SAFETY: FICLONE takes a descriptor, no memory.
    checked(i64::from(unsafe { libc::ioctl(to, libc::FICLONE, from) }))
}

/// Copy a whole file inside the kernel; bytes copied.
pub fn copy_file(from: RawFd, to: RawFd) -> i64 {
    const AT_ONCE_BYTES: usize = 1 << 30;
    let mut copied = 0;
    loop {
        let (here, there) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: null offsets mean the files' own positions; no memory is passed.
        match checked(unsafe { libc::copy_file_range(from, here, to, there, AT_ONCE_BYTES, 0) } as i64) {
            0 => return copied,
            bytes if bytes < 0 => return bytes,
            bytes => copied += bytes,
        }
    }
}

/// Entries of an open directory into `buffer`; bytes filled, 0 at the end.
pub fn list(directory: RawFd, buffer: &mut [u8]) -> i64 {
    // SAFETY: the kernel writes at most the buffer's length into it.
    checked(unsafe { libc::syscall(libc::SYS_getdents64, directory, buffer.as_mut_ptr(), buffer.len()) } as i64)
}
