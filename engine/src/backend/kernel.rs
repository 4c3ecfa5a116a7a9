//! The local kernel as a store: a handle is a descriptor, and each call is a system call. None allocates, but where the kernel
//! has no call for a name in an open directory ([`by_path`]).

use super::or_errno;
use super::store::{At, Handle, Lock, Store};
use crate::sys::advice::Advice;
use crate::sys::{beneath, own_directory, posix, syscall};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Permissions of the files that operations make, less the umask.
const FILE_MODE: libc::mode_t = 0o644;
const DIRECTORY_MODE: libc::mode_t = 0o755;
/// Extended attribute that loads set and get.
const ATTRIBUTE: &CStr = c"user.assay";

/// A backend that moves data of files of the local kernel.
pub trait OverKernel {}

/// The local kernel alone, without a way to move data.
#[derive(Debug, Clone, Copy)]
pub struct Kernel;

impl OverKernel for Kernel {}

impl<K: OverKernel> Store for K {
    #[inline]
    fn open(&mut self, path: At<'_>, flags: i32) -> Result<Handle, i64> {
        match beneath::open(path.folder.0, path.path, flags, FILE_MODE) {
            failed if failed < 0 => Err(failed),
            fd => Ok(Handle(fd as i32)),
        }
    }

    #[inline]
    fn close(&mut self, file: Handle) -> i64 {
        syscall::close(file.0)
    }

    fn work_in(&mut self, folder: BorrowedFd<'_>) -> bool {
        own_directory::begin(folder)
    }

    fn stat(&mut self, path: At<'_>) -> i64 {
        let mut attributes = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the path is NUL-terminated; `attributes` has room for the answer.
        checked(unsafe { libc::fstatat(path.folder.0, path.path.as_ptr(), attributes.as_mut_ptr(), 0) })
    }

    fn fstat(&mut self, file: Handle) -> i64 {
        let mut attributes = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `attributes` has room for the answer.
        checked(unsafe { libc::fstat(file.0, attributes.as_mut_ptr()) })
    }

    fn stat_entry(&mut self, directory: Handle, name: &CStr) -> i64 {
        let mut attributes = MaybeUninit::<libc::stat>::uninit();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: the name is NUL-terminated; `attributes` has room for the answer.
        checked(unsafe { libc::fstatat(directory.0, name.as_ptr(), attributes.as_mut_ptr(), flags) })
    }

    /// getdents64(2) into the caller's own memory, because readdir(3) allocates for every directory that it opens.
    fn entries(&mut self, directory: Handle, buffer: &mut [u8]) -> i64 {
        let (to, length) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the kernel writes at most the buffer's length into it.
        or_errno(unsafe { libc::syscall(libc::SYS_getdents64, directory.0, to, length) } as isize)
    }

    fn unlink(&mut self, path: At<'_>) -> i64 {
        // SAFETY: the path is NUL-terminated and lives through the call.
        checked(unsafe { libc::unlinkat(path.folder.0, path.path.as_ptr(), 0) })
    }

    fn rename(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        // SAFETY: both paths are NUL-terminated and live through the call.
        checked(unsafe { libc::renameat(from.folder.0, from.path.as_ptr(), to.folder.0, to.path.as_ptr()) })
    }

    fn link(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        // SAFETY: both paths are NUL-terminated and live through the call.
        checked(unsafe { libc::linkat(from.folder.0, from.path.as_ptr(), to.folder.0, to.path.as_ptr(), 0) })
    }

    fn symlink(&mut self, target: &CStr, name: At<'_>) -> i64 {
        // SAFETY: both paths are NUL-terminated and live through the call.
        checked(unsafe { libc::symlinkat(target.as_ptr(), name.folder.0, name.path.as_ptr()) })
    }

    fn mkdir(&mut self, path: At<'_>) -> i64 {
        // SAFETY: the path is NUL-terminated and lives through the call.
        checked(unsafe { libc::mkdirat(path.folder.0, path.path.as_ptr(), DIRECTORY_MODE) })
    }

