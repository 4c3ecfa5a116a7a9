//! How much of the data is in the page cache?
//!
//! cachestat(2), Linux 6.5 and later, counts the pages of a file without touching them (a GiB in under a millisecond) and
//! knows dirty ones. Elsewhere mincore(2) of a mapping: some 150 times slower, and blind to dirty pages.
//!
//! Both look only at pages below the end of the file, and never count more pages than it has: a large folio may reach
//! past its end. Traps: mincore answers "all resident" to who neither owns nor may write a file (CVE-2019-5489), so it is
//! not asked then; opening takes O_NOATIME where allowed, so that looking changes nothing.

use crate::sys::posix::page_bytes;
use crate::sys::residency;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

/// Pages of some files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residency {
    /// Files looked at; missing ones are not among them.
    pub files_sampled: u64,
    /// Pages that they span.
    pub pages: u64,
    /// Of these, in the page cache.
    pub resident_pages: u64,
    /// Of these, dirty or under write-back; 0 with mincore, which does not show it.
    pub dirty_pages: u64,
    /// `cachestat` or `mincore`.
    pub method: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Cachestat,
    Mincore,
}

/// Pages of one file.
struct Pages {
    resident: u64,
    dirty: u64,
}

/// A file to be looked at.
#[derive(Debug)]
pub struct Looked {
    /// Its name for messages.
    pub path: PathBuf,
    /// How [`quietly`] has opened it.
    pub file: io::Result<File>,
    /// Of a block device: how many of its bytes, from the first on.
    pub device_bytes: Option<u64>,
}

/// Look at some files, which are read by nobody for it. Those that are missing or not regular are passed over.
///
/// # Errors
///
/// A file cannot be opened, or neither way of counting is open to us; the text names the file.
pub fn residency(files: &mut dyn Iterator<Item = Looked>) -> io::Result<Residency> {
    residency_by(Method::Cachestat, files)
}

/// Whether each of the first `bytes` bytes of a file is in the page cache.
///
/// # Errors
///
/// As for [`residency`].
pub fn is_resident(file: &File, bytes: u64) -> io::Result<bool> {
    let mut method = Method::Cachestat;
    Ok(count(file, bytes, &mut method)?.resident == bytes.div_ceil(page_bytes()))
}

/// Open for reading without leaving an access time where that is allowed, and without waiting for a FIFO's writer: `open`
/// takes flags of open(2).
///
/// # Errors
///
/// As open(2).
pub fn quietly(open: impl Fn(i32) -> io::Result<File>) -> io::Result<File> {
    const QUIET: i32 = libc::O_RDONLY | libc::O_NONBLOCK;
    match open(QUIET | libc::O_NOATIME) {
        // O_NOATIME is for owners; looking at another's file is still possible.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => open(QUIET),
        opened => opened,
    }
}

/// Whether the kernel has cachestat and lets us call it: it then complains about the descriptor, not about the call.
pub(super) fn cachestat_answers() -> io::Result<()> {
    match residency::cachestat(-1, 1) {
        Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

fn residency_by(mut method: Method, files: &mut dyn Iterator<Item = Looked>) -> io::Result<Residency> {
    let mut sum = Residency { files_sampled: 0, pages: 0, resident_pages: 0, dirty_pages: 0, method: "" };
    for Looked { path, file: opened, device_bytes } in files {
        let about = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(about)?,
        };
        let facts = file.metadata().map_err(about)?;
        let bytes = match device_bytes {
            Some(bytes) if facts.file_type().is_block_device() => bytes,
            None if facts.is_file() => facts.len(),
            _ => continue,
        };
        let pages = count(&file, bytes, &mut method).map_err(about)?;
        sum.files_sampled += 1;
        sum.pages += bytes.div_ceil(page_bytes());
        sum.resident_pages += pages.resident;
        sum.dirty_pages += pages.dirty;
    }
    sum.method = match method {
        Method::Cachestat => "cachestat",
        Method::Mincore => "mincore",
    };
    if method == Method::Mincore {
        sum.dirty_pages = 0;
    }
    Ok(sum)
}

/// Pages of the first `bytes` of a file by `method`, which becomes mincore for good where cachestat is refused.
fn count(file: &File, bytes: u64, method: &mut Method) -> io::Result<Pages> {
    if bytes == 0 {
        return Ok(Pages { resident: 0, dirty: 0 });
    }
    if *method == Method::Cachestat {
        match cachestat(file, bytes) {
            // Old kernel, sandbox that refuses unknown calls, or a file system that does not show it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EOPNOTSUPP)) => {
                *method = Method::Mincore;
            }
            counted => return counted,
        }
    }
    mincore(file, bytes)
}

/// One cachestat(2) over the first `bytes` bytes, of which there is at least one.
fn cachestat(file: &File, bytes: u64) -> io::Result<Pages> {
    let counts = residency::cachestat(file.as_raw_fd(), bytes)?;
    let resident = counts.cached.min(bytes.div_ceil(page_bytes()));
    // A page that is dirtied again while it is written is counted in both.
    Ok(Pages { resident, dirty: (counts.dirty + counts.writeback).min(resident) })
}

