//! At which rate did a job work, and at which does one whose arrivals are a share of that?

use super::jobs::ReadyJob;
use crate::error::{EngineError, Result};
use crate::plan::{Arrival, Job, Phase};
use crate::sampler::Observed;
use crate::stats::NEVER;
use std::collections::HashMap;

/// Operations per second by phase, repeat and job; of two phases alike, the later.
#[derive(Debug, Default)]
pub struct Rates(HashMap<(String, u32, String), f64>);

impl Rates {
    /// Keep what the jobs of a phase reached.
    pub fn keep(&mut self, phase: &Phase, rates: Vec<f64>) {
        for (job, rate) in phase.jobs.iter().zip(rates) {
            self.0.insert((phase.name.clone(), phase.repeat, job.name.clone()), rate);
        }
    }

    /// The phase with rates for its shares of others.
    ///
    /// # Errors
    ///
    /// Nothing was done there that there could be a share of.
    pub fn settle(&self, phase: &Phase) -> Result<Phase> {
        let mut settled = phase.clone();
        for job in &mut settled.jobs {
            if let Arrival::OpenShare { phase: of, rate_share, spacing } = &job.arrival {
                let rate = self.0.get(&(of.clone(), phase.repeat, job.name.clone())).copied().unwrap_or(0.0);
                let rate_per_s = rate * rate_share;
                if !(rate_per_s.is_finite() && rate_per_s > 0.0) {
                    return Err(EngineError::Environment(format!(
                        "phase '{}', job '{}': it did nothing in phase '{of}' that could be shared; let that be longer",
                        phase.name, job.name
                    )));
                }
                job.arrival = Arrival::Open { rate_per_s, spacing: *spacing };
            }
        }
        Ok(settled)
    }
}

/// Refuse shares of what no earlier phase did.
///
/// # Errors
///
/// The first that there is none of.
pub fn check(phases: &[Phase]) -> Result<()> {
    for (position, phase) in phases.iter().enumerate() {
        for job in &phase.jobs {
            let Arrival::OpenShare { phase: of, .. } = &job.arrival else { continue };
            let has_job = |other: &Job| other.name == job.name;
            let is_it = |earlier: &Phase| {
                earlier.name == *of && earlier.repeat == phase.repeat && earlier.jobs.iter().any(has_job)
            };
            if !phases[..position].iter().any(is_it) {
                return Err(EngineError::Plan(format!(
                    "phase '{}', job '{}': no earlier phase '{of}' has a job of that name, of which its rate is a share",
                    phase.name, job.name
                )));
            }
        }
    }
    Ok(())
}

/// What a job had done at a time, of what is timed: that is what arrivals count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    t_ns: u64,
    operations: u64,
}

/// What each job has done so far.
pub(super) fn so_far(jobs: &[ReadyJob], workers: &[Observed], t_ns: u64) -> Vec<Done> {
    let of_job = |position: usize| workers.iter().filter(move |worker| worker.job == position);
    let done = |position| of_job(position).map(|worker| worker.stats.ops.get()).sum();
    (0..jobs.len()).map(|position| Done { t_ns, operations: done(position) }).collect()
}

/// Operations per second of each job since then, up to the end of its last.
pub(super) fn since(before: &[Done], jobs: &[ReadyJob], workers: &[Observed]) -> Vec<f64> {
    let rate = |(position, (before, now)): (usize, (&Done, Done))| {
        let of_job = workers.iter().filter(|worker| worker.job == position);
        let ends = of_job.filter(|worker| worker.stats.first_op_ns.get() != NEVER);
        let end_ns = ends.map(|worker| worker.stats.last_op_ns.get()).max().unwrap_or(0);
        let elapsed_ns = end_ns.saturating_sub(before.t_ns);
        if elapsed_ns == 0 { 0.0 } else { (now.operations - before.operations) as f64 * 1e9 / elapsed_ns as f64 }
    };
    before.iter().zip(so_far(jobs, workers, 0)).enumerate().map(rate).collect()
}
