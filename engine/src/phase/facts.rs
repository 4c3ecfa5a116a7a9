//! What really happened below the workers of a job: which backend, how deep its queue was, what the kernel's own threads
//! did, and what the errors mean.

use super::words::{Circumstances, explain};
use crate::backend::punts::has_no_io_wq;
use crate::emit::Emitter;
use crate::error::EngineError;
use crate::events::{Arrivals, CachedFirst, ErrorCount, JobFacts};
use crate::job::Ended;
use crate::plan::{Arrival, Job, WorkerKind};
use crate::stats::WorkerStats;
use crate::warning_id::WarningId;
use std::collections::BTreeMap;
use std::path::Path;

/// A job whose workers have all stopped and still hold their rings.
pub struct JobEnd<'a> {
    /// As in the Plan.
    pub job: &'a Job,
    /// What it really ran with.
    pub circumstances: Circumstances<'a>,
    /// What its workers counted.
    pub stats: Vec<&'a WorkerStats>,
    /// How they ended.
    pub ended: Vec<&'a Ended>,
    /// What failed.
    pub errors: Vec<&'a ErrorCount>,
}

impl JobEnd<'_> {
    /// For the event.
    pub fn facts(&self) -> JobFacts {
        let (submissions, reaps) = (self.sum(|s| s.submissions.get()), self.sum(|s| s.reaps.get()));
        let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        JobFacts {
            job: self.job.name.clone(),
            backend: self.circumstances.backend.abilities().name.to_owned(),
            features: self.features(),
            direct: self.circumstances.direct,
            mean_queue_depth: match ratio(self.sum(|s| s.depth_sum.get()), submissions) {
                depth if self.waits_at_submission() => depth.min(1.0),
                depth => depth,
            },
            // A worker without a queue takes each result as it comes.
            mean_reap_batch: if reaps == 0 { ratio(submissions, submissions) } else { ratio(submissions, reaps) },
            short_transfers: self.sum(|s| s.short_transfers.get()),
            punted: self.punted(),
            cached_first: self.cached_first(),
            arrivals: match self.job.arrival {
                Arrival::Open { rate_per_s, .. } => Some(Arrivals {
                    scheduled: self.sum(|s| s.arrivals.get() + s.unissued.get()),
                    missed: self.sum(|s| s.missed.get()),
                    unissued: self.sum(|s| s.unissued.get()),
                    rate_per_s: Some(rate_per_s),
                }),
                Arrival::Closed {} | Arrival::OpenShare { .. } | Arrival::Balanced { .. } => None,
            },
        }
    }

    /// What every worker had. A worker without the huge pages that it was to have has not begun.
    fn features(&self) -> Vec<String> {
        let Some((first, others)) = self.ended.split_first() else { return Vec::new() };
        let have_all = |feature: &&String| others.iter().all(|other| other.report.features.contains(feature));
        let huge_pages = self.job.huge_pages.then(|| "huge pages".to_owned());
        first.report.features.iter().filter(have_all).cloned().chain(huge_pages).collect()
    }

    fn sum(&self, field: fn(&WorkerStats) -> u64) -> u64 {
        self.stats.iter().map(|stats| field(stats)).sum()
    }

    /// Whether the kernel carried each request out inside io_submit, one after another.
    fn waits_at_submission(&self) -> bool {
        self.circumstances.backend.abilities().waits_without_direct && !self.circumstances.direct
    }

    /// Requests that threads of the kernel carried out. Where they cannot be counted: 0 if there is no such thread; worker
    /// processes have looked at their own.
    fn punted(&self) -> Option<u64> {
        let counted = self.ended.iter().map(|ended| ended.report.punted).sum::<Option<u64>>();
        counted.or_else(|| (self.job.kind == WorkerKind::Thread && has_no_io_wq()).then_some(0))
    }

    /// What all workers together found in the page cache; None where one of them does not know.
    fn cached_first(&self) -> Option<CachedFirst> {
        self.ended.iter().map(|ended| ended.report.cached_first).reduce(|all, own| {
            let (all, own) = (all?, own?);
            Some(CachedFirst {
                hit_bytes: all.hit_bytes + own.hit_bytes,
                missed_bytes: all.missed_bytes + own.missed_bytes,
            })
        })?
    }

    /// Warnings in words, by what distinguishes them: what the backends noted, each once, and what the errors mean.
    fn warnings(&self) -> BTreeMap<(WarningId, &str, i32), String> {
        let notes = self.ended.iter().flat_map(|ended| &ended.report.notes);
        let mut warnings: BTreeMap<_, _> =
            notes.map(|note| ((note.warning, note.operation.as_str(), 0), note.text.clone())).collect();
        for ErrorCount { operation, errno, count, .. } in &self.errors {
            if let Some(words) = explain(*errno, self.circumstances) {
                let text = format!("{operation} failed {count} times: {words}");
                warnings.insert((WarningId::OperationRefused, operation, *errno), text);
            }
        }
        if self.waits_at_submission() && self.job.queue_depth > 1 {
            let text =
                "Linux AIO without O_DIRECT does each request inside io_submit, so no more than one was in flight";
            warnings.insert((WarningId::AioBuffered, "", 0), text.to_owned());
        }
        warnings.extend(self.by_kernel_threads().map(|text| ((WarningId::IoWq, "", 0), text)));
        warnings
    }

    /// What there is to report about io-wq, as far as it is known.
    fn by_kernel_threads(&self) -> Option<String> {
        if !self.circumstances.backend.abilities().has_kernel_threads {
            return None;
        }
        let why = "requests that cannot go on without waiting, such as flushes and many buffered writes";
        let text = match self.punted() {
            Some(0) => return None,
            Some(punted) => {
                let submissions = self.sum(|s| s.submissions.get()).max(1);
                let share = 100.0 * punted as f64 / submissions as f64;
                format!("{share:.0} % of the requests went to threads of the kernel (io-wq): {why}")
            }
            None => {
                format!(
                    "threads of the kernel (io-wq) took over {why}; how many can be counted as root with tracefs \
                     mounted at /sys/kernel/tracing"
                )
            }
        };
        Some(text)
    }
}

/// Describe what a reader of the job's numbers should know.
pub fn warn(end: &JobEnd, emitter: &Emitter, phase_index: u32) {
    for ((warning, ..), text) in end.warnings() {
        emitter.warn(Some(phase_index), warning, format!("{}: {text}", end.job.name));
    }
}

/// The failure that left a worker nothing to go on with.
pub fn gave_up(operation: String, folder: &Path, errno: i32, at: Circumstances) -> EngineError {
    match explain(errno, at) {
        Some(words) => EngineError::Environment(format!("{operation} failed again and again: {words}")),
        None => EngineError::io(operation, folder, std::io::Error::from_raw_os_error(errno)),
    }
}
