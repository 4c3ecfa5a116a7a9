//! A worker: what it does between the common start and its stop.
//!
//! Its op loop is `one_by_one`, `row` where the same comes again and again, `queue` and `straight` where several operations
//! are in flight, and `script` where a list says what to do. Nothing in them allocates, locks or calls the kernel beyond what
//! the workload asks for and the clock. A read, or a write that keeps its buffer, takes the end of the operation before as
//! its own start when nothing else lies between, so back-to-back ones cost one clock read each; operations that are prepared
//! first (content to write, a name to build) read it twice, so that the preparation is in no latency. The latency of a group
//! is the sum of its members'; those of a script's group that are not recorded alone are timed together.

mod account;
mod actions;
mod data;
mod handles;
mod in_hand;
mod lister;
mod names;
mod one_by_one;
mod pace;
mod pick;
mod queue;
mod row;
mod script;
mod spawn;
mod stamped;
pub mod stats;
mod straight;

use crate::backend::store::Handle;
use crate::backend::{Backend, Report};
use crate::clock;
use crate::clock::{Clock, Ticks};
use crate::content::fill::ContentFill;
use crate::content::verify::BadBlocks;
use crate::draw::offsets::{Offsets, Walker};
use crate::events::StoppedBy;
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::files::open_files::OpenFile;
use crate::pace::coordination::Coordination;
use crate::pace::limits::{JobLimits, LocalLimits};
use crate::pace::pacing::{Pacer, UNSCHEDULED};
use crate::program::backend_rules;
use crate::program::lines::Entry;
use crate::program::op::{Node, Program};
use crate::shared::{SharedBox, SharedSlice};
use crate::spawn::Spawner;
use crate::sys::advice::Advice;
use data::prepare_walks;
use pick::Picker;
use serde::{Deserialize, Serialize};
use stamped::Stamps;
use stats::{NEVER, WorkerStats};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use straight::Straight;

/// What all workers of a job share.
pub struct JobShared {
    /// The job's program.
    pub program: Program,
    /// State of every file set of the Plan.
    pub sets: Vec<Arc<FileSetState>>,
    /// Set when the job is to stop.
    pub stop: SharedBox<AtomicBool>,
    /// Stop rules of job and phase.
    pub limits: JobLimits,
    /// Flags for files that operations open.
    pub open_flags: i32,
    /// Advice for files that operations open.
    pub advice: Option<Advice>,
    /// By operation: how many files `pick next` has handed out.
    pub next_file: SharedSlice<AtomicU64>,
    /// Semaphores and token buckets of the phase.
    pub coordination: Arc<Coordination>,
}

impl JobShared {
    /// The folder that a worker can work in: the one that all names of the job lie in. None where there is more than one, and
    /// for jobs that run programs, which are to find themselves where the engine is.
    pub fn working_directory(&self) -> Option<&Path> {
        let mut folders = self.program.sets.iter().map(|&set| self.sets[set].folder());
        let first = folders.next()?;
        let runs_programs = backend_rules::ops(&self.program.nodes).iter().any(|op| op.command.is_some());
        (folders.all(|folder| folder == first) && !runs_programs).then_some(first)
    }
}

/// What a worker's transfers are made with.
pub struct Transfers {
    /// Maker of content, by file set; None for those that the job does not touch.
    pub fills: Vec<Option<ContentFill>>,
    /// Buffers of the backend.
    pub slots: u32,
}

/// One worker, ready to run.
pub struct Worker<B: Backend, T: Ticks = Clock> {
    backend: B,
    clock: T,
    job: Arc<JobShared>,
    stats: Arc<WorkerStats>,
    rng: fastrand::Rng,
    fills: Vec<Option<ContentFill>>,
    stamps: Option<Stamps>,
    generation: u64,
    /// Which byte the next write that keeps its buffer changes.
    kept_turn: usize,
    opened: Vec<Vec<OpenFile>>,
    slots: Vec<Option<SlotFile>>,
    states: Vec<OpState>,
    path: PathBuffer,
    /// Where operations with two names go.
    other_path: PathBuffer,
    /// Directory entries and extended attributes.
    scratch: Vec<u8>,
    /// Runs programs, if any operation does.
    spawner: Option<Box<Spawner>>,
    /// The line of a script that is being carried out.
    scripted: Option<Entry>,
    /// Handles of the files whose lock it holds.
    locked: BTreeSet<Handle>,
    /// At the start of the buffer: how many bytes may not be those of the pool.
    unpooled_bytes: usize,
    /// By token bucket: what of this worker's work is paid for.
    paid: Vec<f64>,
    /// By group with laps: completions.
    laps: Vec<u64>,
    limits: LocalLimits,
    pacer: Pacer,
    walker: Walker,
    last_ns: u64,
    intended_ns: u64,
    failures_in_a_row: u32,
    errors: HashMap<(usize, i32), u64>,
    fatal: Option<(String, i32)>,
}

/// A file that an operation left in a slot.
#[derive(Debug, Clone, Copy)]
struct SlotFile {
    /// None: only the name is known, or its open failed.
    handle: Handle,
    /// Whether the slot closes it.
    is_owned: bool,
    set: usize,
    index: u64,
    /// Where the next transfer goes.
    at: u64,
}

/// What an operation of a worker remembers from one time to the next.
struct OpState {
    straight: Option<Straight>,
    walks: Vec<Option<Offsets>>,
    file: usize,
    /// Completed, and bytes moved; only where an action of the job counts them.
    ops: u64,
    bytes: u64,
    picker: Picker,
}

