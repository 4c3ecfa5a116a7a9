//! pread(2) and pwrite(2), one at a time; preadv2(2) and pwritev2(2) where flags or pieces are asked for.

use super::kernel::OverKernel;
use super::pieces::Pieces;
use super::{Backend, Request, RequestKind, or_errno, piece_by_piece};
use crate::buffer::Buffers;
use crate::sys::syscall;
use std::io;
use std::sync::atomic::AtomicBool;

/// Synchronous calls on the worker's own thread.
#[derive(Debug)]
pub struct Psync {
    buffers: Buffers,
    pieces: Pieces,
}

impl Psync {
    /// One buffer of `buffer_bytes`, cut into at most `most_pieces`.
    pub fn new(buffer_bytes: usize, most_pieces: u32) -> io::Result<Self> {
        Ok(Self { buffers: Buffers::new(1, buffer_bytes)?, pieces: Pieces::new(1, most_pieces) })
    }

    fn vectored(&mut self, request: Request) -> isize {
        let pieces = self.pieces.cut(0, self.buffers.address(0), request.length, request.vectors);
        let (count, offset) = (pieces.len() as libc::c_int, request.offset as libc::off_t);
        // SAFETY: the pieces lie in the buffer, which holds `length` bytes and outlives the call.
        unsafe {
            match request.kind {
                RequestKind::Read => libc::preadv2(request.file.0, pieces.as_ptr(), count, offset, request.rw_flags),
                _ => libc::pwritev2(request.file.0, pieces.as_ptr(), count, offset, request.rw_flags),
            }
        }
    }
}

impl OverKernel for Psync {}

impl Backend for Psync {
    const NAME: &'static str = "psync";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    #[inline]
    fn execute(&mut self, request: Request) -> i64 {
        let address = self.buffers.address(0);
        debug_assert!(request.length == self.buffers.slot(0, request.length).len());
        let plain = request.rw_flags == 0 && request.vectors <= 1;
        match request.kind {
            // SAFETY: the buffer holds `length` bytes (checked where the job is compiled) and outlives the call.
            RequestKind::Read if plain => unsafe {
                syscall::pread(request.file.0, address, request.length, request.offset)
            },
            // SAFETY: as for read.
            RequestKind::Write if plain => unsafe {
                syscall::pwrite(request.file.0, address, request.length, request.offset)
            },
            _ => self.other(request),
        }
    }

    fn execute_in_pieces(&mut self, request: Request, piece_bytes: usize, stop: &AtomicBool) -> i64 {
        debug_assert!(request.length == self.buffers.slot(0, request.length).len());
        let start = self.buffers.address(0);
        piece_by_piece(request.length, piece_bytes, stop, |moved, length| {
            let offset = request.offset + moved as u64;
            // SAFETY: `moved + length` is at most the length of the request, which the buffer holds (checked where the
            // job is compiled); it outlives the calls.
            unsafe {
                match request.kind {
                    RequestKind::Read => syscall::pread(request.file.0, start, length, offset),
                    _ => syscall::pwrite(request.file.0, start.add(moved), length, offset),
                }
            }
        })
    }
}

impl Psync {
    /// What is rare, or dear enough for a few instructions more.
    #[inline(never)]
    fn other(&mut self, request: Request) -> i64 {
        or_errno(match request.kind {
            RequestKind::Read | RequestKind::Write => self.vectored(request),
            // SAFETY: no memory is passed.
            RequestKind::Fsync => (unsafe { libc::fsync(request.file.0) }) as isize,
            // SAFETY: no memory is passed.
            RequestKind::Fdatasync => (unsafe { libc::fdatasync(request.file.0) }) as isize,
        })
    }
}
