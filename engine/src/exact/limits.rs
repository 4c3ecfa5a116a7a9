//! Where a worker stops.

use super::plans::{act, job, on_set};
use super::{MS, START_NS, Trial, ops, own, seconds, taking};
use crate::events::StoppedBy;
use crate::plan::{Action, OpKind, Stop, StopOf};

fn reads(stop: Stop) -> Trial {
    Trial::new(job("job", vec![own(OpKind::Read, "read", 4096.0)], stop), taking(&[3 * MS]))
}

fn files_in_turn(stop: Stop) -> Trial {
    Trial::new(job("job", vec![act(on_set(OpKind::Read, "read", 4096.0, None))], stop), taking(&[3 * MS]))
}

#[test]
fn no_operation_begins_after_the_time_is_over_and_those_that_did_are_finished() {
    for trial in [reads(seconds(1.0)), files_in_turn(seconds(1.0))] {
        let outcome = trial.run();

        outcome.check_against_storage("read");
        assert_eq!(outcome.ended.stopped_by, StoppedBy::Time);
        assert_eq!(outcome.stats.ops.get(), 334);
        assert_eq!(outcome.stats.last_op_ns.get(), START_NS + 1002 * MS);
    }
}

#[test]
fn a_queue_is_emptied_after_the_time_is_over() {
    for trial in [reads(seconds(1.0)), files_in_turn(seconds(1.0))] {
        let outcome = trial.queued(8).run();

        outcome.check_against_storage("read");
        assert_eq!((outcome.ended.stopped_by, outcome.stats.ops.get()), (StoppedBy::Time, 334 * 8));
        assert_eq!(outcome.end_ns, START_NS + 1002 * MS);
    }
}

#[test]
fn a_number_of_operations_is_kept_to_the_last() {
    for count in [1, 7, 1024, 1025, 5000] {
        for depth in [1, 8] {
            for trial in [reads(ops(count)), files_in_turn(ops(count))] {
                let outcome = if depth == 1 { trial.run() } else { trial.queued(depth).run() };

                outcome.check_against_storage("read");
                assert_eq!((outcome.ended.stopped_by, outcome.stats.ops.get()), (StoppedBy::Ops, count));
            }
        }
    }
}

#[test]
fn the_transfer_that_reaches_a_number_of_bytes_is_the_last() {
    for (bytes, count) in [(1, 1), (4096, 1), (4097, 2), (1_000_000, 245)] {
        let stop = || Stop { bytes: Some(bytes), ..Stop::default() };
        for depth in [1, 8] {
            for trial in [reads(stop()), files_in_turn(stop())] {
                let outcome = if depth == 1 { trial.run() } else { trial.queued(depth).run() };

                outcome.check_against_storage("read");
                assert_eq!((outcome.ended.stopped_by, outcome.stats.ops.get()), (StoppedBy::Bytes, count));
            }
        }
    }
}

#[test]
fn passes_are_kept_to_the_last_operation() {
    let actions = vec![
        Action::Repeat { times: 5, actions: vec![own(OpKind::Read, "read", 4096.0)] },
        own(OpKind::Read, "read", 4096.0),
    ];
    let stop = Stop { passes: Some(11), ..Stop::default() };

    let outcome = Trial::new(job("job", actions, stop), taking(&[MS])).run();

    outcome.check_against_storage("read");
    assert_eq!((outcome.ended.stopped_by, outcome.stats.ops.get()), (StoppedBy::Passes, 66));
}

#[test]
fn workers_share_a_limit_of_all_and_have_one_of_each_for_themselves() {
    for (of, expected) in [(StopOf::All, [1000, 0, 0]), (StopOf::Each, [1000; 3])] {
        let mut trial = reads(Stop { of, ..ops(1000) });
        trial.job.workers = 3;

        let outcomes = trial.run_all(3);

        let done: Vec<u64> = outcomes.iter().map(|outcome| outcome.stats.ops.get()).collect();
        assert_eq!(done, expected);
        outcomes.iter().for_each(super::Outcome::check_conserved);
    }
}

#[test]
fn an_operation_that_has_done_enough_ends_its_worker() {
    let enough =
        Action::FinishOn { op: "read".to_owned(), ops: Some(37), bytes: None, together: false, every_kind: false };
    let trial = job("job", vec![own(OpKind::Read, "read", 4096.0), enough], Stop::default());

    let outcome = Trial::new(trial, taking(&[MS])).run();

    outcome.check_against_storage("read");
    assert_eq!((outcome.ended.stopped_by, outcome.stats.ops.get()), (StoppedBy::Ops, 37));
}
