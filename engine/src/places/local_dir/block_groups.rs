//! Where does ext4 put the inodes of a new set?
//!
//! An ext4 without a journal does not give an inode out that was freed in the last minutes, but looks at each of them again at
//! every create (`recently_deleted` in fs/ext4/ialloc.c). A set that lies where the one before it lay is so made five to thirty
//! times more slowly than on storage at rest (docs/decisions/0016-freed-inodes.md). What decides is the folder of the set:
//! what is made in it lies near it, and it lies near `assay-data`.
//!
//! A directory that is made in a "top of a hierarchy" (`chattr +T`) goes to a block group of its own, one of those with the
//! fewest directories; which one, a hash of the name says that it is made by. So `assay-data` gets the flag, and the folder of a
//! set is made by a name of chance and renamed. Both are wishes: what cannot be done is no error, and other file systems are
//! left alone.

use crate::sys::posix;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::BorrowedFd;

/// What ext2, ext3 and ext4 call themselves.
const EXT_MAGIC: i64 = 0xEF53;
/// EXT4_TOPDIR_FL.
const TOP_OF_HIERARCHY: u32 = 0x0002_0000;
/// What a folder is called for as long as two system calls take.
const NEW_PREFIX: &str = ".assay-new-";

/// Have the sets of a data folder spread over the block groups, and remove what a run that died while it made one left.
pub fn spread(data_folder: BorrowedFd<'_>) {
    if posix::kind_of_file_system(data_folder) != EXT_MAGIC {
        return;
    }
    if let Ok(flags) = posix::inode_flags(data_folder)
        && flags & TOP_OF_HIERARCHY == 0
    {
        let _ = posix::set_inode_flags(data_folder, flags | TOP_OF_HIERARCHY);
    }
    let _ = sweep(data_folder);
}

fn sweep(data_folder: BorrowedFd<'_>) -> io::Result<()> {
    let opened = posix::open_at(data_folder, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    let (mut listing, mut name) = (posix::Directory::new(opened)?, CString::default());
    while listing.next_entry(&mut name)?.is_some() {
        if name.to_bytes().starts_with(NEW_PREFIX.as_bytes()) {
            // The kernel refuses one that holds anything.
            let _ = posix::remove_directory_at(data_folder, &name);
        }
    }
    Ok(())
}

/// Make the folder of a set.
///
/// # Errors
///
/// EEXIST where there is something of that name, and whatever else the kernel says.
pub fn make_directory(data_folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    if posix::kind_of_file_system(data_folder) == EXT_MAGIC {
        let new = CString::new(format!("{NEW_PREFIX}{:016x}", fastrand::u64(..))).expect("no NUL in it");
        if posix::make_directory_at(data_folder, &new).is_ok() {
            if posix::rename_to_new_at(data_folder, &new, name).is_ok() {
                return Ok(());
            }
            let _ = posix::remove_directory_at(data_folder, &new);
        }
    }
    posix::make_directory_at(data_folder, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::fd::AsFd;

    #[test]
    fn a_folder_is_made_once_and_takes_the_place_of_none() {
        let place = tempfile::tempdir().unwrap();
        let folder = File::open(place.path()).unwrap();

        make_directory(folder.as_fd(), c"data").unwrap();
        fs::create_dir(place.path().join("theirs")).unwrap();

        for name in [c"data", c"theirs"] {
            let again = make_directory(folder.as_fd(), name).unwrap_err();
            assert_eq!(again.raw_os_error(), Some(libc::EEXIST), "{name:?}");
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_a_run_left_that_died_in_between_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        for name in [".assay-new-1", ".assay-new-2/full", "data", ".assay"] {
            fs::create_dir_all(place.path().join(name)).unwrap();
        }

        sweep(File::open(place.path()).unwrap().as_fd()).unwrap();

        let mut left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".assay", ".assay-new-2", "data"]);
    }
}
