//! How many inodes does a block group of this ext4 have?
//!
//! Only the superblock says so, which is root's. But all groups have equally many, so their number divides that of all inodes,
//! which statfs(2) reports; and there are as many groups as the blocks need. Blocks are reported without those that the file system
//! keeps for itself (statfs) and with what it may not use (the size of the device): the number of groups lies between. How
//! many blocks a group has is seen where the second group begins, with a copy of the superblock (ioctl_getfsmap(2), of the
//! blocks that one group can have at most; anybody may ask). `mke2fs -g` makes groups smaller; `-O bigalloc` makes them larger,
//! and the index within a group comes out too small then, never too large.

use crate::sys::{fs_map, posix};
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

/// The smallest inode that ext4 has.
const INODE_BYTES: u64 = 128;
const SECTOR_BYTES: u64 = 512;

/// What can be known about the groups of one file system.
#[derive(Debug, PartialEq, Eq)]
pub struct Groups {
    /// Inodes of a group: what it may be.
    inodes: Vec<u64>,
}

impl Groups {
    /// Of the file system that something open is on; `None` where that cannot be known.
    pub fn of(file: BorrowedFd<'_>) -> Option<Self> {
        let facts = posix::file_system_of(file).ok()?;
        let block_bytes = facts.f_frsize;
        let device_blocks = device_bytes(file).ok()? / block_bytes;
        let group_blocks = group_blocks(file, block_bytes)?;
        Some(Self::between(facts.f_blocks, device_blocks, group_blocks, facts.f_files, block_bytes))
    }

    fn between(blocks: u64, device_blocks: u64, group_blocks: u64, inodes: u64, block_bytes: u64) -> Self {
        let blocks = (blocks + inodes * INODE_BYTES / block_bytes).min(device_blocks);
        let counts = blocks.div_ceil(group_blocks).max(1)..=device_blocks.div_ceil(group_blocks).max(1);
        let fits = |inodes: &u64| inodes % 8 == 0 && *inodes > 0 && *inodes <= 8 * block_bytes;
        let inodes = counts.filter(|count| inodes % count == 0).map(|count| inodes / count).filter(fits).collect();
        Self { inodes }
    }

    /// How many inodes its group has before this one; where that is not sure, the fewest. `None`: nobody knows.
    pub fn index_of(&self, inode: u64) -> Option<u64> {
        self.inodes.iter().map(|inodes| inode.saturating_sub(1) % inodes).min()
    }
}

/// Blocks of a group, by the distance of the first two superblocks; as many as one can have where there is no second.
fn group_blocks(file: BorrowedFd<'_>, block_bytes: u64) -> Option<u64> {
    let most = 8 * block_bytes;
    let places = fs_map::superblocks(file, (most + 1) * block_bytes).ok()??;
    match places[..] {
        [] => None,
        [_] => Some(most),
        [first, second, ..] => Some((second - first) / block_bytes),
    }
}

/// Whether a file system of the ext family goes without a journal, by the kernel's own lists; `None` where they are not there.
pub fn has_journal(file: BorrowedFd<'_>) -> Option<bool> {
    let name = device(file).ok()?.file_name()?.to_str()?.replace('/', "!");
    if !PathBuf::from("/proc/fs/ext4").join(&name).exists() {
        return None;
    }
    let mut journals = fs::read_dir("/proc/fs/jbd2").ok()?;
    // That of an inode is called by it as well, that of a device of its own by the device alone.
    let own = format!("{name}-");
    let is_own = |journal: &str| journal == name || journal.starts_with(&own);
    Some(journals.any(|journal| journal.is_ok_and(|journal| journal.file_name().to_str().is_some_and(is_own))))
}

/// The folder in /sys of the device that something open lies on.
fn device(file: BorrowedFd<'_>) -> io::Result<PathBuf> {
    let device = posix::fstat(file)?.st_dev;
    fs::canonicalize(format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device)))
}

fn device_bytes(file: BorrowedFd<'_>) -> io::Result<u64> {
    let sectors = fs::read_to_string(device(file)?.join("size"))?;
    sectors.trim().parse().map(|sectors: u64| sectors * SECTOR_BYTES).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 4096;

    /// As mke2fs makes them: blocks of the device, those that statfs reports, inodes; and inodes of a group as dumpe2fs reports.
    #[test]
    fn inodes_of_a_group_are_those_that_dumpe2fs_tells() {
        for (device_blocks, blocks, group_blocks, inodes, of_group) in [
            // 128 MiB in one group, -N 32768.
            (32_768, 30_700, 32_768, 32_768, 32_768),
            // 256 MiB, -g 8192.
            (65_536, 60_779, 8192, 65_536, 8192),
            // A 1 TB disk, the last group not full.
            (244_190_646, 240_235_000, 32_768, 7453 * 8192, 8192),
        ] {
            let groups = Groups::between(blocks, device_blocks, group_blocks, inodes, BLOCK);
            assert_eq!(groups.index_of(1), Some(0), "{groups:?}");
            assert_eq!(groups.index_of(of_group), Some(of_group - 1), "{groups:?}");
            assert_eq!(groups.index_of(of_group + 13), Some(12), "{groups:?}");
        }
    }

    #[test]
    fn of_several_answers_the_smallest_counts_and_without_one_nothing_is_said() {
        let groups = Groups { inodes: vec![8192, 4096] };

        assert_eq!(groups.index_of(8000), Some(8000 - 1 - 4096));
        assert_eq!(Groups { inodes: vec![] }.index_of(8000), None);
    }
}
