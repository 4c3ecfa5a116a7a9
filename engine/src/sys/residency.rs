//! What of a file is in the page cache: cachestat(2), and mincore(2) where the kernel has no such call.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// The same number on all architectures but alpha; libc names it on a few only.
const SYS_CACHESTAT: libc::c_long = 451;

/// Pages of a range of a file (`struct cachestat` of linux/mman.h).
#[repr(C)]
#[derive(Debug, Default)]
pub struct Counts {
    /// In the page cache.
    pub cached: u64,
    /// Of these, changed.
    pub dirty: u64,
    /// On the way to storage.
    pub writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Count the pages of the first `bytes` bytes of a descriptor, which need not be one: who asks whether there is such a call takes
/// none.
pub fn cachestat(fd: RawFd, bytes: u64) -> io::Result<Counts> {
    #[repr(C)]
    struct Range {
        offset: u64,
        length: u64,
    }
    let range = Range { offset: 0, length: bytes };
    let mut counts = Counts::default();
    // SAFETY: both structures have the kernel's layout (linux/mman.h) and live until the call returns; it only writes
    // to `counts`.
    let answer = unsafe { libc::syscall(SYS_CACHESTAT, fd, &raw const range, &raw mut counts, 0) };
    if answer == 0 { Ok(counts) } else { Err(io::Error::last_os_error()) }
}

/// mincore's flag of every page of `length` bytes from `offset` on.
pub fn mincore(file: BorrowedFd<'_>, offset: u64, length: u64, flags: &mut [u8]) -> io::Result<()> {
    assert!(flags.len() as u64 >= length.div_ceil(super::posix::page_bytes()));
    let length = length as usize;
    let (fd, offset) = (file.as_raw_fd(), offset as libc::off_t);
    // SAFETY: a new mapping of an open descriptor at an address of the kernel's choice; nothing refers into it, no byte
    // of it is ever read, and `flags` has one byte for each of its pages.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, fd, offset);
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let answer = libc::mincore(start, length, flags.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(start, length);
        if answer == 0 { Ok(()) } else { Err(error) }
    }
}

/// Whether mincore is truthful: the kernel's own test (can_do_mincore) is "owner, or capable as one, or may write".
/// The first half is also its test for O_NOATIME, so a file that is open with it has passed.
pub fn may_ask_mincore(file: BorrowedFd<'_>) -> bool {
    // SAFETY: the descriptor is open; F_GETFL takes no argument.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags != -1 && flags & libc::O_NOATIME != 0 {
        return true;
    }
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("a number holds no NUL");
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0 }
}
