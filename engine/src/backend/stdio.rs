//! Streams of the C library: fread and fwrite of a block, or getc and putc of each of its characters.
//!
//! One operation is one block either way, so that reading the clock does not drown a call that takes two nanoseconds.
//! Calls are those without the stream's lock: what a program with one thread pays, as Bonnie has. The buffer is the C
//! library's own (st_blksize bytes), or another of that size: a write is done when it is there, and reaches the kernel when
//! the buffer is full, at a seek, at a flush and at the close.

use super::by_handle::ByHandle;
use super::kernel::OverKernel;
use super::store::{At, Handle, Store};
use super::stream_buffers::{StreamBuffer, StreamBuffers};
use super::{Backend, Note, Report, Request, RequestKind, last_errno, open_and_attach, or_errno};
use crate::buffer::{BufferSize, Buffers};
use crate::warning_id::WarningId;
use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

unsafe extern "C" {
    fn getc_unlocked(stream: *mut libc::FILE) -> libc::c_int;
    fn putc_unlocked(character: libc::c_int, stream: *mut libc::FILE) -> libc::c_int;
    fn fread_unlocked(to: *mut libc::c_void, size: usize, count: usize, stream: *mut libc::FILE) -> usize;
    fn fwrite_unlocked(from: *const libc::c_void, size: usize, count: usize, stream: *mut libc::FILE) -> usize;
}

/// Streams over a worker's files.
#[derive(Debug)]
pub struct Stdio {
    buffers: Buffers,
    streams: ByHandle<Stream>,
    stream_buffers: StreamBuffers,
    per_character: bool,
}

/// One stream.
#[derive(Debug)]
struct Stream {
    file: *mut libc::FILE,
    /// Position of the next character; the C library's own is a call away.
    at: u64,
    /// The call before: C asks for a seek between reading and writing.
    last: Option<RequestKind>,
    appends: bool,
    buffer: StreamBuffer,
}

impl Stdio {
    /// One buffer of a size.
    pub fn new(size: BufferSize, per_character: bool) -> io::Result<Self> {
        let (buffers, streams) = (Buffers::new(1, size)?, ByHandle::default());
        Ok(Self { buffers, streams, stream_buffers: StreamBuffers::default(), per_character })
    }
}

impl OverKernel for Stdio {}

impl Backend for Stdio {
    const NAME: &'static str = "stdio";

    fn buffer(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.buffers.slot(slot, length)
    }

    fn execute(&mut self, request: Request) -> i64 {
        let Some(stream) = self.streams.get_mut(request.file) else { return -i64::from(libc::EBADF) };
        let buffer = self.buffers.slot(0, request.length);
        match request.kind {
            RequestKind::Read => stream.read(request.offset, buffer, self.per_character),
            RequestKind::Write => stream.write(request.offset, buffer, self.per_character),
            RequestKind::Fsync | RequestKind::Fdatasync => {
                // SAFETY: an open stream, and no memory is passed.
                or_errno(unsafe {
                    match (libc::fflush(stream.file), request.kind) {
                        (0, RequestKind::Fsync) => libc::fsync(request.file.0),
                        (0, _) => libc::fdatasync(request.file.0),
                        (failed, _) => failed,
                    }
                } as isize)
            }
        }
    }

    fn execute_in_pieces(&mut self, request: Request, piece_bytes: usize, stop: &AtomicBool) -> i64 {
        let Some(stream) = self.streams.get_mut(request.file) else { return -i64::from(libc::EBADF) };
        let buffer = self.buffers.slot(0, request.length);
        if let Err(errno) = stream.go_to(request.offset, request.kind) {
            return -errno;
        }
        match request.kind {
            RequestKind::Read => stream.read_in_pieces(buffer, piece_bytes, stop),
            _ => stream.write_in_pieces(buffer, piece_bytes, stop),
        }
    }

