//! A text file of /proc or /sys that is read again and again.
//!
//! Such a file is made anew by the kernel when it is read from offset 0, so that one open file gives every later state.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The file, open.
pub(super) struct ProcFile(File);

impl ProcFile {
    /// None when it is missing or may not be read.
    pub fn open(path: impl AsRef<Path>) -> Option<Self> {
        File::open(path).ok().map(Self)
    }

    /// The whole text as of now, in `buffer`, which grows as needed; None when it cannot be read any more.
    ///
    /// Reads until the end: the kernel hands long tables out in pieces of about a page.
    pub fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> Option<Cow<'a, str>> {
        const ROOM_BYTES: usize = 4096;
        let mut filled = 0;
        loop {
            if buffer.len() < filled + ROOM_BYTES {
                buffer.resize(2 * (filled + ROOM_BYTES), 0);
            }
            match self.0.read_at(&mut buffer[filled..], filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(text(&buffer[..filled]))
    }

    /// The first piece of the text, at most `buffer.len()` bytes: for short files, and for the first line of long ones.
    pub fn read_head<'a>(&self, buffer: &'a mut [u8]) -> Option<Cow<'a, str>> {
        let count = self.0.read_at(buffer, 0).ok()?;
        Some(text(&buffer[..count]))
    }
}

/// Bytes as text, where the whole of it is looked at at once: that is several times as fast as looking for what to replace.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
