//! The steps that bring the client's page cache into the state that a phase wants.
//!
//! Each reports what it did, not what came of it: cachestat shows whether the cache is cold or warm. No cache
//! beyond this machine is touched.

use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::observe::cache::{Looked, Residency, quietly, residency};
use crate::places::progress::{Progress, Report, WorkGroup, threads_of};
use crate::sys::posix;
use crate::units::bytes_text;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Files up to this number are flushed one by one; more of them by one `syncfs`, because ext4 and XFS flush the device's
/// cache at every fsync, even of a clean file (a million empty files: 92 s).
const MOST_FSYNCS: u64 = 64;

/// Files of a set whose pages are looked at; more would take longer than it is worth.
const RESIDENCY_FILES: u64 = 64;

/// Bytes that are written back between two looks at the stop.
const FLUSH_BYTES: usize = 16 << 20;

/// Ask the kernel to forget the pages of every existing file: flush, then POSIX_FADV_DONTNEED, as only clean pages can
/// be forgotten. The text says how, and how many files that were.
///
/// # Errors
///
/// `Stopped`, or the system call that failed. A file that is not there (its create failed) is counted, not an error.
pub fn evict(state: &FileSetState, stop: &AtomicBool) -> Result<String> {
    let range = state.existing();
    let has_many = range.end - range.start > MOST_FSYNCS;
    if has_many {
        let failed = |error| EngineError::io("sync", state.folder(), error);
        posix::sync_file_system(state.root().as_fd()).map_err(failed)?;
    }
    let group = WorkGroup::new(stop);
    let forget = |file: &File, _: &mut [u8]| {
        let bytes = bytes_of(state, file)?;
        if !has_many {
            // A flush cannot be broken off: it is left little to do.
            for at in (0..bytes).step_by(FLUSH_BYTES) {
                if group.check().is_err() {
                    return Ok(0);
                }
                posix::write_back_range(file.as_fd(), at, FLUSH_BYTES as u64, true)?;
            }
            file.sync_all()?;
        }
        posix::advise_not_needed(file.as_fd())?;
        Ok(bytes)
    };
    let seen = for_each_file(state, &group, "evict", &forget)?;
    group.check()?;
    Ok(seen.text(if has_many { "syncfs, then POSIX_FADV_DONTNEED on" } else { "fsync and POSIX_FADV_DONTNEED on" }))
}

/// Bytes of a file of a set, however it has grown; of a device those that are the set's.
fn bytes_of(state: &FileSetState, file: &File) -> io::Result<u64> {
    if state.is_device() { Ok(state.size_of(0)) } else { Ok(file.metadata()?.len()) }
}

/// Look at how much of a set is in the page cache, by a sample of its files.
///
/// # Errors
///
/// A file cannot be opened, or the kernel does not report its pages; the text names the file.
pub fn residency_of(state: &FileSetState) -> io::Result<Residency> {
    let existing = state.existing();
    let files = existing.end - existing.start;
    let sampled = files.min(RESIDENCY_FILES);
    let mut looked =
        (0..sampled).filter_map(|i| state.index_at(existing.start + i * files / sampled)).map(|index| Looked {
            path: state.path_of(index),
            device_bytes: state.is_device().then(|| state.size_of(index)),
            file: quietly(|flags| state.open_file(index, flags)),
        });
    residency(&mut looked)
}

