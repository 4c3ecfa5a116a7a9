//! Opening what lies below an open directory, and nothing else: no symbolic link is followed, nothing above is reached.
//!
//! The kernel holds to that itself (openat2(2), Linux 5.6), in one call. Where it cannot, or a sandbox does not let it, the way
//! is gone step by step, each from the directory before.

use super::syscall;
use std::ffi::{CStr, CString};
use std::os::fd::RawFd;

/// Neither links nor `..` may lead out, and no link is followed at all.
const BENEATH: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS;

/// Open a file below `folder`, which may be AT_FDCWD: a descriptor or a negative errno. ELOOP: there is a link on the way;
/// EXDEV: it leads out. `mode` is of a file that is made.
#[inline]
pub fn open(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t) -> i64 {
    open_by(folder, path, flags, mode, BENEATH)
}

/// Open a file below `folder` and on the same mount. Before Linux 5.6 mounts are not seen: compare device numbers as well.
pub fn open_on_mount(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t) -> i64 {
    open_by(folder, path, flags, mode, BENEATH | libc::RESOLVE_NO_XDEV)
}

#[inline]
fn open_by(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t, resolve: u64) -> i64 {
    // The kernel takes no mode where nothing is made.
    let mode = if flags & libc::O_CREAT == 0 { 0 } else { mode };
    match syscall::openat2(folder, path, flags as u64, u64::from(mode), resolve) {
        refused if refused == -i64::from(libc::ENOSYS) || refused == -i64::from(libc::EPERM) => {
            step_by_step(folder, path, flags, mode)
        }
        opened => opened,
    }
}

/// [`open`] without the kernel's help.
#[cold]
fn step_by_step(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t) -> i64 {
    let mut steps = path.to_bytes().split(|byte| *byte == b'/').peekable();
    let mut here = folder;
    loop {
        let step = steps.next().unwrap_or_default();
        if step == b".." || (step.is_empty() && path.to_bytes().starts_with(b"/")) {
            leave(here, folder);
            return -i64::from(libc::EXDEV);
        }
        let name = CString::new(step).expect("a part of a C string");
        let is_last = steps.peek().is_none();
        let wanted = if is_last { flags } else { libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC };
        let opened = syscall::openat(here, &name, wanted | libc::O_NOFOLLOW, mode);
        leave(here, folder);
        // What O_PATH finds is a link as such, and so no directory.
        let is_link = opened == -i64::from(libc::ENOTDIR) && !is_last;
        if opened < 0 || is_last {
            return if is_link { -i64::from(libc::ELOOP) } else { opened };
        }
        here = opened as RawFd;
    }
}

/// Close a directory on the way.
fn leave(here: RawFd, folder: RawFd) {
    if here != folder {
        syscall::close(here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    fn opened(result: i64) -> Result<(), i32> {
        if result < 0 {
            return Err(-result as i32);
        }
        syscall::close(result as RawFd);
        Ok(())
    }

    #[test]
    fn nothing_is_reached_but_what_lies_below() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("inside/folder")).unwrap();
        fs::write(at("inside/folder/file"), "mine").unwrap();
        fs::write(at("outside"), "loved").unwrap();
        symlink("../outside", at("inside/up")).unwrap();
        symlink("folder", at("inside/aside")).unwrap();
        symlink("file", at("inside/folder/here")).unwrap();
        let folder = File::open(at("inside")).unwrap();
        let absolute = CString::new(at("outside").to_str().unwrap()).unwrap();
        let writes = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;

        for (path, expected) in [
            (c"folder/file", Ok(())),
            (c"folder/new", Ok(())),
            (c"none/file", Err(libc::ENOENT)),
            (c"folder/file/x", Err(libc::ENOTDIR)),
            (c"up", Err(libc::ELOOP)),
            (c"aside/file", Err(libc::ELOOP)),
            (c"folder/here", Err(libc::ELOOP)),
            (c"../outside", Err(libc::EXDEV)),
            (&absolute, Err(libc::EXDEV)),
        ] {
            let by_kernel = opened(open(folder.as_raw_fd(), path, writes, 0o644));
            let by_steps = opened(step_by_step(folder.as_raw_fd(), path, writes, 0o644));
            println!("{path:?}: {by_kernel:?}, step by step {by_steps:?}");
            assert_eq!(by_kernel, expected, "{path:?}");
            // One step tells a link from a file on the way by its own error alone.
            assert_eq!(by_steps.is_ok(), expected.is_ok(), "{path:?}");
        }
        assert_eq!(fs::read(at("outside")).unwrap(), b"loved");
    }
}
