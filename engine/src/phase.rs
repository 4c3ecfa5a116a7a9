//! One phase: workers made ready, started together, watched on the interval grid, and brought to a stop.

use crate::affinity;
use crate::backend::Report;
use crate::backend::aio::Aio;
use crate::backend::mmap::Mmap;
use crate::backend::psync::Psync;
use crate::backend::stdio::Stdio;
use crate::backend::uring::{Uring, UringOptions};
use crate::backend::words::Circumstances;
use crate::clock::Clock;
use crate::control::{Gate, Message};
use crate::corruption;
use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::events::{Control, Corruption, ErrorCount, Event, PhaseFinished, StoppedBy, WorkerWindow};
use crate::facts;
use crate::histogram::Reader;
use crate::load::backend_rules;
use crate::load::content::ContentFill;
use crate::load::coordination::{Coordination, Names};
use crate::load::fileset::FileSetState;
use crate::load::growth::Growth;
use crate::load::limits::{JobLimits, Rule};
use crate::load::offsets::Walker;
use crate::load::op::Program;
use crate::load::open_files::{ResolvedFlags, open_set, resolve_flags};
use crate::load::pacing::Pacer;
use crate::load::script::Script;
use crate::load::verify::BadBlocks;
use crate::observe::HostObserver;
use crate::observe::task::TaskObserver;
use crate::plan::{Access, Affinity, Arrival, Backend, Content, Fallback, Job, Phase, WorkerKind};
use crate::process::{Processes, Reporter};
use crate::sampler::{Observed, ObservedJob, Sampler};
use crate::shared::{SharedBox, SharedSlice};
use crate::stalls::{LOOK_NS, Stalls};
use crate::worker::stats::{NEVER, WorkerStats};
use crate::worker::{Ended, JobShared, Transfers, Worker, operation_name};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Value of the start gate that sends the workers home.
const GO_HOME: u64 = u64::MAX;
/// How long before the start the first sample is taken.
const SAMPLE_LEAD_NS: u64 = 5_000_000;

/// What a phase needs of the run around it.
pub struct Surroundings<'a> {
    /// Way out.
    pub emitter: &'a Emitter,
    /// Messages from outside and from workers.
    pub messages: &'a Receiver<Message>,
    /// For the workers.
    pub sender: &'a Sender<Message>,
    /// State of every file set.
    pub sets: &'a [Arc<FileSetState>],
    /// Content of every file set.
    pub contents: &'a [Content],
    /// The host's counters.
    pub host: &'a mut HostObserver,
    /// Seed of the run.
    pub seed: u64,
    /// Length of an interval.
    pub sample_interval_ns: u64,
    /// Bytes that must stay free on every target.
    pub reserve_bytes: u64,
    /// Whether the kernel offers io_uring, and why not.
    pub io_uring: std::result::Result<(), String>,
    /// Whether block delay is counted.
    pub delay_accounting: bool,
}

/// How a phase ended, for the run.
#[derive(Debug)]
pub enum PhaseEnd {
    /// By its own rules.
    Done,
    /// By a stop from outside.
    Stopped,
    /// By a failure that leaves nothing to go on with.
    Failed(EngineError),
}

/// A job ready to run.
struct ReadyJob<'a> {
    job: &'a Job,
    workers: u32,
    queue_depth: u32,
    backend: Backend,
    shared: Arc<JobShared>,
    flags: ResolvedFlags,
    stonewall: bool,
}

/// Everything that a worker takes along.
struct Setup {
    position: usize,
    worker: u32,
    workers: u32,
    seed: u64,
    clock: Clock,
    backend: Backend,
    queue_depth: u32,
    flags: ResolvedFlags,
    contents: Arc<[Content]>,
    shared: Arc<JobShared>,
    stats: Arc<WorkerStats>,
    pacer: Pacer,
    affinity: Affinity,
    start: Gate,
    release: Gate,
}

