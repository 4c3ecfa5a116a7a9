//! The interval clock's hand: what is new in all workers and on the host, as one event.

use crate::clock::Clock;
use crate::emit::Emitter;
use crate::events::{Event, Interval, OperationInterval, WorkerSample};
use crate::histogram::{Merged, Reader};
use crate::idle::Seen;
use crate::observe::HostObserver;
use crate::observe::task;
use crate::observe::task::TaskObserver;
use crate::stats::WorkerStats;
use std::sync::Arc;

/// The host is looked at no more often than so: reading its counters and writing them down is most of what a tick takes, and
/// at short intervals the operations and the workers are what changes.
const HOST_EVERY_NS: u64 = 100_000_000;

/// A worker as the sampler sees it.
pub struct Observed {
    /// Position of its job in the phase.
    pub job: usize,
    /// Number in the job.
    pub worker: u32,
    /// What it counts.
    pub stats: Arc<WorkerStats>,
    /// Its thread, once it is ready.
    pub task: Option<TaskObserver>,
    /// One reader a histogram: of the latencies, and of the response times.
    pub readers: Vec<(Reader, Reader)>,
    /// Its rests.
    pub idle: Seen,
}

/// A job as the sampler sees it.
pub struct ObservedJob {
    /// Name.
    pub name: String,
    /// Names of its histograms.
    pub series: Vec<String>,
    /// Names of its groups with laps.
    pub laps: Vec<String>,
    /// Names of its operations, by state index.
    pub operations: Vec<String>,
    /// Whether a schedule of arrivals drives it.
    pub is_open_loop: bool,
    /// Whether its workers are processes.
    pub in_processes: bool,
    /// Bytes and errors of each histogram at the last tick.
    pub last: Vec<(u64, u64)>,
}

/// Makes the intervals of one phase.
pub struct Sampler<'a> {
    /// Phase.
    pub phase_index: u32,
    /// Its jobs.
    pub jobs: Vec<ObservedJob>,
    /// Their workers.
    pub workers: Vec<Observed>,
    /// Processes of the workers that are some.
    pub children: Vec<i32>,
    /// The host's counters.
    pub host: &'a mut HostObserver,
    /// End of the interval before.
    pub last_tick_ns: u64,
    /// When the host was looked at last.
    pub last_host_ns: u64,
}

