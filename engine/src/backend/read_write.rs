//! read(2) and write(2) at a file's own position, with lseek(2) where the next transfer is elsewhere: the calls of programs
//! that keep no offsets themselves, as most classic benchmarks do.

use super::by_fd::ByFd;
use super::{Backend, Completion, Request, RequestKind, last_errno, or_errno, syscall};
use crate::buffer::Buffers;
use std::io;
use std::os::fd::RawFd;

/// Synchronous calls on the worker's own thread.
#[derive(Debug)]
pub struct ReadWrite {
    buffers: Buffers,
    files: ByFd<Position>,
    done: Option<Completion>,
}

/// Where a file's position is; None after a call that may have left it anywhere.
#[derive(Debug, Clone, Copy)]
struct Position {
    at: Option<u64>,
    appends: bool,
}

impl ReadWrite {
    /// One buffer of `buffer_bytes`.
    pub fn new(buffer_bytes: usize) -> io::Result<Self> {
        Ok(Self { buffers: Buffers::new(1, buffer_bytes)?, files: ByFd::default(), done: None })
    }

    #[inline]
    fn transfer(&mut self, request: Request) -> i64 {
        let Some(file) = self.files.get_mut(request.fd) else { return -i64::from(libc::EBADF) };
        let is_read = request.kind == RequestKind::Read;
        // O_APPEND finds the end by itself.
        if file.at != Some(request.offset) && (is_read || !file.appends) {
            let offset = request.offset as libc::off_t;
            // SAFETY: no memory is passed.
            if unsafe { libc::lseek(request.fd, offset, libc::SEEK_SET) } < 0 {
                return -last_errno();
            }
        }
        let address = self.buffers.address(0);
        debug_assert!(request.length == self.buffers.slot(0, request.length).len());
        // SAFETY: the buffer holds `length` bytes (checked where the job is compiled) and outlives the call.
        let result = unsafe {
            match is_read {
                true => syscall::read(request.fd, address, request.length),
                false => syscall::write(request.fd, address, request.length),
            }
        };
        let is_known = result >= 0 && (is_read || !file.appends);
        file.at = is_known.then(|| request.offset + result as u64);
        result
    }
}

impl Backend for ReadWrite {
    const NAME: &'static str = "read_write";

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
        match request.kind {
            RequestKind::Read | RequestKind::Write => self.transfer(request),
            // SAFETY: no memory is passed.
            RequestKind::Fsync => or_errno(unsafe { libc::fsync(request.fd) } as isize),
            // SAFETY: no memory is passed.
            RequestKind::Fdatasync => or_errno(unsafe { libc::fdatasync(request.fd) } as isize),
        }
    }

    fn attach(&mut self, fd: RawFd) -> io::Result<()> {
        // SAFETY: no memory is passed.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        if flags < 0 {
            return Err(io::Error::last_os_error());
        }
        self.files.insert(fd, Position { at: Some(0), appends: flags & libc::O_APPEND != 0 });
        Ok(())
    }

    fn close(&mut self, fd: RawFd) -> i64 {
        self.files.remove(fd);
        // SAFETY: the caller took the descriptor out of the one place that held it.
        or_errno(unsafe { libc::close(fd) } as isize)
    }
}