    fn rmdir(&mut self, path: At<'_>) -> i64 {
        // SAFETY: the path is NUL-terminated and lives through the call.
        checked(unsafe { libc::unlinkat(path.folder.0, path.path.as_ptr(), libc::AT_REMOVEDIR) })
    }

    fn copy(&mut self, from: At<'_>, to: At<'_>, stop: &AtomicBool) -> i64 {
        to_new_file(from, to, |from, to| copy_file(from, to, stop))
    }

    fn clone_file(&mut self, from: At<'_>, to: At<'_>) -> i64 {
        // SAFETY: FICLONE takes a descriptor, no memory.
        to_new_file(from, to, |from, to| checked(unsafe { libc::ioctl(to, libc::FICLONE, from) }))
    }

    fn truncate(&mut self, path: At<'_>, length: u64) -> i64 {
        // SAFETY: the path is NUL-terminated and lives through the call.
        by_path(path, |path| checked(unsafe { libc::truncate(path.as_ptr(), length as libc::off_t) }))
    }

    fn ftruncate(&mut self, file: Handle, length: u64) -> i64 {
        // SAFETY: no memory is passed.
        checked(unsafe { libc::ftruncate(file.0, length as libc::off_t) })
    }

    fn chmod(&mut self, path: At<'_>, mode: u32) -> i64 {
        // SAFETY: the path is NUL-terminated and lives through the call.
        checked(unsafe { libc::fchmodat(path.folder.0, path.path.as_ptr(), mode, 0) })
    }

    fn fchmod(&mut self, file: Handle, mode: u32) -> i64 {
        // SAFETY: no memory is passed.
        checked(unsafe { libc::fchmod(file.0, mode) })
    }

    fn setxattr(&mut self, path: At<'_>, value: &[u8]) -> i64 {
        let (name, data) = (ATTRIBUTE.as_ptr(), value.as_ptr().cast());
        // SAFETY: path and name are NUL-terminated, `value` holds its length; all live through the call.
        by_path(path, |path| checked(unsafe { libc::setxattr(path.as_ptr(), name, data, value.len(), 0) }))
    }

    fn fsetxattr(&mut self, file: Handle, value: &[u8]) -> i64 {
        let (name, data) = (ATTRIBUTE.as_ptr(), value.as_ptr().cast());
        // SAFETY: the name is NUL-terminated, `value` holds its length; both live through the call.
        checked(unsafe { libc::fsetxattr(file.0, name, data, value.len(), 0) })
    }

    fn getxattr(&mut self, path: At<'_>, value: &mut [u8]) -> i64 {
        let (name, data) = (ATTRIBUTE.as_ptr(), value.as_mut_ptr().cast());
        // SAFETY: path and name are NUL-terminated, `value` has room for its length; all live through the call.
        by_path(path, |path| or_errno(unsafe { libc::getxattr(path.as_ptr(), name, data, value.len()) }))
    }

    fn fgetxattr(&mut self, file: Handle, value: &mut [u8]) -> i64 {
        let (name, data) = (ATTRIBUTE.as_ptr(), value.as_mut_ptr().cast());
        // SAFETY: the name is NUL-terminated, `value` has room for its length; both live through the call.
        or_errno(unsafe { libc::fgetxattr(file.0, name, data, value.len()) })
    }

    fn fallocate(&mut self, file: Handle, offset: u64, length: u64) -> i64 {
        // SAFETY: no memory is passed.
        checked(unsafe { libc::fallocate(file.0, 0, offset as libc::off_t, length as libc::off_t) })
    }

    fn punch_hole(&mut self, file: Handle, offset: u64, length: u64) -> i64 {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: no memory is passed.
        checked(unsafe { libc::fallocate(file.0, mode, offset as libc::off_t, length as libc::off_t) })
    }

    fn discard(&mut self, device: Handle, offset: u64, length: u64) -> i64 {
        let range = [offset, length];
        // SAFETY: the call reads two numbers of 64 bits, which live through it.
        checked(unsafe { libc::ioctl(device.0, posix::BLKDISCARD as _, range.as_ptr()) })
    }

