//! Was a directory made for many more names than the set has in it?
//!
//! A directory of ext4 never gets smaller, so one that has held many names is listed to its old end, block after block. Its size
//! shows; what the names of the set need is an entry of 8 bytes and the name each, in blocks. Half-empty blocks are as usual,
//! so only many times as much is reported.

use super::{EXT_MAGIC, sample};
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::sys::posix;
use std::os::fd::{AsFd, OwnedFd};

/// Directories that are looked at.
const DIRECTORIES: u64 = 16;
/// So many times what its names need.
const GROWN: u64 = 10;
/// Of an entry, beside its name, which is filled up to a multiple of 4.
const ENTRY_BYTES: u64 = 8;

/// The directory that has grown the most, in words. Where the phase changes names, each of the set may have been there.
pub fn describe(state: &FileSetState, changes_names: bool) -> Option<String> {
    if posix::kind_of_file_system(state.root().as_fd()) != EXT_MAGIC {
        return None;
    }
    let existing = state.existing();
    let most = if changes_names { state.files() } else { existing.end - existing.start };
    let (spread, mut path) = (state.spread(), PathBuffer::new());
    let mut grown: Option<(u64, u64, u64, PathBuffer)> = None;
    for leaf in sample(spread.directories_at(spread.depth()), DIRECTORIES) {
        let files = spread.files_of(leaf);
        let names = (files.end - files.start).min(most);
        state.directory_path_into(spread.depth(), leaf, &mut path);
        let Some((bytes, block_bytes)) = size_of(state, &path) else { continue };
        let times = bytes / needed_bytes(names, name_bytes(state), block_bytes);
        if times > GROWN && grown.as_ref().is_none_or(|(most, ..)| times > *most) {
            grown = Some((times, bytes, names, path.clone()));
        }
    }
    let (times, bytes, names, path) = grown?;
    Some(format!(
        "The directory {} takes {} KiB, {times} times what the {names} names of set '{}' in it need: it held many more, \
         and ext4 never shrinks a directory.",
        path.to_path().display(),
        bytes >> 10,
        state.set().name
    ))
}

/// Bytes of a directory with `names` names, the first block at least.
fn needed_bytes(names: u64, name_bytes: u64, block_bytes: u64) -> u64 {
    (names * (ENTRY_BYTES + name_bytes.next_multiple_of(4))).next_multiple_of(block_bytes).max(block_bytes)
}

fn name_bytes(state: &FileSetState) -> u64 {
    state.path_of(0).file_name().map_or(0, |name| name.len() as u64)
}

/// Bytes of a directory, and of a block of its file system.
fn size_of(state: &FileSetState, path: &PathBuffer) -> Option<(u64, u64)> {
    let opened: OwnedFd = state.root().open(path.at().path, libc::O_PATH | libc::O_DIRECTORY, 0).ok()?;
    let facts = posix::fstat(opened.as_fd()).ok()?;
    Some((facts.st_size as u64, (facts.st_blksize as u64).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_needs_a_block_for_as_many_entries_as_fit_and_one_if_it_holds_none() {
        for (names, name_bytes, needed) in [(0, 9, 4096), (1, 9, 4096), (204, 9, 4096), (205, 9, 8192), (409, 2, 8192)]
        {
            assert_eq!(needed_bytes(names, name_bytes, 4096), needed, "{names} names of {name_bytes} bytes");
        }
    }
}
