//! Memory-mapped files: a read copies from the mapping, a write copies into it, a flush is msync(2).
//!
//! What is mapped is what exists when the file is opened: beyond it reads are short and writes move nothing. Linux makes
//! msync(MS_SYNC) a flush of data (fdatasync), for both kinds of flush.

use super::by_handle::ByHandle;
use super::kernel::OverKernel;
use super::sigbus;
use super::store::{Handle, Store};
use super::{Backend, Request, RequestKind, or_errno};
use crate::buffer::{BufferSize, Buffers};
use crate::sys::advice::Advice;
use crate::sys::posix;
use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, RawFd};

/// Mappings of a worker's files.
#[derive(Debug)]
pub struct Mmap {
    buffers: Buffers,
    maps: ByHandle<Map>,
    advice: Option<Advice>,
}

/// One mapped file.
#[derive(Debug)]
struct Map {
    fd: RawFd,
    address: *mut u8,
    bytes: usize,
    protection: libc::c_int,
    /// Pages of the mapping that are not the file's, because it could not be mapped there again: what was written to them
    /// would be lost. The mapping is not used any more.
    lost: Option<Range<usize>>,
}

impl Mmap {
    /// One buffer of a size, and `advice` for every mapping.
    pub fn new(size: BufferSize, advice: Option<Advice>) -> io::Result<Self> {
        sigbus::install();
        Ok(Self { buffers: Buffers::new(1, size)?, maps: ByHandle::default(), advice })
    }
}

impl OverKernel for Mmap {}

impl Backend for Mmap {
    const NAME: &'static str = "mmap";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    fn execute(&mut self, request: Request) -> i64 {
        let buffer = self.buffers.address(0);
        debug_assert!(request.length == self.buffers.slot(0, request.length).len());
        let Some(map) = self.maps.get_mut(request.file) else { return -i64::from(libc::EBADF) };
        if map.lost.is_some() {
            return -i64::from(libc::EIO);
        }
        let length = request.length.min(map.bytes.saturating_sub(request.offset as usize));
        if matches!(request.kind, RequestKind::Fsync | RequestKind::Fdatasync) {
            return map.flush();
        }
        if length == 0 {
            return 0;
        }
        let mapped = map.address.wrapping_add(request.offset as usize);
        let (from, to) = if request.kind == RequestKind::Read { (mapped, buffer) } else { (buffer, mapped) };
        // SAFETY: `length` bytes lie inside the mapping and inside the buffer, which are two different mappings; only the
        // C library touches the file's.
        if unsafe { sigbus::copy(from, to, mapped, length) } {
            return length as i64;
        }
        map.renew(request.offset as usize, length);
        -i64::from(libc::EIO)
    }

    fn attach(&mut self, file: Handle) -> io::Result<()> {
        let map = Map::new(file.0)?;
        if let (Some(advice), true) = (self.advice, map.bytes > 0) {
            // SAFETY: exactly the mapping just made.
            if unsafe { libc::madvise(map.address.cast(), map.bytes, advice.of_mapping()) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        self.maps.insert(file, map);
        Ok(())
    }

    fn close_file(&mut self, file: Handle) -> i64 {
        drop(self.maps.remove(file));
        self.close(file)
    }
}

impl Map {
    fn new(fd: RawFd) -> io::Result<Self> {
        // SAFETY: the descriptor is open as long as this function runs.
        let bytes = posix::length_of(unsafe { BorrowedFd::borrow_raw(fd) })? as usize;
        // SAFETY: no memory is passed.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        if flags < 0 {
            return Err(io::Error::last_os_error());
        }
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let protection = if writes { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let mut map = Self { fd, address: std::ptr::null_mut(), bytes, protection, lost: None };
        if bytes > 0 {
            // SAFETY: a new mapping at an address of the kernel's choice.
            let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, 0) };
            if address == libc::MAP_FAILED {
                map.bytes = 0;
                return Err(io::Error::last_os_error());
            }
            map.address = address.cast();
        }
        Ok(map)
    }

    fn flush(&self) -> i64 {
        if self.bytes == 0 {
            return 0;
        }
        // SAFETY: exactly this mapping.
        or_errno(unsafe { libc::msync(self.address.cast(), self.bytes, libc::MS_SYNC) } as isize)
    }

    /// Map the file again where faulty pages were replaced, so that the next operation there meets the file and not them.
    #[cold]
    fn renew(&mut self, offset: usize, length: usize) {
        let page_bytes = posix::page_bytes() as usize;
        let from = offset / page_bytes * page_bytes;
        let end = (offset + length).next_multiple_of(page_bytes);
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let address = self.address.wrapping_add(from).cast();
        // SAFETY: whole pages of this mapping, which spans the file's last page to its end; nothing points into it.
        let mapped = unsafe { libc::mmap(address, end - from, self.protection, flags, self.fd, from as libc::off_t) };
        self.lost = (mapped == libc::MAP_FAILED).then_some(from..end);
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // The kernel may have left nothing where mapping failed, and put something else of this process there since.
        let lost = self.lost.clone().unwrap_or(self.bytes..self.bytes);
        for kept in [0..lost.start, lost.end..self.bytes].into_iter().filter(|kept| !kept.is_empty()) {
            // SAFETY: pages of the mapping made in `new`.
            unsafe { libc::munmap(self.address.wrapping_add(kept.start).cast(), kept.len()) };
        }
    }
}
