//! A worker's own working directory: the folder that all its names lie in.
//!
//! A name that is given from there spares the kernel the walk to the folder, which every call on a name would pay for, and
//! which on a network file system may ask the server. Programs of this kind work in their directory too.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Let the calling thread, and it alone, work in `folder`. Whether it does; where the kernel or a sandbox does not allow a
/// thread its own, it stays where all are.
pub fn begin(folder: BorrowedFd<'_>) -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::unshare(libc::CLONE_FS) == 0 && libc::fchdir(folder.as_raw_fd()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_thread_with_its_own_directory_leaves_the_others_where_they_are() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("here"), "it").unwrap();
        let folder = std::fs::File::open(place.path()).unwrap();
        let before = std::env::current_dir().unwrap();

        let seen = std::thread::spawn(move || begin(folder.as_fd()).then(|| std::fs::read("here").unwrap()));
        let Some(found) = seen.join().unwrap() else {
            return eprintln!("skipped: no thread may have a working directory of its own here");
        };

        assert_eq!(found, b"it");
        assert_eq!(std::env::current_dir().unwrap(), before);
        assert!(!std::path::Path::new("here").exists());
    }

    #[test]
    fn what_is_no_folder_leaves_the_thread_where_it_is() {
        let before = std::env::current_dir().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();

        let seen = std::thread::spawn(move || (begin(file.as_fd()), std::env::current_dir().unwrap()));

        assert_eq!(seen.join().unwrap(), (false, before));
    }
}
