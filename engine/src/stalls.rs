//! Does a worker hang in an operation right now?
//!
//! A worker is stalled when it has finished nothing, and was not waiting on its own account, for longer than
//! `max(1 s, 2 intervals)`; with a queue, when one operation has been in flight that long. Each stall gives one warning when
//! it is noticed and one mark when it is over. Workers count times that they know anyway, so looking costs them nothing.
//!
//! A worker that runs, or waits for nothing but a CPU, is not stalled: where a thousand share two CPUs, each waits for
//! seconds, and no storage is to blame.

use crate::emit::Emitter;
use crate::events::Event;
use crate::observe::task::TaskObserver;
use crate::sampler::{Observed, ObservedJob};
use crate::stats::{NEVER, WorkerStats};
use crate::warning_id::WarningId;

/// Shortest stall worth a word.
const LEAST_NS: u64 = 1_000_000_000;
/// Workers of one job that one message names.
const NAMED: usize = 3;
/// Time between two looks.
pub const LOOK_NS: u64 = 250_000_000;

/// The stalls of one phase.
pub struct Stalls {
    after_ns: u64,
    /// Until then the client may have been paused: what seems to hang may have been held up by that.
    excused_ns: u64,
    /// By worker: since when it is stalled.
    since_ns: Vec<Option<u64>>,
}

impl Stalls {
    /// No stall yet.
    pub fn new(workers: usize, sample_interval_ns: u64) -> Self {
        Self { after_ns: LEAST_NS.max(2 * sample_interval_ns), excused_ns: 0, since_ns: vec![None; workers] }
    }

    /// The client was paused until `now_ns`: stalls that nobody has noticed yet count from here.
    pub fn excuse_until(&mut self, now_ns: u64) {
        self.excused_ns = now_ns;
    }

    /// Look at all workers; report what began and what is over.
    pub fn look(&mut self, emitter: &Emitter, phase_index: u32, jobs: &[ObservedJob], workers: &[Observed]) {
        let now = emitter.now_ns();
        for (position, job) in jobs.iter().enumerate() {
            let (mut begun, mut over) = (Vec::new(), Vec::new());
            for (worker, known) in workers.iter().zip(&mut self.since_ns).filter(|(w, _)| w.job == position) {
                let counted_from = |since: u64| if *known == Some(since) { since } else { since.max(self.excused_ns) };
                let hangs = |&(since, _): &(u64, usize)| now.saturating_sub(counted_from(since)) > self.after_ns;
                let runs = || worker.task.as_ref().is_some_and(TaskObserver::is_runnable);
                let at = oldest(&worker.stats).filter(hangs).filter(|_| known.is_some() || !runs());
                match (*known, at) {
                    (None, Some((since, operation))) => {
                        let name = job.operations.get(operation).map_or("", String::as_str);
                        let text = format!("worker {} in '{name}' since {:.3} s", worker.worker, seconds(since));
                        begun.push(text);
                    }
                    (Some(since), at) if at.is_none_or(|(now_since, _)| now_since > since) => {
                        over.push(format!("worker {} after about {:.1} s", worker.worker, seconds(now - since)));
                    }
                    _ => {}
                }
                *known = at.map(|(since, _)| since);
            }
            if !begun.is_empty() {
                let text = format!("job '{}': no answer from the storage: {}", job.name, listed(&begun));
                emitter.warn(Some(phase_index), WarningId::Stalled, text);
            }
            if !over.is_empty() {
                let label = format!("job '{}': the stall is over: {}", job.name, listed(&over));
                emitter.emit(&Event::Mark { t_ns: now, label, source: "detector".to_owned() });
            }
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn listed(workers: &[String]) -> String {
    let mut text = workers[..workers.len().min(NAMED)].join(", ");
    if workers.len() > NAMED {
        text += &format!(", and {} more workers", workers.len() - NAMED);
    }
    text
}

/// Begin and state index of the operation that a worker has been at for longest; None: it is at none.
fn oldest(stats: &WorkerStats) -> Option<(u64, usize)> {
    if !stats.slots.is_empty() {
        let slot = stats.slots.iter().min_by_key(|slot| slot.since_ns.get())?;
        let since = slot.since_ns.get();
        return (since != NEVER).then(|| (since, slot.current.get() as usize));
    }
    let busy_since = stats.busy_since_ns.get();
    (busy_since != NEVER).then(|| (busy_since.max(stats.last_op_ns.get()), stats.current.get() as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::exact::Trial;
    use crate::idle::Seen;
    use crate::sys::process::thread_id;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::sync::{Arc, mpsc};
    use std::{hint, thread, time::Duration};

    /// The report of a worker that has been at one operation for longer than a stall, its thread at that work.
    fn is_reported(work: impl Fn(&AtomicBool) + Send + 'static) -> bool {
        let (over, done) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
        let its = Arc::clone(&over);
        let at_work = thread::spawn(move || {
            done.0.send(thread_id()).unwrap();
            work(&its);
        });
        let tid = done.1.recv().unwrap();
        // The begin of its work is a call or two away.
        thread::sleep(Duration::from_millis(100));
        let worker = Observed {
            job: 0,
            worker: 0,
            stats: Arc::new(WorkerStats::new(&Trial::making(1).shared().program, 1).unwrap()),
            task: Some(TaskObserver::open(tid, true)),
            readers: Vec::new(),
            idle: Seen::default(),
        };
        worker.stats.busy_since_ns.set(0);
        let job = ObservedJob {
            name: "job".to_owned(),
            series: Vec::new(),
            laps: Vec::new(),
            operations: vec!["read".to_owned()],
            is_open_loop: false,
            in_processes: false,
            last: Vec::new(),
        };
        let emitter = Emitter::with_alarm(Clock::start(), std::io::sink(), || {});
        let mut stalls = Stalls::new(1, 0);
        stalls.after_ns = 0;

        stalls.look(&emitter, 0, &[job], &[worker]);

        over.store(true, SeqCst);
        at_work.join().unwrap();
        stalls.since_ns[0].is_some()
    }

    #[test]
    fn a_worker_that_waits_is_stalled_and_one_that_runs_is_not() {
        assert!(is_reported(|over| {
            while !over.load(SeqCst) {
                thread::sleep(Duration::from_millis(300));
            }
        }));
        assert!(!is_reported(|over| {
            while !over.load(SeqCst) {
                hint::spin_loop();
            }
        }));
    }
}
