//! How data operations reach the kernel: one trait, one file a backend.

pub mod psync;
pub mod uring;

use std::os::fd::RawFd;

/// What a data operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Read at an offset.
    Read,
    /// Write at an offset.
    Write,
    /// Flush data and metadata.
    Fsync,
    /// Flush data.
    Fdatasync,
}

/// One data operation, on the buffer slot that it is submitted with.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Open file.
    pub fd: RawFd,
    /// What to do.
    pub kind: RequestKind,
    /// Where.
    pub offset: u64,
    /// How many bytes; 0 for flushes.
    pub length: usize,
    /// RWF_DSYNC.
    pub dsync: bool,
}

/// A finished operation.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// Slot that it was submitted with; free again.
    pub slot: usize,
    /// Bytes moved, or a negative error number.
    pub result: i64,
}

/// Takes requests to the kernel and brings results back. A backend owns its buffers.
pub trait Backend {
    /// Name in the events.
    const NAME: &'static str;

    /// Buffer of a free slot.
    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8];

    /// Queue a request; the slot is taken until its completion comes back.
    fn submit(&mut self, slot: usize, request: Request);

    /// Hand what is queued to the kernel, wait for at least one completion, and append all that are there. An error
    /// means that nothing can be waited for any more.
    fn complete(&mut self, done: &mut Vec<Completion>) -> std::io::Result<()>;

    /// One request from start to end, for a worker that keeps one I/O in flight. Bytes moved or a negative errno.
    fn execute(&mut self, request: Request) -> i64;
}
