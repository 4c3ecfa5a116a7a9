//! Making the directories and files of a set, with several threads.
//!
//! Small files are handed out one by one. A file above [`PIECE_BYTES`] is cut into pieces that all threads share, so
//! that one large file is written as fast as many; pieces are numbered through over all large files, and each thread
//! walks along the same numbering. Write-back starts while writing goes on and at most two windows of a thread are
//! dirty, so a stop is prompt, progress is that of the storage, and the fsync at the end has little left to do.

use crate::content::fill::ContentFill;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::places::progress::{Progress, WorkGroup};
use crate::plan::Allocate;
use crate::sys::posix;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

const WRITE_BYTES: u64 = 1 << 20;
const WINDOW_BYTES: u64 = 16 << 20;
/// Files from this size on get their own fsync; the others share one `syncfs`.
const FSYNC_FROM_BYTES: u64 = 1 << 20;
/// Files above this size are written by several threads at once.
pub const PIECE_BYTES: u64 = 64 << 20;

/// What progress counts, by what takes the time.
pub fn unit_of(state: &FileSetState, content_bytes: u64) -> &'static str {
    const MEAN_OF_BYTES: u64 = 64 << 10;
    let counts_bytes = content_bytes / state.initial_files().max(1) >= MEAN_OF_BYTES;
    if counts_bytes && state.set().allocate == Allocate::Write { "bytes" } else { "files" }
}

/// Make all directories, for the whole index space, level by level.
///
/// # Errors
///
/// `Stopped`, or the system call that failed.
pub fn make_directories(state: &FileSetState, group: &WorkGroup<'_>, threads: usize) -> Result<()> {
    for level in 1..=state.spread().depth() {
        let count = state.spread().directories_at(level);
        let next = AtomicU64::new(0);
        let make = || {
            let mut path = PathBuffer::new();
            while let Some(number) = take(&next, count) {
                group.check()?;
                state.directory_path_into(level, number, &mut path);
                match posix::make_directory_at(state.root().as_fd(), path.at().path) {
                    // Another client's files may be in it.
                    Err(error) if state.is_joint() && error.raw_os_error() == Some(libc::EEXIST) => {}
                    made => made.map_err(|error| EngineError::io("create directory", path.to_path(), error))?,
                }
            }
            Ok(())
        };
        group.run(threads.min(count as usize), make)?;
    }
    Ok(())
}

/// Make the files that exist at the start. Small ones may still be dirty when this returns.
///
/// # Errors
///
/// `Stopped`, or the system call that failed.
pub fn make_files(state: &FileSetState, group: &WorkGroup<'_>, progress: &Progress<'_>, threads: usize) -> Result<()> {
    if state.initial_files() == 0 {
        return Ok(());
    }
    let (next_file, next_piece) = (AtomicU64::new(0), AtomicU64::new(0));
    let make = || {
        let fill = ContentFill::new(state.content_seed(), &state.set().content, state.next_writer())?;
        let buffer = vec![0; WRITE_BYTES as usize];
        let mut maker = Maker { state, group, progress, fill, buffer, path: PathBuffer::new() };
        while let Some(index) = take(&next_file, state.initial_files()) {
            group.check()?;
            if !maker.is_shared(state.size_of(index)) {
                maker.make(index)?;
            }
        }
        maker.make_shared(&next_piece)
    };
    group.run(threads, make).map(drop)
}

/// Files that grow side by side while a set is aged.
const GROWING: usize = 8;
/// Pieces in which each of them grows.
const GROWTHS: u64 = 4;

/// Make files again that were removed, the way files grow in use: several at a time, piece by piece, each piece
/// given its blocks before the next (write-back allocates), so that their blocks come to lie between each other's. `chosen` turns each of `0..turns`
/// into an index, or into none.
///
/// # Errors
///
/// `Stopped`, or the system call that failed.
pub fn grow_chosen(
    state: &FileSetState,
    group: &WorkGroup<'_>,
    progress: &Progress<'_>,
    threads: usize,
    turns: u64,
    chosen: &(dyn Fn(u64) -> Option<u64> + Sync),
) -> Result<()> {
    let next = AtomicU64::new(0);
    let make = || {
        let fill = ContentFill::new(state.content_seed(), &state.set().content, state.next_writer())?;
        let buffer = vec![0; WRITE_BYTES as usize];
        let mut maker = Maker { state, group, progress, fill, buffer, path: PathBuffer::new() };
        loop {
            let turns_left = std::iter::from_fn(|| take(&next, turns));
            let batch: Vec<u64> = turns_left.filter_map(chosen).take(GROWING).collect();
            if batch.is_empty() {
                return Ok(());
            }
            maker.grow(&batch)?;
        }
    };
    group.run(threads, make).map(drop)
}

/// The next number below `count`.
fn take(next: &AtomicU64, count: u64) -> Option<u64> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    (number < count).then_some(number)
}

/// One thread that makes files.
struct Maker<'a> {
    state: &'a FileSetState,
    group: &'a WorkGroup<'a>,
    progress: &'a Progress<'a>,
    fill: ContentFill,
    buffer: Vec<u8>,
    path: PathBuffer,
}