    /// As fopen(3) where that has the mode asked for: fdopen(3) asks the kernel for the flags first. To append, fopen makes
    /// a file that is missing.
    fn open_file(&mut self, path: At<'_>, flags: i32) -> Result<Handle, i64> {
        let Some(mode) = mode_of(flags).filter(|_| path.folder == Handle::HERE) else {
            return open_and_attach(self, path, flags);
        };
        // SAFETY: both strings are NUL-terminated and live through the call.
        let file = unsafe { libc::fopen(path.path.as_ptr(), mode.as_ptr()) };
        if file.is_null() {
            return Err(-last_errno());
        }
        // SAFETY: a stream opened just now; its buffer is kept beside it until `close`, or until both are dropped.
        let (handle, buffer) = unsafe { (Handle(libc::fileno(file)), self.stream_buffers.lend(file)) };
        self.streams.insert(handle, Stream { file, at: 0, last: None, appends: flags & libc::O_APPEND != 0, buffer });
        Ok(handle)
    }

    fn attach(&mut self, handle: Handle) -> io::Result<()> {
        // SAFETY: no memory is passed.
        let flags = unsafe { libc::fcntl(handle.0, libc::F_GETFL) };
        if flags < 0 {
            return Err(io::Error::last_os_error());
        }
        let appends = flags & libc::O_APPEND != 0;
        let mode = match (flags & libc::O_ACCMODE, appends) {
            (libc::O_RDONLY, _) => c"r",
            (libc::O_WRONLY, false) => c"w",
            (libc::O_WRONLY, true) => c"a",
            (_, false) => c"r+",
            (_, true) => c"a+",
        };
        // SAFETY: an open descriptor and a mode that fits it; fdopen truncates nothing.
        let file = unsafe { libc::fdopen(handle.0, mode.as_ptr()) };
        if file.is_null() {
            return Err(io::Error::last_os_error());
        }
        self.streams.insert(handle, Stream { file, at: 0, last: None, appends, buffer: StreamBuffer::Unknown });
        Ok(())
    }

    fn close_file(&mut self, file: Handle) -> i64 {
        let Some(stream) = self.streams.remove(file) else { return self.close(file) };
        // SAFETY: an open stream; the caller took the descriptor out of the one place that held it, and fclose closes it with
        // its stream.
        let closed = unsafe {
            self.stream_buffers.learn(stream.file, &stream.buffer);
            or_errno(libc::fclose(stream.file) as isize)
        };
        self.stream_buffers.take_back(stream.buffer);
        closed
    }

    fn report(&mut self) -> Report {
        // What is left in the buffers goes out now, while a failure can still be reported.
        let failed = self.streams.values_mut().filter_map(|stream| {
            // SAFETY: an open stream.
            let failed = stream.last == Some(RequestKind::Write) && unsafe { libc::fflush(stream.file) } != 0;
            failed.then(io::Error::last_os_error)
        });
        let note = failed.last().map(|error| {
            let text = format!("what was left in the buffers of the C library could not be written: {error}");
            Note::new(WarningId::StdioFlushFailed, text)
        });
        Report { punted: Some(0), notes: note.into_iter().collect(), ..Report::default() }
    }
}

/// The mode of fopen(3) that means these flags and no others, if there is one. `c`: the calls to the kernel are no points
/// where a thread may be cancelled, which costs in a program with threads; workers are never cancelled.
fn mode_of(flags: i32) -> Option<&'static CStr> {
    const NEW: i32 = libc::O_CREAT | libc::O_EXCL;
    if flags & libc::O_CLOEXEC == 0 {
        return None;
    }
    match flags & !libc::O_CLOEXEC {
        libc::O_RDONLY => Some(c"rec"),
        libc::O_RDWR => Some(c"r+ec"),
        // A file that is new has nothing to cut off, so "w" does what is asked for.
        flags if flags == libc::O_WRONLY | NEW => Some(c"wxec"),
        flags if flags == libc::O_RDWR | NEW => Some(c"w+xec"),
        flags if flags == libc::O_WRONLY | libc::O_APPEND => Some(c"aec"),
        _ => None,
    }
}

