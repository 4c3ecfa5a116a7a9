//! Opening what lies below an open directory, and nothing else: no symbolic link is followed, nothing above is reached.
//!
//! The kernel holds to that itself (openat2(2), Linux 5.6), in one call. Where it cannot, or a sandbox does not let it, the way
//! is gone step by step, each from the directory before.

use super::syscall;
use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Neither links nor `..` may lead out, and no link is followed at all.
const BENEATH: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS;

/// Open a file below `folder`, which may be AT_FDCWD: a descriptor or a negative errno. ELOOP, or step by step ENOTDIR: there
/// is a link on the way; EXDEV: it leads out. `mode` is of a file that is made.
#[inline]
pub fn open(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t) -> i64 {
    open_by(folder, path, flags, mode, BENEATH)
}

/// Open a file below `folder` and on the same mount. Before Linux 5.6 mounts are not seen: compare device numbers as well.
pub fn open_on_mount(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t) -> i64 {
    open_by(folder, path, flags, mode, BENEATH | libc::RESOLVE_NO_XDEV)
}

/// Whether the kernel has no such call, or a sandbox lets nobody make it: then no open pays for asking again.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// A file system that waits for a server or a daemon may be interrupted: the call is made again then.
#[inline]
fn open_by(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t, resolve: u64) -> i64 {
    loop {
        let opened = open_once(folder, path, flags, mode, resolve);
        if opened != -i64::from(libc::EINTR) {
            return opened;
        }
    }
}

#[inline]
fn open_once(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t, resolve: u64) -> i64 {
    // The kernel takes no mode where nothing is made.
    let mode = if flags & libc::O_CREAT == 0 { 0 } else { mode };
    if IS_REFUSED.load(Relaxed) {
        return step_by_step(folder, path, flags, mode);
    }
    match syscall::openat2(folder, path, flags as u64, u64::from(mode), resolve) {
        refused if refused == -i64::from(libc::ENOSYS) || refused == -i64::from(libc::EPERM) => {
            // EPERM may also be the file's own answer; it comes again then.
            let opened = step_by_step(folder, path, flags, mode);
            IS_REFUSED.store(refused == -i64::from(libc::ENOSYS) || opened >= 0, Relaxed);
            opened
        }
        opened => opened,
    }
}

/// [`open`] without the kernel's help.
fn step_by_step(folder: RawFd, path: &CStr, flags: i32, mode: libc::mode_t) -> i64 {
    let (mut here, mut rest) = (folder, path);
    let mut name = MaybeUninit::<[u8; LONGEST_NAME_BYTES + 1]>::uninit();
    let opened = loop {
        // SAFETY: a string that ends in NUL, as far as that.
        let slash = unsafe { libc::strchr(rest.as_ptr(), c_int::from(b'/')) };
        if slash.is_null() {
            break if rest == c".." { -EXDEV } else { syscall::openat(here, rest, flags | libc::O_NOFOLLOW, mode) };
        }
        let end = slash as usize - rest.as_ptr() as usize;
        match &rest.to_bytes()[..end] {
            b"" | b".." => break -EXDEV,
            step if step.len() > LONGEST_NAME_BYTES => break -i64::from(libc::ENAMETOOLONG),
            _ => {}
        }
        let start = name.as_mut_ptr().cast::<u8>();
        // SAFETY: the name and its end have room, and the name has no NUL in it.
        let step = unsafe {
            std::ptr::copy_nonoverlapping(rest.as_ptr().cast(), start, end);
            start.add(end).write(0);
            CStr::from_ptr(start.cast())
        };
        let on_the_way = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let opened = syscall::openat(here, step, on_the_way, 0);
        if opened < 0 {
            break opened;
        }
        leave(here, folder);
        (here, rest) = (opened as RawFd, &rest[end + 1..]);
    };
    leave(here, folder);
    opened
}

const LONGEST_NAME_BYTES: usize = 255;
const EXDEV: i64 = libc::EXDEV as i64;

/// Close a directory on the way.
fn leave(here: RawFd, folder: RawFd) {
    if here != folder {
        syscall::close(here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
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
            // A directory that is a link is none to a single step.
            let expected = if path == c"aside/file" { Err(libc::ENOTDIR) } else { expected };
            assert_eq!(by_steps, expected, "{path:?}");
        }
        assert_eq!(fs::read(at("outside")).unwrap(), b"loved");
    }
}
