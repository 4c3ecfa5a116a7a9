//! The workers of a phase, brought to life as threads or processes, and sent home again.

use super::gates::Gates;
use super::jobs::ReadyJob;
use super::setup::Setup;
use super::surroundings::Surroundings;
use crate::control::Message;
use crate::error::{EngineError, Result};
use crate::histogram::Reader;
use crate::idle::Seen;
use crate::pace::pacing::Pacer;
use crate::plan::{Job, Phase, WorkerKind};
use crate::process::{Processes, Reporter};
use crate::sampler::Observed;
use crate::stats::WorkerStats;
use crate::sys::own_files;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

/// All workers of a phase.
pub(super) struct PhaseWorkers {
    gates: Gates,
    processes: Processes,
    threads: Vec<JoinHandle<()>>,
}

impl PhaseWorkers {
    /// Make every worker of the jobs; each reports to the main thread when it is ready.
    pub fn create(around: &Surroundings, phase: &Phase, jobs: &[ReadyJob]) -> Result<(Self, Vec<Observed>)> {
        let gates = Gates::closed()?;
        let (mut observed, mut setups) = (Vec::new(), Vec::new());
        let is_alone = jobs.iter().map(|job| job.workers).sum::<u32>() == 1;
        for (job_position, job) in jobs.iter().enumerate() {
            let program = &job.shared.program;
            for worker in 0..job.workers {
                let stats = WorkerStats::new(program, job.queue_depth);
                let stats = Arc::new(stats.map_err(EngineError::no_shared_memory)?);
                let (part, parts) = around.part;
                let of_all =
                    (part.saturating_mul(job.workers).saturating_add(worker), parts.saturating_mul(job.workers));
                let seed = seed_of(around.seed, phase, job.job, of_all.0);
                let setup = Setup {
                    position: observed.len(),
                    worker,
                    of_all,
                    seed,
                    clock: around.emitter.clock(),
                    backend: job.backend.clone(),
                    queue_depth: job.queue_depth,
                    flags: job.flags,
                    contents: around.contents.into(),
                    shared: Arc::clone(&job.shared),
                    stats: Arc::clone(&stats),
                    pacer: Pacer::new(job.job, worker, job.workers, seed, &job.shared.coordination),
                    delay_ns: job.delay_ns(),
                    huge_pages: job.job.huge_pages,
                    affinity: job.job.affinity.clone(),
                    gates: gates.clone(),
                    is_alone,
                };
                let readers = (0..program.series.len()).map(|_| (Reader::default(), Reader::default())).collect();
                observed.push(Observed {
                    job: job_position,
                    worker,
                    stats,
                    task: None,
                    readers,
                    idle: Seen::default(),
                });
                setups.push((job.job.kind, setup));
            }
        }
        Self::start_all(gates, setups, around).map(|workers| (workers, observed))
    }

    /// Processes first: a fork must not copy the rings and files of threads that are getting ready.
    /// A stop is heard between two of them.
    fn start_all(gates: Gates, setups: Vec<(WorkerKind, Setup)>, around: &Surroundings) -> Result<Self> {
        let (forked, threaded): (Vec<_>, Vec<_>) =
            setups.into_iter().partition(|(kind, _)| *kind == WorkerKind::Process);
        let mut processes = Processes::default();
        for (_, setup) in forked {
            if around.stopper.flag().load(Relaxed) {
                return Err(EngineError::Stopped);
            }
            processes.fork(setup.position, |reporter| setup.live(reporter))?;
        }
        let attended = processes.attend(around.sender);
        let mut workers = Self { gates, processes, threads: Vec::with_capacity(threaded.len()) };
        let mut unstopped = threaded.into_iter().take_while(|_| !around.stopper.flag().load(Relaxed));
        let begun =
            attended.and_then(|()| unstopped.try_for_each(|(_, setup)| workers.add_thread(setup, around.sender)));
        match begun {
            Ok(()) if around.stopper.flag().load(Relaxed) => workers.send_home().and(Err(EngineError::Stopped)),
            Ok(()) => Ok(workers),
            Err(error) => {
                let made = workers.threads.len();
                let text = format!(
                    "no more than {made} threads could be made for workers: {error}; use fewer workers, or raise the limit \
                     (ulimit -u)"
                );
                // Those that are there already must not outlive the phase.
                workers.send_home().and(Err(EngineError::Environment(text)))
            }
        }
    }

    fn add_thread(&mut self, setup: Setup, sender: &Sender<Message>) -> io::Result<()> {
        let reporter = Reporter::Thread(sender.clone());
        self.threads.push(std::thread::Builder::new().spawn(move || {
            own_files::begin(setup.shared.roots());
            setup.live(reporter);
        })?);
        Ok(())
    }

    /// Process numbers of the workers that are processes.
    pub fn pids(&self) -> &[i32] {
        self.processes.pids()
    }

    /// Let all begin at the same time, which others may have been given, too.
    pub fn start(&self, start_ns: u64, is_agreed: bool) {
        if is_agreed {
            self.gates.agree();
        }
        self.gates.start(start_ns);
    }

    /// Let go of all, wherever they wait, until the last has gone.
    ///
    /// # Errors
    ///
    /// A worker thread has panicked.
    pub fn send_home(self) -> Result<()> {
        self.gates.send_home();
        self.processes.reap();
        for thread in self.threads {
            if thread.join().is_err() {
                let text = "a worker ended by a fault of the engine; please report it";
                return Err(EngineError::Environment(text.to_owned()));
            }
        }
        Ok(())
    }
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
