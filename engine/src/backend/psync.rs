//! pread(2) and pwrite(2), one at a time; preadv2(2) and pwritev2(2) where flags or pieces are asked for.

use super::kernel::OverKernel;
use super::pieces::Pieces;
use super::{Backend, CACHED_FIRST, Note, Report, Request, RequestKind, or_errno, piece_by_piece};
use crate::buffer::{BufferSize, Buffers};
use crate::events::CachedFirst;
use crate::sys::syscall;
use crate::warning_id::WarningId;
use std::io;
use std::sync::atomic::AtomicBool;

/// Synchronous calls on the worker's own thread.
#[derive(Debug)]
pub struct Psync {
    buffers: Buffers,
    pieces: Pieces,
    cached_first: Option<CachedFirst>,
    /// Whether a file system has no reads that do not wait.
    always_waits: bool,
}

impl Psync {
    /// One buffer of a size, cut into at most `most_pieces`.
    pub fn new(size: BufferSize, most_pieces: u32) -> io::Result<Self> {
        Ok(Self {
            buffers: Buffers::new(1, size)?,
            pieces: Pieces::new(1, most_pieces),
            cached_first: None,
            always_waits: false,
        })
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

impl Psync {
    /// A read that the page cache may answer alone; what it does not have is read again, waiting.
    fn cached_first(&mut self, request: Request) -> i64 {
        let start = self.buffers.address(0);
        let piece = libc::iovec { iov_base: start.cast(), iov_len: request.length };
        let offset = request.offset as libc::off_t;
        let now = match self.always_waits {
            true => 0,
            // SAFETY: the piece is the buffer, which holds `length` bytes and outlives the call.
            false => or_errno(unsafe { libc::preadv2(request.file.0, &raw const piece, 1, offset, libc::RWF_NOWAIT) }),
        };
        self.always_waits |= now == -i64::from(libc::EOPNOTSUPP);
        let at_hand = match now {
            0.. => now as usize,
            _ if now == -i64::from(libc::EAGAIN) || self.always_waits => 0,
            _ => return now,
        };
        let rest = match request.length - at_hand {
            0 => 0,
            // SAFETY: what is at hand is a part of the buffer, and the rest of it outlives the call.
            length => unsafe {
                syscall::pread(request.file.0, start.add(at_hand), length, request.offset + at_hand as u64)
            },
        };
        if rest < 0 && at_hand == 0 {
            return rest;
        }
        let counted = self.cached_first.get_or_insert_default();
        counted.hit_bytes += at_hand as u64;
        counted.missed_bytes += rest.max(0) as u64;
        at_hand as i64 + rest.max(0)
    }
}

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

    fn report(&mut self) -> Report {
        let note = self.always_waits.then(|| {
            let text = "the file system has no reads that do not wait (RWF_NOWAIT), so nobody knows what its page cache served";
            Note::new(WarningId::ResidencyUnknown, text)
        });
        let cached_first = self.cached_first.filter(|_| !self.always_waits);
        Report { punted: Some(0), cached_first, notes: note.into_iter().collect(), ..Report::default() }
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
        if request.rw_flags & CACHED_FIRST != 0 {
            return self.cached_first(request);
        }
        or_errno(match request.kind {
            RequestKind::Read | RequestKind::Write => self.vectored(request),
            // SAFETY: no memory is passed.
            RequestKind::Fsync => (unsafe { libc::fsync(request.file.0) }) as isize,
            // SAFETY: no memory is passed.
            RequestKind::Fdatasync => (unsafe { libc::fdatasync(request.file.0) }) as isize,
        })
    }
}
