//! Into how many extents is a file cut: FS_IOC_FIEMAP.

use std::os::fd::{AsRawFd, BorrowedFd};

/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
/// Data still in memory has no extents yet: flush first.
const FIEMAP_FLAG_SYNC: u32 = 1;

/// Head of the argument of FS_IOC_FIEMAP; with room for no extent the kernel only counts.
#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// Extents of a file once all of it is on storage; None where the file system does not report them.
pub fn count(file: BorrowedFd<'_>) -> Option<u32> {
    let mut map = Fiemap { length: u64::MAX, flags: FIEMAP_FLAG_SYNC, ..Fiemap::default() };
    // SAFETY: the argument is a fiemap head with room for no extent, which the kernel fills in.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut map) };
    (answer == 0).then_some(map.mapped_extents)
}
