//! What a worker is given, and what it leaves behind.

use crate::backend::Report;
use crate::closings::Closings;
use crate::content::fill::ContentFill;
use crate::content::found::Found;
use crate::events::StoppedBy;
use crate::files::fileset::FileSetState;
use crate::pace::coordination::Coordination;
use crate::pace::limits::JobLimits;
use crate::plan::Access;
use crate::program::op::{FileSource, OpenedSet, Program};
use crate::sys::advice::Advice;
use crate::sys::shared::{SharedBox, SharedSlice, shareable};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

shareable! {
    /// Flags that the workers of a job look at while they run.
    #[derive(Debug)]
    pub struct StopFlags {
        /// To stop, in the middle of a long operation too.
        pub stop: AtomicBool,
        /// That their time is up, whatever their rules are: what was begun is done.
        pub time_is_up: AtomicBool,
    }
}

/// What all workers of a job share.
pub struct JobShared {
    /// The job's program.
    pub program: Program,
    /// State of every file set of the Plan.
    pub sets: Vec<Arc<FileSetState>>,
    /// Flags that its workers look at while they run.
    pub stop_flags: SharedBox<StopFlags>,
    /// Stop rules of job and phase.
    pub limits: JobLimits,
    /// Flags for files that operations open.
    pub open_flags: i32,
    /// Advice for files that operations open.
    pub advice: Option<Advice>,
    /// By operation: how many files `pick next` has handed out.
    pub next_file: SharedSlice<AtomicU64>,
    /// By set whose files are opened before the start, and by file: where access `stream` has got to. Empty where nothing
    /// follows one.
    pub streams: Vec<Arc<SharedSlice<AtomicU64>>>,
    /// Operations and bytes by action that counts them for all workers together.
    pub finishing: SharedSlice<AtomicU64>,
    /// Semaphores and token buckets of the phase.
    pub coordination: Arc<Coordination>,
    /// Files that could not be closed without an error.
    pub closings: SharedBox<Closings>,
    /// Bad blocks; None where no set has stamps.
    pub found: Option<Arc<Found>>,
}

impl JobShared {
    /// Have all workers stop, in the middle of a long operation too.
    pub fn stop(&self) {
        self.stop_flags.stop.store(true, Relaxed);
    }

    /// The beginnings of the streams of a program.
    ///
    /// # Errors
    ///
    /// The kernel has no memory for them.
    pub fn streams_of(program: &Program, sets: &[Arc<FileSetState>]) -> io::Result<Vec<Arc<SharedSlice<AtomicU64>>>> {
        let follows = |opened: usize| {
            program.ops().any(|op| {
                matches!(op.access, Access::Stream { .. })
                    && matches!(op.file, FileSource::Opened { opened: of, .. } if of == opened)
            })
        };
        let files = |(position, opened): (usize, &OpenedSet)| {
            if follows(position) { sets[opened.set].set().files as usize } else { 0 }
        };
        program.opened.iter().enumerate().map(files).map(|files| SharedSlice::zeroed(files).map(Arc::new)).collect()
    }

    /// The set whose folder a worker can work in: all names of the job lie in it. None where there is more than one, and for
    /// jobs that run programs, which are to find themselves where the engine is.
    pub fn working_set(&self) -> Option<&FileSetState> {
        let mut sets = self.program.sets.iter().map(|&set| &*self.sets[set]);
        let first = sets.next()?;
        let runs_programs = self.program.ops().any(|op| op.command.is_some());
        (sets.all(|set| set.folder() == first.folder()) && !runs_programs).then_some(first)
    }

    /// The open folders that names of the job begin in.
    pub fn roots(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.program.sets.iter().map(|&set| self.sets[set].root().as_fd())
    }

    /// Whether the job touches a set with stamps.
    pub fn has_stamps(&self) -> bool {
        self.program.sets.iter().any(|&set| self.sets[set].generations().is_some())
    }
}

/// What a worker's transfers are made with.
pub struct Transfers {
    /// Maker of content, by file set; None for those that the job does not touch.
    pub fills: Vec<Option<ContentFill>>,
    /// Buffers of the backend.
    pub slots: u32,
}

/// What a worker leaves behind.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ended {
    /// Why it stopped.
    pub stopped_by: StoppedBy,
    /// The failure that left nothing to go on with: in words, and its number.
    pub fatal: Option<(String, i32)>,
    /// Operations given up without a result.
    pub abandoned: u64,
    /// What its backend and its programs report.
    pub report: Report,
}
