//! What went wrong in a phase: reported with the tick after it, so that it is in the record of a run that does not end.

use super::jobs::ReadyJob;
use crate::content::bad_blocks::BadBlock;
use crate::content::found::Place;
use crate::corruption;
use crate::emit::Emitter;
use crate::events::{Corruption, ErrorCount, Event};
use crate::sampler::Observed;
use std::collections::BTreeMap;

/// What has been reported so far.
#[derive(Default)]
pub(super) struct Reported {
    failed: u64,
    blocks: u64,
    /// Blocks that were named, by job.
    named: Vec<usize>,
}

impl Reported {
    /// Report everything once more where there is more of it.
    pub fn look(&mut self, emitter: &Emitter, phase_index: u32, jobs: &[ReadyJob], workers: &[Observed]) {
        // A block is counted before its place is there, so its name may come with a later look.
        self.name_blocks(emitter, phase_index, jobs);
        let failed = workers.iter().map(|worker| worker.stats.failed.get()).sum();
        let blocks = jobs.iter().filter_map(|job| job.shared.found.as_ref()).map(|found| found.blocks()).sum();
        if (failed, blocks) == (self.failed, self.blocks) {
            return;
        }
        (self.failed, self.blocks) = (failed, blocks);
        emitter.emit(&Event::WentWrong {
            t_ns: emitter.now_ns(),
            phase_index,
            errors: errors(jobs, workers),
            corruption: corruption(jobs),
        });
    }

    fn name_blocks(&mut self, emitter: &Emitter, phase_index: u32, jobs: &[ReadyJob]) {
        self.named.resize(jobs.len(), 0);
        for (job, named) in jobs.iter().zip(&mut self.named) {
            let Some(found) = &job.shared.found else { continue };
            let before = *named;
            for (kind, place) in found.named(before) {
                let block = BadBlock { path: path_of(job, place), offset_bytes: place.offset_bytes, kind };
                corruption::name(emitter, phase_index, &block);
                *named += 1;
            }
        }
    }
}

fn path_of(job: &ReadyJob, place: Place) -> std::path::PathBuf {
    job.shared.sets[place.set].path_of(place.file)
}

/// Failures by job, operation and number.
pub(super) fn errors(jobs: &[ReadyJob], workers: &[Observed]) -> Vec<ErrorCount> {
    let mut counts = BTreeMap::<(&str, &str, i32), u64>::new();
    for worker in workers.iter().filter(|worker| worker.stats.failed.get() > 0) {
        let job = &jobs[worker.job];
        for (operation, errno, count) in worker.stats.failures.counts() {
            *counts.entry((&job.job.name, job.shared.program.name_of(operation), errno)).or_insert(0) += count;
        }
    }
    let count = |((job, operation, errno), count): ((&str, &str, i32), u64)| ErrorCount {
        job: job.to_owned(),
        operation: operation.to_owned(),
        errno,
        count,
    };
    counts.into_iter().map(count).collect()
}

/// Bad blocks by job, operation and kind.
pub(super) fn corruption(jobs: &[ReadyJob]) -> Vec<Corruption> {
    let mut counts = BTreeMap::new();
    for job in jobs {
        for count in job.shared.found.iter().flat_map(|found| found.counts()) {
            let key = (&*job.job.name, job.shared.program.name_of(count.operation), count.kind);
            counts.entry(key).or_insert_with(|| (0, path_of(job, count.first), count.first.offset_bytes)).0 +=
                count.blocks;
        }
    }
    let report =
        |((job, operation, kind), (blocks, path, offset_bytes)): ((&str, &str, _), (u64, std::path::PathBuf, u64))| {
            Corruption {
                job: job.to_owned(),
                operation: operation.to_owned(),
                kind,
                blocks,
                path: path.display().to_string(),
                offset_bytes,
            }
        };
    counts.into_iter().map(report).collect()
}
