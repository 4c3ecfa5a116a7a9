//! Buffers of streams that are opened and closed again and again.
//!
//! The C library takes a buffer for each stream from the heap when the first call needs it, as large as it holds right for
//! what fstat says of the file, and gives it back at the close. Here the first stream of a file system shows how large that
//! is; those after it are given one of the same size, which is used anew. The calls to the kernel stay the same, down to
//! the fstat.

use libc::{FILE, c_int, size_t};

/// Full buffering, of setvbuf(3).
const FULLY: c_int = 0;

unsafe extern "C" {
    fn setvbuf(stream: *mut FILE, buffer: *mut libc::c_char, mode: c_int, size: size_t) -> c_int;
    /// stdio_ext(3): size of the buffer that a stream has now, 0 before it has one.
    fn __fbufsize(stream: *mut FILE) -> size_t;
}

/// The buffer of one open stream.
#[derive(Debug)]
pub enum StreamBuffer {
    /// One of ours, to be kept until the stream is closed.
    Lent(usize, Vec<u8>),
    /// The C library's own; it shows how large buffers are for files of this block size.
    Own(i64),
    /// The C library's own, and nothing is known of its file.
    Unknown,
}

/// The buffers of one worker.
#[derive(Debug, Default)]
pub struct StreamBuffers {
    sizes: Vec<Size>,
}

/// Buffers for files of one block size.
#[derive(Debug)]
struct Size {
    block_bytes: i64,
    buffer_bytes: usize,
    spare: Vec<Vec<u8>>,
}

impl StreamBuffers {
    /// Give a stream that was opened just now its buffer.
    ///
    /// # Safety
    ///
    /// An open stream with which nothing was done yet. What comes back lives until it is closed.
    pub unsafe fn lend(&mut self, stream: *mut FILE) -> StreamBuffer {
        let mut facts = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: an open stream; `facts` has room for the answer, and is read only if there is one.
        let block_bytes = unsafe {
            if libc::fstat(libc::fileno(stream), facts.as_mut_ptr()) < 0 {
                return StreamBuffer::Unknown;
            }
            facts.assume_init().st_blksize
        };
        let Some(at) = self.sizes.iter().position(|size| size.block_bytes == block_bytes) else {
            return StreamBuffer::Own(block_bytes);
        };
        let Size { buffer_bytes, spare, .. } = &mut self.sizes[at];
        let mut buffer = spare.pop().unwrap_or_else(|| vec![0; *buffer_bytes]);
        // SAFETY: an open stream without a buffer; this one has the size named, and lives as long (see above).
        unsafe { setvbuf(stream, buffer.as_mut_ptr().cast(), FULLY, *buffer_bytes) };
        StreamBuffer::Lent(at, buffer)
    }

    /// Look at the buffer of a stream that is about to be closed.
    ///
    /// # Safety
    ///
    /// An open stream.
    pub unsafe fn learn(&mut self, stream: *mut FILE, buffer: &StreamBuffer) {
        let StreamBuffer::Own(block_bytes) = *buffer else { return };
        // SAFETY: as asked for.
        let buffer_bytes = unsafe { bytes_of(stream) };
        if buffer_bytes > 0 && self.sizes.iter().all(|size| size.block_bytes != block_bytes) {
            self.sizes.push(Size { block_bytes, buffer_bytes, spare: Vec::new() });
        }
    }

    /// How many wait for a stream.
    #[cfg(test)]
    pub fn spare(&self) -> usize {
        self.sizes.iter().map(|size| size.spare.len()).sum()
    }

    /// Take back the buffer of a stream that was closed.
    pub fn take_back(&mut self, buffer: StreamBuffer) {
        if let StreamBuffer::Lent(at, buffer) = buffer {
            self.sizes[at].spare.push(buffer);
        }
    }
}

/// Size of the buffer that a stream has now; 0: none yet.
///
/// # Safety
///
/// An open stream.
pub unsafe fn bytes_of(stream: *mut FILE) -> usize {
    // SAFETY: as asked for.
    unsafe { __fbufsize(stream) }
}
