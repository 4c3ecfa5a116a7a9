//! Memory that the kernel maps, and unmaps when its owner goes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// Memory to read and write, at one address for as long as it lives. It gives nothing out but that address.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, which gives nothing out but addresses.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// So many bytes, above zero, mapped with flags of mmap(2): of a file, or anonymous and zero.
    ///
    /// # Errors
    ///
    /// The kernel has no memory or no mapping left.
    pub fn new(bytes: usize, flags: libc::c_int, file: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        assert!(flags & libc::MAP_FIXED == 0);
        let (fd, flags) = file.map_or((-1, flags | libc::MAP_ANONYMOUS), |file| (file.as_raw_fd(), flags));
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the result is checked.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: NonNull::new(address.cast()).expect("mmap without MAP_FIXED never gives address zero"), bytes })
    }

    /// Where it begins: on a page.
    #[inline(always)]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its length.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`. Whoever has put something into it outlives what points there, and a forked
        // process keeps a mapping of its own.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