/// mincore(2) over a mapping of the first `bytes` bytes, a window at a time.
fn mincore(file: &File, bytes: u64) -> io::Result<Pages> {
    const WINDOW_BYTES: u64 = 1 << 30;
    if !residency::may_ask_mincore(file.as_fd()) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the kernel shows residency only to a file's owner or who may write it; run as its owner",
        ));
    }
    let mut resident = 0;
    let mut flags = vec![0u8; WINDOW_BYTES.min(bytes).div_ceil(page_bytes()) as usize];
    let mut offset = 0;
    while offset < bytes {
        let length = (bytes - offset).min(WINDOW_BYTES);
        let flags = &mut flags[..length.div_ceil(page_bytes()) as usize];
        residency::mincore(file.as_fd(), offset, length, flags)?;
        resident += flags.iter().filter(|flag| **flag & 1 == 1).count() as u64;
        offset += length;
    }
    Ok(Pages { resident, dirty: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::posix;
    use std::io::Write;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    use std::path::Path;

    const FILE_BYTES: u64 = 16 << 20;
    const TRIES: u32 = 10;

    fn looked(path: PathBuf) -> Looked {
        let file = quietly(|flags| {
            let access = flags & !libc::O_ACCMODE;
            File::options().read(true).custom_flags(access).open(&path)
        });
        Looked { path, file, device_bytes: None }
    }

    fn written_file(folder: &Path) -> (File, PathBuf) {
        let path = folder.join("data");
        let mut file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        file.write_all(&std::iter::repeat_with(|| random.u8(..)).take(FILE_BYTES as usize).collect::<Vec<u8>>())
            .unwrap();
        (file, path)
    }

    fn advise(file: &File, advice: i32) {
        // SAFETY: the descriptor is open.
        assert_eq!(unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) }, 0);
    }

    fn check(method: Method, name: &str) {
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = written_file(folder.path());
        if super::super::is_in_memory(&file) {
            return eprintln!("skipped: the folder for temporary files is a tmpfs");
        }
        let look = || residency_by(method, &mut [looked(path.clone())].into_iter()).unwrap();
        let pages = FILE_BYTES / page_bytes();

        let fresh = look();
        assert_eq!((fresh.files_sampled, fresh.pages, fresh.resident_pages), (1, pages, pages));
        assert_eq!(fresh.method, name);

        file.sync_all().unwrap();
        assert_eq!(look().dirty_pages, 0);

        advise(&file, libc::POSIX_FADV_DONTNEED);
        assert_eq!(look().resident_pages, 0);

        // Without read-ahead just what is read comes in, up to the folio it lies in.
        advise(&file, libc::POSIX_FADV_RANDOM);
        file.read_exact_at(&mut vec![0; FILE_BYTES as usize / 2], 0).unwrap();
        let half = look().resident_pages as f64 / pages as f64;
        assert!((0.5..0.6).contains(&half), "{half}");
        assert!(is_resident(&file, FILE_BYTES / 2).unwrap());
        assert!(!is_resident(&file, FILE_BYTES).unwrap());

        // The kernel may take clean pages back at any time, and does where it gives memory to a host: then once more.
        let all = (0..TRIES).find_map(|_| {
            file.read_exact_at(&mut vec![0; FILE_BYTES as usize], 0).unwrap();
            (look().resident_pages == pages).then(|| is_resident(&file, FILE_BYTES).unwrap())
        });
        assert_eq!(all, Some(true));
    }

    #[test]
    fn cachestat_sees_none_then_half_then_all() {
        if cachestat_answers().is_ok() {
            check(Method::Cachestat, "cachestat");
        } else {
            eprintln!("skipped: no cachestat here");
        }
    }

    #[test]
    fn mincore_sees_none_then_half_then_all() {
        check(Method::Mincore, "mincore");
    }

    #[test]
    fn mincore_is_not_asked_about_a_file_that_is_neither_ours_nor_writable() {
        let root = posix::user() == 0;

        let seen = residency_by(Method::Mincore, &mut [looked(PathBuf::from("/etc/passwd"))].into_iter());

        // Root is capable as an owner; for others the kernel would report "all resident".
        assert_eq!(seen.map_err(|error| error.kind()).err(), (!root).then_some(io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn written_pages_are_dirty_until_they_are_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = written_file(folder.path());
        if super::super::is_in_memory(&file) {
            return eprintln!("skipped: the folder for temporary files is a tmpfs");
        }

        let fresh = residency(&mut [looked(path)].into_iter()).unwrap();

        // Write-back may have begun on its own, but not finished within the moment.
        assert_eq!(fresh.dirty_pages > 0, fresh.method == "cachestat");
    }

    #[test]
    fn pages_are_those_of_the_file_also_where_its_end_is_not_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd");
        std::fs::write(&path, vec![1; 3 * page_bytes() as usize + 1]).unwrap();
        std::fs::write(folder.path().join("empty"), []).unwrap();

        for method in [Method::Cachestat, Method::Mincore] {
            let names = ["odd", "missing", "empty", "."].map(|name| looked(folder.path().join(name)));
            let seen = residency_by(method, &mut names.into_iter()).unwrap();

            assert_eq!((seen.files_sampled, seen.pages, seen.resident_pages), (2, 4, 4), "{method:?}");
        }
    }
}
