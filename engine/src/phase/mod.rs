//! One phase: workers made ready, started together, watched on the interval grid, and brought to a stop.
//!
//! `jobs` settles what each job of the Plan runs with; `workers` brings its workers to life as threads or processes and
//! sends them home, `setup` is the life of one of them, and `gates` what they wait at; `watch` is the main thread's part
//! from the first worker that is ready to the last that has stopped; `ending` says how it all ended, `went_wrong` what did
//! meanwhile, `facts` what really happened below the workers, and `words` what errors mean.

mod ending;
mod facts;
mod gates;
mod guard;
mod jobs;
pub mod rates;
mod setup;
mod surroundings;
mod watch;
mod went_wrong;
mod words;
mod workers;

pub use ending::PhaseEnd;
pub use surroundings::Surroundings;

use crate::emit::Emitter;
use crate::error::{EngineError, Result};
use crate::observe::pauses::Pauses;
use crate::pace::limits::Rule;
use crate::plan::Phase;
use crate::program::op::Program;
use crate::sampler::Sampler;
use crate::stalls::Stalls;
use crate::stats::{NEVER, WorkerStats};
use crate::warning_id::WarningId;
use ending::Ending;
use std::sync::Arc;
use watch::Watch;
use went_wrong::Reported;
use workers::PhaseWorkers;

/// Closing that is worth a word.
const LONG_CLOSE_NS: u64 = 1_000_000_000;

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
    let stats: Vec<_> = workers.iter().map(|worker| Arc::clone(&worker.stats)).collect();
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
        reported: Reported::default(),
        ending: Ending::default(),
    };
    around.stopper.relay_to(jobs.iter().map(|job| Arc::clone(&job.shared)).collect());
    let result = watch.walk(&running);
    around.stopper.relay_to(Vec::new());
    let ended_ns = around.emitter.now_ns();
    running.send_home()?;
    warn_of_slow_close(around.emitter, phase_index, ended_ns, &stats);
    for job in &jobs {
        job.warn_of_closings(around.emitter, phase_index);
    }
    result
}

/// Report that workers closed their files for longer than they worked, which is in no phase's time. Of less than a second nobody
/// need hear.
fn warn_of_slow_close(emitter: &Emitter, phase_index: u32, ended_ns: u64, stats: &[Arc<WorkerStats>]) {
    let took_ns = emitter.now_ns() - ended_ns;
    let first = stats.iter().map(|worker| worker.first_op_ns.get()).min().unwrap_or(NEVER);
    let last = stats.iter().map(|worker| worker.last_op_ns.get()).max().unwrap_or(0);
    let worked_ns = last.saturating_sub(first);
    if took_ns < LONG_CLOSE_NS.max(worked_ns) {
        return;
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    let (took_s, worked_s) = (seconds(took_ns), seconds(worked_ns));
    let text = format!(
        "closing the files took {took_s:.2} s, and all operations before {worked_s:.2} s: what they left to the close is in \
         no rate and no latency"
    );
    emitter.warn(Some(phase_index), WarningId::SlowClose, text);
}

#[cfg(test)]
mod tests;