/// Read the first `share` of every existing file into the page cache. The text says how much was read.
///
/// # Errors
///
/// A Plan error for a share that is none, `Stopped`, or the system call that failed.
pub fn warm(state: &FileSetState, share: f64, stop: &AtomicBool, report: Report<'_>) -> Result<String> {
    if !(0.0..=1.0).contains(&share) {
        let set = &state.set().name;
        return Err(EngineError::Plan(format!("warm '{set}': share is {share}; it lies between 0 and 1")));
    }
    let part = |size: u64| (size as f64 * share).ceil() as u64;
    let total = match state.fixed_size() {
        Some(size) => part(size).saturating_mul(state.existing().count() as u64),
        None => state.existing_indices().try_fold(0_u64, |sum, index| match stop.load(Ordering::Relaxed) {
            true => Err(EngineError::Stopped),
            false => Ok(sum.saturating_add(part(state.size_of(index)))),
        })?,
    };
    let (group, progress) = (WorkGroup::new(stop), Progress::new(report, total, "bytes"));
    let read = |file: &File, buffer: &mut [u8]| {
        let end = part(bytes_of(state, file)?);
        let mut at = 0;
        if share < 1.0 {
            // Read-ahead would warm more than was asked for.
            posix::advise_random(file.as_fd())?;
        }
        while at < end && group.check().is_ok() {
            let wanted = (end - at).min(buffer.len() as u64) as usize;
            match file.read_at(&mut buffer[..wanted], at) {
                Ok(0) => break,
                Ok(bytes) => {
                    progress.add(bytes as u64);
                    at += bytes as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(at)
    };
    let seen = for_each_file(state, &group, "read", &read)?;
    group.check()?;
    progress.finish();
    Ok(seen.text("read the first part of"))
}

/// Drop page cache, dentries and inodes of this machine; dirty pages are written first, as they cannot be dropped.
///
/// # Errors
///
/// Without root, or where /proc is read-only.
pub fn drop_caches() -> io::Result<()> {
    posix::sync_all();
    std::fs::write("/proc/sys/vm/drop_caches", "3")
}

/// How waiting for write-back ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// Whether the machine is at rest.
    pub reached: bool,
    /// Dirty and under write-back at the end, on the whole machine.
    pub left_bytes: u64,
    /// Time it took.
    pub seconds: f64,
    /// In words.
    pub detail: String,
}

/// Dirty memory that counts as none: any device writes it in a blink, and every machine has some at any time.
const AT_REST_BYTES: u64 = 16 << 20;

/// Wait until next to nothing is dirty or under write-back on this machine, whoever wrote it.
///
/// # Errors
///
/// /proc/vmstat cannot be read.
pub fn settle(at_most_s: f64) -> io::Result<Settled> {
    const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
    let begun = Instant::now();
    let (limit, rest) = (bytes_text(AT_REST_BYTES), AT_REST_BYTES);
    loop {
        let text = std::fs::read_to_string("/proc/vmstat")?;
        let left_bytes = dirty_pages(&text).ok_or(io::ErrorKind::InvalidData)?.saturating_mul(posix::page_bytes());
        let (reached, seconds) = (left_bytes <= rest, begun.elapsed().as_secs_f64());
        if reached || seconds + BETWEEN_LOOKS.as_secs_f64() > at_most_s {
            let left = bytes_text(left_bytes);
            let detail = if reached {
                format!("{left} dirty or under write-back, at most {limit} is rest")
            } else {
                format!("still {left} dirty or under write-back after {seconds:.1} s, rest would be {limit}")
            };
            return Ok(Settled { reached, left_bytes, seconds, detail });
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// nr_dirty + nr_writeback of /proc/vmstat.
fn dirty_pages(vmstat: &str) -> Option<u64> {
    let value = |name: &str| {
        vmstat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    Some(value("nr_dirty")? + value("nr_writeback")?)
}

/// What a walk over the files met.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    files: u64,
    bytes: u64,
    missing: u64,
}

impl Seen {
    fn add(self, other: Self) -> Self {
        Self { files: self.files + other.files, bytes: self.bytes + other.bytes, missing: self.missing + other.missing }
    }

    fn text(self, what: &str) -> String {
        let Self { files, bytes, missing } = self;
        let missing = if missing > 0 { format!("; {missing} files were not there") } else { String::new() };
        format!("{what} {files} files, {}{missing}", bytes_text(bytes))
    }
}

/// Open every existing file for reading and do something that gives a number of bytes, with several threads.
fn for_each_file(
    state: &FileSetState,
    group: &WorkGroup<'_>,
    op: &'static str,
    act: &(dyn Fn(&File, &mut [u8]) -> io::Result<u64> + Sync),
) -> Result<Seen> {
    const BUFFER_BYTES: usize = 1 << 20;
    let range = state.existing();
    let next = AtomicU64::new(range.start);
    let walk = || {
        let (mut path, mut buffer, mut seen) = (PathBuffer::new(), vec![0; BUFFER_BYTES], Seen::default());
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= range.end {
                return Ok(seen);
            }
            group.check()?;
            let Some(index) = state.index_at(place) else { continue };
            state.path_into(index, &mut path);
            let opened = state.root().open(path.at().path, libc::O_RDONLY, 0).map(File::from);
            match opened.and_then(|file| act(&file, &mut buffer)) {
                Ok(bytes) => seen = seen.add(Seen { files: 1, bytes, missing: 0 }),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => seen.missing += 1,
                Err(error) => return Err(EngineError::io(op, path.to_path(), error)),
            }
        }
    };
    let threads = threads_of(state.set().create_workers).min((range.end - range.start) as usize);
    Ok(group.run(threads, walk)?.into_iter().fold(Seen::default(), Seen::add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::root::Root;

    #[test]
    fn a_stop_ends_evicting_and_warming() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let plan = crate::files::fileset::tests::set(1, 1e6, crate::plan::Layout::Flat {});
        let state = FileSetState::new(&plan, &Root::of(folder.path()), 1).unwrap();
        state.begin_with_initial();
        std::fs::write(state.path_of(0), vec![1; 1_000_000]).unwrap();
        let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));

        assert!(evict(&state, &go).unwrap().contains("1 files"));
        assert!(matches!(evict(&state, &stop), Err(EngineError::Stopped)));
        assert!(matches!(warm(&state, 1.0, &stop, &|_, _, _| {}), Err(EngineError::Stopped)));
    }

    #[test]
    fn dirty_pages_are_those_dirty_and_those_under_write_back() {
        let vmstat = "nr_free_pages 9\nnr_dirty 12\nnr_writeback 30\nnr_writeback_temp 500\nnr_dirty_threshold 7\n";

        assert_eq!(dirty_pages(vmstat), Some(42));
        assert_eq!(dirty_pages("nr_dirty 1\n"), None);
    }

    #[test]
    fn settling_gives_up_in_time_or_says_that_all_is_at_rest() {
        let settled = settle(0.0).unwrap();

        assert_eq!(settled.reached, settled.left_bytes <= AT_REST_BYTES);
        assert!(settled.detail.contains("dirty or under write-back"));
    }
}
