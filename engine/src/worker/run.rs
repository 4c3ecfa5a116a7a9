//! A worker from its start to its end.

use super::parts::Worker;
use super::source::Source;
use crate::backend::{Backend, QueuedBackend};
use crate::clock::Ticks;
use crate::events::StoppedBy;
use crate::job::Ended;
use crate::pace::pacing::Pacer;
use std::sync::Arc;

impl<B: Backend, T: Ticks> Worker<B, T> {
    /// Run from `start_ns`, and `delay_ns` more, to a stop, at the pace of `pacer`: one operation at a time.
    pub fn run(&mut self, start_ns: u64, delay_ns: u64, pacer: Pacer) -> Ended {
        self.run_by(start_ns, delay_ns, pacer, |worker, source, own_start_ns| worker.run_serial(source, own_start_ns))
    }

    fn run_by(
        &mut self,
        start_ns: u64,
        delay_ns: u64,
        pacer: Pacer,
        carry_out: impl FnOnce(&mut Self, Source<'_>, u64) -> Result<(), StoppedBy>,
    ) -> Ended {
        let job = Arc::clone(&self.admission.job);
        self.admission.open(start_ns, delay_ns, pacer);
        let own_start_ns = start_ns.saturating_add(delay_ns);
        let walker = self.tools.files.walker;
        let source = Source::new(&job.program, walker.worker, walker.workers, job.limits.has_passes());
        let started = self.admission.wait_for_own_start(own_start_ns);
        let flow = started.and_then(|()| carry_out(self, source, own_start_ns));
        let stopped_by = flow.expect_err("a worker goes on until something ends it");
        self.give_locks_back();
        self.tools.files.close_slots(&mut self.tools.backend);
        self.admission.shut(stopped_by);
        let meter = &self.admission.meter;
        Ended {
            stopped_by,
            fatal: meter.fatal().map(|(why, errno)| (self.in_its_words(why), *errno)),
            abandoned: meter.abandoned(),
            report: self.report(),
        }
    }
}

impl<B: QueuedBackend, T: Ticks> Worker<B, T> {
    /// As [`Worker::run`], with `queue_depth` operations in flight.
    pub fn run_queue(&mut self, start_ns: u64, delay_ns: u64, queue_depth: u32, pacer: Pacer) -> Ended {
        match queue_depth {
            0 | 1 => self.run(start_ns, delay_ns, pacer),
            depth => {
                self.run_by(start_ns, delay_ns, pacer, |worker, source, _| worker.run_queued(source, depth as usize))
            }
        }
    }
}