/// Run one phase from ready to finished.
pub fn run(around: &mut Surroundings, phase_index: u32, phase: &Phase, programs: Vec<Program>) -> Result<PhaseEnd> {
    let phase_rule = Rule::new(&phase.stop).map_err(EngineError::no_shared_memory)?;
    let coordination = Coordination::new(&Names::of(phase)?).map_err(EngineError::no_shared_memory)?;
    let coordination = Arc::new(coordination);
    let mut jobs = Vec::new();
    for (job, program) in phase.jobs.iter().zip(programs) {
        jobs.push(ready_job(around, phase_index, phase, job, program, &phase_rule, &coordination)?);
    }
    let gate = || Gate::closed().map_err(EngineError::no_shared_memory);
    let (start, release) = (gate()?, gate()?);
    let (observed, threads, processes) = spawn(around, phase, &jobs, &start, &release)?;
    let stalls = Stalls::new(observed.len(), around.sample_interval_ns);
    let growth = growth(around, &jobs);
    let sampler = Sampler {
        phase_index,
        jobs: jobs.iter().map(observed_job).collect(),
        workers: observed,
        children: processes.pids().to_vec(),
        host: around.host,
        last_tick_ns: 0,
    };
    let mut running = Running {
        emitter: around.emitter,
        messages: around.messages,
        delay_accounting: around.delay_accounting,
        phase_index,
        jobs: &jobs,
        sampler,
        stalls,
        phase_stonewall: phase_rule.is_stonewall(),
        growth,
        overgrown: None,
        ended: Vec::new(),
        lost: None,
        stopped_from_outside: false,
    };
    let result = running.walk(around.sample_interval_ns, &start);
    start.open(GO_HOME);
    release.open(0);
    processes.reap();
    for thread in threads {
        if thread.join().is_err() {
            return Err(EngineError::Environment("a worker ended by a fault of the engine; please report it".into()));
        }
    }
    result
}

fn ready_job<'a>(
    around: &Surroundings,
    phase_index: u32,
    phase: &Phase,
    job: &'a Job,
    program: Program,
    phase_rule: &Rule,
    coordination: &Arc<Coordination>,
) -> Result<ReadyJob<'a>> {
    let (backend, workers, queue_depth) = settle_backend(around, phase_index, job)?;
    let flags = resolve_flags(job, &program, around.sets, around.emitter, phase_index)?;
    coordination.join(workers);
    affinity::check(job)?;
    let job_rule = Rule::new(&job.stop).map_err(EngineError::no_shared_memory)?;
    let stonewall = job_rule.is_stonewall();
    let next_file = SharedSlice::zeroed(program.operations).map_err(EngineError::no_shared_memory)?;
    let shared = Arc::new(JobShared {
        sets: around.sets.to_vec(),
        stop: SharedBox::zeroed().map_err(EngineError::no_shared_memory)?,
        limits: JobLimits::new(job_rule, phase_rule.clone()),
        open_flags: flags.flags | libc::O_RDWR,
        advice: flags.advice,
        next_file,
        coordination: Arc::clone(coordination),
        program,
    });
    debug_assert!(phase.jobs.iter().any(|candidate| std::ptr::eq(candidate, job)));
    Ok(ReadyJob { job, workers, queue_depth, backend, shared, flags, stonewall })
}

impl ReadyJob<'_> {
    fn circumstances(&self) -> Circumstances<'_> {
        let ResolvedFlags { direct, alignment_bytes, .. } = self.flags;
        Circumstances { backend: &self.backend, direct, alignment_bytes }
    }
}

/// Looks after the sets that the jobs append to.
fn growth(around: &Surroundings, jobs: &[ReadyJob]) -> Growth {
    let appends = |job: &&ReadyJob| {
        let program = &job.shared.program;
        job.job.open.append || backend_rules::ops(&program.nodes).iter().any(|op| op.access == (Access::Append {}))
    };
    let sets = jobs.iter().filter(appends).flat_map(|job| &job.shared.program.sets);
    Growth::new(sets.map(|&set| around.sets[set].folder().to_owned()).collect(), around.reserve_bytes)
}

