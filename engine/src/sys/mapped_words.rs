//! Words of a file, mapped into memory and shared by all who map it.

use super::mapping::Mapping;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;

/// The words behind the head of a file.
#[derive(Debug)]
pub struct MappedWords {
    memory: Mapping,
    head_bytes: usize,
    count: usize,
}

impl MappedWords {
    /// Map `count` words behind a head of whole pages. The file is in memory and has all of them.
    ///
    /// # Errors
    ///
    /// The kernel has no mapping left.
    pub fn new(file: &File, head_bytes: usize, count: usize) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        Ok(Self { memory: Mapping::new(head_bytes + count * 8, flags, Some(file.as_fd()))?, head_bytes, count })
    }
}

impl Deref for MappedWords {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds this many words behind its head, lives as long as `self`, and is only ever used as
        // atomics.
        unsafe { std::slice::from_raw_parts(self.memory.base().as_ptr().add(self.head_bytes).cast(), self.count) }
    }
}
