//! What workers count, on storage of known behaviour and a clock that moves only when asked to: every number is what it
//! must be, to the nanosecond and the byte.

mod failures;
mod limits;
mod names;
#[path = "../../tests/loads/plans.rs"]
#[expect(dead_code, reason = "shared with the tests of whole runs, which make more of it")]
pub(crate) mod plans;
mod queued;
mod rates;
mod scripts;
mod serial;
mod stops;

use crate::backend::null::{Carried, Null, NullModel};
use crate::backend::uri::Scheme;
use crate::buffer::BufferSize;
use crate::clock::{StillClock, Ticks};
use crate::content::fill::ContentFill;
use crate::draw::offsets::Walker;
use crate::events::Buckets;
use crate::files::fileset::FileSetState;
use crate::files::names::PathBuffer;
use crate::files::open_files::{ResolvedFlags, open_set};
use crate::files::root::Root;
use crate::histogram::{Merged, Reader, Recorder, index_of};
use crate::idle::Seen;
use crate::job::{Ended, JobShared, StopFlags, Transfers};
use crate::laps::{Lap, Laps};
use crate::pace::coordination::{Coordination, Names};
use crate::pace::limits::{JobLimits, Rule};
use crate::pace::pacing::Pacer;
use crate::plan::{Action, Backend, Fallback, FileRef, FileSet, Job, OpKind, Pick, Stop};
use crate::program::compile::compile;
use crate::program::op::Program;
use crate::stats::{SeriesStats, WorkerStats};
use crate::sys::shared::{SharedBox, SharedSlice};
use crate::worker::Worker;
use plans::{act, job, on_set, op_on, set};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

const MS: u64 = 1_000_000;
/// When all of them start.
const START_NS: u64 = 1000 * MS;

/// A job, and the storage that it is to run on.
pub(crate) struct Trial {
    pub(crate) job: Job,
    set: FileSet,
    model: NullModel,
}

/// What came of it.
struct Outcome {
    stats: Arc<WorkerStats>,
    ended: Ended,
    /// Failures by operation and number.
    errors: Vec<(String, i32, u64)>,
    series: Vec<String>,
    /// What the storage knows of it.
    carried_out: Vec<Carried>,
    end_ns: u64,
}

impl Trial {
    /// New files, as many, on storage that takes no time.
    pub(crate) fn making(files: u64) -> Self {
        let create = act(on_set(OpKind::Create, "create", 0.0, None));
        Self { job: job("job", vec![create], ops(files)), set: set(files, 0.0, 0.0), model: NullModel::default() }
    }

    /// On files of a set of which all exist.
    fn new(job: Job, model: NullModel) -> Self {
        Self { job, set: set(4, 1.0, 65_536.0), model }
    }

    /// With `depth` requests in flight.
    fn queued(mut self, depth: u32) -> Self {
        self.job.queue_depth = depth;
        self.job.backend =
            Backend::IoUring { sqpoll: false, sqpoll_cpu: None, iopoll: false, fallback: Fallback::Refuse };
        self
    }

    /// Run its first worker.
    fn run(&self) -> Outcome {
        self.run_on(|_, _| {})
    }

    /// Run its first worker on storage that was prepared in a way of its own.
    fn run_on(&self, prepare: impl Fn(&mut Null<StillClock>, &FileSetState)) -> Outcome {
        self.run_one(&self.shared(), 0, prepare)
    }

    /// Run its first worker, and ask it to stop when this many requests have come.
    fn run_stopped_at(&self, requests: usize) -> Outcome {
        self.run_with_flag_at(requests, |flags| &flags.stop)
    }

    /// Run its first worker, and set a flag for it when this many requests have come.
    fn run_with_flag_at(&self, requests: usize, order: fn(&StopFlags) -> &AtomicBool) -> Outcome {
        let shared = self.shared();
        let job = Arc::clone(&shared);
        self.run_one(&shared, 0, move |storage, _| {
            let job = Arc::clone(&job);
            storage.when(requests, move || order(&job.stop_flags).store(true, Relaxed));
        })
    }