impl Maker<'_> {
    fn is_shared(&self, size: u64) -> bool {
        size > PIECE_BYTES && self.state.set().allocate == Allocate::Write
    }

    /// Several files, piece by piece.
    fn grow(&mut self, batch: &[u64]) -> Result<()> {
        let files = batch.iter().map(|&index| self.create(index, libc::O_EXCL)).collect::<Result<Vec<_>>>()?;
        for growth in 0..GROWTHS {
            for (file, &index) in files.iter().zip(batch) {
                self.group.check()?;
                let size = self.state.size_of(index);
                let piece = size.div_ceil(GROWTHS).next_multiple_of(4096);
                let from = (growth * piece).min(size);
                let length = piece.min(size - from);
                if length > 0 {
                    self.write(file, index, from, length)?;
                    posix::write_back_range(file.as_fd(), from, length, true)
                        .map_err(|error| self.failed("sync_file_range", error))?;
                }
            }
        }
        for file in files {
            self.close(file)?;
        }
        self.count("files", batch.len() as u64);
        Ok(())
    }

    /// A file of this thread's own.
    fn make(&mut self, index: u64) -> Result<()> {
        let size = self.state.size_of(index);
        let file = self.create(index, libc::O_EXCL)?;
        match self.state.set().allocate {
            Allocate::Write => {
                self.write(&file, index, 0, size)?;
                if size >= FSYNC_FROM_BYTES {
                    file.sync_all().map_err(|error| self.failed("fsync", error))?;
                }
            }
            Allocate::Fallocate if size > 0 => {
                posix::allocate(file.as_fd(), size).map_err(|error| self.not_allocated(error))?;
            }
            Allocate::Fallocate => {}
            Allocate::Sparse => file.set_len(size).map_err(|error| self.failed("truncate", error))?,
        }
        self.close(file)?;
        self.count("files", 1);
        Ok(())
    }

    /// Pieces of the large files, as long as there are any.
    fn make_shared(&mut self, next_piece: &AtomicU64) -> Result<()> {
        if self.state.fixed_size().is_some_and(|size| !self.is_shared(size)) {
            return Ok(());
        }
        let mut piece = next_piece.fetch_add(1, Ordering::Relaxed);
        let mut first_piece = 0;
        for index in 0..self.state.initial_files() {
            let size = self.state.size_of(index);
            if !self.is_shared(size) {
                continue;
            }
            let behind = first_piece + size.div_ceil(PIECE_BYTES);
            let file = if piece < behind { Some(self.create(index, 0)?) } else { None };
            while let Some(file) = file.as_ref().filter(|_| piece < behind) {
                let offset = (piece - first_piece) * PIECE_BYTES;
                self.write(file, index, offset, PIECE_BYTES.min(size - offset))?;
                self.count("files", u64::from(offset == 0));
                piece = next_piece.fetch_add(1, Ordering::Relaxed);
            }
            // Each thread after its own last piece: the last of them finds all pieces written.
            if let Some(file) = file {
                file.sync_all().map_err(|error| self.failed("fsync", error))?;
                self.close(file)?;
            }
            first_piece = behind;
        }
        Ok(())
    }

    fn create(&mut self, index: u64, extra_flags: i32) -> Result<File> {
        self.state.path_into(index, &mut self.path);
        // Where the node of a device has just gone, a file of its name would take its place in memory.
        let new = if self.state.is_device() { 0 } else { libc::O_CREAT | extra_flags };
        let flags = libc::O_WRONLY | new;
        let file = self.state.root().open(self.path.at().path, flags, 0o644);
        file.map(File::from).map_err(|error| self.failed("create", error))
    }

    /// NFS, FUSE and quotas may refuse here what memory took.
    fn close(&self, file: File) -> Result<()> {
        posix::close(file).map_err(|error| self.failed("close", error))
    }

    /// Write a range with the content of generation 0.
    fn write(&mut self, file: &File, index: u64, from: u64, length: u64) -> Result<()> {
        let end = from + length;
        let (mut at, mut window) = (from, from);
        while at < end {
            self.group.check()?;
            let bytes = WRITE_BYTES.min(end - at);
            let buffer = &mut self.buffer[..bytes as usize];
            self.fill.fill(buffer, index, at, 0);
            file.write_all_at(buffer, at).map_err(|error| self.failed("write", error))?;
            self.count("bytes", bytes);
            at += bytes;
            if at - window >= WINDOW_BYTES {
                self.write_back(file, from, window)?;
                window = at;
            }
        }
        Ok(())
    }

    /// Start write-back of the window that was just written, and wait for the one before.
    fn write_back(&self, file: &File, from: u64, window: u64) -> Result<()> {
        let started = posix::write_back_range(file.as_fd(), window, WINDOW_BYTES, false);
        let waited = if window > from {
            posix::write_back_range(file.as_fd(), window - WINDOW_BYTES, WINDOW_BYTES, true)
        } else {
            Ok(())
        };
        started.and(waited).map_err(|error| self.failed("write", error))
    }

    fn count(&self, unit: &str, amount: u64) {
        if self.progress.unit() == unit {
            self.progress.add(amount);
        }
    }

    fn failed(&self, op: &'static str, error: io::Error) -> EngineError {
        EngineError::io(op, self.path.to_path(), error)
    }

    fn not_allocated(&self, error: io::Error) -> EngineError {
        if error.raw_os_error() != Some(libc::EOPNOTSUPP) {
            return self.failed("fallocate", error);
        }
        EngineError::Environment(format!(
            "file set '{}': the file system of {} has no fallocate; choose allocate = \"write\"",
            self.state.set().name,
            self.state.folder().display()
        ))
    }
}
