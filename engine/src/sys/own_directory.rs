//! A worker's own working directory: the folder that all its names lie in.
//!
//! A name that is given from there spares the kernel the walk to the folder, which every call on a name would pay for, and
//! which on a network file system may ask the server. Programs of this kind work in their directory too.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Let the calling thread, and it alone, work in `folder`. Whether it does; where the kernel or a sandbox does not allow a
/// thread its own, it stays where all are.
pub fn begin(folder: &Path) -> bool {
    let Ok(folder) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: no memory is passed but a string that lives through the call.
    unsafe { libc::unshare(libc::CLONE_FS) == 0 && libc::chdir(folder.as_ptr()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_its_own_directory_leaves_the_others_where_they_are() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("here"), "it").unwrap();
        let folder = place.path().to_owned();
        let before = std::env::current_dir().unwrap();

        let seen = std::thread::spawn(move || begin(&folder).then(|| std::fs::read("here").unwrap()));
        let Some(found) = seen.join().unwrap() else {
            return eprintln!("skipped: no thread may have a working directory of its own here");
        };

        assert_eq!(found, b"it");
        assert_eq!(std::env::current_dir().unwrap(), before);
        assert!(!std::path::Path::new("here").exists());
    }

    #[test]
    fn a_folder_that_is_not_there_leaves_the_thread_where_it_is() {
        let before = std::env::current_dir().unwrap();

        let seen = std::thread::spawn(|| (begin(Path::new("/no/such/folder")), std::env::current_dir().unwrap()));

        assert_eq!(seen.join().unwrap(), (false, before));
    }
}