    /// Run its first workers, one after the other, with the limits that they share.
    fn run_all(&self, workers: u32) -> Vec<Outcome> {
        let shared = self.shared();
        (0..workers).map(|worker| self.run_one(&shared, worker, |_, _| {})).collect()
    }

    /// What the workers of its job share.
    pub(crate) fn shared(&self) -> Arc<JobShared> {
        let phase = plans::phase(vec![self.job.clone()], Vec::new());
        let program = compile(&self.job, &phase, std::slice::from_ref(&self.set)).unwrap();
        let program = Program { store: Scheme::Null, ..program };
        let state = FileSetState::new(&self.set, &Root::nowhere("/null"), 4).unwrap();
        state.begin_with_initial();
        let coordination = Coordination::new(&Names::of(&phase).unwrap()).unwrap();
        coordination.join(self.job.workers);
        let rule = |stop| Rule::new(stop).unwrap();
        let sets = vec![Arc::new(state)];
        Arc::new(JobShared {
            streams: JobShared::streams_of(&program, &sets).unwrap(),
            sets,
            stop_flags: SharedBox::zeroed().unwrap(),
            closings: SharedBox::zeroed().unwrap(),
            found: None,
            limits: JobLimits::new(rule(&self.job.stop), rule(&phase.stop)),
            open_flags: libc::O_RDWR,
            advice: None,
            next_file: SharedSlice::zeroed(program.operations).unwrap(),
            finishing: SharedSlice::zeroed(2 * program.finishes).unwrap(),
            coordination: Arc::new(coordination),
            program,
        })
    }

    fn run_one(
        &self,
        shared: &Arc<JobShared>,
        number: u32,
        prepare: impl Fn(&mut Null<StillClock>, &FileSetState),
    ) -> Outcome {
        let program = &shared.program;
        let depth = self.job.queue_depth;
        let clock = StillClock::default();
        let mut storage =
            Null::new(clock.clone(), self.model.clone(), depth, BufferSize::plain(program.buffer_bytes)).unwrap();
        let (state, carried_out) = (&shared.sets[0], storage.record());
        let mut path = PathBuffer::new();
        for index in state.existing_indices() {
            state.path_into(index, &mut path);
            storage.lay_out(path.at(), state.size_of(index));
        }
        prepare(&mut storage, state);
        let flags = ResolvedFlags { flags: 0, direct: false, alignment_bytes: 1, advice: None };
        let opened = program.opened.iter().map(|&opened| open_set(&mut storage, opened, state, flags, number));
        let opened = opened.collect::<Result<_, _>>().unwrap();
        let stats = WorkerStats::new(program, depth);
        let stats = Arc::new(stats.unwrap());
        let fills = vec![Some(ContentFill::new(4, &self.set.content, 0).unwrap())];
        let transfers = Transfers { fills, slots: depth };
        let walker = Walker { worker: number, workers: self.job.workers, seed: 4, file_seed: 0 };
        clock.nap_until(START_NS);
        let (job, counts) = (Arc::clone(shared), Arc::clone(&stats));
        let mut worker = Worker::new(storage, clock.clone(), job, counts, opened, transfers, walker).unwrap();
        let pacer = Pacer::new(&self.job, number, self.job.workers, 4, &shared.coordination);
        let ended = worker.run_queue(START_NS, (self.job.delay_s * 1e9) as u64, depth, pacer);
        let (end_ns, series) = (clock.now_ns(), program.series.clone());
        let named = |(state, errno, count): (usize, i32, u64)| (program.name_of(state).to_owned(), errno, count);
        let errors = stats.failures.counts().map(named).collect();
        Outcome { stats, ended, errors, series, carried_out: carried_out.borrow().clone(), end_ns }
    }
}

impl Outcome {
    fn series(&self, operation: &str) -> &SeriesStats {
        let position = self.series.iter().position(|name| name == operation);
        &self.stats.series[position.unwrap_or_else(|| panic!("{operation} is none of {:?}", self.series))]
    }

