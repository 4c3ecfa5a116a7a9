//! The table as a file: a header of one line of JSON, then one word a block, mapped into memory.

use crate::observe::facts::boot_id;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Where the words begin; the header is before them.
const HEADER_BYTES: usize = 4096;
const SCHEMA: &str = "assay.generations/1";

/// What a table is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    schema: String,
    content_seed: u64,
    unit_bytes: u64,
    blocks: u64,
    boot: String,
}

impl Header {
    /// Of a table that is written since this boot of the machine.
    pub fn new(content_seed: u64, unit_bytes: u64, blocks: u64) -> Self {
        Self { schema: SCHEMA.to_owned(), content_seed, unit_bytes, blocks, boot: boot_id() }
    }

    /// Header of the table that is there; None: there is none, or it is damaged.
    pub fn read(path: &Path) -> Option<Self> {
        let mut text = vec![0; HEADER_BYTES];
        File::open(path).ok()?.read_exact(&mut text).ok()?;
        let end = text.iter().position(|byte| *byte == b'\n')?;
        let header: Self = serde_json::from_slice(&text[..end]).ok()?;
        let bytes = HEADER_BYTES as u64 + header.blocks.checked_mul(8)?;
        (std::fs::metadata(path).ok()?.len() == bytes).then_some(header)
    }

    /// Put it in front of the table.
    pub fn write(&self, mut file: &File) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        text.resize(HEADER_BYTES, 0);
        io::Seek::rewind(&mut file)?;
        file.write_all(&text)
    }

    /// Whether both are of the same blocks, at whatever boot.
    pub fn fits(&self, other: &Self) -> bool {
        Self { boot: other.boot.clone(), ..self.clone() } == *other
    }

    /// Whether both were written since the same boot.
    pub fn is_same_boot(&self, other: &Self) -> bool {
        self.boot == other.boot
    }
}

/// Make a table of zeros, every block of it written: a store to memory without a block behind it would kill the engine.
pub(super) fn make(path: &Path, header: &Header) -> io::Result<()> {
    let mut file = File::create(path)?;
    io::copy(&mut io::repeat(0).take(HEADER_BYTES as u64 + header.blocks * 8), &mut file).map(drop)
}

/// The words of a table in memory.
#[derive(Debug)]
pub(super) struct Words {
    base: NonNull<u8>,
    count: usize,
}

// SAFETY: the memory is reached only as atomics.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// Map a table's file, which has as many words as its header says.
    pub fn map(file: &File, header: &Header) -> io::Result<Self> {
        let count = header.blocks as usize;
        // SAFETY: a new shared mapping of a file; the result is checked.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                HEADER_BYTES + count * 8,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: NonNull::new(address.cast()).expect("mmap never gives address zero"), count })
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds this many words behind its page-sized header, lives as long as `self`, and is only
        // ever used as atomics.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(HEADER_BYTES).cast(), self.count) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; slices of it borrow `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), HEADER_BYTES + self.count * 8) };
    }
}
