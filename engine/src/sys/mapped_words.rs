//! Words of a file, mapped into memory and shared by all who map it.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// The words behind the head of a file.
#[derive(Debug)]
pub struct MappedWords {
    base: NonNull<u8>,
    head_bytes: usize,
    count: usize,
}

// SAFETY: the memory is reached only as atomics.
unsafe impl Send for MappedWords {}
// SAFETY: as above.
unsafe impl Sync for MappedWords {}

impl MappedWords {
    /// Map `count` words behind a head of whole pages. The file is in memory and has all of them.
    ///
    /// # Errors
    ///
    /// The kernel has no mapping left.
    pub fn new(file: &File, head_bytes: usize, count: usize) -> io::Result<Self> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a new shared mapping of a file; the result is checked.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), head_bytes + count * 8, protection, flags, file.as_raw_fd(), 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: NonNull::new(address.cast()).expect("mmap never gives address zero"), head_bytes, count })
    }
}

impl Deref for MappedWords {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds this many words behind its head, lives as long as `self`, and is only ever used as
        // atomics.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(self.head_bytes).cast(), self.count) }
    }
}

impl Drop for MappedWords {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; slices of it borrow `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.head_bytes + self.count * 8) };
    }
}
