//! Memory that O_DIRECT and io_uring can work on: page-aligned, and at one address for as long as it lives.

use crate::sys::mapping::Mapping;

/// Alignment of every buffer: enough for any device's O_DIRECT.
const ALIGNMENT: usize = 4096;

/// Equal slots of aligned memory.
#[derive(Debug)]
pub struct Buffers {
    /// Whoever lets the kernel write here (the io_uring backend) waits for every operation in flight before it drops this.
    memory: Mapping,
    slot_bytes: usize,
    slots: usize,
}

impl Buffers {
    /// `slots` buffers of at least `slot_bytes` each, their pages written once so that no page fault falls into a timed
    /// operation.
    pub fn new(slots: usize, slot_bytes: usize) -> std::io::Result<Self> {
        let sizes = slot_bytes.max(1).checked_next_multiple_of(ALIGNMENT);
        let sizes = sizes.and_then(|slot_bytes| Some((slot_bytes, slots.checked_mul(slot_bytes)?)));
        let (slot_bytes, length) = sizes.ok_or(std::io::ErrorKind::OutOfMemory)?;
        let memory = Mapping::new(length, libc::MAP_PRIVATE | libc::MAP_POPULATE, None)?;
        Ok(Self { memory, slot_bytes, slots })
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