/// The backend that will be used, with the workers and the depth that go with it.
fn settle_backend(around: &Surroundings, phase_index: u32, job: &Job) -> Result<(Backend, u32, u32)> {
    let (Backend::IoUring { fallback, .. }, Err(reason)) = (&job.backend, &around.io_uring) else {
        return Ok((job.backend.clone(), job.workers, job.queue_depth));
    };
    if *fallback == Fallback::Refuse {
        return Err(EngineError::Environment(format!(
            "job '{}': {reason}. Choose the backend psync, or set the fallback to 'threads'",
            job.name
        )));
    }
    around.emitter.warn(
        Some(phase_index),
        "io-uring-fallback",
        format!("{reason}; depth {} was kept by as many threads with psync", job.queue_depth),
    );
    Ok((Backend::Psync {}, job.workers * job.queue_depth, 1))
}

fn observed_job(job: &ReadyJob) -> ObservedJob {
    let program = &job.shared.program;
    let operations = (0..program.operations).map(|state| operation_name(&program.nodes, state).unwrap_or_default());
    let has_schedule = program.script.as_ref().is_some_and(Script::has_schedule);
    ObservedJob {
        name: job.job.name.clone(),
        last: vec![(0, 0); program.series.len()],
        series: program.series.clone(),
        operations: operations.collect(),
        is_open_loop: has_schedule || matches!(job.job.arrival, Arrival::Open { .. }),
    }
}

fn spawn(
    around: &Surroundings,
    phase: &Phase,
    jobs: &[ReadyJob],
    start: &Gate,
    release: &Gate,
) -> Result<(Vec<Observed>, Vec<JoinHandle<()>>, Processes)> {
    let (mut observed, mut setups) = (Vec::new(), Vec::new());
    for (job_position, job) in jobs.iter().enumerate() {
        let series = job.shared.program.series.len();
        for worker in 0..job.workers {
            let stats = WorkerStats::new(series, job.queue_depth).map_err(EngineError::no_shared_memory)?;
            let stats = Arc::new(stats);
            let seed = seed_of(around.seed, phase, job.job, worker);
            let setup = Setup {
                position: observed.len(),
                worker,
                workers: job.workers,
                seed,
                clock: around.emitter.clock(),
                backend: job.backend.clone(),
                queue_depth: job.queue_depth,
                flags: job.flags,
                contents: around.contents.into(),
                shared: Arc::clone(&job.shared),
                stats: Arc::clone(&stats),
                pacer: Pacer::new(job.job, worker, job.workers, seed),
                affinity: job.job.affinity.clone(),
                start: start.clone(),
                release: release.clone(),
            };
            let readers = (0..series).map(|_| (Reader::default(), Reader::default())).collect();
            observed.push(Observed { job: job_position, worker, stats, task: None, readers });
            setups.push((job.job.kind, setup));
        }
    }
    bring_to_life(setups, around.sender).map(|(threads, processes)| (observed, threads, processes))
}

/// Processes first: a fork must not copy the rings and files of threads that are getting ready.
fn bring_to_life(
    setups: Vec<(WorkerKind, Setup)>,
    sender: &Sender<Message>,
) -> Result<(Vec<JoinHandle<()>>, Processes)> {
    let (forked, threaded): (Vec<_>, Vec<_>) = setups.into_iter().partition(|(kind, _)| *kind == WorkerKind::Process);
    let mut processes = Processes::default();
    for (_, setup) in forked {
        processes.fork(setup.position, |reporter| setup.live(reporter))?;
    }
    processes.attend(sender);
    let thread = |(_, setup): (WorkerKind, Setup)| {
        let reporter = Reporter::Thread(sender.clone());
        std::thread::spawn(move || setup.live(reporter))
    };
    Ok((threaded.into_iter().map(thread).collect(), processes))
}

