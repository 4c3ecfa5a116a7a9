//! Ageing a file set: files come and go until free space and files are as scattered as in use.
//!
//! Each round removes about half of the files, chosen by a hash, and makes them again in another order, several growing
//! side by side as logs and databases do, so that their blocks lie between each other's and in the holes that others
//! left. The result is the mean number of extents a file (FIEMAP), before and after; a file system with
//! ample free space hardly ages, so ageing follows filling.

use crate::draw::mix::mix;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::places::progress::{Progress, Report, WorkGroup, threads_of};
use crate::places::write_files::grow_chosen;
use crate::sys::{extents, posix};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Files whose extents are counted.
const SAMPLE: u64 = 1024;

/// Remove and make files again until `churn` times the set's files were replaced. The text says what came of it.
///
/// # Errors
///
/// `Stopped`, or the system call that failed; the set is incomplete then.
pub fn age(state: &FileSetState, churn: f64, report: Report<'_>, stop: &AtomicBool) -> Result<String> {
    let existing = state.existing();
    let files = existing.end - existing.start;
    if existing.start != 0 || files == 0 {
        let set = &state.set().name;
        return Err(EngineError::Plan(format!(
            "age '{set}': the set must be prepared and whole; age it before its use"
        )));
    }
    let before = mean_extents(state);
    let wanted = (files as f64 * churn) as u64;
    let progress = Progress::new(report, wanted, "files");
    let mut replaced = 0;
    for round in 0.. {
        if replaced >= wanted {
            break;
        }
        let chosen = Chosen::new(files, mix(state.content_seed() ^ round), wanted - replaced);
        one_round(state, &chosen, &progress, stop)?;
        replaced += chosen.count;
    }
    progress.finish();
    let words = |extents: Option<f64>| extents.map_or_else(|| "unknown".to_owned(), |mean| format!("{mean:.2}"));
    Ok(format!(
        "{replaced} files replaced; extents a file: {} before, {} after",
        words(before),
        words(mean_extents(state))
    ))
}

/// The files that one round replaces.
struct Chosen {
    files: u64,
    seed: u64,
    /// Indices from here on are left alone.
    end: u64,
    count: u64,
}

impl Chosen {
    /// About half of `files`, and at most `limit` of them.
    fn new(files: u64, seed: u64, limit: u64) -> Self {
        let mut chosen = Self { files, seed, end: files, count: 0 };
        for index in 0..files {
            if chosen.count == limit {
                chosen.end = index;
                break;
            }
            chosen.count += u64::from(chosen.takes(index));
        }
        chosen
    }

    fn takes(&self, index: u64) -> bool {
        index < self.end && mix(self.seed ^ index) & 1 == 0
    }

    /// A step through all indices that visits each once, in an order unlike theirs.
    fn stride(&self) -> u64 {
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let first = (self.files as f64 * 0.618_034) as u64 | 1;
        (first..).find(|&step| gcd(step, self.files) == 1).expect("some step shares no factor with a number")
    }
}

fn one_round(state: &FileSetState, chosen: &Chosen, progress: &Progress<'_>, stop: &AtomicBool) -> Result<()> {
    let group = WorkGroup::new(stop);
    let threads = threads_of(state.set().create_workers);
    let next = AtomicU64::new(0);
    let unlink = || {
        let mut path = PathBuffer::new();
        loop {
            let index = next.fetch_add(1, Relaxed);
            if index >= chosen.end {
                return Ok(());
            }
            group.check()?;
            if !chosen.takes(index) {
                continue;
            }
            state.path_into(index, &mut path);
            posix::unlink_at(state.root().as_fd(), path.at().path)
                .map_err(|error| EngineError::io("remove", path.to_path(), error))?;
        }
    };
    group.run(threads, unlink)?;
    sync(state)?;
    let stride = chosen.stride();
    let again = |turn: u64| {
        let index = (u128::from(turn) * u128::from(stride) % u128::from(chosen.files)) as u64;
        chosen.takes(index).then_some(index)
    };
    grow_chosen(state, &group, progress, threads, chosen.files, &again)?;
    sync(state)
}

/// Removed space is free, and new files have their blocks, once it is on storage.
fn sync(state: &FileSetState) -> Result<()> {
    let failed = |error| EngineError::io("sync", state.folder(), error);
    posix::sync_file_system(state.root().as_fd()).map_err(failed)
}

/// Mean number of extents of a sample of the set's files; None where the file system does not report it.
fn mean_extents(state: &FileSetState) -> Option<f64> {
    let existing = state.existing();
    let files = existing.end - existing.start;
    let sampled = files.min(SAMPLE);
    let mut extents = 0_u64;
    for turn in 0..sampled {
        let place = existing.start + (u128::from(turn) * u128::from(files) / u128::from(sampled)) as u64;
        let index = state.index_at(place)?;
        let file = state.open_file(index, libc::O_RDONLY).ok()?;
        extents += u64::from(extents::count(file.as_fd())?);
    }
    Some(extents as f64 / sampled as f64)
}
