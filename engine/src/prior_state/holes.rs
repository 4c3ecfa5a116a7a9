//! Do files that are read have holes?
//!
//! A hole was never written, or its blocks were given back: the file system answers a read of one with zeros, and the device
//! has nothing to do. A file with holes has fewer blocks than its size, and says where the first one is (SEEK_HOLE). Both are asked,
//! as blocks alone are also missing where a file system compresses, or keeps a short file beside its inode; and only on
//! file systems whose blocks are those of a device.

use super::{EXT_MAGIC, sample};
use crate::files::fileset::FileSetState;
use crate::observe::cache;
use crate::sys::posix;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

const XFS_MAGIC: i64 = 0x5846_5342;
const BTRFS_MAGIC: i64 = 0x9123_683e;
/// Files that are looked at.
const FILES: u64 = 64;
/// Share of the bytes from which on holes are worth a word.
const SHARE: f64 = 0.05;
/// What `st_blocks` counts in.
const BLOCK_BYTES: u64 = 512;

/// Bytes of some files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    files: u64,
    bytes: u64,
    hole_bytes: u64,
}

impl Found {
    fn look_at(&mut self, file: &File) -> io::Result<()> {
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Ok(());
        }
        self.files += 1;
        self.bytes += facts.len();
        let missing = facts.len().saturating_sub(facts.blocks() * BLOCK_BYTES);
        if missing > 0 && posix::first_hole(file.as_fd())? < facts.len() {
            self.hole_bytes += missing;
        }
        Ok(())
    }

    fn share(&self) -> f64 {
        if self.bytes == 0 { 0.0 } else { self.hole_bytes as f64 / self.bytes as f64 }
    }
}

/// How much of a set is holes, in words, where it is worth any.
pub fn describe(state: &FileSetState) -> Option<String> {
    let kind = posix::kind_of_file_system(state.root().as_fd());
    if !matches!(kind, EXT_MAGIC | XFS_MAGIC | BTRFS_MAGIC) {
        return None;
    }
    let existing = state.existing();
    let files = existing.end - existing.start;
    let mut found = Found::default();
    for index in sample(files, FILES).filter_map(|place| state.index_at(existing.start + place)) {
        // One that is not there, or not ours to open, shows nothing.
        let _ = cache::quietly(|flags| state.open_file(index, flags)).and_then(|file| found.look_at(&file));
    }
    let share = found.share();
    (share >= SHARE).then(|| {
        format!(
            "{:.0} % of the bytes of set '{}' are holes (by {} of its {files} files): the file system answers these reads \
             itself.",
            100.0 * share,
            state.set().name,
            found.files
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    /// A file with its first part written.
    fn file(bytes: u64, written_bytes: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        file.write_all_at(&vec![7; written_bytes as usize], 0).unwrap();
        file.sync_all().unwrap();
        file
    }

    #[test]
    fn what_was_never_written_is_counted_and_nothing_else() {
        let mut found = Found::default();
        for (bytes, written) in [(MIB, 0), (2 * MIB, 2 * MIB), (MIB, MIB / 2), (10, 10), (0, 0)] {
            found.look_at(&file(bytes, written)).unwrap();
        }
        let whole = tempfile::tempdir().unwrap();
        found.look_at(&File::open(whole.path()).unwrap()).unwrap();

        assert_eq!(found, Found { files: 5, bytes: 4 * MIB + 10, hole_bytes: MIB + MIB / 2 });
    }

    #[test]
    fn no_bytes_are_no_holes() {
        assert_eq!(Found::default().share(), 0.0);
    }
}