    fn write_zeroes(&mut self, file: Handle, offset: u64, length: u64) -> i64 {
        let mode = libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: no memory is passed.
        checked(unsafe { libc::fallocate(file.0, mode, offset as libc::off_t, length as libc::off_t) })
    }

    fn sync_file_range(&mut self, file: Handle, offset: u64, length: u64, wait: bool) -> i64 {
        let waiting = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        let flags = libc::SYNC_FILE_RANGE_WRITE | if wait { waiting } else { 0 };
        // SAFETY: no memory is passed.
        checked(unsafe { libc::sync_file_range(file.0, offset as libc::off64_t, length as libc::off64_t, flags) })
    }

    fn advise(&mut self, file: Handle, advice: Advice, offset: u64, length: u64) -> i64 {
        let (offset, length) = (offset as libc::off_t, length as libc::off_t);
        // SAFETY: no memory is passed. The call returns its error number instead of keeping it.
        -i64::from(unsafe { libc::posix_fadvise(file.0, offset, length, advice.of_file()) })
    }

    fn lock(&mut self, file: Handle, lock: Lock) -> i64 {
        let kind = match lock {
            Lock::Exclusive => libc::F_WRLCK,
            Lock::Shared => libc::F_RDLCK,
            Lock::Unlocked => libc::F_UNLCK,
        };
        let (l_type, l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
        let whole = libc::flock { l_type, l_whence, l_start: 0, l_len: 0, l_pid: 0 };
        // SAFETY: `whole` lives through the call.
        checked(unsafe { libc::fcntl(file.0, libc::F_SETLKW, &raw const whole) })
    }
}

#[inline]
fn checked(result: libc::c_int) -> i64 {
    or_errno(result as isize)
}

/// A call that knows no name in an open directory. The kernel shows that directory under a path of this thread's own, which
/// leads to it wherever it was moved.
fn by_path(name: At<'_>, call: impl FnOnce(&CStr) -> i64) -> i64 {
    if name.folder == Handle::HERE {
        return call(name.path);
    }
    let path = [format!("/proc/thread-self/fd/{}/", name.folder.0).as_bytes(), name.path.to_bytes()].concat();
    CString::new(path).map_or(-i64::from(libc::EINVAL), |path| call(&path))
}

/// Open a file and make a new one, have something done from the one to the other, and close both. A new file that got no
/// content does not stay: it would pass for one that did.
fn to_new_file(from: At<'_>, to: At<'_>, transfer: impl FnOnce(i32, i32) -> i64) -> i64 {
    let source = beneath::open(from.folder.0, from.path, libc::O_RDONLY | libc::O_CLOEXEC, 0);
    if source < 0 {
        return source;
    }
    let makes = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    let new = beneath::open(to.folder.0, to.path, makes, FILE_MODE);
    let result = if new < 0 {
        new
    } else {
        let result = transfer(source as i32, new as i32);
        let closed = syscall::close(new as i32);
        let result = if result < 0 || closed == 0 { result } else { closed };
        if result < 0 {
            // SAFETY: the path is NUL-terminated and lives through the call.
            unsafe { libc::unlinkat(to.folder.0, to.path.as_ptr(), 0) };
        }
        result
    };
    syscall::close(source as i32);
    result
}

/// Copy a whole file inside the kernel; bytes copied, or ECANCELED after a stop.
fn copy_file(from: i32, to: i32, stop: &AtomicBool) -> i64 {
    const AT_ONCE_BYTES: usize = 64 << 20;
    let mut copied = 0;
    loop {
        let (here, there) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: null offsets mean the files' own positions; no memory is passed.
        match or_errno(unsafe { libc::copy_file_range(from, here, to, there, AT_ONCE_BYTES, 0) }) {
            0 => return copied,
            bytes if bytes < 0 => return bytes,
            bytes if bytes == AT_ONCE_BYTES as i64 && stop.load(Relaxed) => return -i64::from(libc::ECANCELED),
            bytes => copied += bytes,
        }
    }
}