impl Sampler<'_> {
    /// The counters at the start: an interval without operations.
    pub fn begin(&mut self, emitter: &Emitter) {
        self.last_tick_ns = emitter.now_ns();
        let interval = self.interval(emitter.clock(), self.last_tick_ns, Vec::new(), true);
        emitter.emit(&Event::Interval(interval));
    }

    /// One interval, from the tick before until now.
    pub fn tick(&mut self, emitter: &Emitter) {
        self.sample(emitter, false);
    }

    /// The last interval: with the counters of the host, however short it is.
    pub fn end(&mut self, emitter: &Emitter) {
        self.sample(emitter, true);
    }

    fn sample(&mut self, emitter: &Emitter, is_last: bool) {
        let now = emitter.now_ns();
        // Due now rather than at the next tick, if that is nearer to when it should be.
        let is_due = now + (now - self.last_tick_ns) / 2 >= self.last_host_ns + HOST_EVERY_NS;
        let operations = (0..self.jobs.len()).flat_map(|job| self.operations(job)).collect();
        let interval = self.interval(emitter.clock(), now, operations, is_due || is_last);
        self.last_tick_ns = now;
        emitter.emit(&Event::Interval(interval));
        self.report_laps(emitter);
    }

    fn report_laps(&self, emitter: &Emitter) {
        for worker in &self.workers {
            let ObservedJob { name, laps, .. } = &self.jobs[worker.job];
            let Some(kept) = &worker.stats.laps else { continue };
            let new = kept.take();
            for (group, group_name) in laps.iter().enumerate() {
                let of_group: Vec<_> = new.iter().filter(|lap| lap.group == group).collect();
                if of_group.is_empty() {
                    continue;
                }
                emitter.emit(&Event::Laps {
                    t_ns: emitter.now_ns(),
                    phase_index: self.phase_index,
                    job: name.clone(),
                    worker: worker.worker,
                    group: group_name.clone(),
                    number: of_group.iter().map(|lap| lap.number).collect(),
                    end_ns: of_group.iter().map(|lap| lap.end_ns).collect(),
                    latency_ns: of_group.iter().map(|lap| lap.latency_ns).collect(),
                });
            }
        }
    }

    fn interval(&mut self, clock: Clock, now: u64, operations: Vec<OperationInterval>, with_host: bool) -> Interval {
        let host = if with_host { self.host.sample() } else { Vec::new() };
        self.last_host_ns = if with_host { now } else { self.last_host_ns };
        let (process_read_bytes, process_write_bytes) = task::process_io(&self.children);
        Interval {
            t_ns: now,
            dt_ns: now - self.last_tick_ns,
            phase_index: self.phase_index,
            operations,
            workers: self.worker_samples(clock),
            process_cpu_ns: task::process_cpu_ns(&self.children) + self.reaped_elsewhere_ns(),
            observer_cpu_ns: task::thread_cpu_ns(),
            process_read_bytes,
            process_write_bytes,
            host,
        }
    }

    /// CPU time of programs that ended as children of worker processes: the kernel adds it to the engine's when it reaps
    /// those, which is after the last sample.
    fn reaped_elsewhere_ns(&self) -> u64 {
        let workers = self.workers.iter().filter(|worker| self.jobs[worker.job].in_processes);
        workers.map(|worker| worker.stats.children_cpu_ns.get()).sum()
    }

    fn operations(&mut self, job: usize) -> Vec<OperationInterval> {
        let Self { jobs, workers, .. } = self;
        let ObservedJob { name, series, last, is_open_loop, .. } = &mut jobs[job];
        let mut operations = Vec::with_capacity(series.len());
        for (position, operation) in series.iter().enumerate() {
            let (mut merged, mut responses) = (Merged::default(), Merged::default());
            let (mut ops, mut bytes, mut errors) = (0, 0, 0);
            for worker in workers.iter_mut().filter(|worker| worker.job == job) {
                let stats = &worker.stats.series[position];
                let (latency, response) = &mut worker.readers[position];
                ops += latency.read_new(&stats.latency, &mut merged);
                if *is_open_loop {
                    response.read_new(&stats.response, &mut responses);
                }
                bytes += stats.bytes.get();
                errors += stats.errors.get();
            }
            let before = std::mem::replace(&mut last[position], (bytes, errors));
            operations.push(OperationInterval {
                job: name.clone(),
                operation: operation.clone(),
                ops,
                bytes: bytes - before.0,
                errors: errors - before.1,
                latency: merged.into_buckets(),
                response: is_open_loop.then(|| responses.into_buckets()),
            });
        }
        operations
    }

    fn worker_samples(&mut self, clock: Clock) -> Vec<WorkerSample> {
        let jobs = &self.jobs;
        self.workers
            .iter_mut()
            .map(|worker| {
                let task = worker.task.as_mut().map(TaskObserver::sample).unwrap_or_default();
                WorkerSample {
                    job: jobs[worker.job].name.clone(),
                    worker: worker.worker,
                    ops: worker.stats.ops.get(),
                    bytes: worker.stats.bytes.get(),
                    on_cpu_ns: task.on_cpu_ns,
                    run_delay_ns: task.run_delay_ns,
                    block_delay_ns: task.block_delay_ns,
                    user_cpu_ns: task.user_cpu_ns,
                    system_cpu_ns: task.system_cpu_ns,
                    io_calls: task.io_calls,
                    children_cpu_ns: worker.stats.children_cpu_ns.get(),
                    idle_ns: Some(worker.idle.total_ns(&worker.stats.idle, || clock.now_ns())),
                }
            })
            .collect()
    }
}