    fn latency(&self, operation: &str) -> Buckets {
        read(&self.series(operation).latency)
    }

    fn response(&self, operation: &str) -> Buckets {
        read(&self.series(operation).response)
    }

    /// How long it rested.
    fn idle_ns(&self) -> u64 {
        Seen::default().total_ns(&self.stats.idle, || self.end_ns)
    }

    fn laps(&self) -> Vec<Lap> {
        self.stats.laps.as_ref().map(Laps::take).unwrap_or_default()
    }

    /// Requests that the storage has carried out without error: when they came, when they were done, and bytes.
    fn successes(&self) -> impl Iterator<Item = &Carried> {
        self.carried_out.iter().filter(|carried| carried.result >= 0)
    }

    /// Nothing is lost: what was begun is done, has failed or was given up.
    fn check_conserved(&self) {
        let stats = &self.stats;
        assert_eq!(stats.started.get(), stats.completed.get() + stats.failed.get() + self.ended.abandoned);
    }

    /// What was counted of an operation is what the storage knows: each request of the job is one.
    fn check_against_storage(&self, operation: &str) {
        let (stats, series) = (&self.stats, self.series(operation));
        let failures = self.carried_out.iter().filter(|carried| carried.result < 0);
        let bytes: i64 = self.successes().map(|carried| carried.result).sum();

        self.check_conserved();
        assert_eq!(self.ended.abandoned, 0);
        assert_eq!(stats.completed.get(), self.successes().count() as u64);
        assert_eq!(
            (stats.failed.get(), series.errors.get()),
            (failures.clone().count() as u64, failures.count() as u64)
        );
        assert_eq!((stats.bytes.get(), series.bytes.get()), (bytes as u64, bytes as u64));
        assert_eq!(self.latency(operation), buckets(self.successes().map(|carried| carried.done_ns - carried.came_ns)));
        let short = self.successes().filter(|carried| (carried.result as usize) < carried.asked_bytes);
        assert_eq!(stats.short_transfers.get(), short.count() as u64);
        assert_eq!(stats.submissions.get(), self.carried_out.len() as u64);
        assert_eq!(stats.first_op_ns.get(), self.carried_out.first().unwrap().came_ns);
        assert_eq!(stats.last_op_ns.get(), self.carried_out.iter().map(|carried| carried.done_ns).max().unwrap());
    }

    /// Seconds from the first operation to the end of the last, which throughput is of.
    fn window_s(&self) -> f64 {
        (self.stats.last_op_ns.get() - self.stats.first_op_ns.get()) as f64 / 1e9
    }
}

fn read(recorder: &Recorder) -> Buckets {
    let mut merged = Merged::default();
    Reader::default().read_new(recorder, &mut merged);
    merged.into_buckets()
}

/// What a histogram of these values has to be.
fn buckets(values: impl IntoIterator<Item = u64>) -> Buckets {
    let (mut counts, mut all) = (BTreeMap::new(), Buckets::default());
    for value in values {
        *counts.entry(index_of(value) as u32).or_insert(0) += 1;
        (all.sum_ns, all.max_ns) = (all.sum_ns + value, all.max_ns.max(value));
    }
    (all.index, all.count) = counts.into_iter().unzip();
    all
}

fn ops(ops: u64) -> Stop {
    Stop { ops: Some(ops), ..Stop::default() }
}

fn seconds(seconds: f64) -> Stop {
    Stop { seconds: Some(seconds), ..Stop::default() }
}

/// Reads or writes of each worker's own file, of one size.
fn own(kind: OpKind, name: &str, size_bytes: f64) -> Action {
    act(op_on(kind, name, FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None }, size_bytes))
}

/// Storage on which the requests take these times in turn.
fn taking(request_ns: &[u64]) -> NullModel {
    NullModel { request_ns: request_ns.to_vec(), ..NullModel::default() }
}
