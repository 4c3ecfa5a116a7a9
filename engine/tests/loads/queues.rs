//! Several I/Os of one worker in flight: stop rules hold exactly, and what comes back is counted as it came.

use crate::harness::{Outcome, Place, act, job, on_set, op_on, passes, set};
use assay_engine::plan::{
    Access, Backend, Coverage, Distribution, Fallback, FileRef, Job, OpKind, Pick, Region, Stop, StopOf,
};

const BLOCK: u64 = 4096;
const ANYWHERE: Distribution = Distribution::Uniform { min: 0.0, max: 1.0 };
const IO_URING: Backend =
    Backend::IoUring { sqpoll: false, sqpoll_cpu: None, iopoll: false, fallback: Fallback::Refuse };

fn random() -> Access {
    Access::Random { region: Region::Whole {}, distribution: ANYWHERE, coverage: Coverage::WithRepeats, align_bytes: 0 }
}

fn queue_of(access: Access, backend: &Backend, stop: Stop) -> Job {
    let file = FileRef::Set { set: "data".to_owned(), pick: Pick::Own {}, slot: None };
    let mut read = op_on(OpKind::Read, "read", file, BLOCK as f64);
    read.access = access;
    Job { backend: backend.clone(), queue_depth: 8, ..job("job", vec![act(read)], stop) }
}

/// Outcomes of a job with each queue that this machine has.
fn with_each_queue(make: impl Fn(&Backend) -> Job, bytes: f64) -> Vec<Outcome> {
    let run = |backend| Place::new().run(set(1, 1.0, bytes), vec![make(&backend)]);
    let outcomes: Vec<_> = [Backend::Aio {}, IO_URING].into_iter().map(run).collect();
    let outcomes: Vec<_> = outcomes.into_iter().filter(|outcome| !is_missing(outcome)).collect();
    assert!(!outcomes.is_empty());
    outcomes
}

fn is_missing(outcome: &Outcome) -> bool {
    outcome.error().is_some_and(|text| text.contains("io_uring"))
}

#[test]
fn a_number_of_operations_is_kept_exactly() {
    for wanted in [1, 7, 8, 9, 1024, 3001] {
        let stop = Stop { ops: Some(wanted), ..Stop::default() };
        for outcome in with_each_queue(|backend| queue_of(random(), backend, stop.clone()), 1e6) {
            assert_eq!((outcome.check_clean().ops("read"), outcome.stopped_by()), (wanted, "ops"));
            assert_eq!(outcome.sum("read", "bytes"), wanted * BLOCK);
        }
    }
}

#[test]
fn passes_and_bytes_are_kept_exactly() {
    for outcome in with_each_queue(|backend| queue_of(random(), backend, passes(2050)), 1e6) {
        assert_eq!((outcome.check_clean().ops("read"), outcome.stopped_by()), (2050, "passes"));
    }
    // The last one may go over the limit.
    let bytes = Stop { bytes: Some(1_000_000), ..Stop::default() };
    for outcome in with_each_queue(|backend| queue_of(random(), backend, bytes.clone()), 1e6) {
        assert_eq!((outcome.check_clean().ops("read"), outcome.stopped_by()), (245, "bytes"));
    }
}

#[test]
fn workers_share_a_number_of_operations() {
    let stop = Stop { ops: Some(5000), of: StopOf::All, ..Stop::default() };
    let make = |backend: &Backend| Job { workers: 3, ..queue_of(random(), backend, stop.clone()) };
    for outcome in with_each_queue(make, 1e6) {
        assert_eq!(outcome.check_clean().ops("read"), 5000);
    }
}

#[test]
fn a_sequential_walk_ends_with_a_shorter_read_that_is_not_short() {
    let access = Access::Sequential { region: Region::Whole {}, wrap: false };
    for outcome in with_each_queue(|backend| queue_of(access.clone(), backend, Stop::default()), 1_000_000.0) {
        assert_eq!((outcome.check_clean().sum("read", "bytes"), outcome.stopped_by()), (1_000_000, "exhausted"));
        assert_eq!(outcome.finished()["jobs"][0]["short_transfers"], 0);
    }
}

#[test]
fn reads_beyond_the_end_of_a_file_are_counted_as_short() {
    // Half of the file goes at the start; on a busy machine that may be late.
    let seconds = |doubling| 0.2 * f64::from(1 << doubling);
    for backend in [Backend::Aio {}, IO_URING] {
        let is_seen = (0..10).map(seconds).any(|seconds| {
            let cut = job("cut", vec![act(on_set(OpKind::Truncate, "cut", 40.0 * BLOCK as f64, None))], passes(1));
            let read = queue_of(random(), &backend, Stop { seconds: Some(seconds), ..Stop::default() });
            let outcome = Place::new().run(set(1, 1.0, 80.0 * BLOCK as f64), vec![cut, read]);
            if is_missing(&outcome) {
                return true;
            }
            let short = outcome.finished()["jobs"][1]["short_transfers"].as_u64().unwrap();
            assert_eq!(outcome.sum("read", "bytes"), (outcome.check_clean().ops("read") - short) * BLOCK);
            short > 0
        });
        assert!(is_seen, "{backend:?}: half of the file is gone, and each read found something");
    }
}
