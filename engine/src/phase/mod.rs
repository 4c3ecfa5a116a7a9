//! One phase: workers made ready, started together, watched on the interval grid, and brought to a stop.
//!
//! `jobs` settles what each job of the Plan runs with; `crew` brings its workers to life as threads or processes and
//! sends them home, and `setup` is the life of one of them; `watch` is the main thread's part from the first worker that
//! is ready to the last that has stopped; `ending` says how it all ended, `facts` what really happened below the workers, and
//! `words` what errors mean.

mod crew;
mod ending;
mod facts;
mod jobs;
mod setup;
mod watch;
mod words;

use crate::control::Message;
use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::files::fileset::FileSetState;
use crate::observe::HostObserver;
use crate::pace::limits::Rule;
use crate::plan::{Content, Phase};
use crate::program::op::Program;
use crate::sampler::Sampler;
use crate::stalls::Stalls;
use crew::Crew;
use ending::Ending;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use watch::Watch;

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

/// Run one phase from ready to finished.
pub fn run(around: &mut Surroundings, phase_index: u32, phase: &Phase, programs: Vec<Program>) -> Result<PhaseEnd> {
    let phase_rule = Rule::new(&phase.stop).map_err(EngineError::no_shared_memory)?;
    let jobs = jobs::make_ready(around, phase_index, phase, programs, &phase_rule)?;
    let (crew, workers) = Crew::bring_to_life(around, phase, &jobs)?;
    let stalls = Stalls::new(workers.len(), around.sample_interval_ns);
    let growth = jobs::growth(around, &jobs);
    let sampler = Sampler {
        phase_index,
        jobs: jobs.iter().map(jobs::ReadyJob::observed).collect(),
        workers,
        children: crew.pids().to_vec(),
        host: around.host,
        last_tick_ns: 0,
    };
    let watch = Watch {
        emitter: around.emitter,
        messages: around.messages,
        interval_ns: around.sample_interval_ns,
        delay_accounting: around.delay_accounting,
        phase_index,
        jobs: &jobs,
        sampler,
        stalls,
        phase_stonewall: phase_rule.is_stonewall(),
        growth,
        ending: Ending::default(),
    };
    let result = watch.walk(&crew);
    crew.send_home()?;
    result
}