/// What a worker leaves behind.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ended {
    /// Why it stopped.
    pub stopped_by: StoppedBy,
    /// Failures by operation name and error number.
    pub errors: Vec<(String, i32, u64)>,
    /// The failure that left nothing to go on with: in words, and its number.
    pub fatal: Option<(String, i32)>,
    /// Operations given up without a result.
    pub abandoned: u64,
    /// What its backend has to say.
    pub report: Report,
    /// Blocks of stamped sets that were not what was written, by operation name.
    pub bad_blocks: Vec<(String, BadBlocks)>,
}

/// Why the loop ends; `Ok` goes on.
type Flow = Result<(), StoppedBy>;

/// Outcome of one operation, for the group around it.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    latency_ns: u64,
    bytes: u64,
    failed: bool,
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
    ) -> crate::error::Result<Self> {
        let mut states: Vec<OpState> = (0..job.program.operations)
            .map(|_| OpState {
                straight: None,
                walks: Vec::new(),
                file: usize::MAX,
                ops: 0,
                bytes: 0,
                picker: Picker::Even,
            })
            .collect();
        prepare_walks(&job.program.nodes, &job, &opened, walker, &mut states)?;
        let slots = vec![None; job.program.slots];
        let mut scratch = vec![0; job.program.scratch_bytes];
        fastrand::Rng::with_seed(walker.seed).fill(&mut scratch);
        Ok(Self {
            backend,
            clock,
            rng: fastrand::Rng::with_seed(walker.seed),
            fills: transfers.fills,
            stamps: Stamps::new(&job, transfers.slots as usize),
            generation: u64::from(walker.worker) << 40,
            kept_turn: 0,
            opened,
            slots,
            states,
            path: PathBuffer::new(),
            other_path: PathBuffer::new(),
            scratch,
            spawner: spawn::spawner_for(&job.program)?,
            scripted: None,
            locked: BTreeSet::new(),
            unpooled_bytes: job.program.buffer_bytes,
            paid: vec![0.0; job.coordination.buckets()],
            laps: vec![0; job.program.laps.len()],
            limits: LocalLimits::default(),
            pacer: Pacer::Free,
            walker,
            last_ns: 0,
            intended_ns: UNSCHEDULED,
            failures_in_a_row: 0,
            errors: HashMap::new(),
            fatal: None,
            job,
            stats,
        })
    }

    /// The thread that this worker runs on works in `folder`, which all its names lie in.
    pub fn set_working_directory(&mut self, folder: &Path) {
        self.path.set_working_directory(folder);
        self.other_path.set_working_directory(folder);
    }

    /// Run from `start_ns` to a stop, at the pace of `pacer`.
    pub fn run(&mut self, start_ns: u64, queue_depth: u32, pacer: Pacer) -> Ended {
        let job = Arc::clone(&self.job);
        self.limits.begin(start_ns, &job.limits);
        self.pacer = pacer;
        self.pacer.begin(start_ns);
        job.coordination.begin(start_ns);
        if !self.pacer.is_free() {
            clock::sleep_exactly();
        }
        self.last_ns = self.clock.now_ns();
        self.stats.busy_since_ns.set(self.last_ns);
        let flow = match &job.program.script {
            Some(script) => self.run_script(&job.program.nodes, script, start_ns),
            None if queue_depth > 1 => match self.only_straight(&job.program.nodes) {
                Some(op) => self.run_straight_queue(op, queue_depth as usize),
                None => self.run_queue(&job.program.nodes, queue_depth as usize),
            },
            None => self.run_loop(&job.program.nodes),
        };
        let stopped_by = flow.expect_err("the loop goes on until something ends it");
        self.stats.busy_since_ns.set(NEVER);
        self.count_unissued(stopped_by);
        self.give_locks_back();
        self.close_slots();
        job.coordination.leave();
        let errors = std::mem::take(&mut self.errors);
        Ended {
            stopped_by,
            errors: errors.into_iter().map(|((state, errno), n)| (self.name_of(state), errno, n)).collect(),
            bad_blocks: self.take_bad_blocks(),
            fatal: self.fatal.take(),
            abandoned: self.stats.started.get() - self.stats.completed.get() - self.stats.failed.get(),
            report: self.report(),
        }
    }

    fn name_of(&self, state: usize) -> String {
        operation_name(&self.job.program.nodes, state).unwrap_or_default()
    }
}

impl<B: Backend, T: Ticks> Drop for Worker<B, T> {
    /// The files stay open until the worker is released: what a file system does at their close is in no phase's time.
    fn drop(&mut self) {
        self.close_slots();
        self.close_opened();
    }
}

/// Name of the operation with a state index.
pub fn operation_name(nodes: &[Node], state: usize) -> Option<String> {
    nodes.iter().find_map(|node| match node {
        Node::Op(op) => (op.state == state).then(|| op.name.clone()),
        Node::Group { nodes, .. } | Node::Repeat { nodes, .. } => operation_name(nodes, state),
        Node::Choice { branches, .. } => branches.iter().find_map(|nodes| operation_name(nodes, state)),
        Node::Action(_) => None,
    })
}

/// One finished call: when it was issued, and bytes moved or a negative errno. Its end is the worker's `last_ns`.
#[derive(Debug, Clone, Copy)]
struct Done {
    issued_ns: u64,
    result: i64,
}

impl Done {
    fn without_bytes(self) -> Self {
        Self { result: self.result.min(0), ..self }
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.latency_ns += other.latency_ns;
        self.bytes += other.bytes;
        self.failed |= other.failed;
    }
}
