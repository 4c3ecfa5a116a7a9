//! One phase: workers made ready, started together, watched on the interval grid, and brought to a stop.
//!
//! `jobs` settles what each job of the Plan runs with; `workers` brings its workers to life as threads or processes and
//! sends them home, `setup` is the life of one of them, and `gates` what they wait at; `watch` is the main thread's part
//! from the first worker that is ready to the last that has stopped; `ending` says how it all ended, `facts` what really
//! happened below the workers, and `words` what errors mean.

mod ending;
mod facts;
mod gates;
mod jobs;
pub mod rates;
mod setup;
mod surroundings;
mod watch;
mod words;
mod workers;

pub use ending::PhaseEnd;
pub use surroundings::Surroundings;

use crate::error::{EngineError, Result};
use crate::observe::pauses::Pauses;
use crate::pace::limits::Rule;
use crate::plan::Phase;
use crate::program::op::Program;
use crate::sampler::Sampler;
use crate::stalls::Stalls;
use ending::Ending;
use watch::Watch;
use workers::PhaseWorkers;

/// Run one phase from ready to finished; gives also what each of its jobs did a second.
pub fn run(
    around: &mut Surroundings,
    phase_index: u32,
    phase: &Phase,
    programs: Vec<Program>,
) -> Result<(PhaseEnd, Vec<f64>)> {
    let phase_rule = Rule::new(&phase.latest_stop()).map_err(EngineError::no_shared_memory)?;
    let jobs = jobs::make_ready(around, phase_index, phase, programs, &phase_rule)?;
    let (running, workers) = PhaseWorkers::create(around, phase, &jobs)?;
    let stalls = Stalls::new(workers.len(), around.sample_interval_ns);
    let growth = jobs::growth(around, &jobs);
    let sampler = Sampler {
        phase_index,
        jobs: jobs.iter().map(jobs::ReadyJob::observed).collect(),
        workers,
        children: running.pids().to_vec(),
        host: around.host,
        last_tick_ns: 0,
        last_host_ns: 0,
    };
    let watch = Watch {
        emitter: around.emitter,
        inbox: around.inbox,
        interval_ns: around.sample_interval_ns,
        delay_accounting: around.delay_accounting,
        phase_index,
        jobs: &jobs,
        sampler,
        stalls,
        pauses: Pauses::of_this_thread(),
        early_pause: None,
        phase_stonewall: phase_rule.is_stonewall(),
        growth,
        ramp_ns: (phase.ramp_s * 1e9) as u64,
        ramped: None,
        ending: Ending::default(),
    };
    let result = watch.walk(&running);
    running.send_home()?;
    for job in &jobs {
        job.warn_of_closings(around.emitter, phase_index);
    }
    result
}

#[cfg(test)]
mod tests;
