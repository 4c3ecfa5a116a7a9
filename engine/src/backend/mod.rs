//! How operations reach storage: [`store::Store`] has names and handles, [`Backend`] the ways to move data over these, one
//! file each. All that the local kernel offers go over one store, [`kernel`]; a client of another is both in one file.

pub mod abilities;
pub mod aio;
mod by_handle;
pub mod kernel;
pub mod listing;
pub mod mmap;
pub mod nothing;
#[cfg(test)]
pub(crate) mod null;
pub mod pieces;
pub mod psync;
pub mod punts;
pub mod read_write;
mod ring;
pub mod sigbus;
pub mod stdio;
pub mod store;
mod stream_buffers;
pub mod uri;
pub mod uring;

use crate::events::CachedFirst;
use crate::warning_id::WarningId;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use store::{At, Handle, Store};

/// Beside the kernel's RWF_ flags: a read asks the page cache alone first.
pub const CACHED_FIRST: i32 = 1 << 29;

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
    pub file: Handle,
    /// What to do.
    pub kind: RequestKind,
    /// Where.
    pub offset: u64,
    /// How many bytes; 0 for flushes.
    pub length: usize,
    /// RWF_ flags, and [`CACHED_FIRST`]; 0 for flushes.
    pub rw_flags: i32,
    /// Pieces of a vectored call; 0 or 1: plain.
    pub vectors: u32,
}

/// A finished operation.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// Slot that it was submitted with; free again.
    pub slot: usize,
    /// Bytes moved, or a negative error number.
    pub result: i64,
}

/// How long to wait for what has been submitted, and how much of it to take.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// Come back when this many are done. At least this many are in flight.
    pub at_least: usize,
    /// Take no more of them.
    pub at_most: usize,
    /// Come back with fewer, or none, once so much time has passed.
    pub within: Option<Duration>,
}

impl Wait {
    /// For one, and all that are there then.
    #[cfg(test)]
    pub const FOR_ONE: Self = Self { at_least: 1, at_most: usize::MAX, within: None };
}

/// Something of a backend that a reader of the numbers should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What kind of thing.
    pub warning: WarningId,
    /// Operation that it is about; empty: all.
    pub operation: String,
    /// In words.
    pub text: String,
}

impl Note {
    /// A note on all that the backend did.
    pub fn new(warning: WarningId, text: impl Into<String>) -> Self {
        Self { warning, operation: String::new(), text: text.into() }
    }
}

/// What a backend knows at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Requests that threads of the kernel carried out instead of the worker; None where they cannot be counted.
    pub punted: Option<u64>,
    /// What reads with [`CACHED_FIRST`] found; None: there were none, or the file system has no such reads.
    pub cached_first: Option<CachedFirst>,
    /// What the kernel granted of what makes requests cheaper, by its own names.
    pub features: Vec<String>,
    /// What else happened.
    pub notes: Vec<Note>,
}

/// Takes requests to storage and brings results back, one at a time. A backend owns its buffers.
pub trait Backend: Store {
    /// Name in the events.
    const NAME: &'static str;

    /// Buffer of a free slot.
    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8];

    /// One request from start to end, for a worker that keeps one I/O in flight. Bytes moved or a negative errno.
    fn execute(&mut self, request: Request) -> i64;

    /// One transfer as successive calls of at most `piece_bytes`, up to the first that fails or moves less, or that comes after
    /// `stop` was set. What is written comes from the buffer as a whole; each read lands at its start. Bytes moved or a
    /// negative errno; jobs are refused where a backend has nothing of the kind.
    fn execute_in_pieces(&mut self, _request: Request, _piece_bytes: usize, _stop: &AtomicBool) -> i64 {
        -i64::from(libc::EOPNOTSUPP)
    }

    /// Open a file to move its data. Errors are negative error numbers.
    fn open_file(&mut self, path: At<'_>, flags: i32) -> Result<Handle, i64> {
        open_and_attach(self, path, flags)
    }

    /// Get ready for files that stay open until the worker ends.
    fn hold(&mut self, files: &[Handle]) -> io::Result<()> {
        files.iter().try_for_each(|&file| self.attach(file))
    }

    /// Get ready for a file that an operation has just opened; part of the time that it took.
    fn attach(&mut self, _file: Handle) -> io::Result<()> {
        Ok(())
    }

    /// Close a file, whether attached or not. 0 or a negative errno.
    fn close_file(&mut self, file: Handle) -> i64 {
        self.close(file)
    }

    /// What there is to know when the worker's last operation is done.
    fn report(&mut self) -> Report {
        Report { punted: Some(0), ..Report::default() }
    }
}

/// A backend that can have several requests in flight.
pub trait QueuedBackend: Backend {
    /// Queue a request; the slot is taken until its completion comes back.
    fn submit(&mut self, slot: usize, request: Request);

    /// As [`QueuedBackend::submit`], of a request that differs from the latest one of its slot in nothing but its offset.
    #[inline]
    fn submit_again(&mut self, slot: usize, request: Request) {
        self.submit(slot, request);
    }

    /// Hand what is queued to the kernel, as far as it takes it, and wait for nothing. An error means that nothing can be
    /// waited for any more.
    fn hand_over(&mut self) -> io::Result<()>;

    /// Hand what is queued to the kernel, wait, and append completions. Errors as [`QueuedBackend::hand_over`].
    fn complete(&mut self, done: &mut Vec<Completion>, wait: Wait) -> io::Result<()>;

    /// Append what has come back by now, `at_most` of it; nothing is handed over, and nothing waited for. Errors as
    /// [`QueuedBackend::hand_over`].
    fn look(&mut self, done: &mut Vec<Completion>, at_most: usize) -> io::Result<()>;
}

#[inline]
fn open_and_attach<B: Backend + ?Sized>(backend: &mut B, path: At<'_>, flags: i32) -> Result<Handle, i64> {
    let file = backend.open(path, flags)?;
    backend.attach(file).map(|()| file).map_err(|error| {
        backend.close(file);
        -i64::from(error.raw_os_error().unwrap_or(libc::EIO))
    })
}

/// Call after call of at most `piece_bytes`, up to the first that fails or moves less, or that comes after `stop` was set.
/// `call` receives the bytes moved so far and the bytes to move. Bytes, or a negative errno.
#[inline]
fn piece_by_piece(
    all_bytes: usize,
    piece_bytes: usize,
    stop: &AtomicBool,
    mut call: impl FnMut(usize, usize) -> i64,
) -> i64 {
    let mut moved = 0;
    while moved < all_bytes {
        let length = piece_bytes.min(all_bytes - moved);
        let result = call(moved, length);
        if result < 0 {
            return result;
        }
        moved += result as usize;
        if (result as usize) < length || stop.load(Relaxed) {
            break;
        }
    }
    moved as i64
}

/// Result of a call of the C library as bytes moved or a negative errno.
#[inline]
fn or_errno(result: isize) -> i64 {
    if result < 0 { -last_errno() } else { result as i64 }
}

#[cold]
fn last_errno() -> i64 {
    i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests;
