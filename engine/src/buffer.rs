//! Memory that O_DIRECT and io_uring can work on: page-aligned, and at one address for as long as it lives.

use crate::sys::mapping::Mapping;
use std::io;

/// Alignment of every buffer: enough for any device's O_DIRECT.
const ALIGNMENT: usize = 4096;
/// Length of a huge page.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Plain memory at one address, its pages there from the start.
const PLAIN: libc::c_int = libc::MAP_PRIVATE | libc::MAP_POPULATE;

/// Length of one buffer, and the pages that it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferSize {
    bytes: usize,
    is_huge: bool,
}

impl BufferSize {
    /// In huge pages or in plain ones.
    pub fn new(bytes: usize, is_huge: bool) -> Self {
        Self { bytes, is_huge }
    }

    /// In plain pages.
    pub fn plain(bytes: usize) -> Self {
        Self::new(bytes, false)
    }

    /// Bytes from the start of a buffer to the next; None: more than there can be.
    pub fn slot_bytes(self) -> Option<usize> {
        self.bytes.max(1).checked_next_multiple_of(ALIGNMENT)
    }

    /// Bytes of the mapping that `slots` buffers lie in: whole pages. None: more than there can be.
    pub fn mapped_bytes(self, slots: usize) -> Option<usize> {
        let page_bytes = if self.is_huge { HUGE_PAGE_BYTES } else { ALIGNMENT };
        self.slot_bytes()?.checked_mul(slots)?.checked_next_multiple_of(page_bytes)
    }
}

/// Equal slots of aligned memory.
#[derive(Debug)]
pub struct Buffers {
    /// Whoever lets the kernel write here (the io_uring backend) waits for every operation in flight before it drops this.
    memory: Mapping,
    slot_bytes: usize,
    slots: usize,
}

impl Buffers {
    /// `slots` buffers of a size, their pages written once so that no page fault falls into a timed operation.
    ///
    /// # Errors
    ///
    /// There is no memory, or there are too few huge pages.
    pub fn new(slots: usize, size: BufferSize) -> io::Result<Self> {
        let sizes = size.slot_bytes().zip(size.mapped_bytes(slots));
        let (slot_bytes, length) = sizes.ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = if size.is_huge { in_huge_pages(length)? } else { Mapping::new(length, PLAIN, None)? };
        Ok(Self { memory, slot_bytes, slots })
    }

    /// Bytes from the start of a buffer to the next.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// One buffer.
    #[inline]
    pub fn slot(&mut self, slot: usize, length: usize) -> &mut [u8] {
        assert!(slot < self.slots && length <= self.slot_bytes);
        // SAFETY: in bounds by the assertion; `&mut self` keeps any other reference away. A slot whose operation is in
        // flight is not asked for: the backend hands slots out only when they are free.
        unsafe { std::slice::from_raw_parts_mut(self.memory.base().as_ptr().add(slot * self.slot_bytes), length) }
    }

    /// Address of one buffer, for the kernel.
    #[inline]
    pub fn address(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots);
        // SAFETY: in bounds by the assertion.
        unsafe { self.memory.base().as_ptr().add(slot * self.slot_bytes) }
    }

    /// All slots as the kernel registers them.
    pub fn as_iovecs(&self) -> Vec<libc::iovec> {
        (0..self.slots)
            .map(|slot| libc::iovec { iov_base: self.address(slot).cast(), iov_len: self.slot_bytes })
            .collect()
    }
}

fn in_huge_pages(length: usize) -> io::Result<Mapping> {
    let huge = PLAIN | libc::MAP_HUGETLB | libc::MAP_HUGE_2MB;
    let memory = Mapping::new(length, huge, None).and_then(|memory| memory.populate().map(|()| memory));
    memory.map_err(|error| {
        let pages = length / HUGE_PAGE_BYTES;
        let text = format!(
            "{pages} huge pages of 2 MiB: {error}. Too few are free (HugePages_Free in /proc/meminfo), or the control group's \
             limit or the worker's NUMA node has too few"
        );
        io::Error::new(error.kind(), text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_buffers_fill_whole_huge_pages_together() {
        let huge = BufferSize::new(5000, true);

        assert_eq!((huge.slot_bytes(), huge.mapped_bytes(1)), (Some(8192), Some(2 << 20)));
        assert_eq!((huge.mapped_bytes(256), huge.mapped_bytes(257)), (Some(2 << 20), Some(4 << 20)));
        assert_eq!(BufferSize::plain(5000).mapped_bytes(3), Some(3 * 8192));
        assert_eq!(BufferSize::plain(0).mapped_bytes(1), Some(4096));
        assert_eq!(BufferSize::new(1 << 40, true).mapped_bytes(usize::MAX), None);
    }

    #[test]
    fn more_huge_pages_than_there_are_is_an_error_in_words() {
        let error = Buffers::new(1 << 30, BufferSize::new(1 << 20, true)).unwrap_err().to_string();

        assert!(error.contains("536870912 huge pages of 2 MiB: ") && error.contains("HugePages_Free"), "{error}");
    }
}
