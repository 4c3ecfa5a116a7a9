//! The parts of a worker: a gate that lets operations begin and counts them, and the tools that they are carried out with.

use super::admission::Admission;
use super::tools::Tools;
use crate::backend::Backend;
use crate::backend::store::Handle;
use crate::clock::{Clock, Ticks};
use crate::draw::offsets::Walker;
use crate::error::Result;
use crate::files::open_files::OpenFile;
use crate::job::{JobShared, Transfers};
use crate::program::lines::Entry;
use crate::stats::WorkerStats;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// One worker, ready to run.
pub struct Worker<B: Backend, T: Ticks = Clock> {
    pub(super) admission: Admission<T>,
    pub(super) tools: Tools<B>,
    pub(super) rng: fastrand::Rng,
    /// The line of a script that is being carried out.
    pub(super) line: Option<Entry>,
    /// Longest piece of its transfers; 0: each goes in one call.
    pub(super) line_chunk_bytes: usize,
    /// Whether members of a script's group may follow one another without a look at the clock: blocks are judged, and advice
    /// is given, between two operations.
    pub(super) joins: bool,
    /// Whether what it writes is in the buffer already.
    pub(super) is_made: bool,
    /// Files whose lock it holds.
    pub(super) locked: BTreeSet<Handle>,
    /// Calls so far that give a file another mode or attribute: each gives another than the one before.
    pub(super) turn: u64,
}

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// A worker with its files open.
    pub fn new(
        backend: B,
        clock: T,
        job: Arc<JobShared>,
        stats: Arc<WorkerStats>,
        opened: Vec<Vec<OpenFile>>,
        transfers: Transfers,
        walker: Walker,
    ) -> Result<Self> {
        let tools = Tools::new(backend, Arc::clone(&job), opened, transfers, walker)?;
        Ok(Self {
            tools,
            rng: fastrand::Rng::with_seed(walker.seed),
            line: None,
            line_chunk_bytes: 0,
            joins: job.advice.is_none() && !job.has_stamps(),
            is_made: false,
            locked: BTreeSet::new(),
            turn: u64::from(walker.worker) << 40,
            admission: Admission::new(clock, stats, job),
        })
    }

    /// The thread that this worker runs on works in `folder`, which all its names lie in.
    pub fn set_working_directory(&mut self, folder: &Path) {
        let files = &mut self.tools.files;
        [&mut files.path, &mut files.other_path].into_iter().for_each(|path| path.set_working_directory(folder));
    }
}