/// Seed of one worker: the same for the same Plan, whatever else runs beside it (FNV-1a over the names).
fn seed_of(seed: u64, phase: &Phase, job: &Job, worker: u32) -> u64 {
    let repeat = phase.repeat.to_le_bytes();
    let worker = worker.to_le_bytes();
    let parts: [&[u8]; 6] = [&seed.to_le_bytes(), phase.name.as_bytes(), &repeat, &[0], job.name.as_bytes(), &worker];
    parts
        .concat()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Setup {
    fn live(self, reporter: Reporter) {
        let (buffer_bytes, most_pieces) = (self.shared.program.buffer_bytes, self.shared.program.most_vectors);
        let (depth, advice) = (self.queue_depth, self.flags.advice);
        match self.backend {
            Backend::Psync {} => self.serve(reporter, || Psync::new(buffer_bytes, most_pieces)),
            Backend::IoUring { sqpoll, iopoll, .. } => {
                self.serve(reporter, || Uring::new(UringOptions { depth, buffer_bytes, most_pieces, sqpoll, iopoll }));
            }
            Backend::Aio {} => self.serve(reporter, || Aio::new(depth, buffer_bytes, most_pieces)),
            Backend::Mmap {} => self.serve(reporter, || Mmap::new(buffer_bytes, advice)),
            Backend::Stdio { per_character } => self.serve(reporter, || Stdio::new(buffer_bytes, per_character)),
        }
    }

    fn serve<B: crate::backend::Backend>(self, mut reporter: Reporter, backend: impl FnOnce() -> std::io::Result<B>) {
        let mut worker = match self.get_ready(backend) {
            Ok(worker) => worker,
            Err(error) => {
                reporter.send(Message::Failed(error));
                return;
            }
        };
        // SAFETY: no memory is passed.
        let tid = unsafe { libc::gettid() };
        reporter.send(Message::Ready { worker: self.position, tid });
        let start_ns = self.start.wait();
        if start_ns == GO_HOME {
            return;
        }
        self.clock.sleep_until(start_ns);
        let ended = worker.run(start_ns, self.queue_depth, self.pacer);
        reporter.send(Message::Done { worker: self.position, ended });
        self.release.wait();
    }

    fn get_ready<B: crate::backend::Backend>(&self, backend: impl FnOnce() -> std::io::Result<B>) -> Result<Worker<B>> {
        affinity::bind(&self.affinity, self.worker).map_err(|error| {
            EngineError::Environment(format!(
                "worker {} could not be bound to its CPUs or memory: {error}",
                self.worker
            ))
        })?;
        let program = &self.shared.program;
        let opened = program
            .opened
            .iter()
            .map(|&opened| open_set(opened, &self.shared.sets[opened.set], self.flags, self.worker))
            .collect::<Result<Vec<_>>>()?;
        let files: Vec<_> = opened.iter().flatten().map(|file| file.fd).collect();
        let backend = backend().and_then(|mut backend| backend.hold(&files).map(|()| backend)).map_err(|error| {
            EngineError::Environment(format!("the backend {} could not be set up: {error}", B::NAME))
        })?;
        let walker = Walker { worker: self.worker, workers: self.workers, seed: self.seed, file_seed: 0 };
        let fills = (0..self.contents.len()).map(|set| self.fill_of(set)).collect::<Result<_>>()?;
        let transfers = Transfers { fills, slots: self.queue_depth };
        Worker::new(backend, self.clock, Arc::clone(&self.shared), Arc::clone(&self.stats), opened, transfers, walker)
    }
}

impl Setup {
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

/// A phase between ready and finished.
struct Running<'a> {
    emitter: &'a Emitter,
    messages: &'a Receiver<Message>,
    delay_accounting: bool,
    phase_index: u32,
    jobs: &'a [ReadyJob<'a>],
    sampler: Sampler<'a>,
    stalls: Stalls,
    phase_stonewall: bool,
    growth: Growth,
    overgrown: Option<EngineError>,
    ended: Vec<(usize, Ended)>,
    lost: Option<String>,
    stopped_from_outside: bool,
}