impl Stream {
    fn read(&mut self, offset: u64, buffer: &mut [u8], per_character: bool) -> i64 {
        if let Err(errno) = self.go_to(offset, RequestKind::Read) {
            return -errno;
        }
        let mut moved = 0;
        let wanted = buffer.len();
        // SAFETY: an open stream that only this thread uses; the buffer has the room that is named.
        unsafe {
            if per_character {
                for character in buffer {
                    let got = getc_unlocked(self.file);
                    if got == libc::EOF {
                        break;
                    }
                    *character = got as u8;
                    moved += 1;
                }
            } else {
                moved = fread_unlocked(buffer.as_mut_ptr().cast(), 1, wanted, self.file);
            }
        }
        self.moved(moved, wanted)
    }

    fn write(&mut self, offset: u64, buffer: &[u8], per_character: bool) -> i64 {
        if let Err(errno) = self.go_to(offset, RequestKind::Write) {
            return -errno;
        }
        let mut moved = 0;
        let length = buffer.len();
        // SAFETY: as for read.
        unsafe {
            if per_character {
                for &character in buffer {
                    if putc_unlocked(libc::c_int::from(character), self.file) == libc::EOF {
                        break;
                    }
                    moved += 1;
                }
            } else {
                moved = fwrite_unlocked(buffer.as_ptr().cast(), 1, length, self.file);
            }
        }
        self.moved(moved, length)
    }

    /// Fill the start of the buffer again and again: calls for a piece each, until as much as the buffer holds has come.
    fn read_in_pieces(&mut self, buffer: &mut [u8], piece_bytes: usize, stop: &AtomicBool) -> i64 {
        let mut moved = 0;
        while moved < buffer.len() {
            let length = piece_bytes.min(buffer.len() - moved);
            // SAFETY: an open stream that only this thread uses; the buffer has the room that is named.
            let bytes = unsafe { fread_unlocked(buffer.as_mut_ptr().cast(), 1, length, self.file) };
            moved += bytes;
            if bytes < length {
                return self.moved_less_in_pieces(moved, bytes);
            }
            if stop.load(Relaxed) {
                break;
            }
        }
        self.at += moved as u64;
        moved as i64
    }

    fn write_in_pieces(&mut self, buffer: &[u8], piece_bytes: usize, stop: &AtomicBool) -> i64 {
        let mut moved = 0;
        for piece in buffer.chunks(piece_bytes) {
            // SAFETY: as for read.
            let bytes = unsafe { fwrite_unlocked(piece.as_ptr().cast(), 1, piece.len(), self.file) };
            moved += bytes;
            if bytes < piece.len() {
                return self.moved_less_in_pieces(moved, bytes);
            }
            if stop.load(Relaxed) {
                break;
            }
        }
        self.at += moved as u64;
        moved as i64
    }

    /// `moved` in all, `bytes` of them by the last call.
    #[cold]
    fn moved_less_in_pieces(&mut self, moved: usize, bytes: usize) -> i64 {
        self.at += moved as u64;
        let result = self.moved_less(bytes);
        if result < 0 { result } else { moved as i64 }
    }

    /// Seek, if the stream is at another offset or the direction changes. An error is a positive errno.
    fn go_to(&mut self, offset: u64, kind: RequestKind) -> Result<(), i64> {
        let turned = self.last.is_some_and(|last| last != kind);
        self.last = Some(kind);
        let elsewhere = self.at != offset && !(self.appends && kind == RequestKind::Write);
        // SAFETY: an open stream.
        if (turned || elsewhere) && unsafe { libc::fseeko(self.file, offset as libc::off_t, libc::SEEK_SET) } < 0 {
            return Err(last_errno());
        }
        self.at = offset;
        Ok(())
    }

    /// Count what a call moved. One that moves all has met neither an error nor the end.
    #[inline]
    fn moved(&mut self, bytes: usize, wanted: usize) -> i64 {
        self.at += bytes as u64;
        if bytes == wanted { bytes as i64 } else { self.moved_less(bytes) }
    }

