//! One worker's life: bound to its CPUs, its files opened, its backend made, started, run, and kept until it is released.

use super::gates::Gates;
use crate::backend;
use crate::backend::aio::Aio;
use crate::backend::mmap::Mmap;
use crate::backend::nothing::Nothing;
#[cfg(test)]
use crate::backend::null::{Null, NullModel};
use crate::backend::psync::Psync;
use crate::backend::punts::has_no_io_wq;
use crate::backend::read_write::ReadWrite;
use crate::backend::stdio::Stdio;
use crate::backend::uri::Scheme;
use crate::backend::uring::{Uring, UringOptions};
use crate::buffer::BufferSize;
use crate::clock::{Clock, Ticks};
use crate::content::fill::ContentFill;
use crate::control::Message;
use crate::draw::offsets::Walker;
use crate::error::{EngineError, Result};
use crate::files::open_files::{ResolvedFlags, open_set};
use crate::job::{Ended, JobShared, Transfers};
use crate::pace::pacing::Pacer;
use crate::plan::{Affinity, Backend, Content};
use crate::process::Reporter;
use crate::program::op::OpenedSet;
use crate::stats::WorkerStats;
use crate::sys::{affinity, process, time};
use crate::worker::Worker;
use std::any::Any;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Everything that a worker takes along.
pub(super) struct Setup {
    /// Position in the phase's list of workers.
    pub position: usize,
    /// Number in the job.
    pub worker: u32,
    /// Number among the workers of the job in all engines of the run, and how many those are.
    pub of_all: (u32, u32),
    /// Seed of this worker alone.
    pub seed: u64,
    /// The run's clock.
    pub clock: Clock,
    /// What data operations go through.
    pub backend: Backend,
    /// Operations kept in flight.
    pub queue_depth: u32,
    /// How files are opened.
    pub flags: ResolvedFlags,
    /// Content of every file set of the Plan.
    pub contents: Arc<[Content]>,
    /// What it shares with the other workers of the job.
    pub shared: Arc<JobShared>,
    /// Where it counts.
    pub stats: Arc<WorkerStats>,
    /// When it may go on.
    pub pacer: Pacer,
    /// Between the common start and its own.
    pub delay_ns: u64,
    /// Whether its buffers lie in huge pages.
    pub huge_pages: bool,
    /// CPUs and memory that it may use.
    pub affinity: Affinity,
    /// Where it waits.
    pub gates: Gates,
    /// Whether it is the phase's only worker.
    pub is_alone: bool,
}

/// How a worker goes through its operations: from a start, after a delay, at a depth, at a pace.
type Run<B> = fn(&mut Worker<B>, u64, u64, u32, Pacer) -> Ended;

/// One at a time; a job that wants more of such a backend is refused when it is compiled.
fn alone<B: backend::Backend>(
    worker: &mut Worker<B>,
    start_ns: u64,
    delay_ns: u64,
    _depth: u32,
    pacer: Pacer,
) -> Ended {
    worker.run(start_ns, delay_ns, pacer)
}

impl Setup {
    /// Be that worker, on the thread or in the process that calls.
    pub fn live(self, reporter: Reporter) {
        match self.shared.program.store {
            Scheme::File | Scheme::Block => self.live_on_kernel(reporter),
            #[cfg(test)]
            Scheme::Null => {
                let (clock, depth, size) = (self.clock, self.queue_depth, self.buffer_size());
                let null = || Null::new(clock, NullModel::default(), depth, size);
                self.serve(reporter, null, Worker::run_queue);
            }
        }
    }

    fn live_on_kernel(self, reporter: Reporter) {
        let (size, most_pieces) = (self.buffer_size(), self.shared.program.most_vectors);
        let (depth, advice) = (self.queue_depth, self.flags.advice);
        match self.backend {
            Backend::Psync {} => self.serve(reporter, || Psync::new(size, most_pieces), alone),
            Backend::ReadWrite {} => self.serve(reporter, || ReadWrite::new(size), alone),
            Backend::IoUring { sqpoll, sqpoll_cpu, iopoll, .. } => {
                let options = UringOptions { depth, buffer_size: size, most_pieces, sqpoll, sqpoll_cpu, iopoll };
                self.serve(reporter, || Uring::new(options), Worker::run_queue);
            }
            Backend::Aio {} => self.serve(reporter, || Aio::new(depth, size, most_pieces), Worker::run_queue),
            Backend::Null {} => self.serve(reporter, || Nothing::new(depth, size), Worker::run_queue),
            Backend::Mmap {} => self.serve(reporter, || Mmap::new(size, advice), alone),
            Backend::Stdio { per_character } => {
                self.serve(reporter, || Stdio::new(size, per_character), alone);
            }
        }
    }

    fn buffer_size(&self) -> BufferSize {
        BufferSize::new(self.shared.program.buffer_bytes, self.huge_pages)
    }

    /// A worker that panics is a fault of the engine: it is reported as one that is lost, so that nobody waits for its end.
    fn serve<B: backend::Backend>(
        self,
        mut reporter: Reporter,
        make_backend: impl FnOnce() -> io::Result<B>,
        run: Run<B>,
    ) {
        let (position, gates) = (self.position, self.gates.clone());
        match catch_unwind(AssertUnwindSafe(|| self.work(&mut reporter, make_backend, run))) {
            Ok(None) => {}
            Ok(Some(worker)) => {
                gates.wait_for_release();
                drop(worker);
            }
            Err(panic) => {
                reporter.send(Message::Lost { worker: position, how: how_it_panicked(&reporter, &*panic) });
                gates.wait_for_release();
            }
        }
    }

