//! read(2) and write(2) at a file's own position, with lseek(2) where the next transfer is at another: the calls of
//! programs that keep no offsets themselves, as most classic benchmarks do.

use super::by_handle::ByHandle;
use super::kernel::OverKernel;
use super::store::{At, Handle, Store};
use super::{Backend, Request, RequestKind, or_errno};
use crate::buffer::{BufferSize, Buffers};
use crate::sys::syscall;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Synchronous calls on the worker's own thread.
#[derive(Debug)]
pub struct ReadWrite {
    buffers: Buffers,
    files: ByHandle<Position>,
}

/// Where a file's position is; None after a call that may have left it anywhere.
#[derive(Debug, Clone, Copy)]
struct Position {
    at: Option<u64>,
    appends: bool,
}

impl ReadWrite {
    /// One buffer of a size.
    pub fn new(size: BufferSize) -> io::Result<Self> {
        Ok(Self { buffers: Buffers::new(1, size)?, files: ByHandle::default() })
    }

    #[inline(always)]
    fn transfer(&mut self, request: Request) -> i64 {
        let Some(file) = self.files.get_mut(request.file) else { return -i64::from(libc::EBADF) };
        if let Err(errno) = file.go_to(request) {
            return -errno;
        }
        debug_assert!(request.length == self.buffers.slot(0, request.length).len());
        // SAFETY: the buffer holds `length` bytes (checked where the job is compiled) and outlives the call.
        let result = unsafe { move_once(request, self.buffers.address(0), request.length) };
        file.arrive(request, result);
        result
    }
}

impl Position {
    /// Seek, if the file is at another position. An error is a positive errno.
    #[inline]
    fn go_to(&self, request: Request) -> Result<(), i64> {
        // O_APPEND finds the end by itself.
        if self.at != Some(request.offset) && (request.kind == RequestKind::Read || !self.appends) {
            return match syscall::seek(request.file.0, request.offset) {
                result if result < 0 => Err(-result),
                _ => Ok(()),
            };
        }
        Ok(())
    }

    /// Take note of where a request has left the file: `result` bytes on, or anywhere after a failure.
    #[inline]
    fn arrive(&mut self, request: Request, result: i64) {
        let is_known = result >= 0 && (request.kind == RequestKind::Read || !self.appends);
        self.at = is_known.then(|| request.offset + result as u64);
    }
}

#[inline(never)]
fn flush(request: Request) -> i64 {
    // SAFETY: no memory is passed.
    or_errno(unsafe {
        match request.kind {
            RequestKind::Fsync => libc::fsync(request.file.0),
            _ => libc::fdatasync(request.file.0),
        }
    } as isize)
}

/// One call at the file's own position: bytes or a negative errno.
///
/// # Safety
///
/// `address` points to `length` bytes, writable ones for a read.
#[inline]
unsafe fn move_once(request: Request, address: *mut u8, length: usize) -> i64 {
    // SAFETY: as promised by the caller.
    unsafe {
        match request.kind {
            RequestKind::Read => syscall::read(request.file.0, address, length),
            _ => syscall::write(request.file.0, address, length),
        }
    }
}

/// Calls, and bytes, between two looks for a stop.
const BETWEEN_LOOKS: usize = 1024;
const BETWEEN_LOOKS_BYTES: usize = 16 << 20;

/// Call after call until all was moved, or one has moved less than it was asked for: bytes, or a negative errno. Reads all go
/// to the start. Nothing lies between two calls that need not: a byte a call is the load of classic benchmarks, and the next
/// instruction after a call is slow to come by.
///
/// # Safety
///
/// `start` points to `request.length` bytes, writable ones for reads.
unsafe fn in_pieces<const IS_READ: bool>(
    request: Request,
    start: *mut u8,
    piece_bytes: usize,
    stop: &AtomicBool,
) -> i64 {
    let mut moved = 0;
    while moved < request.length && !(moved > 0 && stop.load(Relaxed)) {
        let length = piece_bytes.min(request.length - moved);
        let alike = ((request.length - moved) / length).min((BETWEEN_LOOKS_BYTES / length).clamp(1, BETWEEN_LOOKS));
        for _ in 0..alike {
            // SAFETY: `moved + length` is at most the length of the request.
            let result = unsafe {
                if IS_READ {
                    syscall::read(request.file.0, start, length)
                } else {
                    syscall::write(request.file.0, start.add(moved), length)
                }
            };
            if result != length as i64 {
                return if result < 0 { result } else { moved as i64 + result };
            }
            moved += length;
        }
    }
    moved as i64
}

impl OverKernel for ReadWrite {}

impl Backend for ReadWrite {
    const NAME: &'static str = "read_write";

    #[inline(always)]
    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    #[inline(always)]
    fn execute(&mut self, request: Request) -> i64 {
        match request.kind {
            RequestKind::Read | RequestKind::Write => self.transfer(request),
            RequestKind::Fsync | RequestKind::Fdatasync => flush(request),
        }
    }

    fn execute_in_pieces(&mut self, request: Request, piece_bytes: usize, stop: &AtomicBool) -> i64 {
        let Some(file) = self.files.get_mut(request.file) else { return -i64::from(libc::EBADF) };
        if let Err(errno) = file.go_to(request) {
            return -errno;
        }
        debug_assert!(request.length == self.buffers.slot(0, request.length).len());
        let start = self.buffers.address(0);
        // SAFETY: the buffer holds the length of the request (checked where the job is compiled) and outlives the calls.
        let result = unsafe {
            match request.kind {
                RequestKind::Read => in_pieces::<true>(request, start, piece_bytes, stop),
                _ => in_pieces::<false>(request, start, piece_bytes, stop),
            }
        };
        file.arrive(request, result);
        result
    }

    /// One call: a file that was just opened is at 0, and the flags show whether it appends.
    fn open_file(&mut self, path: At<'_>, flags: i32) -> Result<Handle, i64> {
        let file = self.open(path, flags)?;
        self.files.insert(file, Position { at: Some(0), appends: flags & libc::O_APPEND != 0 });
        Ok(file)
    }

    fn attach(&mut self, file: Handle) -> io::Result<()> {
        // SAFETY: no memory is passed.
        let flags = unsafe { libc::fcntl(file.0, libc::F_GETFL) };
        if flags < 0 {
            return Err(io::Error::last_os_error());
        }
        self.files.insert(file, Position { at: Some(0), appends: flags & libc::O_APPEND != 0 });
        Ok(())
    }

    fn close_file(&mut self, file: Handle) -> i64 {
        self.files.remove(file);
        self.close(file)
    }
}
