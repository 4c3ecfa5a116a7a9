//! pread(2) and pwrite(2), one at a time.

use super::{Backend, Completion, Request, RequestKind};
use crate::buffer::Buffers;
use std::io;

/// Synchronous calls on the worker's own thread.
#[derive(Debug)]
pub struct Psync {
    buffers: Buffers,
    done: Option<Completion>,
}

impl Psync {
    /// One buffer of `buffer_bytes`.
    pub fn new(buffer_bytes: usize) -> io::Result<Self> {
        Ok(Self { buffers: Buffers::new(1, buffer_bytes)?, done: None })
    }
}

impl Backend for Psync {
    const NAME: &'static str = "psync";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    fn submit(&mut self, slot: usize, request: Request) {
        self.done = Some(Completion { slot, result: self.execute(request) });
    }

    fn complete(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        done.extend(self.done.take());
        Ok(())
    }

    #[inline]
    fn execute(&mut self, request: Request) -> i64 {
        let address = self.buffers.address(0);
        debug_assert!(request.length == self.buffers.slot(0, request.length).len());
        let result = match request.kind {
            // SAFETY: the buffer holds `length` bytes (checked where the job is compiled) and outlives the call.
            RequestKind::Read => unsafe {
                libc::pread(request.fd, address.cast(), request.length, request.offset as libc::off_t)
            },
            RequestKind::Write if request.dsync => {
                let piece = libc::iovec { iov_base: address.cast(), iov_len: request.length };
                // SAFETY: one vector that lies in the buffer.
                unsafe {
                    libc::pwritev2(request.fd, &raw const piece, 1, request.offset as libc::off_t, libc::RWF_DSYNC)
                }
            }
            // SAFETY: as for read.
            RequestKind::Write => unsafe {
                libc::pwrite(request.fd, address.cast(), request.length, request.offset as libc::off_t)
            },
            // SAFETY: no memory is passed.
            RequestKind::Fsync => (unsafe { libc::fsync(request.fd) }) as isize,
            // SAFETY: no memory is passed.
            RequestKind::Fdatasync => (unsafe { libc::fdatasync(request.fd) }) as isize,
        };
        if result < 0 {
            return -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
        }
        result as i64
    }
}