    /// From getting ready to the end; the worker that still holds its files, if it came so far.
    fn work<B: backend::Backend>(
        self,
        reporter: &mut Reporter,
        make_backend: impl FnOnce() -> io::Result<B>,
        run: Run<B>,
    ) -> Option<Worker<B>> {
        let mut worker = match self.get_ready(make_backend) {
            Ok(worker) => worker,
            Err(error) => {
                reporter.send(Message::Failed(error));
                return None;
            }
        };
        reporter.send(Message::Ready { worker: self.position, tid: process::thread_id() });
        let start_ns = self.gates.wait_for_start()?;
        // Several are to leave together, here or on other machines. One alone need not spin for that: it leaves when its
        // timer wakes it.
        if self.is_alone && !self.gates.is_agreed() {
            time::sleep_exactly();
            while self.clock.now_ns() < start_ns {
                self.clock.nap_until(start_ns);
            }
        } else {
            self.clock.sleep_until(start_ns);
        }
        #[cfg(test)]
        super::tests::panic_if_asked(&self.shared, self.worker);
        let mut ended = run(&mut worker, start_ns, self.delay_ns, self.queue_depth, self.pacer);
        if ended.report.punted.is_none() && matches!(reporter, Reporter::Process(_)) && has_no_io_wq() {
            ended.report.punted = Some(0);
        }
        reporter.send(Message::Done { worker: self.position, ended });
        Some(worker)
    }

    fn get_ready<B: backend::Backend>(&self, make_backend: impl FnOnce() -> io::Result<B>) -> Result<Worker<B>> {
        affinity::bind(&self.affinity, self.worker).map_err(|error| {
            EngineError::Environment(format!(
                "worker {} could not be bound to its CPUs or memory: {error}",
                self.worker
            ))
        })?;
        let program = &self.shared.program;
        let refused = |error: io::Error| {
            EngineError::Environment(format!("the backend {} could not be set up: {error}", B::NAME))
        };
        let mut backend = make_backend().map_err(refused)?;
        let open = |&opened: &OpenedSet| {
            if self.shared.stop_flags.stop.load(Relaxed) {
                return Err(EngineError::Stopped);
            }
            open_set(&mut backend, opened, &self.shared.sets[opened.set], self.flags, self.of_all.0)
        };
        let opened = program.opened.iter().map(open).collect::<Result<Vec<_>>>()?;
        let files: Vec<_> = opened.iter().flatten().map(|file| file.handle).collect();
        backend.hold(&files).map_err(refused)?;
        let walker = Walker { worker: self.of_all.0, workers: self.of_all.1, seed: self.seed, file_seed: 0 };
        let fills = (0..self.contents.len()).map(|set| self.fill_of(set)).collect::<Result<_>>()?;
        let transfers = Transfers { fills, slots: self.queue_depth };
        let (shared, stats) = (Arc::clone(&self.shared), Arc::clone(&self.stats));
        let set = self.shared.working_set();
        let set = set.filter(|set| set.open_folder().is_ok_and(|folder| backend.work_in(folder.as_fd())));
        let mut worker = Worker::new(backend, self.clock, shared, stats, opened, transfers, walker)?;
        if let Some(set) = set {
            worker.set_working_directory(set.folder());
        }
        Ok(worker)
    }

    /// Content of a set, if the job touches it. Stamps name the set; other content is this worker's alone.
    fn fill_of(&self, set: usize) -> Result<Option<ContentFill>> {
        if !self.shared.program.sets.contains(&set) {
            return Ok(None);
        }
        let content = &self.contents[set];
        let seed = if content.stamped { self.shared.sets[set].content_seed() } else { self.seed };
        ContentFill::new(seed, content, set as u64).map(Some)
    }
}

fn how_it_panicked(reporter: &Reporter, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    format!("{} panicked: {text}. This is a fault of the engine; please report it", reporter.speaker())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Trial;
    use std::sync::mpsc;

    #[test]
    fn a_worker_lives_on_the_store_that_its_files_lie_in() {
        let trial = Trial::making(500);
        let (shared, gates) = (trial.shared(), Gates::closed().unwrap());
        let stats = Arc::new(WorkerStats::new(&shared.program, 1).unwrap());
        let content = Content { compress_ratio: 1.0, dedupe_ratio: 1.0, stamped: false, zeros: false };
        let setup = Setup {
            position: 7,
            worker: 0,
            of_all: (0, 1),
            seed: 4,
            clock: Clock::start(),
            backend: trial.job.backend.clone(),
            queue_depth: 1,
            flags: ResolvedFlags { flags: 0, direct: false, alignment_bytes: 1, advice: None },
            contents: Arc::new([content]),
            pacer: Pacer::new(&trial.job, 0, 1, 4, &shared.coordination),
            delay_ns: 0,
            huge_pages: false,
            affinity: Affinity::default(),
            gates: gates.clone(),
            is_alone: true,
            stats: Arc::clone(&stats),
            shared,
        };
        let (sender, messages) = mpsc::channel();
        gates.start(0);
        gates.send_home();

        setup.live(Reporter::Thread(sender));

        let reported: Vec<Message> = messages.iter().collect();
        let [Message::Ready { worker: 7, .. }, Message::Done { worker: 7, ended }] = &reported[..] else {
            panic!("{} messages", reported.len());
        };
        // A kernel has no folder for them, and would have failed each.
        assert_eq!((stats.completed.get(), stats.failed.get()), (500, 0));
        assert_eq!(ended.fatal, None);
    }
}