    /// A stream keeps its error and its end until they are cleared, so both are.
    #[cold]
    fn moved_less(&mut self, bytes: usize) -> i64 {
        // SAFETY: an open stream.
        let failed = unsafe { libc::ferror(self.file) } != 0;
        let errno = if failed { last_errno() } else { 0 };
        // SAFETY: an open stream.
        unsafe { libc::clearerr(self.file) };
        if failed && bytes == 0 { -errno } else { bytes as i64 }
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        for stream in self.streams.values_mut() {
            // SAFETY: a stream that nobody closed yet; the table goes away with this value.
            unsafe { libc::fclose(stream.file) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream_buffers;
    use super::*;
    use crate::sys::own_directory;
    use std::ffi::CString;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn here(path: &CStr) -> At<'_> {
        At { folder: Handle::HERE, path }
    }

    /// A folder that this thread, and it alone, works in. None: it may not have one of its own.
    fn own_folder() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir().unwrap();
        let has_begun = own_directory::begin(File::open(folder.path()).unwrap().as_fd());
        if !has_begun {
            eprintln!("skipped: no thread may have a working directory of its own here");
        }
        has_begun.then_some(folder)
    }

    #[test]
    fn a_file_is_opened_with_the_flags_asked_for_whether_fopen_has_a_mode_for_them_or_not() {
        let Some(_folder) = own_folder() else { return };
        let new = libc::O_CREAT | libc::O_EXCL;
        for (name, flags, by_fopen) in [
            ("a", libc::O_WRONLY | new, true),
            ("a", libc::O_RDONLY, true),
            ("a", libc::O_RDWR, true),
            ("a", libc::O_WRONLY | libc::O_APPEND, true),
            ("b", libc::O_RDWR | new, true),
            ("b", libc::O_WRONLY, false),
            ("b", libc::O_RDWR | libc::O_SYNC, false),
        ] {
            let path = CString::new(name).unwrap();
            let flags = flags | libc::O_CLOEXEC;
            let mut backend = Stdio::new(BufferSize::plain(4096), false).unwrap();

            let file = backend.open_file(here(&path), flags).unwrap_or_else(|failed| panic!("{name}: {failed}"));

            // SAFETY: no memory is passed.
            let (kept, at_exec) = unsafe { (libc::fcntl(file.0, libc::F_GETFL), libc::fcntl(file.0, libc::F_GETFD)) };
            let lasting = libc::O_ACCMODE | libc::O_APPEND | libc::O_SYNC;
            assert_eq!((kept & lasting, at_exec), (flags & lasting, libc::FD_CLOEXEC));
            assert_eq!((mode_of(flags).is_some(), backend.close_file(file)), (by_fopen, 0));
        }
        let mut backend = Stdio::new(BufferSize::plain(4096), false).unwrap();
        assert_eq!(
            backend.open_file(here(c"a"), libc::O_WRONLY | new | libc::O_CLOEXEC),
            Err(-i64::from(libc::EEXIST))
        );
    }

    #[test]
    fn streams_after_the_first_use_one_buffer_of_its_size_again_and_again() {
        let Some(folder) = own_folder() else { return };
        let mut backend = Stdio::new(BufferSize::plain(10_000), false).unwrap();
        let mut sizes = Vec::new();

        for turn in 0..4_u8 {
            let name = turn.to_string();
            let path = folder.path().join(&name);
            let name = CString::new(name).unwrap();
            let new = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
            let file = backend.open_file(here(&name), new).unwrap();
            backend.buffer(0, 10_000).fill(turn);
            let request = |kind, offset, length| Request { file, kind, offset, length, rw_flags: 0, vectors: 0 };
            assert_eq!(backend.execute(request(RequestKind::Write, 0, 9_999)), 9_999);
            assert_eq!(backend.execute(request(RequestKind::Read, 5_000, 10_000)), 4_999);
            // SAFETY: an open stream.
            sizes.push(unsafe { stream_buffers::bytes_of(backend.streams.get(file).unwrap().file) });
            assert_eq!(backend.close_file(file), 0);

            assert_eq!(std::fs::read(path).unwrap(), vec![turn; 9_999]);
            assert_eq!(backend.stream_buffers.spare(), usize::from(turn > 0));
        }

        assert!(sizes[0] > 0 && sizes.iter().all(|&size| size == sizes[0]), "{sizes:?}");
    }
}