impl Running<'_> {
    fn walk(&mut self, interval_ns: u64, start: &Gate) -> Result<PhaseEnd> {
        if !self.wait_until_ready()? {
            return Ok(PhaseEnd::Stopped);
        }
        let Some(start_ns) = self.wait_for_start()? else {
            return Ok(PhaseEnd::Stopped);
        };
        start.open(start_ns);
        let lead = start_ns.saturating_sub(SAMPLE_LEAD_NS).saturating_sub(self.emitter.now_ns());
        std::thread::sleep(Duration::from_nanos(lead));
        self.sampler.begin(self.emitter);
        self.emitter.emit(&Event::Started { t_ns: self.emitter.now_ns(), phase_index: self.phase_index, start_ns });
        self.watch(start_ns, interval_ns)?;
        self.sampler.tick(self.emitter);
        self.finish(start_ns)
    }

    /// Wait until every worker holds its files. False: stopped.
    fn wait_until_ready(&mut self) -> Result<bool> {
        let mut waiting = self.sampler.workers.len();
        while waiting > 0 {
            match self.receive()? {
                Message::Ready { worker, tid } => {
                    self.observe(worker, tid);
                    waiting -= 1;
                }
                Message::Failed(error) => return Err(error),
                Message::Lost { worker, how } => return Err(self.lost(worker, &how)),
                Message::Control(Control::Stop {}) => return Ok(false),
                other => self.aside(other),
            }
        }
        let workers = self.sampler.workers.len() as u32;
        self.emitter.emit(&Event::Ready { t_ns: self.emitter.now_ns(), phase_index: self.phase_index, workers });
        Ok(true)
    }

    fn observe(&mut self, worker: usize, tid: i32) {
        let observed = &mut self.sampler.workers[worker];
        let open = match self.jobs[observed.job].job.kind {
            WorkerKind::Thread => TaskObserver::open,
            WorkerKind::Process => TaskObserver::open_process,
        };
        observed.task = Some(open(tid, self.delay_accounting));
    }

    fn lost(&self, worker: usize, how: &str) -> EngineError {
        let observed = &self.sampler.workers[worker];
        let job = &self.jobs[observed.job].job.name;
        EngineError::Environment(format!("job '{job}': worker {} is gone: its {how}", observed.worker))
    }

    /// Wait for the order to start. None: stopped.
    fn wait_for_start(&mut self) -> Result<Option<u64>> {
        loop {
            match self.receive()? {
                Message::Control(Control::Start { phase_index, at_realtime_ns }) if phase_index == self.phase_index => {
                    let earliest = self.emitter.now_ns() + SAMPLE_LEAD_NS;
                    return Ok(Some(self.emitter.clock().from_realtime_ns(at_realtime_ns).max(earliest)));
                }
                Message::Control(Control::Stop {}) => return Ok(None),
                Message::Lost { worker, how } => return Err(self.lost(worker, &how)),
                other => self.aside(other),
            }
        }
    }

    fn receive(&self) -> Result<Message> {
        self.messages.recv().map_err(|_| EngineError::Environment("standard input and all workers are gone".into()))
    }

    /// Messages that mean the same at any time.
    fn aside(&self, message: Message) {
        match message {
            Message::Control(Control::Mark { label }) => {
                self.emitter.emit(&Event::Mark { t_ns: self.emitter.now_ns(), label, source: "user".into() });
            }
            Message::Control(Control::Start { phase_index, .. }) => {
                let text = format!("a start for phase {phase_index} came while phase {} was on", self.phase_index);
                self.emitter.warn(Some(self.phase_index), "control-out-of-order", text);
            }
            Message::Unreadable(text) => {
                let text = format!("a control line could not be read: {text}");
                self.emitter.warn(Some(self.phase_index), "control-unreadable", text);
            }
            Message::Control(Control::Stop {})
            | Message::Ready { .. }
            | Message::Failed(_)
            | Message::Done { .. }
            | Message::Lost { .. } => {}
        }
    }

    /// Tick on the grid until every worker has stopped.
    fn watch(&mut self, start_ns: u64, interval_ns: u64) -> Result<()> {
        let (mut next, mut look) = (start_ns + interval_ns, start_ns + LOOK_NS);
        while self.ended.len() < self.sampler.workers.len() {
            let now = self.emitter.now_ns();
            if now >= look {
                self.stalls.look(self.emitter, self.phase_index, &self.sampler.jobs, &self.sampler.workers);
                look = now + LOOK_NS;
            }
            if now >= next {
                self.sampler.tick(self.emitter);
                if let (Err(error), None) = (self.growth.check(), &self.overgrown) {
                    self.overgrown = Some(error);
                    self.stop_all();
                }
                next += (now - next) / interval_ns * interval_ns + interval_ns;
                continue;
            }
            match self.messages.recv_timeout(Duration::from_nanos(next.min(look).saturating_sub(now))) {
                Ok(Message::Done { worker, ended }) => self.one_ended(worker, ended),
                Ok(Message::Lost { worker, how }) => self.one_lost(worker, &how),
                Ok(Message::Control(Control::Stop {})) => {
                    self.stopped_from_outside = true;
                    self.stop_all();
                }
                Ok(other) => self.aside(other),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(EngineError::Environment("all workers are gone".into()));
                }
            }
        }
        Ok(())
    }

    fn one_ended(&mut self, worker: usize, ended: Ended) {
        let job = &self.jobs[self.sampler.workers[worker].job];
        if ended.fatal.is_some() || self.phase_stonewall {
            self.stop_all();
        } else if job.stonewall {
            job.shared.stop.store(true, Relaxed);
        }
        self.ended.push((worker, ended));
    }

    /// A worker's process has died: the phase ends with what was measured until now, and the run with an error.
    fn one_lost(&mut self, worker: usize, how: &str) {
        let stats = &self.sampler.workers[worker].stats;
        stats.busy_since_ns.set(NEVER);
        stats.slots.iter().for_each(|slot| slot.since_ns.set(NEVER));
        let abandoned = stats.started.get() - stats.completed.get() - stats.failed.get();
        let (stopped_by, report) = (StoppedBy::Error, Report::default());
        let ended = Ended { stopped_by, errors: Vec::new(), fatal: None, abandoned, report, bad_blocks: Vec::new() };
        self.lost = Some(self.lost(worker, how).to_string());
        self.stop_all();
        self.ended.push((worker, ended));
    }

    fn stop_all(&self) {
        for job in self.jobs {
            job.shared.stop.store(true, Relaxed);
        }
    }

    fn finish(&mut self, start_ns: u64) -> Result<PhaseEnd> {
        let fatal = self.ended.iter().find_map(|(worker, ended)| Some((*worker, ended.fatal.clone()?)));
        let because = if self.stopped_from_outside {
            StoppedBy::Control
        } else if fatal.is_some() || self.overgrown.is_some() || self.lost.is_some() {
            StoppedBy::Error
        } else {
            StoppedBy::Stonewall
        };
        for (_, ended) in &mut self.ended {
            if ended.stopped_by == StoppedBy::Control {
                ended.stopped_by = because;
            }
        }
        let stopped_by = if self.stopped_from_outside || because == StoppedBy::Error {
            because
        } else {
            self.ended.last().map_or(StoppedBy::Exhausted, |(_, ended)| ended.stopped_by)
        };
        self.ended.sort_by_key(|(worker, _)| *worker);
        for (job, ready) in self.jobs.iter().enumerate() {
            facts::warn(&self.job_end(job, ready), self.emitter, self.phase_index);
        }
        let corruption = self.corruption();
        self.emitter.emit(&Event::PhaseFinished(PhaseFinished {
            t_ns: self.emitter.now_ns(),
            phase_index: self.phase_index,
            start_ns,
            stopped_by,
            workers: self.ended.iter().map(|(worker, ended)| self.window(*worker, ended)).collect(),
            jobs: self.jobs.iter().enumerate().map(|(job, ready)| self.job_end(job, ready).facts()).collect(),
            errors: self.error_counts(),
            corruption,
        }));
        Ok(match fatal {
            Some((worker, (operation, errno))) => {
                let job = &self.jobs[self.sampler.workers[worker].job];
                let set = job.shared.program.sets.first();
                let folder = set.map_or(Path::new(""), |&set| job.shared.sets[set].folder());
                PhaseEnd::Failed(facts::gave_up(operation, folder, errno, job.circumstances()))
            }
            None if self.overgrown.is_some() => PhaseEnd::Failed(self.overgrown.take().expect("just seen")),
            None if self.lost.is_some() => {
                PhaseEnd::Failed(EngineError::Environment(self.lost.take().unwrap_or_default()))
            }
            None if self.stopped_from_outside => PhaseEnd::Stopped,
            None => PhaseEnd::Done,
        })
    }

    fn window(&self, worker: usize, ended: &Ended) -> WorkerWindow {
        let observed = &self.sampler.workers[worker];
        let stats = &observed.stats;
        let first = stats.first_op_ns.get();
        WorkerWindow {
            job: self.jobs[observed.job].job.name.clone(),
            worker: observed.worker,
            first_op_ns: (first != NEVER).then_some(first),
            last_op_ns: (first != NEVER).then_some(stats.last_op_ns.get()),
            started: stats.started.get(),
            completed: stats.completed.get(),
            failed: stats.failed.get(),
            abandoned: ended.abandoned,
            stopped_by: ended.stopped_by,
        }
    }

    fn job_end<'b>(&'b self, position: usize, ready: &'b ReadyJob) -> facts::JobEnd<'b> {
        let ended = self.ended.iter().filter(|(worker, _)| self.sampler.workers[*worker].job == position);
        let workers = self.sampler.workers.iter().filter(|worker| worker.job == position);
        facts::JobEnd {
            job: ready.job,
            circumstances: ready.circumstances(),
            stats: workers.map(|worker| &*worker.stats).collect(),
            ended: ended.map(|(_, ended)| ended).collect(),
        }
    }

    /// Name the first bad blocks, and count all.
    fn corruption(&mut self) -> Vec<Corruption> {
        let mut by_operation = std::collections::BTreeMap::<(String, String), BadBlocks>::new();
        for (worker, ended) in &mut self.ended {
            let job = &self.jobs[self.sampler.workers[*worker].job].job.name;
            for (operation, bad) in std::mem::take(&mut ended.bad_blocks) {
                by_operation.entry((job.clone(), operation)).or_default().merge(bad);
            }
        }
        let tell = |((job, operation), bad): ((String, String), BadBlocks)| {
            corruption::tell(self.emitter, self.phase_index, &job, &operation, &bad)
        };
        by_operation.into_iter().flat_map(tell).collect()
    }

    fn error_counts(&self) -> Vec<ErrorCount> {
        let mut counts = std::collections::BTreeMap::<(String, String, i32), u64>::new();
        for (worker, ended) in &self.ended {
            let job = &self.jobs[self.sampler.workers[*worker].job].job.name;
            for (operation, errno, count) in &ended.errors {
                *counts.entry((job.clone(), operation.clone(), *errno)).or_insert(0) += count;
            }
        }
        counts.into_iter().map(|((job, operation, errno), count)| ErrorCount { job, operation, errno, count }).collect()
    }
}
