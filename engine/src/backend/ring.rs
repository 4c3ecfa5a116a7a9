//! An io_uring, and handles on its parts that live as long as it does.
//!
//! The kernel finds a ring faster by a number that its thread has registered it under (IORING_REGISTER_RING_FDS, Linux 5.18)
//! than by its descriptor: in a bare loop a call takes some 50 ns less. The `Submitter` knows that number, so it is kept beside
//! the ring instead of being made anew for each call.

use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;

/// A ring of the thread that made it; its handles can be sent to no other. Nobody moves them out of it.
pub(super) struct Ring {
    /// Calls into the kernel.
    pub submitter: Submitter<'static>,
    /// Entries of requests; `sync` shows them to the kernel.
    pub submission: SubmissionQueue<'static>,
    /// Entries of completions; `sync` takes the kernel's new ones, and gives it back the room of those that were read.
    pub completion: CompletionQueue<'static>,
    /// Number of the descriptor.
    pub descriptor: RawFd,
    /// Behind the handles: fields are dropped in order.
    _whole: Whole,
}

impl Ring {
    /// Take a ring apart.
    pub fn new(ring: IoUring) -> Self {
        let descriptor = ring.as_raw_fd();
        let whole = NonNull::from(Box::leak(Box::new(ring)));
        // SAFETY: the ring lies in the box until `Whole` is dropped, after its handles, and nothing else refers to it till then.
        let (submitter, submission, completion) = unsafe { &mut *whole.as_ptr() }.split();
        Self { submitter, submission, completion, descriptor, _whole: Whole(whole) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel keeps a registered ring until its thread ends.
        let _ = self.submitter.unregister_ring_fd();
    }
}

/// The ring itself, in memory of its own.
struct Whole(NonNull<IoUring>);

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: the box that `Ring::new` leaked, once; the handles on it are gone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
