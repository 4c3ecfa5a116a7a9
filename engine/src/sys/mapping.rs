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

    /// Write to each page once.
    ///
    /// # Errors
    ///
    /// A page cannot be had, of which a later write would be a SIGBUS: a control group's or NUMA node's limit on huge pages.
    /// Kernels before 5.14 cannot report it.
    pub fn populate(&self) -> io::Result<()> {
        // SAFETY: the mapping made in `new`, of which the content stays as it is.
        let answer = unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, libc::MADV_POPULATE_WRITE) };
        match io::Error::last_os_error() {
            error if answer < 0 && error.raw_os_error() != Some(libc::EINVAL) => Err(error),
            _ => Ok(()),
        }
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
